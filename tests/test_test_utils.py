"""MXNet's public test helpers."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluonjax import nd, sym, test_utils
from gluonjax._base.errors import MXNetError
from gluonjax.context import cpu, current_context


@pytest.fixture(autouse=True)
def seed() -> None:
    np.random.seed(3)


class TestComparing:
    def test_tolerances_follow_the_type(self) -> None:
        base = np.ones((2, 3), np.float32)
        test_utils.assert_almost_equal(base, base + 5e-4)
        with pytest.raises(AssertionError):
            test_utils.assert_almost_equal(base.astype(np.float64), base.astype(np.float64) + 5e-4)
        test_utils.assert_almost_equal(nd.array(base).astype("float16"), base.astype(np.float16) + 0.05)
        with pytest.raises(AssertionError):
            test_utils.assert_almost_equal(np.array([1, 2]), np.array([1, 3]))
        test_utils.assert_almost_equal(base, base + 0.05, rtol={np.dtype(np.float32): 0.1})
        assert test_utils.get_tols(base, 1.0, None, 0.5) == (1e-4, 0.5)
        assert test_utils.default_numeric_eps()[np.dtype(np.float32)] == 2**-9

    def test_the_error_says_where(self, capsys: pytest.CaptureFixture[str]) -> None:
        a, b = nd.array([[1, 2], [3, 4]]), np.array([[1, 2.5], [3, 9]], np.float32)
        with pytest.raises(AssertionError) as caught:
            test_utils.assert_almost_equal(a, b, rtol=0.1, atol=0.0, names=("OURS", "WANTED"))
        text = str(caught.value)
        assert "Error 5.555556 exceeds tolerance rtol=1.000000e-01, atol=0.000000e+00 (mismatch 50.0" in text
        assert "Location of maximum error: (1, 1), OURS=4.00000000, WANTED=9.00000000" in text
        assert "  2: Error 2.000000  Location of error: (0, 1)" in capsys.readouterr().out

    def test_nan_and_shapes(self) -> None:
        nan = np.array([1, np.nan])
        with pytest.raises(AssertionError, match="Error inf"):
            test_utils.assert_almost_equal(nan, np.array([1.0, 2.0]))
        with pytest.raises(AssertionError):
            test_utils.assert_almost_equal(nan, nan)
        test_utils.assert_almost_equal(nan, nan, equal_nan=True)
        test_utils.assert_almost_equal_ignore_nan(nan, np.array([1, 5.0]))
        test_utils.assert_almost_equal(np.ones((2, 3)), np.ones(3))
        with pytest.raises(AssertionError, match=r"\(2, 3\) and b.shape = \(3,\) are not equal"):
            test_utils.assert_almost_equal(np.ones((2, 3)), np.ones(3), use_broadcast=False)

    def test_some_may_differ(self) -> None:
        a = np.zeros(100)
        b = a.copy()
        b[:4] = 1
        test_utils.assert_almost_equal_with_err(a, b, etol=0.05)
        with pytest.raises(AssertionError, match=r"mismatch 4\.0"):
            test_utils.assert_almost_equal_with_err(a, b, etol=0.03)

    def test_others(self) -> None:
        assert test_utils.same(np.ones(2), nd.ones((2,)))
        assert not test_utils.same(np.ones(2), np.ones((1, 2)))
        assert test_utils.almost_equal(np.ones(2), np.ones(2) + 1e-6)
        array = nd.zeros((4,))
        assert test_utils.same_array(array, array.reshape((2, 2)).reshape((4,)))
        assert not test_utils.same_array(array, nd.zeros((4,)))
        test_utils.assert_exception(int, ValueError, "x")
        with pytest.raises(AssertionError, match="did not raise"):
            test_utils.assert_exception(int, ValueError, "1")
        assert test_utils.collapse_sum_like(np.ones((2, 3, 4)), (3, 1)).tolist() == [[8], [8], [8]]
        assert test_utils.np_reduce(np.ones((2, 3)), None, True, np.sum).tolist() == [[6]]
        test_utils.compare_ndarray_tuple(
            (nd.ones((1,)), None, (nd.ones((2,)),)), (nd.ones((1,)), 3, (nd.ones((2,)),))
        )


class TestArrays:
    def test_shapes(self) -> None:
        assert all(1 <= size <= 5 for _ in range(20) for size in test_utils.rand_shape_nd(3, 5))
        assert {len(test_utils.rand_shape_2d()), len(test_utils.rand_shape_3d())} == {2, 3}
        assert any(0 in test_utils.rand_shape_nd(3, 1, allow_zero_size=True) for _ in range(50))

    def test_dense(self) -> None:
        assert test_utils.random_arrays((2, 3)).dtype == np.float32
        assert [array.shape for array in test_utils.random_arrays((2,), ())] == [(2,), ()]
        (array,) = test_utils.random_uniform_arrays((50,), low=2, high=3, dtype=np.float64)
        assert array.dtype == np.float64
        assert 2 <= array.min() <= array.max() <= 3
        assert test_utils.rand_ndarray((2, 3), dtype="float64").dtype == np.float64
        assert sorted(test_utils.random_sample(range(5), 5)) == list(range(5))
        assert test_utils.create_2d_tensor(3, 2).asnumpy().tolist() == [[0, 0], [1, 1], [2, 2]]
        assert test_utils.get_identity_mat(2).asnumpy().tolist() == [[1, 0], [0, 1]]
        assert test_utils.assign_each(np.array([[1, 2]]), lambda value: value * 3).tolist() == [[3, 6]]

    def test_matrices(self) -> None:
        for matrix in test_utils.new_matrix_with_real_eigvals_nd((3, 4, 4)):
            assert np.abs(np.linalg.eigvals(matrix).imag).max() < 1e-6
        symmetric = test_utils.new_sym_matrix_with_real_eigvals_nd((2, 3, 3))
        np.testing.assert_allclose(symmetric, symmetric.swapaxes(1, 2), atol=1e-12)


class TestSymbols:
    a, b = sym.Variable("a"), sym.Variable("b")

    def test_right_gradients_pass(self) -> None:
        out = self.a * sym.sin(self.b)
        location = {"a": np.random.rand(2, 3), "b": np.random.rand(2, 3)}
        test_utils.check_numeric_gradient(out, location)
        test_utils.check_numeric_gradient(
            out, location, grad_nodes={"a": "add", "b": "write"}, dtype=np.float64
        )
        test_utils.check_numeric_gradient(out, list(location.values()), grad_nodes=["b"])

    def test_wrong_gradients_fail(self) -> None:
        out = self.a + sym.BlockGrad(self.a * self.a)
        with pytest.raises(AssertionError, match="NUMERICAL_a"):
            test_utils.check_numeric_gradient(out, [np.random.rand(3) + 1])
        with pytest.raises(ValueError, match="do not match"):
            test_utils.check_numeric_gradient(out, {"x": np.ones(3)})

    def test_auxiliary_states(self) -> None:
        out = sym.BatchNorm(self.a, fix_gamma=False, name="bn")
        location = {"a": np.random.rand(6, 2), "bn_gamma": np.array([1.0, 2.0]), "bn_beta": np.zeros(2)}
        test_utils.check_numeric_gradient(
            out, location, [np.zeros(2), np.ones(2)], numeric_eps=1e-3, rtol=0.05, atol=1e-2, dtype=np.float64
        )

    def test_forward_and_backward(self) -> None:
        ones = np.ones((2, 2), np.float32)
        out = self.a * self.b
        (found,) = test_utils.check_symbolic_forward(out, [2 * ones, 3 * ones], [6 * ones])
        assert found.asnumpy().tolist() == [[6, 6], [6, 6]]
        with pytest.raises(AssertionError, match="EXPECTED_"):
            test_utils.check_symbolic_forward(out, [2 * ones, 3 * ones], [7 * ones])
        for request in ("write", "add", {"a": "write", "b": "add"}):
            test_utils.check_symbolic_backward(
                out, [2 * ones, 3 * ones], [ones], {"a": 3 * ones, "b": 2 * ones}, grad_req=request
            )
        with pytest.raises(AssertionError, match="BACKWARD_b"):
            test_utils.check_symbolic_backward(out, [2 * ones, 3 * ones], [ones], [3 * ones, 3 * ones])

    def test_consistency(self) -> None:
        out = sym.FullyConnected(self.a, num_hidden=3, name="fc")
        settings = [
            {"ctx": cpu(), "a": (2, 4), "type_dict": {"a": kind}} for kind in (np.float32, np.float64)
        ]
        test_utils.check_consistency(out, settings)
        other = sym.FullyConnected(self.a * 2, num_hidden=3, name="fc")
        with pytest.raises(AssertionError, match="Predict Err: ctx 0 vs ctx 1 at fc_output"):
            test_utils.check_consistency([out, other], settings)

    def test_rest(self) -> None:
        out = self.a + self.b
        assert test_utils.simple_forward(out, a=np.ones(2), b=np.ones(2)).tolist() == [2, 2]
        assert test_utils.check_speed(out, N=2, a=(2,), b=(2,)) > 0
        assert test_utils.check_speed(out, {"a": np.ones(2), "b": np.ones(2)}, N=2, typ="forward") > 0
        with pytest.raises(ValueError, match="typ can only be"):
            test_utils.check_speed(out, typ="backward", a=(2,), b=(2,))
        assert test_utils.same_symbol_structure(out, self.b + self.a)
        assert not test_utils.same_symbol_structure(out, self.b * self.a)


def test_generators() -> None:
    def uniform(count: int) -> np.ndarray:
        return np.random.uniform(size=count)

    buckets, probs = test_utils.gen_buckets_probs_with_ppf(lambda part: part, 4)
    assert buckets == [(0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1)]
    test_utils.verify_generator(uniform, buckets, probs, nsamples=2000)
    with pytest.raises(AssertionError, match="Generator test fails"):
        test_utils.verify_generator(lambda count: uniform(count) ** 2, buckets, probs, nsamples=2000)
    test_utils.verify_generator(
        lambda count: np.random.randint(0, 2, count), [0, 1], [0.5, 0.5], nsamples=2000
    )
    assert test_utils.mean_check(uniform, 0.5, 12**-0.5, 5000)
    assert not test_utils.mean_check(uniform, 0.6, 12**-0.5, 5000)
    assert test_utils.var_check(uniform, 12**-0.5, 5000)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
def test_samples_are_counted_in_half_open_buckets(dtype: str) -> None:
    samples = np.array([0, 1, 1, 2, 3, 5, 5, 7, 100], dtype)
    if samples.dtype.kind == "f":
        samples = np.append(samples, np.array([np.nan, np.inf, -np.inf], dtype))
    buckets = [(-np.inf, 0), (0, 1), (1, 2.5), (4.5, 5), (5, 5.5), (200, np.inf)]
    counts = test_utils.chi_square_check(lambda _: samples, buckets, [1 / 6] * 6, samples.size)[1]
    # Minus infinity is in the first bucket, infinity at the end of the last.
    assert counts.tolist() == [int(samples.dtype.kind == "f"), 1, 3, 0, 2, 0]


def test_environment() -> None:
    os.environ.pop("GLUONJAX_TEST_ONE", None)
    with test_utils.environment({"GLUONJAX_TEST_ONE": "1", "GLUONJAX_TEST_TWO": None}):
        assert os.environ["GLUONJAX_TEST_ONE"] == "1"
        with test_utils.environment("GLUONJAX_TEST_ONE", "2"):
            assert test_utils.getenv("GLUONJAX_TEST_ONE") == "2"
    assert "GLUONJAX_TEST_ONE" not in os.environ
    with pytest.raises(TypeError, match="expecting one dict"):
        test_utils.environment("a", "b", "c").__enter__()


def test_contexts() -> None:
    with cpu(1):
        test_utils.set_default_context(cpu(2))
        assert test_utils.default_context() == cpu(2)
    before = current_context()
    test_utils.set_default_context(cpu(1))
    try:
        assert current_context() == cpu(1)
    finally:
        test_utils.set_default_context(before)
    assert len(test_utils.list_gpus()) >= 0
    assert test_utils.is_op_runnable()
    with pytest.raises(MXNetError, match="expected a gpu context"):
        test_utils.get_cuda_compute_capability(cpu())


def test_retry() -> None:
    tries: list[int] = []

    @test_utils.retry(3)
    def flaky(limit: int) -> None:
        tries.append(1)
        assert len(tries) >= limit

    flaky(3)
    assert len(tries) == 3
    with pytest.raises(AssertionError):
        flaky(9)
    assert len(tries) == 6


def test_discard_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with test_utils.discard_stderr():
        os.write(2, b"hidden")
    os.write(2, b"shown")
    assert capfd.readouterr().err == "shown"
    assert sys.stderr is not None


def test_dummy_iter() -> None:
    from gluonjax.io import NDArrayIter

    same = test_utils.DummyIter(NDArrayIter(np.arange(4), None, 2))
    assert [next(same).data[0].asnumpy().tolist() for _ in range(3)] == [[0, 1]] * 3


def test_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "source.txt"
    source.write_text("content")
    path = test_utils.download(source.as_uri(), dirname="data", fname="copy.txt")
    assert Path(path).read_text() == "content"
    source.unlink()
    assert test_utils.download(source.as_uri(), dirname="data", fname="copy.txt") == path
    with pytest.raises(MXNetError, match="Put the file at"):
        test_utils.download(source.as_uri(), fname="other.txt", retries=1)
    assert test_utils.download_model("no-such-model") == (None, 0)
    # Files that are there are not downloaded.
    for part, count in (("train", 3), ("t10k", 2)):
        labels = struct.pack(">II", 2049, count) + bytes(range(count))
        images = struct.pack(">IIII", 2051, count, 28, 28) + bytes([255]) * (784 * count)
        for kind, content in (("labels-idx1", labels), ("images-idx3", images)):
            Path(f"{part}-{kind}-ubyte.gz").write_bytes(content)
            Path(f"data/{part}-{kind}-ubyte").write_bytes(content)
    found: dict[str, Any] = test_utils.get_mnist()
    assert found["train_data"].shape == (3, 1, 28, 28)
    assert found["test_data"].max() == 1.0
    assert found["test_label"].tolist() == [0, 1]
    train, test = test_utils.get_mnist_iterator(2, (784,))
    assert (train.provide_data[0].shape, next(test).data[0].shape) == ((2, 784), (2, 784))


def test_star_import_gives_the_usual_names() -> None:
    for name in ("np", "mx", "os", "rnd", "npt", "assert_almost_equal", "use_np", "Context", "array"):
        assert hasattr(test_utils, name)
