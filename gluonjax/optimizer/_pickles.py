"""Optimizer states as bytes: pickles that MXNet reads, and a reader that builds known things only.

MXNet pickles its own classes, so the writer emits the few opcodes itself, with MXNet's names in place of
ours. The reader refuses every class that is not a state array, an optimizer, a scheduler or a plain
container: a states file from elsewhere cannot run code.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from typing import Any

import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._files.params import read_params, write_params
from gluonjax.lr_scheduler import LRScheduler
from gluonjax.ndarray.ndarray import NDArray
from gluonjax.optimizer._base import Optimizer

# A list of one unnamed array: magic, reserved word, count; then the array; then the count of names.
_HEAD = struct.pack("<QQQ", 0x112, 0, 1)
_TAIL = struct.pack("<Q", 0)

_OURS = "gluonjax."
_THEIRS = "mxnet."


def array_bytes(array: NDArray) -> bytes:
    """One array in MXNet's binary format, without the list around it."""
    content = write_params([np.asarray(array.asnumpy())], [])
    return content[len(_HEAD) : len(content) - len(_TAIL)]


def array_from_bytes(content: bytes) -> NDArray:
    blocks, _ = read_params(_HEAD + content + _TAIL)
    if not isinstance(blocks[0], np.ndarray):
        raise MXNetError("optimizer states: a sparse state array cannot be loaded; train with dense states")
    return NDArray(blocks[0])


def public_module(kind: type) -> str:
    """The module under which MXNet knows a class of ours; the class's own module for users' classes."""
    module = kind.__module__
    if not module.startswith(_OURS):
        return module
    if issubclass(kind, Optimizer):
        return _THEIRS + ("optimizer.contrib" if module.endswith(".contrib") else "optimizer.optimizer")
    return _THEIRS + module[len(_OURS) :]


class _Writer:
    """Emits pickle protocol 3."""

    def __init__(self) -> None:
        self.out = io.BytesIO()
        self.seen: dict[int, tuple[int, Any]] = {}

    def bytes_of(self, value: Any) -> bytes:
        self.out.write(pickle.PROTO + b"\x03")
        self.value(value)
        self.out.write(pickle.STOP)
        return self.out.getvalue()

    def value(self, value: Any) -> None:
        write = self.out.write
        if isinstance(value, np.generic):
            value = value.item()
        if value is None:
            write(pickle.NONE)
        elif value is True or value is False:
            write(pickle.NEWTRUE if value else pickle.NEWFALSE)
        elif isinstance(value, int):
            self.integer(value)
        elif isinstance(value, float):
            write(pickle.BINFLOAT + struct.pack(">d", value))
        elif isinstance(value, str):
            text = str(value).encode("utf-8", "surrogatepass")
            write(pickle.BINUNICODE + struct.pack("<I", len(text)) + text)
        elif isinstance(value, bytes):
            write(pickle.BINBYTES + struct.pack("<I", len(value)) + value)
        elif isinstance(value, NDArray):
            self.array(value)
        elif isinstance(value, dict):
            self.mapping(value)
        elif isinstance(value, (list, tuple)):
            write(pickle.MARK)
            for entry in value:
                self.value(entry)
            write(pickle.TUPLE if isinstance(value, tuple) else pickle.LIST)
        elif isinstance(value, (Optimizer, LRScheduler)):
            self.instance(value)
        else:
            raise MXNetError(
                f"optimizer states: cannot save a {type(value).__name__} ({value!r}); states and "
                f"optimizer attributes "
                "may hold numbers, text, NDArrays, containers and schedulers"
            )

    def integer(self, value: int) -> None:
        if -(1 << 31) <= value < 1 << 31:
            self.out.write(pickle.BININT + struct.pack("<i", value))
        else:
            digits = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            self.out.write(pickle.LONG1 + bytes([len(digits)]) + digits)

    def name(self, module: str, name: str) -> None:
        self.out.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def array(self, array: NDArray) -> None:
        content = array_bytes(array)
        self.name("mxnet.ndarray.ndarray", "NDArray")
        self.out.write(pickle.NONE + pickle.TUPLE1 + pickle.REDUCE + pickle.EMPTY_DICT)
        self.value("handle")
        self.name("builtins", "bytearray")
        self.value(content)
        self.out.write(pickle.TUPLE1 + pickle.REDUCE + pickle.SETITEM + pickle.BUILD)

    def mapping(self, value: dict[Any, Any]) -> None:
        """Dictionaries keep their identity: the optimizer's current counts are one of its table of counts."""
        known = self.seen.get(id(value))
        if known is not None:
            self.out.write(pickle.LONG_BINGET + struct.pack("<I", known[0]))
            return
        number = len(self.seen)
        self.seen[id(value)] = (number, value)
        self.out.write(pickle.EMPTY_DICT + pickle.LONG_BINPUT + struct.pack("<I", number))
        for key, entry in value.items():
            self.value(key)
            self.value(entry)
            self.out.write(pickle.SETITEM)

    def instance(self, value: Any) -> None:
        kind = type(value)
        self.name(public_module(kind), kind.__qualname__)
        self.out.write(pickle.EMPTY_TUPLE + pickle.NEWOBJ)
        self.value(value.__getstate__() if isinstance(value, Optimizer) else dict(value.__dict__))
        self.out.write(pickle.BUILD)


