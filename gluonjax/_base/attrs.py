"""Kinds of operator attributes: how text or a Python value becomes the value an operator gets, and back.

MXNet hands every attribute over as text (``kernel="(3, 3)"``); scripts and files contain both forms.
A kind has ``parse`` (anything a user may write -> value) and ``show`` (value -> the text MXNet writes).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import numpy as np

from gluonjax._base.dtypes import NAME_TO_DTYPE, to_dtype
from gluonjax._base.errors import did_you_mean


class AttributeTextError(ValueError):
    """The text or value does not fit the attribute's kind; the caller adds operator and attribute name."""


@dataclass(frozen=True)
class Kind:
    """How one kind of attribute is read and written."""

    name: str
    parse: Callable[[Any], Any]
    show: Callable[[Any], str]


if TYPE_CHECKING:
    # To a type checker a marked attribute is what the operator's function receives.
    DType = Any
    Traced = Any
else:

    class DType:
        """Annotation of an attribute that names a data type."""

    class Traced:
        """Annotation of a float attribute whose value may change at every call (``scalar``, ``lr``).

        The operator's function receives a 0-d array-like and must not branch on it in Python.
        """


_LONG = re.compile(r"(?<=\d)L\b")


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(_LONG.sub("", text.strip()))
    except (ValueError, SyntaxError):
        raise AttributeTextError(f"cannot read {text!r}") from None


def parse_int(value: Any) -> int:
    if isinstance(value, str):
        value = _literal(value)
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    if isinstance(value, np.ndarray) and value.size == 1:
        return parse_int(value.reshape(-1)[0])
    raise AttributeTextError(f"wants a whole number, got {value!r}")


def parse_float(value: Any) -> float:
    if isinstance(value, str):
        text = value.strip().rstrip("f") if value.strip() not in ("inf", "-inf") else value.strip()
        try:
            return float(text)
        except ValueError:
            raise AttributeTextError(f"wants a number, got {value!r}") from None
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return float(value)
    if isinstance(value, np.ndarray) and value.size == 1:
        return float(value.reshape(-1)[0])
    raise AttributeTextError(f"wants a number, got {value!r}")


def parse_bool(value: Any) -> bool:
    if isinstance(value, str):
        low = value.strip().lower()
        if low in ("1", "true"):
            return True
        if low in ("0", "false"):
            return False
        raise AttributeTextError(f"wants True or False, got {value!r}")
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return bool(value)
    raise AttributeTextError(f"wants True or False, got {value!r}")


def _entries(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        text = value.strip()
        if text in ("", "()", "[]"):
            return ()
        if text[0] in "([" and text[-1] in ")]":
            text = text[1:-1]
        parts = [part.strip() for part in text.split(",")]
        return tuple(part for part in parts if part)
    if isinstance(value, np.ndarray):
        return tuple(value.reshape(-1).tolist())
    if isinstance(value, (list, tuple)):
        return tuple(value)
    return (value,)


def parse_shape(value: Any) -> tuple[int, ...]:
    """``(3, 3)``, ``[3,3]``, ``"(3, 3)"``, ``"(3L, 3L)"`` and a bare ``3`` are all read.

    >>> parse_shape("(3L, 3L)"), parse_shape(3), parse_shape("[2]")
    ((3, 3), (3,), (2,))
    """
    return tuple(
        -1 if isinstance(entry, str) and entry == "None" else parse_int(entry) for entry in _entries(value)
    )


def parse_optional_shape(value: Any) -> tuple[int | None, ...]:
    """A shape whose entries may be missing, as ``begin`` and ``end`` of ``slice``."""
    return tuple(
        None if entry is None or (isinstance(entry, str) and entry == "None") else parse_int(entry)
        for entry in _entries(value)
    )


def parse_floats(value: Any) -> tuple[float, ...]:
    return tuple(parse_float(entry) for entry in _entries(value))


def parse_dtype(value: Any) -> np.dtype:
    if isinstance(value, str) and value not in NAME_TO_DTYPE:
        raise AttributeTextError(f"wants a data type, got {value!r}{did_you_mean(value, NAME_TO_DTYPE)}")
    try:
        return to_dtype(value)
    except TypeError as error:
        raise AttributeTextError(str(error)) from None


def show_float(value: float) -> str:
    return repr(float(value)) if not float(value).is_integer() or abs(value) >= 1e16 else str(int(value))


def show_dtype(value: np.dtype) -> str:
    return np.dtype(value).name


INT = Kind("int", parse_int, str)
FLOAT = Kind("float", parse_float, show_float)
TRACED = Kind("float (traced)", parse_float, show_float)
BOOL = Kind("boolean", parse_bool, str)
STR = Kind("string", str, str)
SHAPE = Kind("Shape(tuple)", parse_shape, str)
OPTIONAL_SHAPE = Kind("Shape(tuple) with None", parse_optional_shape, str)
FLOATS = Kind("tuple of <float>", parse_floats, str)
DTYPE = Kind("dtype", parse_dtype, show_dtype)


def optional(kind: Kind) -> Kind:
    """The same kind, with ``None`` allowed."""

    def parse(value: Any) -> Any:
        if value is None or (isinstance(value, str) and value in ("None", "")):
            return None
        return kind.parse(value)

    return Kind(kind.name + " or None", parse, lambda value: "None" if value is None else kind.show(value))


def choice(*allowed: str | None) -> Kind:
    """One of the given words; ``None`` may be among them."""
    words = [word for word in allowed if word is not None]
    shown = "{" + ", ".join(repr(word) if word is not None else "None" for word in allowed) + "}"

    def parse(value: Any) -> str | None:
        if value is None or value == "None":
            if None in allowed:
                return None
            if "None" in allowed:
                return "None"
        if value in words:
            return value
        hint = did_you_mean(str(value), words)
        raise AttributeTextError(f"Invalid Input: {value!r}, valid values are: {shown}{hint}")

    return Kind(shown, parse, str)


def kind_of(annotation: Any) -> Kind:
    """The kind that an annotation of an operator's keyword stands for."""
    simple = {int: INT, float: FLOAT, bool: BOOL, str: STR, DType: DTYPE, Traced: TRACED}
    if annotation in simple:
        return simple[annotation]
    if get_origin(annotation) is Literal:
        return choice(*get_args(annotation))
    if get_origin(annotation) is tuple:
        return {
            (int, ...): SHAPE,
            (float, ...): FLOATS,
            (int | None, ...): OPTIONAL_SHAPE,
        }[get_args(annotation)]
    arguments = get_args(annotation)
    if type(None) in arguments:
        rest = [a for a in arguments if a is not type(None)]
        if len(rest) == 1:
            return optional(kind_of(rest[0]))
    raise TypeError(f"no attribute kind for the annotation {annotation!r}")
