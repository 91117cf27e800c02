"""Calls and results as files that both sides read, whatever their NumPy versions: JSON headers and arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np


def write(file: BinaryIO, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Append one record."""
    text = json.dumps({**header, "arrays": list(arrays)}).encode()
    file.write(len(text).to_bytes(4, "little") + text)
    for array in arrays.values():
        np.save(file, np.asarray(array), allow_pickle=False)


def read(file: BinaryIO) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """The records, in order."""
    while size := file.read(4):
        header = json.loads(file.read(int.from_bytes(size, "little")))
        yield header, {name: np.load(file, allow_pickle=False) for name in header.pop("arrays")}
