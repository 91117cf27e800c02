"""The ``.params`` format: a list of arrays, with or without names. Bytes to NumPy and back, nothing else.

Layout, little-endian (MXNet 1.9.1, ``src/ndarray/ndarray.cc``)::

    u64 0x112 | u64 reserved | u64 count | count blocks | u64 count of names | names (u64 length, UTF-8)

A block opens with a 32-bit word that tells its version:

==========  =================================================================================================
V2, V3      i32 storage type | [sparse: shape of the stored values] | shape | device | i32 type code
            | [sparse: type code and shape of every index array] | values | index arrays
V1          shape | device | i32 type code | values
V0          the word is the number of dimensions: u32 sizes | device | i32 type code | values
==========  =================================================================================================

A shape is an i32 count and i64 sizes; a device is two i32. V3 is V2 written in np-shape mode, where a shape
with no dimensions is a scalar and a count of -1 means that there is no array.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gluonjax._base.dtypes import CODE_TO_DTYPE, DTYPE_TO_CODE
from gluonjax._base.errors import MXNetError

LIST_MAGIC = 0x112
V1_MAGIC = 0xF993FAC8
V2_MAGIC = 0xF993FAC9
V3_MAGIC = 0xF993FACA

DENSE, ROW_SPARSE, CSR = 0, 1, 2
MAX_DIMENSIONS = 64
NO_ARRAY = np.zeros((0,), np.float32)
CPU_0 = (1, 0)


@dataclass(frozen=True)
class SparseBlock:
    """A sparse array as the file holds it.

    Args:
        stype: ``"row_sparse"`` or ``"csr"``.
        shape: the shape of the dense array that it stands for.
        data: stored values: ``(rows stored, *shape[1:])``, or ``(values stored,)`` for csr.
        indices: which rows, or which columns, the values belong to.
        indptr: csr only: ``(shape[0] + 1,)``, where each row starts in ``data``.
    """

    stype: Literal["row_sparse", "csr"]
    shape: tuple[int, ...]
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray | None = None

    def todense(self) -> np.ndarray:
        """The dense array, shape ``shape``."""
        dense = np.zeros(self.shape, self.data.dtype)
        if self.indptr is None:
            dense[self.indices] = self.data
        else:
            rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
            dense[rows, self.indices] = self.data
        return dense


Block = np.ndarray | SparseBlock


class _Reader:
    """A position in the bytes; every read says what it expected to find there."""

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self.view = memoryview(data).cast("B")
        self.position = 0

    def fail(self, text: str) -> MXNetError:
        return MXNetError(f"Invalid NDArray file format: at byte {self.position} of {len(self.view)}: {text}")

    def take(self, count: int, what: str) -> memoryview:
        left = len(self.view) - self.position
        if count > left:
            raise self.fail(
                f"expected {what} ({count} bytes), but {left} bytes are left: truncated or corrupt"
            )
        piece = self.view[self.position : self.position + count]
        self.position += count
        return piece

    def number(self, form: Literal["<i", "<I", "<Q"], what: str) -> int:
        return struct.unpack(form, self.take(struct.calcsize(form), what))[0]

    def shape(self, what: str) -> tuple[int, ...] | None:
        count = self.number("<i", f"the number of dimensions of {what}")
        if count == -1:
            return None
        if not 0 <= count <= MAX_DIMENSIONS:
            raise self.fail(f"{what} claims {count} dimensions; wanted 0 to {MAX_DIMENSIONS}")
        return self.sizes(struct.unpack(f"<{count}q", self.take(8 * count, f"{count} sizes of {what}")), what)

    def sizes(self, sizes: tuple[int, ...], what: str) -> tuple[int, ...]:
        if any(size < 0 for size in sizes):
            raise self.fail(f"{what} has the shape {sizes}; sizes cannot be negative")
        return sizes

    def device(self) -> None:
        # Arrays always come back as NumPy, so where they lived does not matter.
        self.take(8, "a device")

    def dtype(self, what: str) -> np.dtype:
        code = self.number("<i", f"the type code of {what}")
        if code not in CODE_TO_DTYPE:
            raise self.fail(f"{what} has the type code {code}; known are 0 to {max(CODE_TO_DTYPE)}")
        return CODE_TO_DTYPE[code]

    def values(self, shape: tuple[int, ...], dtype: np.dtype, what: str) -> np.ndarray:
        raw = self.take(math.prod(shape) * dtype.itemsize, f"the values of {what}, {dtype} {shape}")
        # A copy: blocks start at any byte, while arrays should be aligned and not keep the whole file alive.
        try:
            return np.frombuffer(raw, dtype).reshape(shape).copy()
        except ValueError as error:
            raise self.fail(f"{what} has the shape {shape}, which NumPy refuses: {error}") from None


def read_params(data: bytes | bytearray | memoryview) -> tuple[list[Block], list[str]]:
    """Read a ``.params`` file or an NDArray list.

    Args:
        data: the whole file.

    Returns:
        The arrays, and their names (an empty list where the file has none). Arrays may be read-only.

    Raises:
        MXNetError: the bytes are not such a file; the text names the offset and what was expected.
    """
    reader = _Reader(data)
    magic = reader.number("<Q", "the magic number 0x112")
    if magic != LIST_MAGIC:
        reader.position = 0
        raise reader.fail(f"expected the magic number 0x112, found {magic:#x}; this is not a .params file")
    reader.number("<Q", "8 reserved bytes")
    count = reader.number("<Q", "the number of arrays")
    blocks: list[Block] = []
    for index in range(count):
        blocks.append(_read_block(reader, f"array {index} of {count}"))
    name_count = reader.number("<Q", "the number of names")
    if name_count not in (0, count):
        raise reader.fail(
            f"the file has {count} arrays and {name_count} names; wanted no names or one for each"
        )
    return blocks, [_read_name(reader, f"name {index} of {name_count}") for index in range(name_count)]


def _read_name(reader: _Reader, what: str) -> str:
    raw = reader.take(reader.number("<Q", f"the length of {what}"), what)
    try:
        return bytes(raw).decode("utf-8")
    except UnicodeDecodeError as error:
        raise reader.fail(f"{what} is not UTF-8 text: {error}") from None


def _read_block(reader: _Reader, what: str) -> Block:
    word = reader.number("<I", f"the version of {what}")
    if word in (V2_MAGIC, V3_MAGIC):
        return _read_current(reader, what)
    if word == V1_MAGIC:
        shape = reader.shape(what)
    elif word <= MAX_DIMENSIONS:
        sizes = reader.take(4 * word, f"{word} sizes of {what}")
        shape = reader.sizes(struct.unpack(f"<{word}I", sizes), what)
    else:
        raise reader.fail(f"{what} opens with {word:#x}, which is no version of the format")
    if not shape:
        # Before np-shape mode existed, no dimensions meant no array, and nothing follows.
        return NO_ARRAY
    reader.device()
    return reader.values(shape, reader.dtype(what), what)


def _read_current(reader: _Reader, what: str) -> Block:
    stype = reader.number("<i", f"the storage type of {what}")
    if stype not in (DENSE, ROW_SPARSE, CSR):
        raise reader.fail(
            f"{what} has the storage type {stype}; known are 0 (dense), 1 (row_sparse), 2 (csr)"
        )
    stored_shape = reader.shape(f"the stored values of {what}") if stype != DENSE else None
    shape = reader.shape(what)
    if shape is None:
        return NO_ARRAY
    # MXNet writes a legacy-mode scalar in full and then cannot read it back; here it is read.
    reader.device()
    dtype = reader.dtype(what)
    if stype == DENSE:
        return reader.values(shape, dtype, what)
    return _read_sparse(reader, what, stype, shape, stored_shape or (), dtype)


def _read_sparse(
    reader: _Reader,
    what: str,
    stype: int,
    shape: tuple[int, ...],
    stored_shape: tuple[int, ...],
    dtype: np.dtype,
) -> SparseBlock:
    parts = ("row indices",) if stype == ROW_SPARSE else ("row starts", "column indices")
    headers = []
    for part in parts:
        label = f"the {part} of {what}"
        headers.append((label, reader.dtype(label), reader.shape(label) or ()))
    data = reader.values(stored_shape, dtype, f"the stored values of {what}")
    found = [reader.values(part_shape, part_dtype, label) for label, part_dtype, part_shape in headers]
    if stype == ROW_SPARSE:
        block = SparseBlock("row_sparse", shape, data, found[0])
    else:
        block = SparseBlock("csr", shape, data, found[1], found[0])
    problem = sparse_problem(block)
    if problem:
        raise reader.fail(f"{what} ({block.stype}, shape {shape}): {problem}")
    return block


def sparse_problem(block: SparseBlock) -> str | None:
    """What is inconsistent in a sparse block, or ``None``."""
    indices, shape = block.indices, block.shape
    integers = [indices] if block.indptr is None else [indices, block.indptr]
    if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in integers):
        return "index arrays must be vectors of integers"
    if block.indptr is None:
        if not shape or block.data.shape != (len(indices), *shape[1:]):
            return f"{len(indices)} rows are listed, but the stored values have the shape {block.data.shape}"
        limit = shape[0]
    else:
        if len(shape) != 2 or block.data.shape != indices.shape:
            return (
                f"{len(indices)} columns are listed, but the stored values have the shape {block.data.shape}"
            )
        starts = block.indptr.astype(np.int64)
        if (
            len(starts) != shape[0] + 1
            or starts[0] != 0
            or starts[-1] != len(indices)
            or (np.diff(starts) < 0).any()
        ):
            return f"row starts must be {shape[0] + 1} rising numbers from 0 to {len(indices)}"
        limit = shape[1]
    if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= limit):
        return f"indices reach from {indices.min()} to {indices.max()}; wanted 0 to {limit - 1}"
    return None


def read_raw(data: bytes | bytearray | memoryview) -> Block:
    """Read the bytes of one array, as MXNet's pickles hold them: a block of a ``.params`` file without its header."""
    return _read_block(_Reader(data), "the array")


