"""``mx.np`` functions against NumPy, random draws, and names that MXNet has."""

from __future__ import annotations

import numpy as onp
import pytest

import gluonjax as mx
from gluonjax import gluon, np, npx
from gluonjax._base.errors import MXNetError


@pytest.fixture(autouse=True)
def numpy_mode():
    npx.set_np()


@pytest.mark.parametrize(
    ("obj", "values", "axis"),
    [(1, 9.0, 0), (-1, 9.0, 1), ([0, 2], 9.0, 1), (slice(0, 2), 9.0, 0), (3, [1.0, 2.0, 3.0], None)],
    ids=str,
)  # fmt: skip
def test_insert_and_delete(obj, values, axis) -> None:
    plain = onp.arange(9, dtype="float32").reshape(3, 3)
    x = np.array(plain)
    onp.testing.assert_array_equal(np.insert(x, obj, values, axis).asnumpy(), onp.insert(plain, obj, values, axis))
    onp.testing.assert_array_equal(np.delete(x, obj, axis).asnumpy(), onp.delete(plain, obj, axis))


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "maximum", "minimum"])
def test_pad(mode: str) -> None:
    plain = onp.arange(6, dtype="float32").reshape(2, 3)
    width = ((1, 1), (2, 0))
    onp.testing.assert_array_equal(np.pad(np.array(plain), width, mode).asnumpy(), onp.pad(plain, width, mode))


@pytest.mark.parametrize("name", ["svd", "qr", "eigh"])
def test_decompositions_multiply_back(name: str) -> None:
    plain = onp.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]], onp.float32)
    parts = [part.asnumpy() for part in getattr(np.linalg, name)(np.array(plain))]
    if name == "svd":
        found = (parts[0] * parts[1]) @ parts[2]
    elif name == "qr":
        found = parts[0] @ parts[1]
    else:
        found = (parts[1] * parts[0]) @ parts[1].T
    onp.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-5)


def test_linalg_errors() -> None:
    with pytest.raises(MXNetError, match="must be equal"):
        np.linalg.inv(np.ones((2, 3)))
    with pytest.raises(MXNetError, match="unsupported"):
        np.linalg.det(np.ones((2, 2), dtype="int32"))


