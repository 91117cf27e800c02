"""Constants and dtypes of ``mx.np``."""

from __future__ import annotations

import numpy as _numpy

float16 = _numpy.float16
float32 = _numpy.float32
float64 = _numpy.float64
uint8 = _numpy.uint8
int32 = _numpy.int32
int8 = _numpy.int8
int64 = _numpy.int64
bool_ = _numpy.bool_
bool = bool

pi = _numpy.pi
e = _numpy.e
inf = float("inf")
nan = float("nan")
PINF = _numpy.inf
NINF = -_numpy.inf
PZERO = 0.0
NZERO = -0.0
NaN = NAN = nan
newaxis = None
finfo = _numpy.finfo

__all__ = [
    "NAN",
    "NINF",
    "NZERO",
    "PINF",
    "PZERO",
    "NaN",
    "bool",
    "bool_",
    "e",
    "finfo",
    "float16",
    "float32",
    "float64",
    "inf",
    "int8",
    "int32",
    "int64",
    "nan",
    "newaxis",
    "pi",
    "uint8",
]  # fmt: skip
