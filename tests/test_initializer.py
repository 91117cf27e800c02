"""Initializers: what fills what, the distributions, and their text forms."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import init


def filled(initializer, shape, name="fc_weight", dtype="float32", attrs=None):
    array = mx.nd.full(shape, 7, dtype=dtype)
    initializer(init.InitDesc(name, attrs), array)
    return array.asnumpy()


@pytest.mark.parametrize(
    ("name", "value"),
    [("x_bias", 0), ("x_gamma", 1), ("x_beta", 0), ("x_min", 0), ("x_max", 1), ("x_bias_quantize", 0)],
)
def test_end_of_name_decides(name, value):
    assert (filled(init.Uniform(), (3,), name) == value).all()


def test_unknown_name_is_explained():
    with pytest.raises(mx.MXNetError, match="Unknown initialization pattern for other"):
        filled(init.Uniform(), (3,), "other")


def test_own_initializer_of_a_variable_wins():
    assert (filled(init.Zero(), (3,), "x_bias", attrs={"__init__": init.Constant(3).dumps()}) == 3).all()
    assert (filled(init.Zero(), (3,), "other", attrs={"__init__": "ones"}) == 1).all()


@pytest.mark.parametrize("name", ["zeros", "ones", "zero", "one", "Uniform", "normal", "xavier", "orthogonal",
                                  "MSRAPrelu", "bilinear", "lstmbias"])  # fmt: skip
def test_created_by_name_and_json(name):
    made = init.create(name)
    assert isinstance(made, init.Initializer)
    again = init.create(made.dumps())
    assert again == made and again.dumps() == made.dumps()


def test_dumps_is_what_mxnet_writes():
    assert json.loads(init.Xavier(magnitude=2).dumps()) == [
        "xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 2}
    ]  # fmt: skip
    assert init.Constant(mx.nd.array([1, 2])).dumps() == '["constant", {"value": [1.0, 2.0]}]'
    assert json.loads(init.MSRAPrelu().dumps()) == ["msraprelu", {"factor_type": "avg", "slope": 0.25}]


@pytest.mark.parametrize(
    ("initializer", "deviation"),
    [
        (init.Uniform(0.3), 0.3 / 3**0.5),
        (init.Normal(0.2), 0.2),
        (init.Xavier(), (3 / 150) ** 0.5 / 3**0.5),
        (init.Xavier("gaussian", "in", 2), (2 / 200) ** 0.5),
        (init.Xavier("gaussian", "out", 2), (2 / 100) ** 0.5),
        (init.MSRAPrelu("in", 0.5), (2 / 1.25 / 200) ** 0.5),
    ],
)
def test_deviation_of_drawn_values(initializer, deviation):
    mx.random.seed(3)
    values = filled(initializer, (100, 200))
    assert abs(values.mean()) < 0.02 * deviation * 2
    assert values.std() == pytest.approx(deviation, rel=0.03)


def test_xavier_counts_the_window_of_convolutions():
    mx.random.seed(3)
    bound = (3 / ((40 * 9 + 80 * 9) / 2)) ** 0.5
    values = filled(init.Xavier(), (80, 40, 3, 3))
    assert 0.98 * bound < np.abs(values).max() <= bound


def test_xavier_refuses_vectors_and_wrong_words():
    with pytest.raises(ValueError, match="cannot be applied to vector"):
        filled(init.Xavier(), (3,))
    with pytest.raises(mx.MXNetError, match="Incorrect factor type"):
        filled(init.Xavier(factor_type="all"), (3, 3))
    with pytest.raises(mx.MXNetError, match="Unknown random type"):
        filled(init.Xavier(rnd_type="cauchy"), (3, 3))


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (3, 2, 2)])
def test_orthogonal(kind, shape):
    values = filled(init.Orthogonal(2.0, kind), shape).reshape(shape[0], -1)
    product = values @ values.T if values.shape[0] <= values.shape[1] else values.T @ values
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_bilinear_kernel():
    values = filled(init.Bilinear(), (2, 1, 4, 4))
    row = np.array([0.25, 0.75, 0.75, 0.25])
    np.testing.assert_allclose(values, np.broadcast_to(np.outer(row, row), (2, 1, 4, 4)))


def test_lstm_bias():
    assert filled(init.LSTMBias(2.0), (8,)).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


def test_seed_and_dtype():
    draws = []
    for _ in range(2):
        mx.random.seed(5)
        draws.append(filled(init.Normal(1.0), (4, 3), dtype="float16"))
    assert draws[0].dtype == np.float16
    np.testing.assert_array_equal(*draws)


def test_load_and_mixed():
    saved = {"arg:a_weight": mx.nd.ones((2,)), "aux:m": mx.nd.ones((2,)) * 2}
    load = init.Load(saved, default_init=init.Constant(9))
    assert filled(load, (2,), "a_weight").tolist() == [1, 1]
    assert filled(load, (2,), "m").tolist() == [2, 2]
    assert filled(load, (2,), "b_weight").tolist() == [9, 9]
    with pytest.raises(mx.MXNetError, match="Shape mismatch"):
        filled(load, (3,), "a_weight")
    with pytest.raises(mx.MXNetError, match="no default Initializer"):
        filled(init.Load(saved), (3,), "b_weight")
    mixed = init.Mixed([".*bias", ".*"], [init.Zero(), init.One()])
    assert filled(mixed, (2,), "x_bias").tolist() == [0, 0]
    assert filled(mixed, (2,), "x_weight").tolist() == [1, 1]
    with pytest.raises(ValueError, match="did not match any pattern"):
        filled(init.Mixed(["a"], [init.One()]), (2,), "b_weight")


@pytest.mark.parametrize(
    ("name", "value"),
    [("moving_mean", 0), ("bn_moving_var", 1), ("x_moving_avg", 0), ("fc_bias", 0), ("fc_weight", 1)],
)
def test_plain_names_still_work_with_a_warning(name, value):
    array = mx.nd.full((2,), 7)
    with pytest.warns(DeprecationWarning, match="init\\(str, NDArray\\)"):
        init.One()(name, array)
    assert (array.asnumpy() == value).all()


def test_verbosity_logs(caplog):
    with caplog.at_level(logging.INFO):
        filled(init.One().set_verbosity(True), (4,))
    assert "Initialized fc_weight as weight: 1.0" in caplog.text


def test_registering_a_class():
    @init.register
    class Ramp(init.Initializer):
        def _init_weight(self, name, arr):
            arr[:] = np.arange(arr.size).reshape(arr.shape)

    assert filled(init.create("ramp"), (2, 2)).tolist() == [[0, 1], [2, 3]]


def test_initializing_compiles_nothing() -> None:
    """Each shape is drawn once, and compiling takes longer than drawing with NumPy."""
    from gluonjax._engine.run import counters

    before = counters.compiled
    weight = mx.nd.zeros((701, 503))
    mx.init.Xavier()(mx.init.InitDesc("a_weight"), weight)
    assert counters.compiled == before
    assert 0 < weight.asnumpy().std() < 1
