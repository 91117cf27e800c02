"""``mx.np.ndarray``: indexing, views, mixed operands, protocols, files, gradients through writes."""

from __future__ import annotations

import pickle

import numpy as onp
import pytest

import gluonjax as mx
from gluonjax import autograd, np, npx
from gluonjax._base.errors import MXNetError


@pytest.fixture(autouse=True)
def numpy_mode():
    npx.set_np()


def test_shapes_of_results() -> None:
    x = np.zeros((2, 3))
    assert x[0, 0].shape == () and x.sum().shape == () and np.array(1).shape == ()
    assert np.zeros(()).item() == 0 and np.zeros((0, 2)).T.shape == (2, 0)


@pytest.mark.parametrize(
    "key",
    [0, -1, (1, 2), slice(1, None), (slice(None), 1), ..., (..., 0), None, [0, 2], ([0, 2], [1, 1]), (0, [1,
    2]), True, False,
     (slice(None), None, 1), (slice(None, None, -1),), ([True, False, True],)],
    ids=str,
)  # fmt: skip
def test_reads_as_numpy(key) -> None:
    plain = onp.arange(9, dtype="float32").reshape(3, 3)
    found = np.array(plain)[key]
    assert found.shape == plain[key].shape
    onp.testing.assert_array_equal(found.asnumpy(), plain[key])


@pytest.mark.parametrize("key", [0, (1, 2), slice(1, None), (slice(None), 1), ..., [0, 2], ([0, 2], [1, 1])], ids=str)
def test_writes_as_numpy(key) -> None:
    plain = onp.arange(9, dtype="float32").reshape(3, 3)
    x = np.array(plain)
    x[key] = 7
    plain[key] = 7
    onp.testing.assert_array_equal(x.asnumpy(), plain)


def test_masks() -> None:
    plain = onp.arange(6, dtype="float32").reshape(2, 3)
    x = np.array(plain)
    onp.testing.assert_array_equal(x[x > 2].asnumpy(), plain[plain > 2])
    rows = np.array([True, False], dtype="bool")
    onp.testing.assert_array_equal(x[rows].asnumpy(), plain[[True, False]])
    x[x > 2] = -1
    x[rows] = np.array([7, 8, 9])
    plain[plain > 2] = -1
    plain[0] = [7, 8, 9]
    onp.testing.assert_array_equal(x.asnumpy(), plain)
    with pytest.raises(IndexError, match="boolean index did not match"):
        x[np.ones((3, 3), dtype="bool")]


def test_slices_are_views() -> None:
    x = np.zeros((2, 2))
    x[0][1] = 3
    x[1:][:] = 5
    assert x.tolist() == [[0, 3], [5, 5]]
    assert np.may_share_memory(x, x[0]) and not np.may_share_memory(x, x.copy())


def test_index_errors() -> None:
    x = np.zeros((2, 2))
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 2"):
        x[5]
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0, 0]
    with pytest.raises(IndexError, match="out of bound"):
        np.take(x, np.array([9]))


@pytest.mark.parametrize("other", [None, "a", onp.ones(2), mx.nd.ones(2)], ids=lambda o: type(o).__name__)
def test_operands_of_other_types_are_refused(other) -> None:
    with pytest.raises(TypeError, match="not supported"):
        np.ones(2) + other
    with pytest.raises(TypeError, match="not supported"):
        np.add(other, np.ones(2))


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [("int32", "float16", "float16"), ("float32", "float64", "float64"), ("int8", "int64", "int64"),
     ("bool", "uint8", "uint8"), ("float32", "int64", "float32")],
)  # fmt: skip
def test_promotion(left: str, right: str, wanted: str) -> None:
    x, y = np.ones(2, dtype=left), np.ones(2, dtype=right)
    assert (x + y).dtype == (y * x).dtype == onp.dtype(wanted)