DRAWS = {
    "uniform": ((2.0, 4.0), 3.0, 1 / 3), "normal": ((1.0, 2.0), 1.0, 4.0), "exponential": ((2.0,), 2.0, 4.0),
    "gamma": ((3.0, 2.0), 6.0, 12.0), "beta": ((2.0, 3.0), 0.4, 0.04), "gumbel": ((1.0, 2.0), 2.154, 6.58),
    "logistic": ((1.0, 1.0), 1.0, 3.29), "rayleigh": ((2.0,), 2.507, 1.717), "weibull": ((2.0,), 0.886,
    0.2146),
    "pareto": ((5.0,), 0.25, 0.1042), "power": ((2.0,), 0.6667, 0.0556), "chisquare": ((3.0,), 3.0, 6.0),
    "lognormal": ((0.0, 0.5), 1.133, 0.3646),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_moments_of_draws(name: str) -> None:
    parameters, mean, variance = DRAWS[name]
    drawn = getattr(np.random, name)(*parameters, size=(100, 200))
    assert type(drawn) is np.ndarray and drawn.dtype == onp.float32
    value = drawn.asnumpy().astype("float64")
    assert abs(value.mean() - mean) < 5 * (variance / value.size) ** 0.5
    assert abs(value.var() - variance) < 0.2 * variance


def test_draws_follow_the_seed() -> None:
    mx.random.seed(3)
    first = np.random.normal(size=4).tolist()
    mx.random.seed(3)
    assert np.random.normal(size=4).tolist() == first
    npx.random.seed(3)
    assert np.random.normal(size=4).tolist() == first


def test_whole_number_draws() -> None:
    whole = np.random.randint(2, 5, size=(200,))
    assert whole.dtype == onp.int64 and set(whole.tolist()) == {2, 3, 4}
    assert sorted(np.random.choice(5, 5, replace=False).tolist()) == [0, 1, 2, 3, 4]
    assert set(np.random.choice(3, 50, p=np.array([0.5, 0.0, 0.5])).tolist()) == {0, 2}
    x = np.arange(20)
    np.random.shuffle(x)
    assert sorted(x.tolist()) == list(range(20)) and x.tolist() != list(range(20))
    counts = np.random.multinomial(10, [0.5, 0.5], size=(4,))
    assert counts.shape == (4, 2) and set(counts.sum(axis=1).tolist()) == {10}


@pytest.mark.parametrize("name", ["uniform", "normal", "randint"])
def test_wrong_keywords_of_draws(name: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'shape'"):
        getattr(np.random, name)(shape=())


def test_draws_are_differentiable_in_their_parameters() -> None:
    loc = np.array([1.0, 2.0])
    loc.attach_grad()
    with mx.autograd.record():
        np.random.normal(loc, 0.1, size=(3, 2)).sum().backward()
    assert loc.grad.tolist() == [3, 3]


def test_bernoulli() -> None:
    drawn = npx.random.bernoulli(0.25, size=(4000,))
    assert abs(drawn.mean().item() - 0.25) < 0.05
    assert npx.random.bernoulli(logit=np.array([50.0, -50.0])).tolist() == [1, 0]
    with pytest.raises(ValueError, match="but not both"):
        npx.random.bernoulli()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: np.reshape(np.ones((10, 10)), (1,)), MXNetError),
        (lambda: np.reshape(np.ones((10, 10)), (-1, 3)), MXNetError),
        (lambda: np.concatenate([np.ones(2), np.ones(2, dtype="int32")]), MXNetError),
        (lambda: np.max(np.ones((0,))), MXNetError),
        (lambda: np.dot(np.ones((2, 3)), np.ones((2, 3))), MXNetError),
        (lambda: np.ones((2,)).copy(order="F"), NotImplementedError),
        (lambda: np.exp(np.ones(2), where=False), NotImplementedError),
        (lambda: np.clip(np.ones(2), None, None), ValueError),
        (lambda: np.sum([1, 2]), TypeError),
        (lambda: npx.constraint_check(np.array([False], dtype="bool"), "broken"), ValueError),
    ],
)
def test_errors(call, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


class Affine(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.w = self.params.get("w", shape=(4, 2))

    def hybrid_forward(self, F, x, w):
        return F.npx.relu(F.np.dot(x, w)) + F.np.ones((2, 2))


@pytest.mark.parametrize("hybridize", [False, True])
def test_blocks_on_numpy_arrays(hybridize: bool) -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, activation="relu"), Affine())
    net.initialize(mx.init.Uniform(1.0))
    if hybridize:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = np.ones((2, 3))
    with mx.autograd.record():
        y = net(x)
        loss = (y * y).mean()
    loss.backward()
    weight = net[0].weight
    assert type(y) is type(weight.data()) is type(weight.grad()) is np.ndarray
    before = weight.data().asnumpy()
    trainer.step(1)
    onp.testing.assert_allclose(weight.data().asnumpy(), before - 0.1 * weight.grad().asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigh_reads_one_triangle(triangle: str) -> None:
    plain = onp.array([[2.0, 5.0], [1.0, 3.0]], onp.float32)
    found = np.linalg.eigvalsh(np.array(plain), triangle).asnumpy()
    onp.testing.assert_allclose(found, onp.linalg.eigvalsh(plain, triangle), rtol=1e-4)


def test_numbers_have_an_axis_to_squeeze_and_search() -> None:
    number = np.array(3.0)
    assert np.squeeze(number, -1).shape == () and np.argmin(number, 0).item() == 0


@pytest.mark.parametrize("parameter", [-1.0, onp.array([-1.0, 1.0])], ids=["number", "array"])
@pytest.mark.parametrize("name", ["exponential", "rayleigh", "weibull", "pareto", "normal"])
def test_parameters_outside_their_range(name: str, parameter) -> None:
    value = parameter if isinstance(parameter, float) else np.array(parameter)
    arguments = {"scale": value} if name in ("exponential", "rayleigh", "normal") else {"a": value}
    with pytest.raises(ValueError, match=f"random.{name}: expected"):
        getattr(np.random, name)(**arguments)


def test_comparisons_and_whole_numbers_on_the_tape() -> None:
    """Backward of a comparison writes zeros; whole numbers have gradients, both as in MXNet."""
    x, whole = np.ones(2), np.ones((2, 2), dtype="int32")
    x.attach_grad()
    whole.attach_grad()
    x.grad[:] = 5
    with mx.autograd.record():
        truth = x > 0
        flat = np.ravel(whole)
    truth.backward()
    flat.backward()
    assert x.grad.tolist() == [0, 0] and whole.grad.tolist() == [[1, 1], [1, 1]]
