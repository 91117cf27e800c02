"""What hybridizing keeps and changes: one trace, no Python afterwards, keys of the cache, errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax._engine import run
from gluonjax.gluon import nn


class Net(gluon.HybridBlock):
    """Runs a given function as its hybrid_forward and counts how often."""

    def __init__(self, function: Any, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self.function = function
        self.runs = 0

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.function(F, x, *args, **kwargs)


def hybrid(function: Any) -> Net:
    net = Net(function)
    net.hybridize()
    return net


X = nd.array([[1.0, -2.0, 3.0]])


def test_python_runs_once_and_sees_symbols(capsys: pytest.CaptureFixture[str]) -> None:
    def forward(F: Any, x: Any) -> Any:
        print(F.__name__, x, F.relu(x))
        return F.relu(x)

    net = Net(forward, prefix="hybridnet0_")
    net.hybridize()
    for _ in range(3):
        assert net(X).asnumpy().tolist() == [[1, 0, 3]]
    assert capsys.readouterr().out == "gluonjax.symbol <Symbol data> <Symbol hybridnet0_relu0>\n"


def test_training_mode_has_a_trace_of_its_own() -> None:
    net = hybrid(lambda F, x: x * 2 if autograd.is_training() else x * 3)
    assert net(X)[0, 0].asscalar() == 3
    with autograd.record():
        assert net(X)[0, 0].asscalar() == 2
    assert net(X)[0, 0].asscalar() == 3
    assert net.runs == 2


def test_shapes_and_dtypes_need_no_new_trace() -> None:
    net = hybrid(lambda F, x: F.sum(x, axis=0))
    for dtype in ("float32", "float64", "int32"):
        for rows in (1, 4):
            result = net(nd.ones((rows, 2), dtype=dtype))
            assert result.dtype == np.dtype(dtype) and result.asnumpy().tolist() == [rows, rows]
    assert net.runs == 1


def test_reading_the_shape_traces_for_each_shape() -> None:
    net = hybrid(lambda F, x: F.reshape(x, shape=(x.shape[1], x.shape[0])) * x.shape[0])
    for shape in ((2, 3), (4, 5), (2, 3)):
        result = net(nd.ones(shape))
        assert result.shape == shape[::-1] and result[0, 0].asscalar() == shape[0]
    assert net.runs == 2


def test_structure_of_arguments_may_change() -> None:
    net = hybrid(lambda F, x, *more: F.add_n(x, *more) if more else x)
    assert [net(*[X] * count)[0, 0].asscalar() for count in (1, 3, 2, 1)] == [1, 3, 2, 1]
    nested = hybrid(lambda F, x, pairs: [x + pairs[0], {"twice": pairs[1][0] * 2}])
    first, named = nested(X, [X, [X]])
    assert first[0, 0].asscalar() == 2 and named["twice"][0, 0].asscalar() == 2


def test_none_is_part_of_the_structure() -> None:
    net = hybrid(lambda F, x, y: x if y is None else (y if x is None else x + y))
    assert [net(*pair)[0, 0].asscalar() for pair in ((X, None), (None, X), (X, X))] == [1, 1, 2]


def test_keyword_arguments_may_be_arrays_and_values() -> None:
    net = hybrid(lambda F, x, bias=None, factor=1: x * factor if bias is None else x * factor + bias)
    assert net(X, factor=3)[0, 0].asscalar() == 3
    assert net(X, bias=X, factor=3)[0, 0].asscalar() == 4
    assert net(X, factor=2)[0, 0].asscalar() == 2


def test_unused_input_warns_and_works() -> None:
    class Wide(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Dense(2)

        def hybrid_forward(self, F: Any, x: Any, idle: Any) -> Any:
            return self.layer(x)

    net = Wide()
    net.initialize()
    net.hybridize()
    with pytest.warns(UserWarning, match="The 1-th input to HybridBlock is not used"):
        assert net(X, nd.ones((7, 7))).shape == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, 1), "must be \\(nested\\) list of Symbol or NDArray, but got 1"),
        ((X, mx.sym.var("a")), "mixed NDArrays and Symbols"),
        ((mx.sym.var("a"), X), "mixed NDArrays and Symbols"),
        ((None, None), "there must be one NDArray or one Symbol"),
        ((X.as_in_context(mx.cpu(1)), X.as_in_context(mx.cpu(2))), "Find multiple contexts"),
    ],
)
def test_arguments_that_cannot_be_traced(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        hybrid(lambda F, x, y: x + y)(*arguments)
    assert isinstance(caught.value, mx.MXNetError)


@pytest.mark.parametrize(
    "use",
    [
        lambda F, x: x.asnumpy(),
        lambda F, x: x.asscalar(),
        lambda F, x: x if x > 0 else -x,
        lambda F, x: x.wait_to_read(),
    ],
    ids=["asnumpy", "asscalar", "bool", "wait_to_read"],
)
def test_symbols_have_no_values_and_say_so(use: Any) -> None:
    with pytest.raises(mx.MXNetError, match=r"not implemented for Symbol.*F\.where"):
        hybrid(use)(X)


def test_stale_traces_are_dropped() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=3))
    net.initialize()
    net.hybridize()
    assert net(X).shape == (1, 3)
    net.add(nn.Flatten(), nn.Dense(5, in_units=3))
    net[2].initialize()
    assert net(X).shape == (1, 5)


def test_children_see_the_modes_of_the_parent() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dropout(0.5), nn.BatchNorm())
    net.initialize()
    net.hybridize()
    x = nd.ones((4, 100))
    with autograd.record():
        net(x)
    moved = net[1].running_mean.data().asnumpy().copy()
    assert (moved != 0).any()
    np.testing.assert_array_equal(net(x).asnumpy(), net(x).asnumpy())
    np.testing.assert_array_equal(net[1].running_mean.data().asnumpy(), moved)


def test_random_operators_draw_anew_at_every_call() -> None:
    net = hybrid(lambda F, x: F.Dropout(x, p=0.5))
    x = nd.ones((200,))
    mx.random.seed(1)
    with autograd.train_mode():
        first, second = net(x).asnumpy(), net(x).asnumpy()
    assert (first != second).any()
    mx.random.seed(1)
    with autograd.train_mode():
        np.testing.assert_array_equal(net(x).asnumpy(), first)


def test_shared_parameters_train_together() -> None:
    first = nn.Dense(2, in_units=3, prefix="a_")
    twin = nn.Dense(2, in_units=3, prefix="a_", params=first.params)
    first.initialize()
    for layer in (first, twin):
        layer.hybridize()
    trainer = gluon.Trainer(first.collect_params(), "sgd", {"learning_rate": 0.5})
    with autograd.record():
        loss = first(X).sum() + twin(X).sum()
    loss.backward()
    np.testing.assert_array_equal(first.weight.grad().asnumpy(), 2 * np.tile(X.asnumpy(), (2, 1)))
    trainer.step(1)
    np.testing.assert_array_equal(first(X).asnumpy(), twin(X).asnumpy())


def test_deferred_shapes_come_from_the_first_batch() -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Flatten(), nn.Dense(2))
    net.initialize()
    net.hybridize()
    assert net(nd.ones((2, 3, 5, 5))).shape == (2, 2)
    assert net[0].weight.shape == (4, 3, 3, 3) and net[3].weight.shape == (2, 36)
    with pytest.raises(mx.MXNetError, match="Shape inconsistent"):
        net(nd.ones((2, 5, 5, 5)))


def test_exported_blocks_come_back(tmp_path: object) -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    net.initialize(mx.init.Xavier())
    with pytest.raises(ValueError, match="run forward with this block at least once"):
        net.export(f"{tmp_path}/x")
    net.hybridize()
    expected = net(X).asnumpy()
    net.export(f"{tmp_path}/x", epoch=3)
    assert list(nd.load(f"{tmp_path}/x-0003.params")) == [
        f"{kind}:net_{name}"
        for kind, name in (
            ("arg", "dense0_weight"), ("arg", "dense0_bias"), ("arg", "batchnorm0_gamma"), ("arg", "batchnorm0_beta"),
            ("aux", "batchnorm0_running_mean"), ("aux", "batchnorm0_running_var"), ("arg", "dense1_weight"),
            ("arg", "dense1_bias"),
        )
    ]  # fmt: skip
    again = gluon.SymbolBlock.imports(f"{tmp_path}/x-symbol.json", "data", f"{tmp_path}/x-0003.params")
    np.testing.assert_allclose(again(X).asnumpy(), expected, rtol=1e-6)
    assert repr(again) == "SymbolBlock(\n<Symbol net_dense1_fwd> : 1 -> 1\n)"


def test_saved_models_are_restored_with_their_names(tmp_path: object) -> None:
    def build() -> nn.HybridSequential:
        net = nn.HybridSequential()
        with net.name_scope():
            net.add(nn.Dense(3), nn.Dense(2))
        return net

    net = build()
    net.initialize()
    net.hybridize()
    expected = net(X).asnumpy()
    net.save(f"{tmp_path}/m")
    again = build()
    again.load(f"{tmp_path}/m")
    np.testing.assert_array_equal(again(X).asnumpy(), expected)
    assert list(again.collect_params()) == list(net.collect_params())


def test_value_dependent_shapes_run_uncompiled_and_say_so() -> None:
    net = hybrid(lambda F, x: F.contrib.boolean_mask(x, F.slice_axis(x, axis=1, begin=0, end=1).reshape(-1) > 1))
    x = nd.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert net(x).asnumpy().tolist() == [[3, 4], [5, 6]]
        assert net(x + 2).asnumpy().tolist() == [[3, 4], [5, 6], [7, 8]]
    assert sum("runs without compilation" in str(one.message) for one in caught) == 1


def test_samples_of_unknown_number_run_uncompiled_and_say_so_once() -> None:
    def draw(F, x):
        return F._internal._sample_unique_zipfian(range_max=50, shape=(1, 8))[0] + F.sum(x).astype("int64") * 0

    net = hybrid(draw)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = [net(nd.ones(2)).asnumpy() for _ in range(3)]
    own = [str(one.message) for one in caught if "runs without compilation" in str(one.message)]
    assert len(own) == 1 and "_sample_unique_zipfian" in own[0]
    assert all(len(set(row[0].tolist())) == 8 and row.max() < 50 for row in found)


def test_open_shapes_are_inferred_once_for_each_set_of_shapes(monkeypatch):
    from gluonjax.ndarray import _cached

    calls = []
    infer = _cached.infer_shapes
    monkeypatch.setattr(_cached, "infer_shapes", lambda *a: calls.append(a) or infer(*a))

    class Unrolled(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.cell = gluon.rnn.LSTMCell(3, input_size=2)

        def hybrid_forward(self, F, x):
            return self.cell.unroll(2, x, merge_outputs=True)[0]

    net = Unrolled()
    net.initialize()
    net.hybridize()
    for batch in (4, 4, 5, 4, 5):
        assert net(mx.nd.ones((batch, 2, 2))).shape == (batch, 2, 3)
    assert len(calls) == 2


class KeepPositive(gluon.HybridBlock):
    """The rows whose sum is positive."""

    def hybrid_forward(self, F, x):
        return F.contrib.boolean_mask(x, x.sum(axis=1) > 0)


def test_a_block_whose_output_shape_depends_on_values_runs_uncompiled_and_says_so_once():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3), KeepPositive(), gluon.nn.Dense(2))  # every layer waits for its input's shape
    net.initialize()
    net.hybridize()
    batches = [nd.array(np.random.RandomState(seed).normal(size=(6, 4))) for seed in range(3)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = []
        for batch in batches:
            with mx.autograd.record():
                result = net(batch)
            result.backward()
            found.append((result.asnumpy(), net[0].weight.grad().asnumpy()))
    own = [str(warning.message) for warning in said if str(warning.message).startswith(net.name)]
    assert len(own) == 1 and "_contrib_boolean_mask" in own[0] and "runs without compilation" in own[0]
    net.hybridize(False)
    for batch, (output, gradient) in zip(batches, found):
        with mx.autograd.record():
            result = net(batch)
        result.backward()
        np.testing.assert_allclose(output, result.asnumpy(), rtol=1e-6)
        np.testing.assert_allclose(gradient, net[0].weight.grad().asnumpy(), rtol=1e-5)
    assert len({output.shape for output, _ in found}) > 1


def test_sparse_gradients_of_put_off_calls() -> None:
    net = nn.Embedding(10, 1, sparse_grad=True)
    net.initialize()
    net.hybridize()
    with autograd.record():
        total = net(mx.nd.ones((7,))).sum()
    total.backward()
    assert net.weight.grad().indices.asnumpy().tolist() == [1]
    assert net.weight.grad().data.asnumpy().tolist() == [[7.0]]


def test_symbol_blocks_refuse_sparse_parameters() -> None:
    weight = mx.sym.var("weight", stype="row_sparse")
    with pytest.raises(AssertionError, match="'weight' because its storage type"):
        gluon.SymbolBlock(mx.sym.dot(mx.sym.var("data"), weight), mx.sym.var("data"))


def test_results_read_early_with_a_loss_that_is_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gluonjax._engine.run.LARGE", 0)  # compile everything
    net = nn.Dense(3, in_units=2)
    net.initialize(mx.init.One())
    net.hybridize()
    for _ in range(10):  # long enough for the engine to put eager operators off
        with autograd.record():
            out = net(mx.nd.ones((2, 2)))
            read = out.asnumpy()
            loss = (mx.nd.softmax(out * 2) * mx.nd.exp(out / 8)).sum()
        loss.backward()
        np.testing.assert_allclose(net.bias.grad().asnumpy(), [2 * np.exp(0.25) / 24] * 3, rtol=1e-4)
    assert read.tolist() == [[2, 2, 2]] * 2


def test_a_step_leaves_arrays_as_uncommitted_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX compiles once for arrays that are committed to a device and once more for others."""
    monkeypatch.setattr("gluonjax._engine.run.LARGE", -1)  # compile everything: no values in NumPy
    net = nn.Dense(3, in_units=2)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    data = mx.nd.random.uniform(shape=(4, 2))
    for _ in range(2):
        assert not net.weight.data().jax.committed
        with autograd.record():
            loss = net(data).sum()
        loss.backward()
        trainer.step(1)
        assert not trainer._updaters[0].states[0].jax.committed


