"""Number tables in comma-separated text."""

from __future__ import annotations

import os

import numpy as np

from gluonjax._base.errors import MXNetError


def read_csv(path: str | os.PathLike[str], dtype: np.dtype | type = np.float32) -> np.ndarray:
    """Read a file of comma-separated numbers, one row a line, no header.

    Args:
        path: the file; blank lines are skipped.
        dtype: the type of the result.

    Returns:
        An array ``(rows, columns)``.
    """
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as stream:
            lines = [line.strip().rstrip(",") for line in stream]
    except FileNotFoundError:
        raise MXNetError(f"cannot open {name!r}: no such file") from None
    lines = [line for line in lines if line]
    if not lines:
        return np.zeros((0, 0), dtype)
    try:
        return np.loadtxt(lines, dtype=dtype, delimiter=",", comments=None, ndmin=2)
    except ValueError as error:
        raise MXNetError(f"{name!r}: not a table of {np.dtype(dtype)} numbers: {error}") from None
