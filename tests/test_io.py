"""Data iterators; expected batches were seen in MXNet 1.9.1."""

from __future__ import annotations

import gzip
import logging
import struct
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluonjax import io, nd
from gluonjax._base.errors import MXNetError


def seen(batches: Any) -> list[Any]:
    return [
        (
            batch.data[0].asnumpy().ravel().tolist(),
            [label.asnumpy().tolist() for label in batch.label],
            batch.pad,
        )
        for batch in batches
    ]


def rows(batches: Any) -> list[list[float]]:
    return [batch.data[0].asnumpy().ravel().tolist() for batch in batches]


def test_descriptions() -> None:
    desc = io.DataDesc("a", (2, 3))
    assert repr(desc) == "DataDesc[a,(2, 3),<class 'numpy.float32'>,NCHW]"
    assert desc == ("a", (2, 3))
    name, shape = desc
    assert (name, shape) == ("a", (2, 3))
    assert io.DataDesc.get_batch_axis("TNC") == 1
    assert io.DataDesc.get_batch_axis(None) == 0
    (typed,) = io.DataDesc.get_list([("a", (1,))], [("a", "int32")])
    assert typed.dtype == "int32"
    assert io.DataDesc.get_list([("a", (1,))], None) == [("a", (1,))]


def test_batches() -> None:
    batch = io.DataBatch([nd.ones((2, 3))])
    assert str(batch) == "DataBatch: data shapes: [(2, 3)] label shapes: None"
    batch = io.DataBatch(data=[nd.ones((2, 3)), nd.ones((7, 8))], label=[nd.ones((4, 5))])
    assert str(batch) == "DataBatch: data shapes: [(2, 3), (7, 8)] label shapes: [(4, 5)]"
    with pytest.raises(AssertionError, match="Data must be list of NDArrays"):
        io.DataBatch(nd.ones((2,)))  # pyright: ignore[reportArgumentType]