class _PickledArray:
    """What stands for MXNet's NDArray class while reading."""

    def __new__(cls, handle: None = None) -> NDArray:  # type: ignore[misc]
        return _StateArray(handle)


class _StateArray(NDArray):
    """An array being read; ``plain`` turns it into an NDArray afterwards."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        handle = state.get("handle")
        content = np.zeros((0,), np.float32) if handle is None else array_from_bytes(bytes(handle))
        NDArray.__init__(self, content)


def _latin(text: str, encoding: str) -> bytes:
    """What ``_codecs.encode`` does in pickles written with protocol 2."""
    return text.encode(encoding)


def _numpy_names() -> dict[tuple[str, str], Any]:
    multiarray = sys.modules.get("numpy._core.multiarray") or sys.modules["numpy.core.multiarray"]
    names: dict[tuple[str, str], Any] = {("numpy", "ndarray"): np.ndarray, ("numpy", "dtype"): np.dtype}
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        for name in ("_reconstruct", "scalar"):
            names[module, name] = getattr(multiarray, name)
    return names


class _Reader(pickle.Unpickler):
    """Builds arrays, optimizers, schedulers and containers; refuses the rest."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in (("builtins", "bytearray"), ("__builtin__", "bytearray")):
            return bytearray
        if (module, name) == ("_codecs", "encode"):
            return _latin
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        if module.startswith("numpy"):
            found = _numpy_names().get((module, name))
            if found is not None:
                return found
        if name in ("NDArray", "ndarray") and module.startswith((_THEIRS, _OURS)):
            return _PickledArray
        if (module, name) == ("copyreg", "_reconstructor") or (module, name) == ("builtins", "object"):
            return _reconstruct if name == "_reconstructor" else object
        found = self._own_class(module, name)
        if found is None:
            raise MXNetError(
                f"optimizer states: the file asks for {module}.{name}, which is neither a state nor a "
                f"known optimizer "
                "or scheduler; refusing to load it"
            )
        return found

    @staticmethod
    def _own_class(module: str, name: str) -> type | None:
        if module.startswith((_THEIRS, _OURS)):
            import gluonjax.lr_scheduler as schedulers
            import gluonjax.optimizer as optimizers

            found = getattr(optimizers, name, None) or getattr(schedulers, name, None)
        else:
            # A class of the user's own program, already imported by it.
            found = getattr(sys.modules.get(module), name, None)
        return found if isinstance(found, type) and issubclass(found, (Optimizer, LRScheduler)) else None


def _reconstruct(kind: type, base: type, state: Any) -> Any:
    return object.__new__(kind)


def plain(value: Any) -> Any:
    """Replace what the reader built by NDArrays; NumPy states become NDArrays too."""
    if isinstance(value, (_StateArray, np.ndarray)):
        return NDArray(value)
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([plain(entry) for entry in value])
    return value


def dump_states(value: Any) -> bytes:
    """States, or (states, optimizer), as bytes that MXNet's ``Updater.set_states`` reads."""
    return _Writer().bytes_of(value)


def load_states(content: bytes) -> Any:
    """Read what ``dump_states`` or MXNet wrote. Raises MXNetError for anything else."""
    try:
        value = _Reader(io.BytesIO(content)).load()
    except MXNetError:
        raise
    except Exception as error:
        raise MXNetError(f"optimizer states: the bytes are no states file: {error}") from error
    if isinstance(value, tuple) and len(value) == 2:
        return plain(value[0]), value[1]
    return plain(value)
