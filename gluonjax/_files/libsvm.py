"""The LibSVM text format: ``label column:value column:value ...`` a line, columns counted from zero."""

from __future__ import annotations

import os

import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._files.params import SparseBlock


def read_libsvm(path: str | os.PathLike[str], columns: int) -> tuple[SparseBlock, np.ndarray]:
    """Read a LibSVM file.

    Args:
        path: the file; ``#`` starts a comment.
        columns: how many columns the table has.

    Returns:
        The table as csr ``(rows, columns)`` float32, and the labels ``(rows, labels a line)``.
    """
    name = os.fspath(path)
    labels: list[list[float]] = []
    values: list[float] = []
    indices: list[int] = []
    starts = [0]
    try:
        stream = open(name, encoding="utf-8")
    except FileNotFoundError:
        raise MXNetError(f"cannot open {name!r}: no such file") from None
    with stream:
        for number, line in enumerate(stream, 1):
            words = line.split("#", 1)[0].split()
            if not words:
                continue
            row_labels: list[float] = []
            try:
                for word in words:
                    column, colon, value = word.partition(":")
                    if colon:
                        indices.append(int(column))
                        values.append(float(value))
                    else:
                        row_labels.append(float(word))
            except ValueError:
                raise MXNetError(
                    f"{name!r}, line {number}: expected 'column:value' or a label, found {word!r}"
                ) from None
            if any(not 0 <= index < columns for index in indices[starts[-1] :]):
                found = [index for index in indices[starts[-1] :] if not 0 <= index < columns]
                raise MXNetError(
                    f"{name!r}, line {number}: column {found[0]} is outside of 0 to {columns - 1}; "
                    "columns count from zero, enlarge data_shape where there are more"
                )
            labels.append(row_labels)
            starts.append(len(indices))
    if len({len(row) for row in labels}) > 1:
        raise MXNetError(f"{name!r}: lines have different numbers of labels")
    table = SparseBlock(
        "csr",
        (len(labels), columns),
        np.array(values, np.float32),
        np.array(indices, np.int64),
        np.array(starts, np.int64),
    )
    width = len(labels[0]) if labels else 0
    return table, np.array(labels, np.float32).reshape(len(labels), width)
