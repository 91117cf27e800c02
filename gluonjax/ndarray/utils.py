"""Saving and loading lists and dictionaries of arrays; ``zeros``/``array`` that take a storage type."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from gluonjax._base.devices import Context
from gluonjax._base.errors import ArgumentTypeError, MXNetError, OperatorError
from gluonjax._base.scopes import modes
from gluonjax._files import formats, params
from gluonjax._files.atomic import atomic_write
from gluonjax.ndarray import _creation
from gluonjax.ndarray.ndarray import NDArray, wrap

# Files of this size and more are mapped, not read.
_MAPPED_FROM = 1 << 20


def zeros(shape: Any, ctx: Any = None, dtype: Any = None, stype: str | None = None, **kwargs: Any) -> NDArray:
    """An array of zeros of a storage type."""
    return _creation.zeros(shape, ctx, dtype, stype, **kwargs)


def empty(shape: Any, ctx: Any = None, dtype: Any = None, stype: str | None = None) -> NDArray:
    """An array of a storage type whose content does not matter."""
    return _creation.empty(shape, ctx, dtype, stype)


def array(source_array: Any, ctx: Any = None, dtype: Any = None) -> NDArray:
    """Copy an array-like (or a scipy sparse matrix) into a new array."""
    return _creation.array(source_array, ctx, dtype)


def save(fname: str, data: Any, *, format: str | None = None) -> None:
    """Write an array, a list or a dictionary of arrays to a file, by default in MXNet's .params format.

    Args:
        fname: the path; written to a temporary name first and then renamed.
        data: an NDArray, a list of them, or a dictionary from names to them.
        format: ``"params"`` (also where None, whatever the path's ending), ``"safetensors"``, ``"npz"``, ``"orbax"``.

    Raises:
        ValueError: for anything else; TypeError where an entry is not an array.
    """
    if isinstance(data, NDArray):
        data = [data]
    if isinstance(data, Mapping):
        names, arrays = [str(name) for name in data], list(data.values())
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        names, arrays = [], list(data)
    else:
        raise OperatorError(
            f"data needs to either be a NDArray, dict of str, NDArray pairs or a list of NDArrays, got {type(data)}"
        )
    for one in arrays:
        if not isinstance(one, NDArray):
            raise ArgumentTypeError(f"save only accept dict str->NDArray or list of NDArray, got {type(one)}")
    contents = [_content(one) for one in arrays]
    if format not in (None, "params"):
        formats.write_arrays(fname, contents, names, format)
        return
    atomic_write(os.fspath(fname), params.params_pieces(contents, names, np_shape=modes.np_shape))


def _content(array: NDArray) -> Any:
    if array.stype != "default":
        return array._to_block()  # type: ignore[attr-defined]
    return array.asnumpy()


def load(fname: str) -> Any:
    """Read what ``save`` (of MXNet or of this library) wrote: a list, or a dictionary where names were saved.

    Files of the other formats that ``save`` knows are told by their content.
    """
    try:
        if formats.format_of_content(os.fspath(fname)) != "params":
            return _handles(*formats.read_arrays(fname))
        with open(fname, "rb") as file:
            data = _mapped(file)
    except OSError as error:
        raise MXNetError(f"load: cannot read '{fname}': {error.strerror}") from error
    return _unpack(data, str(fname))


def _mapped(file: BinaryIO) -> Any:
    """The content of a file; a large one is mapped, so that it is in memory once, as arrays."""
    size = os.fstat(file.fileno()).st_size
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size >= _MAPPED_FROM else file.read()


def load_frombuffer(buf: Any) -> Any:
    """The same from bytes in memory."""
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"load_frombuffer: buf needs to be bytes, got {type(buf).__name__}")
    return _unpack(bytes(buf), "buffer")


def _unpack(data: bytes, source: str) -> Any:
    try:
        blocks, names = params.read_params(data)
    except MXNetError as error:
        raise type(error)(f"{source}: {error}") from None
    if params.needs_np_shape(data) != modes.np_shape and any(0 in block.shape or not block.shape for block in blocks):
        # In the two modes such shapes mean different things: "empty" in one, "unknown" in the other.
        wanted = "True" if not modes.np_shape else "False"
        raise MXNetError(
            f"{source}: holds zero-size or 0-d arrays that were saved with"
            f"{'out' if modes.np_shape else ''} NumPy shape semantics; call mx.util.set_np_shape({wanted}) to load them"
        )
    return _handles(blocks, names)


def _handles(blocks: list[Any], names: list[str]) -> Any:
    arrays = [_handle(block) for block in blocks]
    return dict(zip(names, arrays)) if names else arrays


def _handle(block: Any) -> NDArray:
    if isinstance(block, np.ndarray):
        return wrap(np.require(block, requirements=["C", "O", "W"]), Context("cpu"))
    from gluonjax.ndarray import sparse

    return sparse.from_block(block)