def test_op_hooks_see_every_operator() -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, activation="relu", in_units=3), nn.Dropout(0.5))
    net.initialize(mx.init.One())
    net.hybridize()
    seen: list[Any] = []
    net.register_op_hook(lambda name, op, array: seen.append((name, op, array.asnumpy().tolist())), monitor_all=True)
    with autograd.train_mode():
        out = net(nd.ones((1, 3)))
    assert [(name, op) for name, op, _ in seen] == [
        (b"net_dense0_fwd_data", b"FullyConnected"), (b"net_dense0_fwd_weight", b"FullyConnected"),
        (b"net_dense0_fwd_bias", b"FullyConnected"), (b"net_dense0_fwd_output", b"FullyConnected"),
        (b"net_dense0_relu_fwd_input0", b"Activation"), (b"net_dense0_relu_fwd_output", b"Activation"),
        (b"net_dropout0_fwd_data", b"Dropout"), (b"net_dropout0_fwd_output", b"Dropout"),
    ]  # fmt: skip
    assert seen[3][2] == [[3.0, 3.0]]
    assert seen[-1][2] == out.asnumpy().tolist(), "what is drawn is what the call draws"
    seen.clear()
    net.register_op_hook(lambda name, op, array: seen.append((name, op, array)))
    net(nd.ones((1, 3)))
    assert [name for name, _, _ in seen] == [
        b"net_dense0_fwd_output", b"net_dense0_relu_fwd_output", b"net_dropout0_fwd_output",
    ]  # fmt: skip