class TestNDArrayIter:
    def test_descriptions(self) -> None:
        batches = io.NDArrayIter(np.arange(20).reshape(10, 2), np.arange(10), 3)
        assert repr(batches.provide_data) == "[DataDesc[data,(3, 2),<class 'numpy.float32'>,NCHW]]"
        assert repr(batches.provide_label) == "[DataDesc[softmax_label,(3,),<class 'numpy.float32'>,NCHW]]"
        batch = next(batches)
        assert (batch.pad, batch.index) == (0, None)
        assert batch.data[0].dtype == np.float32

    def test_forms_of_input(self) -> None:
        two = {"b": np.ones((3, 2)), "a": nd.ones((3, 2), dtype="int32")}
        found = io.NDArrayIter(two, None, 2).provide_data
        assert [(desc.name, desc.dtype) for desc in found] == [("a", np.int32), ("b", np.float32)]
        named = io.NDArrayIter([np.ones((3, 2)), [[1, 2], [3, 4], [5, 6]]], None, 2)
        assert [desc.name for desc in named.provide_data] == ["_0_data", "_1_data"]
        assert next(named).label == []
        assert io.NDArrayIter(np.ones(3), [np.ones(3)], label_name="l").provide_label[0].name == "l"

    @pytest.mark.parametrize(
        ("data", "label", "error", "text"),
        [
            (None, None, AssertionError, "data is None"),
            ([], None, AssertionError, "empty list"),
            ("abc", None, TypeError, "Input must be NDArray, numpy.ndarray, h5py.Dataset"),
            ({"a": "abc"}, None, TypeError, "Invalid type '<class 'str'>' for a, should be NDArray"),
            (np.ones((4, 2)), np.ones(3), ValueError, r"'softmax_label' has 3 rows .* but 'data' has 4"),
        ],
    )
    def test_errors(self, data: Any, label: Any, error: type[Exception], text: str) -> None:
        with pytest.raises(error, match=text) as caught:
            io.NDArrayIter(data, label, 2)
        assert isinstance(caught.value, MXNetError)

    @pytest.mark.parametrize("wrap", [np.asarray, lambda values: nd.array(values)])
    def test_last_batch(self, wrap: Any) -> None:
        def epochs(mode: str, size: int, count: int, rounds: int = 1) -> list[Any]:
            batches = io.NDArrayIter(wrap(np.arange(count)), wrap(np.arange(count)), size, last_batch_handle=mode)
            found = []
            for _ in range(rounds):
                found.append([(data, pad) for data, (label,), pad in seen(batches) if data == label])
                batches.reset()
            return found

        assert epochs("pad", 4, 10) == [[([0, 1, 2, 3], 0), ([4, 5, 6, 7], 0), ([8, 9, 0, 1], 2)]]
        assert epochs("pad", 7, 3) == [[([0, 1, 2, 0, 1, 2, 0], 4)]]
        assert epochs("discard", 4, 10) == [[([0, 1, 2, 3], 0), ([4, 5, 6, 7], 0)]]
        assert epochs("discard", 7, 3) == [[]]
        first = [([0, 1, 2, 3], 0), ([4, 5, 6, 7], 0)]
        second = [([8, 9, 0, 1], 2), ([2, 3, 4, 5], 0), ([6, 7, 8, 9], 0)]
        assert epochs("roll_over", 4, 10, 4) == [first, second, first, second]
        # Fewer rows than a batch: MXNet fails here, the rows gather until they fill one.
        assert epochs("roll_over", 7, 3, 3) == [[], [], [([0, 1, 2, 0, 1, 2, 0], 6)]]

    def test_hard_reset_forgets(self) -> None:
        batches = io.NDArrayIter(np.arange(10), None, 4, last_batch_handle="roll_over")
        first = rows(batches)
        batches.hard_reset()
        assert rows(batches) == first

    def test_unknown_mode_warns(self) -> None:
        with pytest.warns(UserWarning, match="unknown last_batch_handle 'keep'"):
            assert len(rows(io.NDArrayIter(np.arange(5), None, 2, last_batch_handle="keep"))) == 2

    def test_step_by_step(self) -> None:
        batches = io.NDArrayIter(np.arange(10), np.arange(10), 4)
        with pytest.raises(MXNetError, match="call iter_next"):
            batches.getdata()
        found = []
        while batches.iter_next():
            assert batches.getdata()[0].asnumpy().tolist() == batches.getlabel()[0].asnumpy().tolist()
            found.append((batches.cursor, batches.getpad(), batches.getindex()))
        assert found == [(0, 0, None), (4, 0, None), (8, 2, None)]
        with pytest.raises(AssertionError, match="DataIter needs reset"):
            batches.getdata()
        with pytest.raises(StopIteration):
            batches.next()

    def test_shuffle_gives_the_epochs_of_mxnet(self) -> None:
        np.random.seed(0)
        batches = io.NDArrayIter(np.arange(10), np.arange(10), 4, shuffle=True)
        assert rows(batches) == [[2, 8, 4, 9], [1, 6, 7, 3], [0, 5, 2, 8]]
        np.random.seed(0)
        batches = io.NDArrayIter(nd.arange(10), nd.arange(10), 4, shuffle=True)
        batches.reset()
        assert batches.idx.tolist() == [9, 6, 8, 4, 5, 0, 2, 7, 3, 1]
        assert batches.data[0][1].asnumpy().tolist() == [5, 7, 0, 1, 6, 2, 4, 3, 9, 8]
        found = seen(batches)
        assert [data for data, _, _ in found] == [[5, 7, 0, 1], [6, 2, 4, 3], [9, 8, 5, 7]]
        assert all(data == label for data, (label,), _ in found)

    def test_rolled_over_rows_survive_the_shuffle(self) -> None:
        batches = io.NDArrayIter(np.arange(10), None, 4, shuffle=True, last_batch_handle="roll_over")
        left = set(range(10)) - {int(row) for batch in rows(batches) for row in batch}
        batches.reset()
        assert set(rows(batches)[0][:2]) == left

    def test_layout(self) -> None:
        batches = io.NDArrayIter(np.arange(30).reshape(3, 10, 1), None, 4, layout="TNC")
        assert batches.provide_data[0].shape == (3, 4, 1)
        shapes = [batch.data[0].shape for batch in batches]
        assert shapes == [(3, 4, 1)] * 3
        batches.reset()
        assert next(batches).data[0].asnumpy()[:, :, 0].tolist() == [
            [0, 1, 2, 3],
            [10, 11, 12, 13],
            [20, 21, 22, 23],
        ]

    def test_batches_do_not_change_with_their_source(self) -> None:
        source = np.zeros((4, 2), np.float32)
        batches = io.NDArrayIter(source, None, 2)
        source[:] = 7
        batch = next(batches).data[0]
        assert batch.asnumpy().sum() == 0
        batch[:] = 5
        batches.reset()
        assert next(batches).data[0].asnumpy().sum() == 0
        # An NDArray is not copied: what is written into it shows.
        array = nd.zeros((4, 2))
        batches = io.NDArrayIter(array, None, 2)
        array[:] = 3
        assert next(batches).data[0].asnumpy().sum() == 12

    @pytest.mark.skipif(not hasattr(nd.sparse, "csr_matrix"), reason="needs csr NDArrays")
    def test_csr(self) -> None:
        dense = np.arange(15, dtype=np.float32).reshape(5, 3) % 4
        matrix = nd.array(dense).tostype("csr")
        with pytest.raises(NotImplementedError, match="discard"):
            io.NDArrayIter(matrix, None, 2)
        batches = io.NDArrayIter(matrix, dense, 2, last_batch_handle="discard")
        for start, batch in zip((0, 2), batches):
            assert batch.data[0].stype == "csr"
            assert batch.data[0].asnumpy().tolist() == dense[start : start + 2].tolist()
        shuffled = io.NDArrayIter(matrix, dense, 2, shuffle=True, last_batch_handle="discard")
        count = 0
        for batch in shuffled:
            count += 1
            assert batch.data[0].asnumpy().tolist() == batch.label[0].asnumpy().tolist()
        assert count == 2


