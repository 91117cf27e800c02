"""Trainer: updates, stale gradients, states in files."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon


def parameter(name: str = "w") -> gluon.Parameter:
    made = gluon.Parameter(name, shape=(2,))
    made.initialize(init="zeros")
    return made


def backward(weight: gluon.Parameter, factor: float = 2.0) -> None:
    with autograd.record():
        loss = (weight.data() * factor).sum()
    loss.backward()


def test_momentum_follows_the_formula() -> None:
    weight = parameter()
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    value, momentum = np.zeros(2), np.zeros(2)
    for _ in range(3):
        backward(weight)
        trainer.step(2)
        momentum = 0.9 * momentum - 0.1 * (2.0 / 2)
        value = value + momentum
    np.testing.assert_allclose(weight.data().asnumpy(), value, rtol=1e-5)


def test_stale_gradient_is_refused_or_skipped() -> None:
    used, unused = parameter("used"), parameter("unused")
    trainer = gluon.Trainer([used, unused], "sgd", {"learning_rate": 1.0})
    backward(used)
    with pytest.raises(UserWarning, match="Gradient of Parameter `unused` on context"):
        trainer.step(1)
    trainer.step(1, ignore_stale_grad=True)
    assert used.data().asnumpy().tolist() == [-2, -2]
    assert unused.data().asnumpy().tolist() == [0, 0]


def test_states_survive_a_file(tmp_path: object) -> None:
    file = f"{tmp_path}/t.states"
    weight = parameter()
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    backward(weight)
    trainer.step(1)
    trainer.save_states(file)
    other = parameter()
    again = gluon.Trainer([other], "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    again.load_states(file)
    np.testing.assert_allclose(again._updaters[0].states[0].asnumpy(), [-0.2, -0.2], rtol=1e-6)


def test_optax_transformations_are_optimizers() -> None:
    import optax

    weight = parameter()
    trainer = gluon.Trainer([weight], optax.sgd(0.5))
    backward(weight)
    trainer.step(1)
    np.testing.assert_allclose(weight.data().asnumpy(), [-1, -1])


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="must be a list or dict of Parameters"):
        gluon.Trainer(3, "sgd")
    with pytest.raises(ValueError, match="Cannot find optimizer sgdx"):
        gluon.Trainer([parameter()], "sgdx")
    with pytest.raises(mx.MXNetError, match="has not been initialized"):
        gluon.Trainer([gluon.Parameter("w", shape=(2,))], "sgd")


def test_clip_global_norm() -> None:
    arrays = [mx.nd.array([3.0, 4.0]), mx.nd.array([12.0])]
    assert gluon.utils.clip_global_norm(arrays, 1.0) == pytest.approx(13.0)
    np.testing.assert_allclose(arrays[1].asnumpy(), [12 / 13], rtol=1e-6)


@pytest.mark.parametrize("on_store", [False, True])
def test_states_of_optax_survive_a_file(on_store: bool, tmp_path: object) -> None:
    import optax

    def build(weight: gluon.Parameter) -> gluon.Trainer:
        rule = optax.adam(optax.exponential_decay(0.5, 1, 0.5))
        return gluon.Trainer([weight], rule, kvstore="local" if on_store else None, update_on_kvstore=on_store)

    file, values = f"{tmp_path}/t.states", []
    for stops in (False, True):
        weight = parameter()
        trainer = build(weight)
        for number in range(4):
            if stops and number == 2:
                trainer.save_states(file)
                trainer = build(weight)
                trainer.load_states(file)
            backward(weight, number + 1.0)
            trainer.step(1)
        values.append(weight.data().asnumpy())
    np.testing.assert_allclose(values[1], values[0], rtol=1e-6)


@pytest.mark.parametrize("how", ["eager", "hybrid", "jit", "two contexts"])
def test_optax_sees_all_weights_together(how: str) -> None:
    import jax
    import jax.numpy as jnp
    import optax

    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)

    def build() -> gluon.nn.HybridSequential:
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(4, in_units=3, activation="tanh"), gluon.nn.Dense(2, in_units=4))
        net.initialize(ctx=contexts)
        for place, one in enumerate(net.collect_params().values()):
            one.set_data(mx.nd.array(np.random.default_rng(place).uniform(-0.5, 0.5, size=one.shape)))
        return net

    def loss_of(params: list[jax.Array]) -> jax.Array:
        hidden = jnp.tanh(x @ params[0].T + params[1])
        return ((hidden @ params[2].T + params[3]) ** 2).sum()

    def step() -> None:
        with autograd.record():
            losses = [(net(part) ** 2).sum() for part in gluon.utils.split_and_load(mx.nd.array(x), contexts)]
        autograd.backward(losses)
        trainer.step(1)

    contexts = [mx.cpu(0), mx.cpu(1)] if how == "two contexts" else [mx.cpu(0)]
    rule = optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(optax.exponential_decay(0.1, 1, 0.9), momentum=0.9))
    net = build()
    weights = [jnp.asarray(one.data(contexts[0]).asnumpy()) for one in net.collect_params().values()]
    state = rule.init(weights)
    trainer = gluon.Trainer(net.collect_params(), rule)
    if how != "eager":
        net.hybridize()
    run = mx.jit(step) if how == "jit" else step
    for _ in range(4):
        updates, state = rule.update(jax.grad(loss_of)(weights), state, weights)
        weights = optax.apply_updates(weights, updates)
        run()
    for one, expected in zip(net.collect_params().values(), weights):
        for copy in one.list_data():
            np.testing.assert_allclose(copy.asnumpy(), expected, rtol=1e-4, atol=1e-6)


def test_optax_states_of_other_shapes() -> None:
    import jax
    import optax

    first, second = parameter("a"), gluon.Parameter("b", shape=(2, 2))
    second.initialize(init="zeros")
    only_matrices = optax.masked(optax.sgd(0.5, momentum=0.9), lambda tree: jax.tree.map(lambda x: x.ndim > 1, tree))
    rules = (
        (only_matrices, [2.0, 2.0], [-1.0, -1.0]),  # what the mask leaves out comes through as it is
        (optax.MultiSteps(optax.sgd(0.5), 2).gradient_transformation(), [0.0, 0.0], [0.0, 0.0]),
    )
    for rule, expected, row in rules:
        trainer = gluon.Trainer([first, second], rule)
        for weight in (first, second):
            weight.set_data(mx.nd.zeros(weight.shape))
        with autograd.record():
            loss = (first.data() * 2).sum() + (second.data() * 2).sum()
        loss.backward()
        trainer.step(1)
        assert first.data().asnumpy().tolist() == expected and second.data().asnumpy()[1].tolist() == row
    trainer = gluon.Trainer([first, second], optax.chain(optax.add_noise(1.0, 0.5, 3), optax.sgd(0.5)))
    drawn = []
    for _ in range(2):
        second.set_data(mx.nd.zeros((2, 2)))
        with autograd.record():
            loss = (first.data() * 0).sum() + (second.data() * 0).sum()
        loss.backward()
        trainer.step(1)
        drawn.append(second.data().asnumpy())
    assert (drawn[0] != 0).all() and (drawn[0] != drawn[1]).all(), "the key moves on"