def write_raw(array: Block) -> bytes:
    """The bytes of one array, as MXNet's pickles hold them."""
    return b"".join(_block_pieces(array, False, CPU_0))


def needs_np_shape(data: bytes | bytearray | memoryview) -> bool:
    """True where the first array of a ``.params`` file was written in np-shape mode."""
    view = memoryview(data).cast("B")
    return len(view) >= 28 and struct.unpack("<I", view[24:28])[0] == V3_MAGIC


def write_params(
    arrays: Sequence[Block],
    names: Sequence[str] = (),
    *,
    np_shape: bool = False,
    devices: Sequence[tuple[int, int]] | None = None,
) -> bytes:
    """The bytes of a ``.params`` file, as MXNet 1.9.1 writes it.

    Args:
        arrays: NumPy arrays and sparse blocks.
        names: one name for each array, or none.
        np_shape: write V3 blocks, as MXNet does in np-shape mode; dense arrays only.
        devices: MXNet's (device type code, device id) of each array; cpu(0) for all where missing.

    >>> read_params(write_params([np.ones((2,), np.float32)], ["w"]))
    ([array([1., 1.], dtype=float32)], ['w'])
    """
    return b"".join(params_pieces(arrays, names, np_shape=np_shape, devices=devices))


def params_pieces(
    arrays: Sequence[Block],
    names: Sequence[str] = (),
    *,
    np_shape: bool = False,
    devices: Sequence[tuple[int, int]] | None = None,
) -> list[bytes | memoryview]:
    """The same as consecutive pieces; the arrays' own memory is among them, not a copy of it."""
    if names and len(names) != len(arrays):
        raise MXNetError(
            f"write_params: {len(arrays)} arrays and {len(names)} names; give none or one for each"
        )
    pieces: list[bytes | memoryview] = [struct.pack("<QQQ", LIST_MAGIC, 0, len(arrays))]
    for index, array in enumerate(arrays):
        device = devices[index] if devices is not None else CPU_0
        pieces.extend(_block_pieces(array, np_shape, device))
    pieces.append(struct.pack("<Q", len(names)))
    for name in names:
        encoded = name.encode("utf-8")
        pieces += [struct.pack("<Q", len(encoded)), encoded]
    return pieces


