"""Several threads at once: eager calls, recording, hybridized blocks, executors, modules, scopes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd, sym

THREADS = 6


def at_once(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """Run ``work(number)`` in threads that begin together; returns the results, raises the first error."""
    results: list[Any] = [None] * count
    errors: list[BaseException] = []
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            gate.wait()
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if errors:
        raise errors[0]
    return results


def test_eager_calls_do_not_mix():
    def work(number: int) -> np.ndarray:
        x = nd.full((8, 9), number)
        for step in range(40):
            x = nd.relu(x + 1) * 1
            x[step % 8, :3] = x[0, 0]
        return nd.dot(x, x.T).asnumpy()

    for number, found in enumerate(at_once(work)):
        np.testing.assert_array_equal(found, np.full((8, 8), 9 * (number + 40.0) ** 2))


def test_each_thread_records_for_itself():
    shared = nd.array([1.0, 2.0, 3.0])

    def work(number: int) -> np.ndarray:
        assert not autograd.is_recording()
        x = shared * (number + 1)
        for _ in range(20):
            x.attach_grad()
            with autograd.record():
                y = (x * x * number).sum()
            y.backward()
        return x.grad.asnumpy()

    for number, found in enumerate(at_once(work)):
        np.testing.assert_allclose(found, 2 * number * (number + 1) * np.array([1, 2, 3.0]), rtol=1e-6)


def test_a_hybridized_block_is_called_by_all():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(16, activation="tanh", in_units=5), gluon.nn.Dense(3, in_units=16))
    net.initialize(mx.init.Xavier())
    inputs = [nd.random.normal(shape=(2 + number % 3, 5)) for number in range(THREADS)]
    wanted = [net(x).asnumpy() for x in inputs]
    net.hybridize()
    for number, found in enumerate(at_once(lambda number: [net(inputs[number]).asnumpy() for _ in range(10)])):
        for one in found:
            np.testing.assert_allclose(one, wanted[number], rtol=1e-5, atol=1e-6)


def test_every_thread_trains_its_own_network():
    data, label = nd.random.normal(shape=(12, 4)), nd.array([0, 1] * 6)
    start = nd.random.normal(shape=(2, 4))

    def work(number: int) -> np.ndarray:
        net = gluon.nn.Dense(2, in_units=4)
        net.initialize()
        net.weight.set_data(start)
        net.bias.set_data(nd.zeros((2,)))
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        for _ in range(8):
            with autograd.record():
                value = loss(net(data), label)
            value.backward()
            trainer.step(12)
        return net.weight.data().asnumpy()

    first, *others = at_once(work)
    assert np.abs(first - start.asnumpy()).max() > 0.1
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-4, atol=1e-5)


def test_executors_of_one_symbol():
    net = sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc"), name="softmax")

    def work(number: int) -> tuple[np.ndarray, np.ndarray]:
        executor = net.simple_bind(mx.cpu(), data=(2 + number % 2, 4))
        executor.arg_dict["fc_weight"][:] = number
        executor.arg_dict["data"][:] = 1
        for _ in range(10):
            executor.forward(is_train=True)
            executor.backward()
        return executor.outputs[0].asnumpy(), executor.grad_dict["fc_bias"].asnumpy()

    for number, (output, gradient) in enumerate(at_once(work)):
        rows = 2 + number % 2
        np.testing.assert_allclose(output, np.full((rows, 3), 1 / 3), rtol=1e-6)
        np.testing.assert_allclose(gradient, rows * (np.full(3, 1 / 3) - [1, 0, 0]), rtol=1e-5)


def test_modules_fit_at_once():
    data = np.random.RandomState(0).uniform(-1, 1, (40, 3)).astype("float32")

    def work(number: int) -> float:
        net = sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=2), name="softmax")
        batches = mx.io.NDArrayIter(data, (data[:, number % 3] > 0).astype("float32"), batch_size=10)
        module = mx.mod.Module(net)
        module.fit(batches, num_epoch=12, optimizer_params={"learning_rate": 1.0}, initializer=mx.init.Zero())
        return dict(module.score(batches, "acc"))["accuracy"]

    assert min(at_once(work, 4)) > 0.85


def test_custom_operators_in_compiled_graphs_do_not_deadlock():
    class Cubed(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] ** 3)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], 3 * in_data[0] ** 2 * out_grad[0])

    @mx.operator.register("threads_cubed")
    class CubedProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Cubed()

    net = sym.Custom(sym.var("x") * 1, op_type="threads_cubed") + 0

    def work(number: int) -> np.ndarray:
        x = nd.full((3,), number)
        executor = net.bind(mx.cpu(), {"x": x}, {"x": nd.zeros((3,))})
        for _ in range(5):
            executor.forward(is_train=True)
            executor.backward(nd.ones((3,)))
        return executor.grad_dict["x"].asnumpy()

    for number, found in enumerate(at_once(work)):
        np.testing.assert_allclose(found, 3.0 * number**2)


def test_scopes_belong_to_their_thread():
    def work(number: int) -> tuple[str, str, dict[str, str], bool]:
        with mx.Context("cpu", number), mx.name.Prefix(f"t{number}_"), mx.AttrScope(__group__=str(number)):
            with mx.util.np_shape(number % 2 == 0):
                named = sym.FullyConnected(sym.var("x"), num_hidden=1)
                attributes = named.list_attr()
                return str(mx.current_context()), named.name, attributes, mx.util.is_np_shape()

    before = mx.util.is_np_shape()
    for number, (context, name, attributes, shape) in enumerate(at_once(work)):
        assert context == f"cpu({number})" and name.startswith(f"t{number}_fullyconnected")
        assert attributes["__group__"] == str(number) and shape == (number % 2 == 0)
    assert mx.current_context() == mx.cpu(0) and mx.util.is_np_shape() == before


def test_errors_stay_in_their_thread():
    def work(number: int) -> str:
        if number % 2:
            with pytest.raises(mx.MXNetError, match="elemwise_add"):
                nd.elemwise_add(nd.ones((2,)), nd.ones((3,))).asnumpy()
            return "failed"
        return str((nd.ones((2,)) + 1).asnumpy().sum())

    assert at_once(work) == ["4.0", "failed"] * (THREADS // 2)


@pytest.mark.parametrize("how", ["hybridized", "mx.jit"])
def test_others_may_use_a_network_while_it_is_trained(how):
    """A step takes over the memory of the weights; who looks at them meanwhile waits for the new ones."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(64, activation="relu", in_units=50), gluon.nn.Dense(3, in_units=64))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-4, "momentum": 0.9})
    data = nd.ones((8, 50))

    def step():
        with autograd.record():
            loss = (net(data) ** 2).sum()
        loss.backward()
        trainer.step(8)

    one = mx.jit(step) if how == "mx.jit" else step
    for _ in range(3):
        one()
    errors = []
    done = threading.Event()

    def look():
        try:
            while not done.is_set():
                assert np.isfinite(net(data).asnumpy()).all()
                assert np.isfinite(net[0].weight.data().copy().asnumpy()).all()
        except BaseException as error:
            errors.append(error)

    watchers = [threading.Thread(target=look) for _ in range(2)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for watcher in watchers:
            watcher.start()
        for _ in range(200):
            one()
    finally:
        sys.setswitchinterval(before)
        done.set()
        for watcher in watchers:
            watcher.join()
    assert not errors, errors[0]
