"""Samples of the operators about storage types; their inputs are dense here."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

TABLE = rng(3).uniform(-2, 2, (4, 3)).astype(np.float32)
ONLY_ROW_SPARSE = "MXNet retains rows of row_sparse arrays only; tests/ndarray/test_sparse.py compares those"


def _retained(data, indices):
    rows = np.isin(np.arange(len(data)), indices.astype(np.int64))
    return np.where(rows.reshape((-1,) + (1,) * (data.ndim - 1)), data, 0)


SAMPLES = [
    Sample("cast_storage", (TABLE,), {"stype": "default"}, lambda data: data),
    Sample("cast_storage", (TABLE,), {"stype": "row_sparse"}, lambda data: data),
    Sample("cast_storage", (TABLE,), {"stype": "csr"}, lambda data: data),
    Sample("cast_storage", (TABLE.reshape(2, 2, 3).astype(np.float64),), {"stype": "row_sparse"}, lambda data: data),
    Sample("cast_storage", (np.arange(4, dtype=np.int32),), {"stype": "default"}, lambda data: data),
    Sample(
        "_sparse_retain", (TABLE, np.array([0, 3], np.float32)), {}, _retained, grad=(0,), oracle=False,
        why=ONLY_ROW_SPARSE,
    ),
    Sample(
        "_sparse_retain", (TABLE.reshape(4, 3, 1), np.array([2, 2, 1], np.int64)), {}, _retained, oracle=False,
        why=ONLY_ROW_SPARSE,
    ),
]  # fmt: skip

ERROR_SAMPLES = [
    ErrorSample("cast_storage", "should be 2 Dimensional", (TABLE.reshape(2, 2, 3),), {"stype": "csr"}),
    ErrorSample("cast_storage", "stype", (TABLE,), {"stype": "coo"}),
    ErrorSample("_sparse_retain", "one dimension", (TABLE, TABLE)),
]
