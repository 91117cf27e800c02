"""Samples of SequenceMask, SequenceLast and SequenceReverse."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(105)
X = r.uniform(-1, 1, (4, 3, 2)).astype("float32")
FLAT = r.uniform(-1, 1, (4, 3)).astype("float32")
LENGTHS = np.array([1, 4, 2], "float32")
WHOLE = LENGTHS.astype("int32")
ON = {"use_sequence_length": True}


def mask(x: np.ndarray, lengths: np.ndarray, value: float = 0.0) -> np.ndarray:
    result = x.copy()
    for i, length in enumerate(lengths.astype(int)):
        result[length:, i] = value
    return result


def last(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.stack([x[length - 1, i] for i, length in enumerate(lengths.astype(int))])


def reverse(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    result = x.copy()
    for i, length in enumerate(lengths.astype(int)):
        result[:length, i] = x[:length, i][::-1]
    return result


def batch_first(function):
    return lambda x, lengths: np.swapaxes(function(np.swapaxes(x, 0, 1), lengths), 0, 1)


SAMPLES = [
    Sample("SequenceMask", (X,), {}, lambda x: x),
    Sample("SequenceMask", (X, LENGTHS), ON, mask, grad=(0,)),
    Sample("SequenceMask", (X, WHOLE), ON, mask, grad=(0,)),
    Sample("SequenceMask", (X, LENGTHS), {**ON, "value": -2.5}, lambda x, n: mask(x, n, -2.5), grad=(0,)),
    Sample("SequenceMask", (np.swapaxes(X, 0, 1), LENGTHS), {**ON, "axis": 1}, batch_first(mask), grad=(0,)),
    Sample("SequenceMask", (FLAT.astype("float64"), LENGTHS), ON, mask, grad=(0,)),
    Sample("SequenceLast", (X, LENGTHS), ON, last, grad=(0,)),
    Sample("SequenceLast", (FLAT, WHOLE), ON, last, grad=(0,)),
    Sample(
        "SequenceLast",
        (np.swapaxes(X, 0, 1), LENGTHS),
        {**ON, "axis": 1},
        lambda x, n: last(np.swapaxes(x, 0, 1), n),
        grad=(0,),
    ),
    Sample(
        "SequenceLast", (X,), {}, lambda x: x[-1], oracle=False, why="the real gradient corrupts the heap"
    ),
    Sample("SequenceReverse", (X,), {}, lambda x: x[::-1]),
    Sample("SequenceReverse", (X, LENGTHS), ON, reverse, grad=(0,)),
    Sample("SequenceReverse", (FLAT, WHOLE), ON, reverse, grad=(0,)),
]

ERROR_SAMPLES = [
    ErrorSample("SequenceMask", r"rank 2 or greater", (X[0, 0],), {}),
    ErrorSample("SequenceMask", r"axis is 2", (X, LENGTHS), {**ON, "axis": 2}),
    ErrorSample("SequenceMask", r"Shape inconsistent", (X, LENGTHS[:2]), ON),
    ErrorSample("SequenceReverse", r"expects axis to be 0", (X,), {"axis": 1}),
]