def test_resize() -> None:
    short = io.ResizeIter(io.NDArrayIter(np.arange(6), None, 2), 2)
    assert rows(short) == [[0, 1], [2, 3]]
    short.reset()
    assert rows(short) == [[0, 1], [2, 3]]
    long = io.ResizeIter(io.NDArrayIter(np.arange(4), None, 2), 5, reset_internal=False)
    assert rows(long) == [[0, 1], [2, 3], [0, 1], [2, 3], [0, 1]]
    long.reset()
    assert rows(long)[0] == [2, 3]
    assert long.batch_size == 2
    assert long.getpad() == 0
    with pytest.raises(MXNetError, match="no batch at all"):
        io.ResizeIter(io.NDArrayIter(np.arange(2), None, 4, last_batch_handle="discard"), 1).next()


class TestPrefetching:
    def test_joins(self) -> None:
        first = io.NDArrayIter(np.arange(6), np.arange(6), 2)
        second = io.NDArrayIter(np.arange(6) * 10, None, 2)
        batches = io.PrefetchingIter([first, second], rename_data=[{"data": "x"}, {"data": "y"}])
        assert [desc.name for desc in batches.provide_data] == ["x", "y"]
        assert [desc.name for desc in batches.provide_label] == ["softmax_label"]
        for _ in range(2):
            found = [[array.asnumpy().tolist() for array in batch.data] for batch in batches]
            assert found == [[[0, 1], [0, 10]], [[2, 3], [20, 30]], [[4, 5], [40, 50]]]
            assert not batches.iter_next()
            batches.reset()
        assert batches.batch_size == 2

    def test_lengths_must_agree(self) -> None:
        batches = io.PrefetchingIter([io.NDArrayIter(np.arange(4), None, 2), io.NDArrayIter(np.arange(6), None, 2)])
        with pytest.raises(AssertionError, match="Number of entry mismatches"):
            list(batches)

    def test_errors_reach_the_caller(self) -> None:
        class Broken(io.NDArrayIter):
            def next(self) -> io.DataBatch:
                if self.cursor >= 0:
                    raise OSError("disk on fire")
                return super().next()

        batches = io.PrefetchingIter(Broken(np.arange(8), None, 2))
        batches.next()
        with pytest.raises(OSError, match="disk on fire"):
            batches.next()
        batches.reset()
        assert batches.next().data[0].asnumpy().tolist() == [0, 1]

    def test_reads_ahead(self) -> None:
        started = threading.Event()

        class Slow(io.NDArrayIter):
            def next(self) -> io.DataBatch:
                if self.cursor >= 0:
                    started.set()
                return super().next()

        batches = io.PrefetchingIter(Slow(np.arange(8), None, 2))
        batches.next()
        assert started.wait(5)


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, str]:
    data, label = tmp_path / "data.csv", tmp_path / "label.csv"
    data.write_text("".join(f"{i},{2 * i}\n" for i in range(7)))
    label.write_text("".join(f"{i}\n" for i in range(7)))
    return str(data), str(label)


