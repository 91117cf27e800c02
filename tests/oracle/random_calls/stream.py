"""Calls and results as files that both sides read, whatever their NumPy versions: JSON headers and arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from tests.samples import is_bfloat16

# As the real MXNet writes it; NumPy can save it.
BFLOAT16 = np.dtype([("bfloat16", np.uint16)])


def write(file: BinaryIO, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Append one record."""
    text = json.dumps({**header, "arrays": list(arrays)}).encode()
    file.write(len(text).to_bytes(4, "little") + text)
    for array in arrays.values():
        array = np.asarray(array)
        np.save(file, array.view(BFLOAT16) if is_bfloat16(array.dtype) else array, allow_pickle=False)


def read(file: BinaryIO) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """The records, in order."""
    while size := file.read(4):
        header = json.loads(file.read(int.from_bytes(size, "little")))
        yield header, {name: np.load(file, allow_pickle=False) for name in header.pop("arrays")}