def _memory(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _block_pieces(array: Block, np_shape: bool, device: tuple[int, int]) -> list[bytes | memoryview]:
    if isinstance(array, np.ndarray):
        magic = V3_MAGIC if np_shape else V2_MAGIC
        head = struct.pack("<Ii", magic, DENSE) + _shape_bytes(array.shape)
        return [head, struct.pack("<iii", *device, _code(array)), _memory(array)]
    if np_shape:
        raise MXNetError(
            f"write_params: a {array.stype} array cannot be written in np-shape mode; use a dense array"
        )
    indexes = [array.indices] if array.indptr is None else [array.indptr, array.indices]
    stype = ROW_SPARSE if array.indptr is None else CSR
    head = struct.pack("<Ii", V2_MAGIC, stype) + _shape_bytes(array.data.shape) + _shape_bytes(array.shape)
    kinds = [struct.pack("<i", _code(index)) + _shape_bytes(index.shape) for index in indexes]
    bodies = [_memory(array.data), *(_memory(index) for index in indexes)]
    return [head, struct.pack("<iii", *device, _code(array.data)), *kinds, *bodies]


def _shape_bytes(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def _code(array: np.ndarray) -> int:
    code = DTYPE_TO_CODE.get(array.dtype.newbyteorder("="))
    if code is None or not array.dtype.isnative:
        raise MXNetError(
            f"write_params: MXNet's format has no type code for {array.dtype}; cast the array first"
        )
    return code
