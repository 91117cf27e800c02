"""Named arrays in the formats of other libraries: safetensors, NumPy's .npz and orbax checkpoints.

A list of arrays without names is stored under ``arr_0``, ``arr_1``, ..., as NumPy does it, and read as a list again.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Literal

import numpy as np

from gluonjax._base.dtypes import BFLOAT16, DTYPE_TO_CODE
from gluonjax._base.errors import MXNetError, did_you_mean
from gluonjax._files.atomic import atomic_write
from gluonjax._files.params import Block, SparseBlock, read_params, write_params

Format = Literal["params", "safetensors", "npz", "orbax"]
FORMATS: tuple[Format, ...] = ("params", "safetensors", "npz", "orbax")
_ENDINGS: dict[str, Format] = {
    ".params": "params", ".nd": "params", ".safetensors": "safetensors", ".npz": "npz", ".orbax": "orbax",
}  # fmt: skip
_EXTRAS = {"safetensors.numpy": ("safetensors", "safetensors"), "orbax.checkpoint": ("orbax-checkpoint", "orbax")}
_MOST_HEADER = 100 << 20


def _library(name: str) -> Any:
    package, extra = _EXTRAS[name]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MXNetError(
            f"this format needs the package {package}: pip install \"gluonjax[{extra}]\" ({error})"
        ) from None


def format_of_name(path: str) -> Format:
    """The format that a file's ending stands for; a path without an ending stands for an orbax checkpoint.

    >>> format_of_name("model-0000.params"), format_of_name("model.safetensors"), format_of_name("checkpoints/7")
    ('params', 'safetensors', 'orbax')
    """
    ending = os.path.splitext(path.rstrip("/"))[1].lower()
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if os.path.isdir(path) or not ending or ending[1:].isdigit():
        return "orbax"
    raise MXNetError(
        f"{path!r}: the ending {ending!r} stands for no format; wanted one of {', '.join(_ENDINGS)}, or a folder for "
        f"an orbax checkpoint{did_you_mean(ending, _ENDINGS)}"
    )


def format_of_content(path: str) -> Format:
    """The format that a file or a folder holds, told by its first bytes."""
    if os.path.isdir(path):
        return "orbax"
    with open(path, "rb") as stream:
        head = stream.read(10)
    if head[:2] == b"PK":
        return "npz"
    if len(head) == 10 and head[8:9] == b"{" and struct.unpack("<Q", head[:8])[0] <= _MOST_HEADER:
        return "safetensors"
    return "params"


def _numbered(count: int) -> list[str]:
    return [f"arr_{number}" for number in range(count)]


def as_named(arrays: Sequence[Block], names: Sequence[str], what: str) -> dict[str, np.ndarray]:
    """A dictionary of dense arrays; raises for sparse ones and for names that occur twice."""
    named: dict[str, np.ndarray] = {}
    for name, array in zip(names or _numbered(len(arrays)), arrays):
        if isinstance(array, SparseBlock):
            raise MXNetError(f"{what} cannot hold the {array.stype} array {name!r}; convert it with tostype('default')")
        if name in named:
            raise MXNetError(f"{what} cannot hold two arrays of the name {name!r}")
        named[name] = np.ascontiguousarray(array).reshape(array.shape)
    return named


def _listed(named: Mapping[str, np.ndarray]) -> tuple[list[Block], list[str]]:
    numbered = _numbered(len(named))
    if named and set(named) == set(numbered):
        return [named[name] for name in numbered], []
    return list(named.values()), list(named)


def read_arrays(path: str | os.PathLike[str], form: str | None = None) -> tuple[list[Block], list[str]]:
    """Read arrays and their names.

    Args:
        path: a file, or the folder of an orbax checkpoint.
        form: one of FORMATS; told by the content where None.

    Returns:
        The arrays, and their names (an empty list where they have none).
    """
    name = os.fspath(path)
    try:
        found = form or format_of_content(name)
        if found == "params":
            with open(name, "rb") as stream:
                return read_params(stream.read())
        return _listed(_READERS[_check_format(found)](name))
    except OSError as error:
        raise MXNetError(f"cannot read {name!r}: {error.strerror or error}") from None


def write_arrays(
    path: str | os.PathLike[str], arrays: Sequence[Block], names: Sequence[str] = (), form: str | None = None
) -> None:
    """Write arrays with or without names.

    Args:
        path: a file, or the folder of an orbax checkpoint, which must not be there yet.
        arrays: NumPy arrays and, for .params, sparse blocks.
        names: one for each array, or none.
        form: one of FORMATS; told by the ending where None.
    """
    name = os.fspath(path)
    found = _check_format(form or format_of_name(name))
    if found == "params":
        atomic_write(name, write_params(arrays, names))
    else:
        _WRITERS[found](name, as_named(arrays, names, f"{name!r}: a file in the format {found}"))


def _check_format(form: str) -> Format:
    if form not in FORMATS:
        raise MXNetError(f"unknown format {form!r}; wanted one of {', '.join(FORMATS)}{did_you_mean(form, FORMATS)}")
    return form  # type: ignore[return-value]


def _read_safetensors(path: str) -> dict[str, np.ndarray]:
    library = _library("safetensors.numpy")
    errors = importlib.import_module("safetensors").SafetensorError
    try:
        return dict(sorted(library.load_file(path).items(), key=_order_in_file(path)))
    except (errors, ValueError, KeyError, json.JSONDecodeError) as error:
        raise MXNetError(f"{path!r} is not a safetensors file that can be read: {error}") from None


def _order_in_file(path: str) -> Any:
    with open(path, "rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        places = {name: at for at, name in enumerate(json.loads(stream.read(length)))}
    return lambda item: places[item[0]]


def _write_safetensors(path: str, named: dict[str, np.ndarray]) -> None:
    atomic_write(path, _library("safetensors.numpy").save(named, metadata={"format": "np"}))


def _read_npz(path: str) -> dict[str, np.ndarray]:
    try:
        # NumPy leaves a file open that turns out to be none of its own.
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {name: _from_npy(archive[name]) for name in archive.files}
    except (ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        raise MXNetError(f"{path!r} is not a .npz file that can be read: {error}") from None


def _from_npy(array: np.ndarray) -> np.ndarray:
    # NumPy stores bfloat16 as two bytes of unknown meaning; no other type of ours looks like that.
    return array.view(BFLOAT16) if array.dtype == np.dtype("V2") else array


def _write_npz(path: str, named: dict[str, np.ndarray]) -> None:
    stream = io.BytesIO()
    # As numpy.savez writes it, which itself cannot take every name: "file" is an argument of its own.
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in named.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    atomic_write(path, stream.getbuffer())


@contextlib.contextmanager
def _orbax(path: str) -> Iterator[tuple[ModuleType, Any]]:
    library = _library("orbax.checkpoint")
    with contextlib.closing(library.PyTreeCheckpointer()) as checkpointer:
        try:
            yield library, checkpointer
        except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
            raise MXNetError(f"{path!r}: orbax: {error}") from None


def _leaves(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values; the names of nested dictionaries and lists are joined by slashes."""
    if isinstance(tree, Mapping):
        pairs: Any = tree.items()
    elif isinstance(tree, (list, tuple)):
        pairs = enumerate(tree)
    else:
        yield prefix, tree
        return
    for name, value in pairs:
        yield from _leaves(value, f"{prefix}/{name}" if prefix else str(name))


def _read_orbax(path: str) -> dict[str, np.ndarray]:
    with _orbax(path) as (_, checkpointer):
        tree = checkpointer.restore(os.path.abspath(path))
    return {name: np.asarray(value) for name, value in _leaves(tree) if value is not None}


def _write_orbax(path: str, named: dict[str, np.ndarray]) -> None:
    empty = [name for name, array in named.items() if not array.size]
    if empty:
        raise MXNetError(f"{path!r}: an orbax checkpoint cannot hold arrays without elements: {', '.join(empty)}")
    if os.path.exists(path):
        raise MXNetError(f"{path!r} is there already; an orbax checkpoint needs a new folder")
    with _orbax(path) as (_, checkpointer):
        checkpointer.save(os.path.abspath(path), named)


_READERS = {"safetensors": _read_safetensors, "npz": _read_npz, "orbax": _read_orbax}
_WRITERS = {"safetensors": _write_safetensors, "npz": _write_npz, "orbax": _write_orbax}


def storable(array: np.ndarray) -> bool:
    """True where MXNet's format has a code for an array's type."""
    return array.dtype in DTYPE_TO_CODE