@pytest.mark.parametrize("name", ["maximum", "equal", "hypot"])
def test_mixed_types_are_refused(name: str) -> None:
    with pytest.raises(MXNetError, match="one type"):
        getattr(np, name)(np.ones(2), np.ones(2, dtype="float64"))


def test_in_place_keeps_memory_and_type() -> None:
    x = np.ones((2,), dtype="int32")
    same = x
    x += 2.9
    x *= 3
    assert same is x and x.tolist() == [9, 9] and x.dtype == onp.int32
    out = np.zeros(2)
    assert np.add(np.ones(2), 1, out=out) is out and out.tolist() == [2, 2]
    with pytest.raises(MXNetError, match="out has shape"):
        np.add(np.ones(2), 1, out=np.zeros(3))


def test_truth() -> None:
    assert bool(np.array([1])) and not np.array(0)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(np.ones(2))
    with pytest.warns(DeprecationWarning, match="empty array"):
        assert not np.array([])


def test_numpy_functions_come_here() -> None:
    x = np.array([[1, 2], [3, 4]])
    assert isinstance(onp.sum(x), np.ndarray) and onp.sum(x).item() == 10
    assert isinstance(onp.linalg.norm(x), np.ndarray)
    assert onp.exp(np.zeros(2)).tolist() == [1, 1]
    assert onp.median(x).item() == 2.5
    assert onp.asarray(x).dtype == onp.float32


def test_conversions() -> None:
    x = np.array([[1, 2]])
    legacy = x.as_nd_ndarray()
    assert type(legacy) is mx.nd.NDArray and type(legacy.as_np_ndarray()) is np.ndarray
    legacy[:] = 5
    assert x.tolist() == [[5, 5]]
    with pytest.raises(ValueError, match="as_np_ndarray"):
        np.array(legacy)
    assert type(mx.nd.relu(x)) is np.ndarray
    with pytest.warns(DeprecationWarning, match="as_in_ctx"):
        assert x.as_in_context(mx.cpu()) is x
    again = pickle.loads(pickle.dumps(x))
    assert type(again) is np.ndarray and again.tolist() == x.tolist()


def test_save_and_load(tmp_path) -> None:
    file = str(tmp_path / "arrays")
    arrays = {"scalar": np.array(2), "empty": np.zeros((0, 2)), "whole": np.array([1, 2], dtype="int64")}
    npx.save(file, arrays)
    found = npx.load(file)
    assert {name: (a.shape, a.dtype) for name, a in found.items()} == {n: (a.shape, a.dtype) for n, a in arrays.items()}
    npx.save(file, [np.ones(2)])
    assert npx.load(file)[0].tolist() == [1, 1]
    with pytest.raises(TypeError, match=r"mx\.np arrays"):
        npx.save(file, [mx.nd.ones(2)])


def test_gradient_through_a_write() -> None:
    x, value = np.ones(4), np.array([3.0])
    x.attach_grad()
    value.attach_grad()
    with autograd.record():
        y = x * 2
        y[1] = value[0] * 5
        y.sum().backward()
    assert x.grad.tolist() == [2, 0, 2, 2] and value.grad.tolist() == [5]


@pytest.mark.parametrize("name", ["std", "var"])
def test_gradients_that_mxnet_lacks(name: str) -> None:
    """MXNet passes zeros back through std and var; here the gradient is the right one."""
    plain = onp.array([0.2, 0.9, 0.4])
    x = np.array(plain, dtype="float64")
    x.attach_grad()
    with autograd.record():
        getattr(np, name)(x).backward()
    step = 1e-6
    wanted = [
        (getattr(onp, name)(plain + step * unit) - getattr(onp, name)(plain - step * unit)) / (2 * step)
        for unit in onp.eye(3)
    ]
    onp.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-5)


def test_second_derivative() -> None:
    x = np.array([2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        first = autograd.grad([(x**3).sum()], [x], create_graph=True, retain_graph=True)[0]
        first.sum().backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), [12, 18])
