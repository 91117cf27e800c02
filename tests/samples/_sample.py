"""What a sample of an operator is. Imports NumPy only: the recorder loads samples under the real MXNet too.

A family file holds ``SAMPLES`` (and ``ERROR_SAMPLES``). Samples are deterministic: draw from ``rng(seed)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """One call of an operator.

    Args:
        op: registered name, e.g. ``"Convolution"`` or ``"_plus_scalar"``.
        inputs: arrays in the order of the operator's inputs (auxiliary inputs included).
        attrs: attributes as a user writes them.
        reference: ``f(*inputs) -> array or tuple`` in NumPy, independent of JAX; None where the recorded MXNet
            values are the reference.
        grad: which inputs to differentiate (indices); ``()`` for none; None for every floating input.
        numeric_grad: compare with central differences in float64. False for custom head-ignoring gradients,
            which are compared with the recorded MXNet gradients only.
        oracle: record and compare with the real MXNet 1.9.1. False where the real one is no reference
            (crash, garbage, random), with ``why``.
        train: run in training mode.
    """

    op: str
    inputs: tuple[np.ndarray, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None
    grad: tuple[int, ...] | None = None
    numeric_grad: bool = True
    oracle: bool = True
    train: bool = False
    rtol: float = 1e-5
    atol: float = 1e-6
    why: str = ""
    tag: str = ""


@dataclass(frozen=True)
class ErrorSample:
    """A call that must raise MXNetError with a message that matches the regular expression."""

    op: str
    match: str
    inputs: tuple[np.ndarray, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)


def rng(seed: int) -> np.random.RandomState:
    """The one source of numbers in samples."""
    return np.random.RandomState(seed)
