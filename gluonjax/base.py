"""``mx.base``: names that scripts take from there."""

from __future__ import annotations

import ctypes
import inspect
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._base.python_types import classproperty as classproperty
from gluonjax._base.python_types import integer_types as integer_types
from gluonjax._base.python_types import numeric_types as numeric_types
from gluonjax._base.python_types import string_types as string_types
from gluonjax._base.python_types import with_metaclass as with_metaclass
from gluonjax.ndarray._invoke import NULL as _Null

mx_real_t = np.float32
NDArrayHandle = ctypes.c_void_p


class NotImplementedForSymbol(MXNetError):
    """A method of arrays that symbols do not have."""

    def __init__(self, function: Any, alias: Any = None, *args: Any) -> None:
        super().__init__()
        self.function = getattr(function, "__name__", str(function))
        self.alias = alias
        self.args = tuple(str(type(one)) for one in args)

    def __str__(self) -> str:
        shown = f"Function {self.function}"
        if self.alias:
            shown += f" (namely operator \"{self.alias}\")"
        if self.args:
            shown += f" with arguments ({', '.join(self.args)})"
        return (
            f"{shown} is not implemented for Symbol and only available in NDArray. A symbol has no values: in "
            "hybrid_forward use operators of F (F.where for a condition), or do not hybridize this block."
        )


class NotSupportedForSparseNDArray(MXNetError):
    """A method of dense arrays that sparse arrays do not have."""

    def __init__(self, function: Any, alias: Any = None, *args: Any) -> None:
        super().__init__()
        self.function = getattr(function, "__name__", str(function))
        self.alias = alias
        self.args = tuple(str(type(one)) for one in args)

    def __str__(self) -> str:
        shown = f"Function {self.function}"
        if self.alias:
            shown += f" (namely operator \"{self.alias}\")"
        if self.args:
            shown += f" with arguments ({', '.join(self.args)})"
        return shown + " is not supported for SparseNDArray and only available in NDArray."


def py_str(x: Any) -> str:
    """Bytes as text."""
    return x.decode("utf-8") if isinstance(x, bytes) else str(x)


def c_str(string: str) -> bytes:
    """Text as bytes."""
    return string.encode("utf-8")


def c_str_array(strings: Any) -> list[bytes]:
    """Texts as bytes."""
    return [c_str(string) for string in strings]


def _as_list(obj: Any) -> list[Any] | tuple[Any, ...]:
    """A list or tuple as it is, anything else as a list of one."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def check_call(ret: Any) -> None:
    """MXNet checked the return codes of its C library with this; there is none here."""


def data_dir_default() -> str:
    """Where downloads go by default: ``~/.mxnet`` (``%APPDATA%/mxnet`` on Windows)."""
    if os.name == "nt":
        return os.path.join(os.environ.get("APPDATA", os.path.expanduser("~")), "mxnet")
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """Where downloads go: ``$MXNET_HOME`` or the default."""
    return os.environ.get("MXNET_HOME", data_dir_default())


_errors: dict[str, type[Exception]] = {}


def register_error(func_name: Any = None, cls: Any = None) -> Any:
    """Register an exception class under a name; a decorator."""
    if callable(func_name):
        cls, func_name = func_name, func_name.__name__

    def register(one: Any) -> Any:
        _errors[func_name or one.__name__] = one
        return one

    return register if cls is None else register(cls)


def build_param_doc(
    arg_names: Sequence[str], arg_types: Sequence[str], arg_descs: Sequence[str], remove_dup: bool = True
) -> str:
    """The "Parameters" section of a docstring.

    Args:
        arg_names, arg_types, arg_descs: of the parameters, in order; ``num_args`` is left out.
        remove_dup: list a name once.
    """
    lines = ["Parameters", "----------"]
    listed: set[str] = set()
    for name, kind, text in zip(arg_names, arg_types, arg_descs):
        if name == "num_args" or (remove_dup and name in listed):
            continue
        listed.add(name)
        lines.append(f"{name} : {kind}")
        if text:
            lines.append(f"    {text}")
    return "\n".join([*lines, ""])


def add_fileline_to_docstring(module: Any, incursive: bool = True) -> None:
    """Append where it is defined to the docstring of every function of a module.

    Args:
        module: a module, its name, or a class.
        incursive: also of the methods of its classes.
    """
    for _, one in inspect.getmembers(sys.modules[module] if isinstance(module, str) else module):
        if inspect.isclass(one) and incursive:
            add_fileline_to_docstring(one, False)
        elif inspect.isfunction(one) and one.__doc__ and "From:" not in one.__doc__:
            code = one.__code__
            one.__doc__ += f"\n\nFrom:{code.co_filename}:{code.co_firstlineno}"


def c2pyerror(err_msg: str) -> tuple[str, str | None]:
    """An error text of MXNet's C library as a Python text, and the name of the error class it begins with."""
    head, _, trace = err_msg.rstrip("\n").partition("\nStack trace")
    frames = [line for line in trace.splitlines()[1:] if line.startswith("  ")]
    if frames:
        head = "\n".join(["Traceback (most recent call last):", *reversed(frames), head])
    found = re.match(r"([\w.]+):", err_msg)
    return head, found.group(1) if found else None


__all__ = [
    "MXNetError",
    "NDArrayHandle",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "_Null",
    "add_fileline_to_docstring",
    "build_param_doc",
    "c2pyerror",
    "c_str",
    "check_call",
    "classproperty",
    "data_dir",
    "data_dir_default",
    "integer_types",
    "numeric_types",
    "py_str",
    "register_error",
    "string_types",
    "with_metaclass",
]  # fmt: skip