class TestCSVIter:
    def test_rounds(self, tables: tuple[str, str]) -> None:
        batches = io.CSVIter(data_csv=tables[0], data_shape=(2,), label_csv=tables[1], batch_size=3)
        found = [
            (
                batch.label[0].asnumpy().tolist(),
                batch.pad,
                batch.index.tolist(),
                batch.data[0].asnumpy()[:, 1].tolist(),
            )
            for batch in batches
        ]
        assert found == [
            ([0, 1, 2], 0, [0, 1, 2], [0, 2, 4]),
            ([3, 4, 5], 0, [3, 4, 5], [6, 8, 10]),
            ([6, 0, 1], 2, [6, 0, 1], [12, 0, 2]),
        ]
        batches.reset()
        assert [batch.label[0].asnumpy().tolist() for batch in batches] == [[2, 3, 4], [5, 6, 0]]

    def test_does_not_round(self, tables: tuple[str, str]) -> None:
        batches = io.CSVIter(
            data_csv=tables[0], data_shape="(2,)", label_csv=tables[1], batch_size="3", round_batch="False"
        )
        for _ in range(2):
            found = [(batch.label[0].asnumpy().tolist(), batch.pad) for batch in batches]
            assert found == [([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 4, 5], 2)]
            batches.reset()

    def test_types_and_names(self, tables: tuple[str, str]) -> None:
        batches = io.CSVIter(
            data_csv=tables[0], data_shape=(2, 1), batch_size=3, dtype="int64", data_name="x", label_name="y"
        )
        assert isinstance(batches, io.MXDataIter)
        assert repr(batches.provide_data) == "[DataDesc[x,(3, 2, 1),<class 'numpy.int64'>,NCHW]]"
        assert repr(batches.provide_label) == "[DataDesc[y,(3,),<class 'numpy.int64'>,NCHW]]"
        assert batches.batch_size == 3
        assert batches.iter_next()
        assert batches.getdata().shape == (3, 2, 1)
        assert batches.getlabel().asnumpy().tolist() == [0, 0, 0]

    def test_errors(self, tables: tuple[str, str]) -> None:
        for arguments, text in (
            ({"data_shape": (3,), "batch_size": 3}, r"specified shape=\[3\], the csv row-length=2"),
            ({"batch_size": 3}, r"Required parameter data_shape of Shape\(tuple\) is not presented"),
            ({"data_shape": (2,), "batch_size": 16}, "number of input must be bigger than batch size"),
            ({"data_shape": (2,), "batch_size": "three"}, "argument 'batch_size'"),
        ):
            with pytest.raises(MXNetError, match=text):
                io.CSVIter(data_csv=tables[0], **arguments)
        with pytest.warns(UserWarning, match="'label_cvs' is ignored; did you mean 'label_csv'"):
            io.CSVIter(data_csv=tables[0], data_shape=(2,), batch_size=3, label_cvs="x")
        with pytest.raises(TypeError, match="can only accept keyword arguments"):
            io.CSVIter(tables[0])
        with pytest.raises(MXNetError, match="no such file"):
            io.CSVIter(data_csv="/nowhere.csv", data_shape=(2,), batch_size=1)

    def test_skip_load(self, tables: tuple[str, str], caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        batches = io.CSVIter(data_csv=tables[0], data_shape=(2,), batch_size=3)
        batches.debug_skip_load()
        found = [batches.next().data[0].asnumpy().tolist() for _ in range(20)]
        assert all(one == found[0] for one in found)
        assert "debug_skip_load" in caplog.text


def test_libsvm(tmp_path: Path) -> None:
    path = tmp_path / "data.t"
    path.write_text("1 0:1 2:2\n2 1:3\n3\n4 0:5\n5 2:1\n")
    batches = io.LibSVMIter(data_libsvm=str(path), data_shape=(3,), batch_size=2)
    found = [(batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist(), batch.pad) for batch in batches]
    assert found == [
        ([[1, 0, 2], [0, 3, 0]], [1, 2], 0),
        ([[0, 0, 0], [5, 0, 0]], [3, 4], 0),
        ([[0, 0, 1], [1, 0, 2]], [5, 1], 1),
    ]
    label = tmp_path / "label.t"
    label.write_text("1.0\n-2.0 0:0.125\n-3.0 2:1.2\n4 1:1.0 2:-1.2\n0 0:1\n")
    batches = io.LibSVMIter(
        data_libsvm=str(path), label_libsvm=str(label), data_shape=(3,), label_shape=(3,), batch_size=5
    )
    np.testing.assert_allclose(next(batches).label[0].asnumpy()[3], [0, 1, -1.2], rtol=1e-6)
    part = io.LibSVMIter(data_libsvm=str(path), data_shape=(3,), batch_size=1, num_parts=2, part_index=1)
    assert [batch.label[0].asnumpy().tolist() for batch in part] == [[3], [4], [5]]
    with pytest.raises(MXNetError, match="column 2 is outside"):
        io.LibSVMIter(data_libsvm=str(path), data_shape=(2,), batch_size=2)


class TestMNISTIter:
    @pytest.fixture
    def files(self, tmp_path: Path) -> dict[str, str]:
        image, label = tmp_path / "images.gz", tmp_path / "labels"
        image.write_bytes(gzip.compress(struct.pack(">IIII", 2051, 11, 2, 2) + bytes(range(44))))
        label.write_bytes(struct.pack(">II", 2049, 11) + bytes(range(11)))
        return {"image": str(image), "label": str(label)}

    def test_order_and_shapes(self, files: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        batches = io.MNISTIter(**files, batch_size=4, shuffle=False)
        assert "MNISTIter: load 11 images, shuffle=0, shape=(4, 1, 2, 2)" in caplog.text
        first = batches.next()
        assert first.data[0].shape == (4, 1, 2, 2)
        assert first.data[0].asnumpy()[1].ravel().tolist() == [4 / 256, 5 / 256, 6 / 256, 7 / 256]
        assert [batch.label[0].asnumpy().tolist() for batch in batches] == [[4, 5, 6, 7]]
        flat = io.MNISTIter(**files, batch_size=4, shuffle=0, flat="True", silent=1)
        assert repr(flat.provide_data) == "[DataDesc[data,(4, 4),<class 'numpy.float32'>,NCHW]]"
        assert len(caplog.records) == 1

    def test_parts(self, files: dict[str, str]) -> None:
        settings = {**files, "batch_size": 1, "shuffle": False, "silent": True, "num_parts": 3}
        found = [
            [float(batch.label[0].asscalar()) for batch in io.MNISTIter(**settings, part_index=part)]
            for part in range(3)
        ]
        assert found == [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9, 10]]
        with pytest.raises(MXNetError, match="part_index must be"):
            io.MNISTIter(**files, num_parts=2, part_index=2)

    def test_shuffle(self, files: dict[str, str]) -> None:
        def labels(seed: int) -> list[float]:
            batches = io.MNISTIter(**files, batch_size=11, seed=seed, silent=True)
            batch = batches.next()
            found = batch.label[0].asnumpy()
            np.testing.assert_array_equal(batch.data[0].asnumpy()[:, 0, 0, 0] * 64, found)
            batches.reset()
            assert batches.next().label[0].asnumpy().tolist() == found.tolist()
            return found.tolist()

        assert labels(1) == labels(1) != labels(2)
        assert sorted(labels(1)) == list(range(11))

    def test_errors(self, files: dict[str, str]) -> None:
        with pytest.raises(MXNetError, match="no such file"):
            io.MNISTIter(image="/nowhere", label=files["label"])
        with pytest.raises(MXNetError, match="wanted images"):
            io.MNISTIter(image=files["label"], label=files["label"])
        with pytest.raises(MXNetError, match="no full batch"):
            io.MNISTIter(**files, batch_size=40, silent=True)


def test_own_iterator() -> None:
    class Counting(io.DataIter):
        def __init__(self) -> None:
            super().__init__(1)
            self.count = 0

        def iter_next(self) -> bool:
            self.count += 1
            return self.count < 4

        def getdata(self) -> list[Any]:
            return [nd.array([self.count])]

        def getlabel(self) -> list[Any]:
            return []

    assert rows(Counting()) == [[1], [2], [3]]


def test_batches_are_fast() -> None:
    """A batch of host data is a view: no copy, no dispatch."""
    batches = io.NDArrayIter(np.zeros((2000, 3, 32, 32), np.float32), np.zeros(2000), 10)
    start = time.perf_counter()
    count = sum(1 for _ in batches)
    assert count == 200
    assert (time.perf_counter() - start) / count < 5e-3


def test_loader_as_iterator() -> None:
    from gluonjax.contrib.io import DataLoaderIter
    from gluonjax.gluon.data import ArrayDataset, DataLoader

    batches = DataLoaderIter(DataLoader(ArrayDataset(np.arange(10.0).reshape(5, 2), np.arange(5)), 2), "x", "y")
    assert batches.provide_data == [("x", (2, 2))] and batches.provide_label == [("y", (2,))]
    for _ in range(2):
        found = [
            (batch.data[0].asnumpy()[:, 0].tolist(), batch.label[0].asnumpy().tolist(), batch.pad) for batch in batches
        ]
        assert found == [([0, 2], [0, 1], 0), ([4, 6], [2, 3], 0), ([8, 0], [4, 0], 1)]
        batches.reset()
    with pytest.raises(MXNetError, match="no current batch"):
        batches.getdata()
