"""What scenarios see, as JSON: numbers with few digits, errors as class and message."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

NOISE = (
    (re.compile(r"gluonjax"), "mxnet"),
    (re.compile(r"0x[0-9a-f]+"), "0x"),
    (re.compile(r"np\.\w+\(([^()]*)\)"), r"\1"),
)


def text(value: Any) -> str:
    """The text without the package's name and addresses."""
    found = str(value)
    for pattern, replacement in NOISE:
        found = pattern.sub(replacement, found)
    return found


def raised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Class and message of the error of a call; what it returned where there is none."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        names = [one.__name__ for one in type(error).__mro__]
        return {"error": names[: names.index("Exception")], "message": text(error).split("Stack trace")[0].strip()}
    return {"result": plain(result)}


def refused(function: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Only the class of the error: MXNet's message is one of Python's own, or empty."""
    return {**raised(function, *args, **kwargs), "message": ""}


def plain(value: Any) -> Any:
    """Arrays as lists, numbers with five digits, everything else as text."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "asnumpy"):
        return plain(value.asnumpy())
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "values": plain(value.tolist())}
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{float(value):.5g}")
    return text(value)


def numbers(array: Any) -> list[Any]:
    """The elements of an array, flat."""
    return plain(array.asnumpy().ravel().tolist())