def test_tuning_arguments_are_accepted_and_change_no_result() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=3, activation="tanh"), nn.Dense(2, in_units=3))
    net.initialize()
    expected = net(X).asnumpy()
    tunings: tuple[dict[str, Any], ...] = (
        {"static_alloc": True, "static_shape": True}, {"inline_limit": 0}, {"forward_bulk_size": 3},
        {"backward_bulk_size": 3}, {"backend": "MKLDNN"}, {"clear": False, "own_option": 1},
    )  # fmt: skip
    for tuning in tunings:
        net.hybridize(**tuning)
        assert net._active
        np.testing.assert_allclose(net(X).asnumpy(), expected, rtol=1e-5)
    net.hybridize(False)
    net.optimize_for(X, backend="MKLDNN", static_alloc=True)
    assert net._active and net._cached_graph
    np.testing.assert_allclose(net(X).asnumpy(), expected, rtol=1e-5)
    with pytest.raises(ValueError, match='Must specify "backend"'):
        net.optimize_for(X)


@pytest.mark.skipif(not run.COLD_TIER, reason="everything is compiled")
def test_a_short_graph_is_not_compiled_for_its_first_call():
    """What eager operators give, to the bit, moving statistics and gradients included; then one program."""
    nets = []
    for _ in (False, True):
        net = nn.HybridSequential(prefix="net_")
        net.add(nn.Dense(7, activation="tanh", in_units=300), nn.BatchNorm(in_channels=7), nn.Dense(2, in_units=7))
        net.initialize()
        nets.append(net)
    for ours, theirs in zip(nets[1].collect_params().values(), nets[0].collect_params().values()):
        ours.set_data(theirs.data())
    nets[1].hybridize()
    data = nd.array(np.random.RandomState(0).randn(5, 300))

    def step(net):
        with autograd.record():
            loss = (net(data) ** 2).sum()
        loss.backward()
        parameters = net.collect_params().values()
        return [loss.asnumpy(), *(one.data().asnumpy() for one in parameters),
                *(one.grad().asnumpy() for one in parameters if one.grad_req != "null")]  # fmt: skip

    for ours, theirs in zip(step(nets[1]), step(nets[0]), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert not len(nets[1]._compilations)
    for ours, theirs in zip(step(nets[1]), step(nets[0]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    assert len(nets[1]._compilations) == 1


@pytest.mark.skipif(not run.COLD_TIER, reason="everything is compiled")
def test_a_first_call_that_is_not_compiled_can_be_differentiated_twice():
    net = nn.HybridLambda(lambda F, x: F.tanh(x) * x)
    net.hybridize()
    x = nd.array([0.3, -1.2])
    x.attach_grad()
    with autograd.record():
        (first,) = autograd.grad(net(x).sum(), [x], create_graph=True)
    first.backward()
    slope = 1 - np.tanh(x.asnumpy()) ** 2
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * slope * (1 - np.tanh(x.asnumpy()) * x.asnumpy()), atol=1e-6)


def test_a_seed_gives_a_hybridized_dropout_the_same_numbers_whenever_it_is_met():
    found = []
    for calls in (0, 3):
        net = nn.Dropout(0.5)
        net.hybridize()
        x = nd.ones((9, 11))
        with autograd.record():
            for _ in range(calls):
                net(x).wait_to_read()
            mx.random.seed(3)
            found.append(net(x).asnumpy())
    np.testing.assert_array_equal(found[0], found[1])
