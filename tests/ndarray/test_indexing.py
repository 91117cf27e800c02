"""Random keys against NumPy, bounds, and the texts of the errors."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, nd


def random_key(random, shape, arrays):
    """A key for an array of this shape: integers, slices, None, Ellipsis and, with ``arrays``, index lists."""
    key = []
    length = random.integers(1, 4)
    for axis, size in enumerate(shape[: random.integers(0, len(shape) + 1)]):
        kind = random.integers(0, 5 if arrays else 4)
        if kind == 0:
            key.append(int(random.integers(-size, size)))
        elif kind == 3 and random.integers(0, 2) and axis == 0:
            key.append(None)
            key.append(slice(None))
        elif kind == 4:
            chosen = random.integers(-size, size, length)
            key.append([chosen.tolist(), chosen, nd.array(chosen, dtype="int32")][random.integers(0, 3)])
        else:
            ends = [int(one) for one in random.integers(-size - 1, size + 2, 2)]
            start, stop = (None if random.integers(0, 3) == 0 else end for end in ends)
            step = [None, 1, 2, 3, -1, -2][random.integers(0, 6)]
            key.append(slice(start, stop, step))
    if random.integers(0, 4) == 0:
        full = sum(entry is not None for entry in key) == len(shape)
        key.insert(int(random.integers(0, len(key) + 1)) if full else len(key), Ellipsis)
    return tuple(key)


def as_numpy(key):
    return tuple(k.asnumpy().astype(int) if isinstance(k, nd.NDArray) else k for k in key)


def shown(key):
    return ", ".join(str(k) for k in as_numpy(key))


@pytest.mark.parametrize("arrays", [False, True], ids=["basic", "advanced"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_random_reads_and_writes(arrays, dtype):
    random = np.random.default_rng(17 + arrays)
    for _ in range(150):
        shape = tuple(random.integers(1, 5, random.integers(1, 5)).tolist())
        content = random.integers(0, 1000, shape).astype(dtype)
        key = random_key(random, shape, arrays)
        expected = content[as_numpy(key)]
        ours = nd.array(content, dtype=dtype)
        found = ours[key]
        wanted = expected.shape or (1,)
        assert found.shape == wanted, (shape, shown(key))
        assert found.asnumpy().reshape(expected.shape).tolist() == expected.tolist(), (shape, shown(key))
        assert found.dtype == np.dtype(dtype).type
        if arrays and expected.size != len(set(expected.reshape(-1).tolist())):
            continue  # a place written twice
        value = random.integers(0, 1000, expected.shape).astype(dtype)
        content[as_numpy(key)] = value
        ours[key] = value if random.integers(0, 2) else nd.array(value, dtype=dtype)
        assert ours.asnumpy().tolist() == content.tolist(), (shape, shown(key))


def test_random_views_of_views():
    """Chains of views and writes on both sides, against NumPy's own views."""
    random = np.random.default_rng(23)
    for _ in range(60):
        shape = tuple(random.integers(1, 5, 3).tolist())
        base = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        ours = nd.array(base)
        theirs, views = [base], [ours]
        for _ in range(6):
            at = random.integers(0, len(views))
            view, array = views[at], theirs[at]
            kind = random.integers(0, 3)
            if kind == 0:
                index = int(random.integers(-array.shape[0], array.shape[0]))
                if array.ndim > 1:
                    views.append(view[index])
                    theirs.append(array[index])
            elif kind == 1:
                start = int(random.integers(0, array.shape[0]))
                views.append(view[start:])
                theirs.append(array[start:])
            else:
                views.append(view.reshape((-1,)))
                theirs.append(array.reshape(-1))
            at = random.integers(0, len(views))
            number = float(random.integers(100, 200))
            if random.integers(0, 2):
                views[at][:] = number
                theirs[at][...] = number
            else:
                views[at] += number
                theirs[at] += np.float32(number)
        for view, array in zip(views, theirs):
            assert view.asnumpy().tolist() == array.tolist()


@pytest.mark.parametrize("tier", ["numpy", "jax"])
def test_both_kinds_of_content(tier):
    """The same reads and writes on arrays whose content is a jax.Array."""
    content = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    a = nd.array(content)
    if tier == "jax":
        a.jax
        assert not isinstance(a._value, np.ndarray)
    keys = [0, slice(1, 2), (0, 1), (slice(None), slice(0, 3, 2)), (Ellipsis, -1), ([0, 1], [2, 0]), (None, 1)]
    keys.append((slice(None, None, -1), 2))
    for key in keys:
        assert a[key].asnumpy().tolist() == content[key].tolist()
        a[key] = a[key] * 2 + 1
        content[key] = content[key] * 2 + 1
        assert a.asnumpy().tolist() == content.tolist()


