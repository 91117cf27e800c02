"""The iterators over files: CSVIter, LibSVMIter, MNISTIter."""

from __future__ import annotations

import logging
import math

import numpy as np

from gluonjax._base.attrs import BOOL, DTYPE, INT, SHAPE, STR
from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._files.csv import read_csv
from gluonjax._files.idx import read_idx_file
from gluonjax._files.libsvm import read_libsvm
from gluonjax._files.params import SparseBlock
from gluonjax.io._batch import InputError
from gluonjax.io._native import HostBatch, Settings, Table, creator
from gluonjax.io._sources import csr_rows


class TableReader:
    """Batches of a table's rows, the last one filled.

    Args:
        data: the table.
        label: its labels.
        batch_size: rows of a batch.
        round_batch: fill the last batch from the start, and start the next epoch after the rows used so;
            else fill it with the rows of the batch before.
    """

    def __init__(self, data: Table, label: Table, batch_size: int, round_batch: bool) -> None:
        self.data, self.label = data, label
        self.count = data.shape[0]
        self.batch_size = batch_size
        self.round_batch = round_batch
        self.position = 0
        self.overflow = 0
        self.last = np.zeros(batch_size, np.int64)
        if self.count < batch_size and round_batch:
            raise InputError(
                f"number of input must be bigger than batch size: the file has {self.count} rows, "
                f"batch_size is {batch_size}"
            )

    def reset(self) -> None:
        # After a round batch, the rows that filled it were seen; they do not come twice.
        self.position, self.overflow = self.overflow, 0

    def read(self) -> HostBatch | None:
        if self.position >= self.count:
            return None
        numbers = np.arange(self.position, self.position + self.batch_size)
        pad = max(0, int(numbers[-1]) + 1 - self.count)
        if pad and self.round_batch:
            numbers %= self.count
            self.overflow = pad
        elif pad:
            numbers[-pad:] = self.last[-pad:]
        self.position += self.batch_size
        self.last = numbers
        return HostBatch(
            _rows(self.data, numbers), _rows(self.label, numbers), pad, numbers.astype(np.uint64)
        )


def _rows(table: Table, numbers: np.ndarray) -> Table:
    if isinstance(table, np.ndarray):
        return table[numbers]
    if table.indptr is None:
        raise MXNetError("rows of a row_sparse table cannot be taken")
    data, indices, starts = csr_rows(table.data, table.indices, table.indptr, numbers)
    return SparseBlock("csr", (len(numbers), table.shape[1]), data, indices, starts)


def _part(count: int, num_parts: int, part_index: int) -> slice:
    if not 0 <= part_index < num_parts:
        raise OperatorError(
            f"part_index must be 0 to num_parts - 1, got part_index={part_index}, num_parts={num_parts}"
        )
    return slice(int(count / num_parts * part_index), int(count / num_parts * (part_index + 1)))


