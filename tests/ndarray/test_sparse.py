"""Sparse arrays: construction, what is stored, which results stay sparse, errors, gradients, files.

The expected storage types and indices are what MXNet 1.9.1 answers for the same calls.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, nd
from gluonjax._base.errors import MXNetError
from gluonjax._files.params import write_raw
from gluonjax.base import NotSupportedForSparseNDArray

DENSE = np.array([[0, 0.5, 0], [0, 0, 0], [0.25, 0, 0.75]], np.float32)
LETTERS = {"d": "default", "c": "csr", "r": "row_sparse"}


def of_type(letter, values=DENSE):
    return nd.array(values).tostype(LETTERS[letter])


def zero_row():
    """Stores a row of zeros."""
    return nd.sparse.row_sparse_array(([[0, 0, 0], [1, 1, 1]], [0, 1]), shape=(3, 3))


def zero_element():
    """Stores an element that is zero."""
    return nd.sparse.csr_matrix(([0, 1, 2], [0, 1, 1], [0, 1, 2, 3]), shape=(3, 3))


def lists(*arrays):
    return [array.asnumpy().tolist() for array in arrays]


# -- construction -----------------------------------------------------------------------------------------------


def test_dense_to_sparse_and_back():
    matrix, rows = of_type("c"), of_type("r")
    assert lists(matrix.data, matrix.indices, matrix.indptr) == [[0.5, 0.25, 0.75], [1, 0, 2], [0, 1, 1, 3]]
    assert lists(rows.data, rows.indices) == [[[0, 0.5, 0], [0.25, 0, 0.75]], [0, 2]]
    for array in (matrix, rows):
        assert array.indices.dtype == np.int64 and array.data.dtype == np.float32
        assert type(array.tostype("default")) is nd.NDArray
        np.testing.assert_array_equal(array.tostype("default").asnumpy(), DENSE)
        np.testing.assert_array_equal(array.asnumpy(), DENSE)


@pytest.mark.parametrize(
    ("arguments", "dtype"),
    [
        (((np.array([1.0, 2, 3]), [1, 0, 2], [0, 1, 1, 3]),), np.float64),
        ((([1, 2, 3], [1, 0, 2], [0, 1, 1, 3]),), np.float32),
        (((nd.array([1, 2, 3], dtype="int32"), nd.array([1, 0, 2]), nd.array([0, 1, 1, 3])),), np.int32),
        (((np.array([3, 1, 1.5, 0.5]), ([2, 0, 2, 2], [2, 1, 0, 0])),), np.float64),
        (([[0, 1, 0], [0, 0, 0], [2, 0, 3]],), np.float32),
        ((np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]]),), np.int64),
    ],
    ids=["arrays", "lists", "ndarrays", "coordinates", "dense list", "dense numpy"],
)
def test_csr_matrix_forms(arguments, dtype):
    made = nd.sparse.csr_matrix(*arguments)
    assert made.dtype == dtype and made.shape == (3, 3)
    assert made.asnumpy().tolist() == [[0, 1, 0], [0, 0, 0], [2, 0, 3]]
    assert lists(made.indices, made.indptr) == [[1, 0, 2], [0, 1, 1, 3]]


def test_row_sparse_forms():
    made = nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 4]), shape=(6, 2))
    assert made.asnumpy().tolist() == [[0, 0], [1, 2], [0, 0], [0, 0], [3, 4], [0, 0]]
    assert nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 4])).shape == (5, 2)
    assert nd.sparse.row_sparse_array((2, 3, 4)).shape == (2, 3, 4)
    assert lists(nd.sparse.row_sparse_array(DENSE).indices) == [[0, 2]]
    copy = nd.sparse.row_sparse_array(made, dtype="int32", ctx=mx.cpu(1))
    assert copy.dtype == np.int32 and copy.context == mx.cpu(1) and lists(copy.indices) == [[1, 4]]


def test_scipy():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    tangled = scipy_sparse.csr_matrix(
        (np.array([1.0, 2, 3, 4, 5, 6, 1]), np.array([0, 2, 2, 0, 1, 2, 1]), np.array([0, 2, 3, 7])),
        shape=(3, 3),
    )
    for made in (nd.sparse.array(tangled), nd.array(tangled), nd.sparse.csr_matrix(tangled)):
        assert made.stype == "csr" and made.dtype == np.float64
        assert lists(made.data, made.indices) == [[1, 2, 3, 4, 6, 6], [0, 2, 2, 0, 1, 2]]
        back = made.asscipy()
        assert type(back) is scipy_sparse.csr_matrix and (back != tangled).nnz == 0


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_empty(stype):
    for made in (
        nd.sparse.zeros(stype, (2, 3)), nd.sparse.empty(stype, (2, 3)), nd.zeros((2, 3), stype=stype),
        nd.empty((2, 3), stype=stype),
    ):  # fmt: skip
        assert made.stype == stype and made.dtype == np.float32 and lists(made.indices) == [[]]
        assert not made.asnumpy().any()
        made.check_format()


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.sparse.csr_matrix(nd.ones((2, 2)), shape=(3, 2)),
        lambda: nd.sparse.csr_matrix((2, 2), shape=(3, 2)),
        lambda: nd.sparse.csr_matrix((1, 2, 3, 4)),
        lambda: nd.sparse.csr_matrix(([], [], [0])),
        lambda: nd.sparse.csr_matrix(([1], [[0]], [0, 1]), shape=(1, 1)),
        lambda: nd.sparse.csr_matrix(of_type("r")),
        lambda: nd.sparse.row_sparse_array((2, 2), shape=(3, 2)),
        lambda: nd.sparse.row_sparse_array(([[1, 2]], [0]), shape=(3, 3)),
        lambda: nd.sparse.row_sparse_array(of_type("c")),
        lambda: nd.sparse.zeros("coo", (2, 2)),
        lambda: nd.sparse.empty("default", (2, 2)),
        lambda: nd.sparse.array(np.ones((2, 2))),
        lambda: nd.array([1, 2]).tostype("csr"),
        lambda: of_type("c").tostype("row_sparse"),
        lambda: of_type("r").tostype("csr"),
    ],
)
def test_construction_errors(call):
    with pytest.raises(ValueError):
        call()


@pytest.mark.parametrize(
    ("stype", "parts", "complaint"),
    [
        ("csr", ([7, 8, 9], [0, 2, 1], [0, 5, 2, 3]), "indptr must rise"),
        ("csr", ([7, 8, 9], [2, 1, 1], [0, 2, 2, 3]), "ascending"),
        ("csr", ([7, 8, 9], [1, 2, 1], [0, 2, 2, 4]), "indptr must rise"),
        ("csr", ([7, 8, 9], [0, 2, 1], [0, -2, 2, 3]), "indptr must rise"),
        ("csr", ([7, 8, 9], [0, 9, 1], [0, 2, 2, 3]), r"lie in \[0, 4\)"),
        ("csr", ([7, 8, 9], [0, 2, 1], [0, 3]), "indptr must have 4"),
        ("row_sparse", ([[1, 2, 3, 4]] * 2, [1, 4]), r"lie in \[0, 3\)"),
        ("row_sparse", ([[1, 2, 3, 4]] * 2, [1, 0]), "ascending"),
        ("row_sparse", ([[1, 2, 3, 4]] * 2, [1, -2]), r"lie in \[0, 3\)"),
        ("row_sparse", ([[1, 2, 3, 4]] * 2, [1]), "1 indices for 2"),
    ],
)
def test_check_format(stype, parts, complaint):
    make = nd.sparse.csr_matrix if stype == "csr" else nd.sparse.row_sparse_array
    made = make(parts, shape=(3, 4))
    assert made.indices.asnumpy().tolist() == parts[1]
    with pytest.raises(MXNetError, match=complaint):
        made.check_format()


# -- what is stored ---------------------------------------------------------------------------------------------

STORED = [
    (lambda: zero_row(), [0, 1]),
    (lambda: zero_row() * 2, [0, 1]),
    (lambda: zero_row().copy(), [0, 1]),
    (lambda: zero_row().astype("float64"), [0, 1]),
    (lambda: zero_row().tostype("row_sparse"), [0, 1]),
    (lambda: zero_row() + of_type("r"), [0, 1, 2]),
    (lambda: zero_row() - zero_row(), [0, 1]),
    (lambda: zero_row() * of_type("r"), [0, 1, 2]),
    (lambda: zero_row() * nd.ones((3, 3)), [0, 1]),
    (lambda: nd.add_n(of_type("r"), zero_row(), zero_row()), [0, 1, 2]),
    (lambda: of_type("r") * 0, [0, 2]),
    (lambda: nd.zeros_like(zero_row()), []),
    (lambda: nd.sparse.retain(of_type("r"), nd.array([0, 1])), [0, 1]),
    (lambda: nd.sparse.retain(of_type("r"), nd.array([2, 0])), [2, 0]),
    (lambda: zero_element() * 2, [0, 1, 1]),
    (lambda: nd.square(zero_element()), [0, 1, 1]),
    (lambda: zero_element().copy(), [0, 1, 1]),
    (lambda: zero_element() + of_type("c"), [1, 1, 0, 1, 2]),
    (lambda: zero_element()[0:2], [0, 1]),
    (lambda: nd.slice(zero_element(), begin=(0, 0), end=(2, 1)), [0]),
    (lambda: of_type("c")[1:], [0, 2]),
    (lambda: of_type("c")[-2:], [0, 2]),
    (lambda: of_type("c")[-1], [0, 2]),
    (lambda: nd.dot(nd.array(DENSE), of_type("c"), transpose_b=True), [0, 2]),
]


@pytest.mark.parametrize("row", range(len(STORED)))
def test_stored_places(row):
    make, indices = STORED[row]
    assert make().indices.asnumpy().tolist() == indices


def test_a_write_forgets_what_was_stored():
    array = zero_row()
    array[:] = nd.array(DENSE)
    assert lists(array.indices) == [[0, 2]]
    array += array
    assert lists(array.indices, array) == [[0, 2], (DENSE * 2).tolist()]
    zero_row().copyto(array)
    assert lists(array.indices) == [[0, 1]]


def test_detached_arrays_share_memory():
    array = of_type("r")
    other = array.detach()
    array[:] = 3
    assert other.stype == "row_sparse" and lists(other.indices) == [[0, 1, 2]]


# -- storage types of results -----------------------------------------------------------------------------------

SAME = (
    "abs arcsin arcsinh arctan arctanh cbrt ceil degrees expm1 fix floor log1p negative radians relu rint round sign "
    "sin sinh sqrt square stop_gradient tan tanh trunc zeros_like make_loss identity"
).split()
FALLBACK = "cos cosh exp log sigmoid ones_like rsqrt reciprocal softmax transpose norm sum".split()

# operator: results for dc, dr, cd, cc, cr, rd, rc, rr
PAIRS = ["dc", "dr", "cd", "cc", "cr", "rd", "rc", "rr"]
BINARY = {
    "elemwise_add": "d d d c d d d r", "elemwise_sub": "d d d c d d d r", "elemwise_mul": "c r c c d r d r",
    "elemwise_div": "d d d d d d d d", "_maximum": "d d d c d d d r", "_minimum": "d d d c d d d r",
    "_hypot": "d d d c d d d r", "broadcast_mul": "d d c d d d d d", "broadcast_div": "d d c d d d d d",
    "broadcast_add": "d d d d d d d d", "add_n": "d d d d d d d r", "dot": "c d d d d d d d",
    "_identity_with_attr_like_rhs": "c r d c r d c r", "where": "d d d d d d d d",
}  # fmt: skip

# operator: the scalars for which the result stays sparse, of 0, 2 and -1
SCALAR = {
    "_plus_scalar": [0], "_minus_scalar": [0], "_mul_scalar": [0, 2, -1], "_div_scalar": [0, 2, -1],
    "_rminus_scalar": [], "_rdiv_scalar": [], "_power_scalar": [], "_maximum_scalar": [], "_equal_scalar": [2, -1],
    "_not_equal_scalar": [0], "_greater_scalar": [0, 2], "_greater_equal_scalar": [2], "_lesser_scalar": [0, -1],
    "_lesser_equal_scalar": [-1], "_scatter_plus_scalar": [0, 2, -1], "_scatter_minus_scalar": [0, 2, -1],
}  # fmt: skip


@pytest.mark.parametrize("letter", ["c", "r"])
@pytest.mark.parametrize("name", [*SAME, *FALLBACK])
def test_unary(name, letter):
    function = getattr(nd, name)
    result = function(of_type(letter))
    assert result.stype == (LETTERS[letter] if name in SAME else "default")
    np.testing.assert_array_equal(result.asnumpy(), function(nd.array(DENSE)).asnumpy())


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_binary(name):
    function = getattr(nd, name, None) or getattr(nd._internal, name)
    for pair, letter in zip(PAIRS, BINARY[name].split()):
        inputs = [of_type(one) for one in pair]
        if name == "where":
            inputs.insert(0, inputs[0])
        result = function(*inputs)
        assert (pair, result.stype) == (pair, LETTERS[letter])
        expected = function(*[one.tostype("default") for one in inputs])
        np.testing.assert_array_equal(result.asnumpy(), expected.asnumpy())


@pytest.mark.parametrize("name", SCALAR)
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_scalar(name):
    function = getattr(nd._internal, name)
    for letter in "cr":
        for scalar in (0, 2, -1):
            result = function(of_type(letter), scalar=scalar)
            assert (scalar, result.stype) == (
                scalar,
                LETTERS[letter] if scalar in SCALAR[name] else "default",
            )
            if not name.startswith("_scatter"):
                np.testing.assert_array_equal(
                    result.asnumpy(), function(nd.array(DENSE), scalar=scalar).asnumpy()
                )


def test_scatter_operators_compute_on_what_is_stored():
    plus = nd._internal._scatter_plus_scalar
    assert plus(of_type("r"), scalar=1).asnumpy().tolist() == [[1, 1.5, 1], [0, 0, 0], [1.25, 1, 1.75]]
    assert plus(of_type("c"), scalar=1).asnumpy().tolist() == [[0, 1.5, 0], [0, 0, 0], [1.25, 0, 1.75]]
    out = nd.sparse.zeros("row_sparse", (3, 3))
    plus(of_type("r"), scalar=1, out=out)
    assert lists(out.indices) == [[0, 2]]


DOT = [
    # left, right, transpose_a, transpose_b, result
    ("c", "d", False, False, "d"), ("c", "d", True, False, "r"), ("c", "d", True, True, "d"),
    ("c", "r", True, False, "r"),
    ("c", "r", False, False, "d"), ("d", "c", False, False, "c"), ("d", "c", False, True, "c"),
    ("d", "c", True, False, "d"),
    ("r", "d", False, False, "d"), ("c", "c", True, False, "d"), ("d", "d", False, False, "d"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "first", "second", "result"), DOT)
@pytest.mark.parametrize("wanted", [None, "default", "csr", "row_sparse"])
def test_dot(left, right, first, second, result, wanted):
    options = {"transpose_a": first, "transpose_b": second}
    made = nd.sparse.dot(
        of_type(left), of_type(right), **options, **({"forward_stype": wanted} if wanted else {})
    )
    assert made.stype == (wanted or LETTERS[result])
    truth = np.dot(DENSE.T if first else DENSE, DENSE.T if second else DENSE)
    np.testing.assert_allclose(made.asnumpy(), truth, rtol=1e-6)


def test_dot_with_a_vector_is_dense():
    assert nd.dot(of_type("c"), nd.ones((3,)), transpose_a=True).stype == "default"


OTHERS = [
    (lambda x: nd.clip(x, -1, 1), "cr"), (lambda x: nd.clip(x, 0.3, 1), ""), (lambda x: x.astype("int32"), "cr"),
    (lambda x: nd.slice(x, begin=(0,), end=(2,)), "c"), (lambda x: nd.slice(x, begin=(0,), end=(3,), step=(2,)), ""),
    (lambda x: nd.concat(x, x, dim=0), "c"), (lambda x: nd.concat(x, x, dim=1), ""),
    (lambda x: nd.cast(x, dtype="int32"), ""),
    (lambda x: nd.take(x, nd.array([0, 2])), "c"), (lambda x: nd.take(x, nd.array([0, 2]), mode="raise"), ""),
    (lambda x: x.as_in_context(mx.cpu(1)), "cr"), (lambda x: x.copyto(mx.cpu(1)), "cr"), (lambda x: x.T, ""),
    (lambda x: x + x, "cr"), (lambda x: x + 1, ""), (lambda x: x * 2, "cr"), (lambda x: -x, "cr"),
    (lambda x: abs(x), "cr"),
    (lambda x: x / 2, "cr"), (lambda x: x / x, ""), (lambda x: x**2, ""), (lambda x: x == x, ""),
    (lambda x: x - 0, "cr"),
    (lambda x: x * nd.ones((3, 1)), "c"), (lambda x: nd.ones((3, 3)) * x, ""), (lambda x: x * nd.ones((3, 3)), "cr"),
    (lambda x: nd.sparse.subtract(x, 1), ""), (lambda x: nd.sparse.divide(x, x), ""), (lambda x: nd.array(x), "cr"),
    (lambda x: x.expand_dims(0), ""), (lambda x: x.flatten(), ""), (lambda x: x.broadcast_to((3, 3)), ""),
    (lambda x: nd._internal._square_sum(x, axis=1, keepdims=True), "r"),
    (lambda x: nd._internal._square_sum(x, axis=1), ""),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(OTHERS)))
@pytest.mark.parametrize("letter", ["c", "r"])
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_other_results(row, letter):
    function, sparse = OTHERS[row]
    result = function(of_type(letter))
    assert result.stype == (LETTERS[letter] if letter in sparse else "default")
    np.testing.assert_array_equal(result.asnumpy(), function(nd.array(DENSE)).asnumpy())


def test_in_place_operators_keep_the_type():
    for letter in "cr":
        array = before = of_type(letter)
        array += 1
        array *= 2
        array -= 1
        array /= 2
        assert array is before and array.stype == LETTERS[letter]
        np.testing.assert_allclose(array.asnumpy(), ((DENSE + 1) * 2 - 1) / 2)


def test_out_takes_any_storage_type():
    out = nd.zeros((3, 3), stype="csr")
    nd.broadcast_add(nd.ones((3, 3)), nd.ones((3, 3)), out=out)
    assert out.stype == "csr" and (out.asnumpy() == 2).all() and len(out.indices) == 9


# -- interface --------------------------------------------------------------------------------------------------

UNSUPPORTED = [
    ("cr", NotImplementedError, lambda x: x.size), ("cr", NotImplementedError, lambda x: x.asscalar()),
    ("cr", NotSupportedForSparseNDArray, lambda x: x.reshape((9,))),
    ("cr", NotSupportedForSparseNDArray, lambda x: x._at(0)),
    ("cr", NotSupportedForSparseNDArray, lambda x: x._slice(0, 1)), ("c", ValueError, lambda x: x[::2]),
    ("cr", ValueError, lambda x: x[0, 1]), ("cr", ValueError, lambda x: x[nd.array([0])]),
    ("r", TypeError, lambda x: x[0]),
    ("r", TypeError, lambda x: x[0:2]), ("cr", ValueError, bool), ("cr", ValueError, lambda x: x.as_np_ndarray()),
    ("cr", TypeError, lambda x: x.copyto(3)), ("c", TypeError, lambda x: x.copyto(of_type("r"))),
    ("r", TypeError, lambda x: x.copyto(of_type("c"))), ("cr", MXNetError, lambda x: x.copyto(nd.zeros((2, 2)))),
    ("cr", MXNetError, lambda x: x.tostype("coo")), ("c", ValueError, lambda x: x.__setitem__(slice(None), 3)),
    ("cr", ValueError, lambda x: x.__setitem__(slice(0, 1), 3)),
    ("cr", TypeError, lambda x: x.__setitem__(slice(None), "a")),
    ("cr", TypeError, lambda x: x.__setitem__(0, 1)), ("c", MXNetError, lambda x: nd.cast_storage(x, "row_sparse")),
    ("c", MXNetError, lambda x: nd.sparse.retain(x, nd.array([0]))),
    ("c", AttributeError, lambda x: x.retain(nd.array([0]))),
    ("r", AttributeError, lambda x: x.indptr), ("cr", NotImplementedError, lambda x: setattr(x, "data", 1)),
    ("r", MXNetError, lambda x: nd.sparse.retain(x, nd.array([0]), invalid_arg="x")),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(UNSUPPORTED)))
def test_unsupported(row):
    letters, kind, call = UNSUPPORTED[row]
    for letter in letters:
        with pytest.raises(kind):
            call(of_type(letter))


def test_text_and_facts():
    assert repr(of_type("c")) == "\n<CSRNDArray 3x3 @cpu(0)>"
    assert repr(of_type("r")) == "\n<RowSparseNDArray 3x3 @cpu(0)>"
    assert (of_type("c")._num_aux, of_type("r")._num_aux) == (2, 1)
    assert len(of_type("c")) == 3 and of_type("r").ndim == 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        array = of_type("r")
        assert array.copyto(array) is False
        array[:] = np.ones((3, 3), np.float32)
    assert [w.category for w in caught] == [RuntimeWarning] * 2 and (array.asnumpy() == 1).all()


def test_csr_rows():
    matrix = of_type("c")
    assert matrix[:] is matrix
    for key, rows in [
        (0, slice(0, 1)),
        (-1, slice(2, 3)),
        (slice(0, 2), slice(0, 2)),
        (slice(None, 2), slice(0, 2)),
    ]:
        assert matrix[key].stype == "csr"
        np.testing.assert_array_equal(matrix[key].asnumpy(), DENSE[rows])
    assert matrix[7].shape == (0, 3)


@pytest.mark.parametrize("make", [zero_row, zero_element, lambda: of_type("c"), lambda: of_type("r")])
def test_files_and_pickles(make, tmp_path):
    array = make()
    nd.save(str(tmp_path / "arrays"), {"a": array, "b": nd.ones((2,))})
    fresh = type(array).__new__(type(array))
    fresh.__setstate__({"handle": write_raw(array._to_block())})
    for loaded in (nd.load(str(tmp_path / "arrays"))["a"], pickle.loads(pickle.dumps(array)), fresh):
        assert type(loaded) is type(array) and loaded.dtype == array.dtype
        assert lists(loaded, loaded.indices, loaded.data) == lists(array, array.indices, array.data)


# -- gradients --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", ["d", "c", "r"])
@pytest.mark.parametrize("stype", [None, "default", "csr", "row_sparse"])
def test_gradient_buffers(letter, stype):
    array = of_type(letter)
    array.attach_grad(stype=stype)
    assert array.grad.stype == (stype or LETTERS[letter])
    with autograd.record():
        result = nd.square(array).tostype("default")
    result.backward()
    np.testing.assert_allclose(array.grad.asnumpy(), 2 * DENSE)
    if array.grad.stype == "row_sparse":
        assert lists(array.grad.indices) == [[0, 2]]


def test_gradients_flow_through_casts():
    array = nd.array(DENSE)
    array.attach_grad()
    with autograd.record():
        result = (array.tostype("csr") * 3).tostype("default") + array.tostype("row_sparse").tostype(
            "default"
        )
    result.backward()
    assert (array.grad.asnumpy() == 4).all()
    with autograd.record():
        result = of_type("r") * array
    assert autograd.grad(result, [array])[0].stype == "default"


def test_embedding_and_dot_gradients_are_row_sparse():
    weight = nd.ones((5, 2))
    weight.attach_grad(stype="row_sparse")
    with autograd.record():
        rows = nd.Embedding(nd.array([1, 3, 3]), weight, input_dim=5, output_dim=2, sparse_grad=True)
    rows.backward()
    assert lists(weight.grad.indices, weight.grad.data) == [[1, 3], [[1, 1], [2, 2]]]
    weight = nd.ones((3, 2)).tostype("row_sparse")
    weight.attach_grad()
    with autograd.record():
        result = nd.dot(of_type("c"), weight)
    result.backward()
    assert weight.grad.stype == "row_sparse"
    np.testing.assert_allclose(weight.grad.asnumpy(), DENSE.T @ np.ones((3, 2), np.float32))


def test_retain_gradient():
    array = of_type("r")
    array.attach_grad()
    with autograd.record():
        result = nd.sparse.retain(array, nd.array([0, 1]))
    result.backward()
    assert array.grad.asnumpy().tolist() == [[1, 1, 1], [1, 1, 1], [0, 0, 0]]


# -- optimizer steps --------------------------------------------------------------------------------------------


def gradient():
    return nd.sparse.row_sparse_array(([[1, 1]], [1]), shape=(3, 2))


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_lazy_updates_leave_other_rows_alone(stype):
    def ones():
        return nd.ones((3, 2)).tostype(stype)

    weight, state = ones(), ones()
    nd.sgd_mom_update(weight, gradient(), state, out=weight, lr=0.1, momentum=0.9, wd=0.1)
    np.testing.assert_allclose(weight.asnumpy()[:, 0], [1, 1.79, 1], rtol=1e-6)
    np.testing.assert_allclose(state.asnumpy()[:, 0], [1, 0.79, 1], rtol=1e-6)
    weight, mean, variance = ones(), ones(), ones()
    nd.adam_update(weight, gradient(), mean, variance, out=weight, lr=0.1, wd=0.1)
    np.testing.assert_allclose(mean.asnumpy()[:, 0], [1, 1.01, 1], rtol=1e-6)
    np.testing.assert_allclose(variance.asnumpy()[:, 0], [1, 1.00021, 1], rtol=1e-6)
    assert weight.stype == stype and (weight.asnumpy()[[0, 2]] == 1).all()


def test_standard_updates_change_every_row():
    weight = nd.ones((3, 2))
    nd.sgd_update(weight, gradient(), out=weight, lr=0.1, wd=0.1, lazy_update=False)
    np.testing.assert_allclose(weight.asnumpy()[:, 0], [0.99, 0.89, 0.99], rtol=1e-6)
    weight, z, n = nd.ones((3, 2)), nd.ones((3, 2)), nd.ones((3, 2))
    nd.ftrl_update(weight, gradient(), z, n, out=weight, lr=0.1, wd=0.1)
    np.testing.assert_allclose(weight.asnumpy()[:, 0], [-0.04925373, 0.08795162, -0.04925373], rtol=1e-5)


# -- graphs -----------------------------------------------------------------------------------------------------


def bound_stypes(symbol, **stypes):
    shapes = {name: (3, 3) for name in symbol.list_arguments()}
    executor = symbol.simple_bind(mx.cpu(), stype_dict=stypes, **shapes)
    return [
        [one.stype for one in arrays]
        for arrays in (executor.arg_arrays, executor.grad_arrays, executor.outputs)
    ]


def test_executors_present_storage_types():
    a, b = mx.sym.var("a"), mx.sym.var("b")
    for stype in ("csr", "row_sparse"):
        assert bound_stypes(a * 2, a=stype) == [[stype], [stype], [stype]]
        assert bound_stypes(a + 1, a=stype) == [[stype], ["default"], ["default"]]
        both = {"a": stype, "b": stype}
        assert bound_stypes(mx.sym.elemwise_add(a, b), **both) == [[stype] * 2, [stype] * 2, [stype]]
        assert bound_stypes(mx.sym.elemwise_mul(a, b), **both) == [[stype] * 2, ["default"] * 2, [stype]]
    weight = mx.sym.var("weight", stype="row_sparse")
    embedding = mx.sym.Embedding(a, weight, input_dim=3, output_dim=3, sparse_grad=True)
    assert bound_stypes(embedding)[:2] == [["default", "row_sparse"], ["default", "row_sparse"]]


def test_bound_sparse_arguments_compute():
    a = mx.sym.var("a")
    executor = mx.sym.sparse.square(a).bind(mx.cpu(), {"a": of_type("r")})
    (result,) = executor.forward()
    assert result.stype == "row_sparse"
    np.testing.assert_array_equal(result.asnumpy(), DENSE**2)