def test_gradients_of_random_reads():
    random = np.random.default_rng(29)
    for _ in range(40):
        shape = tuple(random.integers(1, 5, random.integers(1, 4)).tolist())
        key = random_key(random, shape, True)
        x = nd.array(random.normal(size=shape))
        x.attach_grad()
        with autograd.record():
            y = x[key]
            z = (y * y).sum() if y.size else None
        if z is None:
            continue
        z.backward()
        expected = np.zeros(shape, np.float32)
        np.add.at(expected, as_numpy(key), 2 * x.asnumpy()[as_numpy(key)])
        np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5, err_msg=f"{shape} {shown(key)}")


OUTSIDE = {
    "integer": (3, 0, 3), "negative": (-4, 0, 3), "second axis": ((0, 4), 1, 4), "list": ([0, 3], 0, 3),
    "negative list": ([-4], 0, 3), "list on second axis": ((slice(None), [5]), 1, 4),
    "array": (np.array([7]), 0, 3), "ndarray": (nd.array([3], dtype="int32"), 0, 3),
    "pair": (([0], [-5]), 1, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_out_of_bounds(name):
    key, axis, size = OUTSIDE[name]
    a = nd.zeros((3, 4))
    with pytest.raises(IndexError, match=f"out of bounds for axis {axis} with size {size}") as caught:
        a[key]
    assert isinstance(caught.value, mx.MXNetError)
    with pytest.raises(IndexError, match="out of bounds"):
        a[key] = 1
    assert not a.asnumpy().any()


@pytest.mark.parametrize(
    ("key", "kind", "text"),
    [
        ((0, 0, 0), IndexError, r"too many indices \(3\) for array with 2 dimensions"),
        ((Ellipsis, Ellipsis), IndexError, "more than one ellipsis"),
        ("a", ValueError, "does not support slicing with key a of type <class 'str'>"),
        (1.5, ValueError, "does not support slicing with key"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero"),
        (nd.array([1, 0, 1], dtype="bool"), ValueError, "Cannot perform boolean indexing in legacy mode"),
        (([0, 1], [0, 1, 2]), ValueError, "cannot be broadcast to a single shape"),
    ],
)
def test_wrong_keys(key, kind, text):
    with pytest.raises(kind, match=text):
        nd.zeros((3, 4))[key]


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (np.ones((5,)), ValueError, r"could not be broadcast together.*\(5,\) and requested shape \(3, 4\)"),
        (nd.ones((2, 3, 4)), ValueError, "could not be broadcast"),
        ("x", TypeError, "does not support assignment with non-array-like"),
        (None, TypeError, "non-array-like object None"),
    ],
)
def test_wrong_values(value, kind, text):
    a = nd.zeros((3, 4))
    with pytest.raises(kind, match=text):
        a[:] = value
    assert not a.asnumpy().any()


def test_zero_size_results():
    a = nd.arange(12).reshape((3, 4))
    assert a[3:].shape == (0, 4) and a[:, 4:].shape == (3, 0) and a[2:1, 1].shape == (0,) and a[[]].shape == (0, 4)
    assert a[3:].asnumpy().shape == (0, 4) and len(a[3:]) == 0 and list(a[3:]) == [] and not a[3:]
    assert (a[3:] * 2 + 1).shape == (0, 4) and a[3:].sum(axis=0).asnumpy().tolist() == [0.0] * 4
    assert nd.concat(a[3:], a, dim=0).shape == (3, 4)
    a[3:] = 5
    a[[]] = 5
    assert a.asnumpy().tolist() == np.arange(12).reshape(3, 4).tolist()


def test_numpy_integers_and_arrays_of_one_element_index():
    a = nd.arange(5)
    for kind in (np.int8, np.uint8, np.int32, np.int64):
        assert a[kind(3)].asscalar() == 3
    assert list(range(10))[nd.array([4], dtype="int32")] == 4
    assert a[nd.array([1], dtype="int32")[0].asscalar() :].shape == (4,)