def _read_rows(path: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    table = read_csv(path, dtype)
    if table.shape[1] != math.prod(shape):
        raise MXNetError(
            f"CSVIter: {path!r}: The data size in CSV do not match size of shape: "
            f"specified shape={list(shape)}, the csv row-length={table.shape[1]}"
        )
    return table.reshape(len(table), *shape)


def _csv_reader(
    *,
    data_csv: str,
    data_shape: tuple[int, ...],
    label_csv: str,
    label_shape: tuple[int, ...],
    batch_size: int,
    round_batch: bool,
    dtype: np.dtype,
) -> TableReader:
    data = _read_rows(data_csv, data_shape, dtype)
    if label_csv == "NULL":
        label = np.zeros((len(data), *label_shape), dtype)
    else:
        label = _read_rows(label_csv, label_shape, dtype)
    if label_shape == (1,):
        # Labels of one number a row have the shape (rows,).
        label = label.reshape(-1)
    if len(label) < len(data):
        raise MXNetError(f"CSVIter: {label_csv!r} has {len(label)} rows, {data_csv!r} has {len(data)}")
    return TableReader(data, label, batch_size, round_batch)


def _libsvm_reader(
    *,
    data_libsvm: str,
    data_shape: tuple[int, ...],
    label_libsvm: str,
    label_shape: tuple[int, ...],
    batch_size: int,
    round_batch: bool,
    num_parts: int,
    part_index: int,
) -> TableReader:
    if len(data_shape) != 1:
        raise OperatorError(f"LibSVMIter: dimension of data_shape is expected to be 1, got {data_shape}")
    data, own_labels = read_libsvm(data_libsvm, data_shape[0])
    label: Table
    if label_libsvm == "NULL":
        if own_labels.shape[1] != math.prod(label_shape):
            raise MXNetError(
                f"LibSVMIter: {data_libsvm!r} has {own_labels.shape[1]} labels a line, "
                f"label_shape is {label_shape}"
            )
        label = own_labels.reshape(len(own_labels)) if label_shape == (1,) else own_labels
    else:
        label, _ = read_libsvm(label_libsvm, math.prod(label_shape))
    if label.shape[0] < data.shape[0]:
        raise MXNetError(f"LibSVMIter: {label.shape[0]} labels for {data.shape[0]} rows of {data_libsvm!r}")
    rows = np.arange(data.shape[0])[_part(data.shape[0], num_parts, part_index)]
    return TableReader(_rows(data, rows), _rows(label, rows), batch_size, round_batch)


class MNISTReader:
    """Full batches of images and labels, values 0 to 1; rows that do not fill a batch are dropped."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, batch_size: int) -> None:
        self.images, self.labels = images, labels
        self.batch_size = batch_size
        self.position = 0

    def reset(self) -> None:
        self.position = 0

    def read(self) -> HostBatch | None:
        start, stop = self.position, self.position + self.batch_size
        if stop > len(self.images):
            return None
        self.position = stop
        return HostBatch(
            self.images[start:stop], self.labels[start:stop], 0, np.arange(start, stop, dtype=np.uint64)
        )


def _mnist_reader(
    *,
    image: str,
    label: str,
    batch_size: int,
    shuffle: bool,
    flat: bool,
    seed: int,
    silent: bool,
    num_parts: int,
    part_index: int,
) -> MNISTReader:
    pixels, classes = read_idx_file(image), read_idx_file(label)
    if pixels.ndim != 3 or classes.ndim != 1 or len(pixels) != len(classes):
        raise MXNetError(
            f"MNISTIter: wanted images (n, rows, columns) and labels (n,), got {pixels.shape} in {image!r} "
            f"and {classes.shape} in {label!r}"
        )
    part = _part(len(pixels), num_parts, part_index)
    images = pixels[part].astype(np.float32) * np.float32(1 / 256)
    labels = classes[part].astype(np.float32)
    count, height, width = images.shape
    images = images.reshape((count, height * width) if flat else (count, 1, height, width))
    if shuffle:
        # One order for all epochs, as in MXNet; its numbers differ, since its generator is C++'s.
        order = np.random.RandomState(seed).permutation(count)
        images, labels = images[order], labels[order]
    if not silent:
        shape = (batch_size, *images.shape[1:])
        logging.info("MNISTIter: load %d images, shuffle=%d, shape=%s", count, shuffle, shape)
    return MNISTReader(images, labels, batch_size)


CSVIter = creator(
    Settings(
        "CSVIter",
        data_csv=(STR,),
        data_shape=(SHAPE,),
        label_csv=(STR, "NULL"),
        label_shape=(SHAPE, (1,)),
        batch_size=(INT,),
        round_batch=(BOOL, True),
        dtype=(DTYPE, np.dtype(np.float32)),
    ),
    _csv_reader,
    """Batches of the rows of comma-separated files.

    Args:
        data_csv: the file of data, one row a line.
        data_shape: the shape of one row.
        label_csv: the file of labels; without it, labels are 0.
        label_shape: the shape of one row's label.
        batch_size: rows of a batch.
        round_batch: fill the last batch from the start of the file.
        dtype: float32, int32 or int64.

    Returns:
        An ``MXDataIter``.
    """,
)

LibSVMIter = creator(
    Settings(
        "LibSVMIter",
        data_libsvm=(STR,),
        data_shape=(SHAPE,),
        label_libsvm=(STR, "NULL"),
        label_shape=(SHAPE, (1,)),
        batch_size=(INT,),
        round_batch=(BOOL, True),
        num_parts=(INT, 1),
        part_index=(INT, 0),
    ),
    _libsvm_reader,
    """Batches of the rows of LibSVM files, as csr matrices.

    Args:
        data_libsvm: the file; columns count from zero.
        data_shape: ``(columns,)``.
        label_libsvm: a file of labels; without it, the labels in ``data_libsvm`` are taken.
        label_shape: the shape of one row's label.
        batch_size: rows of a batch.
        round_batch: fill the last batch from the start of the file.
        num_parts: cut the rows into so many parts,
        part_index: and read this one.

    Returns:
        An ``MXDataIter``.
    """,
)

MNISTIter = creator(
    Settings(
        "MNISTIter",
        image=(STR, "./train-images-idx3-ubyte"),
        label=(STR, "./train-labels-idx1-ubyte"),
        batch_size=(INT, 128),
        shuffle=(BOOL, True),
        flat=(BOOL, False),
        seed=(INT, 0),
        silent=(BOOL, False),
        num_parts=(INT, 1),
        part_index=(INT, 0),
    ),
    _mnist_reader,
    """Batches of the MNIST digits, or of any data in its format; pixels are scaled to 0 to 1.

    Args:
        image: the file of images, plain or gzip.
        label: the file of labels.
        batch_size: images of a batch; the rest that does not fill one is dropped.
        shuffle: read them in an order drawn once.
        flat: images are vectors ``(784,)``, not ``(1, 28, 28)``.
        seed: of the order.
        silent: log nothing.
        num_parts: cut the images into so many parts,
        part_index: and read this one.

    Returns:
        An ``MXDataIter``.
    """,
)
