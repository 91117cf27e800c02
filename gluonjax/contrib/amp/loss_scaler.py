"""Dynamic loss scaling: float16 gradients of a scaled loss neither vanish nor, for long, overflow."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from gluonjax import autograd
from gluonjax import ndarray as nd

# Overflow of so many arrays at a time is checked by one call.
_CHUNK = 200


class LossScaler:
    """A factor for the loss that halves after an overflow and doubles after a long time without.

    >>> LossScaler().loss_scale
    65536.0
    """

    def __init__(self) -> None:
        self._loss_scale = 2.0**16
        self._next_loss_scale = self._loss_scale
        self._max_loss_scale = 2.0**24
        self._scale_seq_len = 2000
        self._unskipped = 0

    @property
    def loss_scale(self) -> float:
        """The factor of the current step."""
        return self._loss_scale

    def has_overflow(self, params: Iterable[Any]) -> bool:
        """Whether a gradient is infinite or not a number; also decides the factor of the next step.

        Args:
            params: Gluon parameters, after ``backward`` and the exchange of gradients.
        """
        gradients = [parameter.list_grad()[0] for parameter in params if parameter.grad_req != "null"]
        with autograd.pause():
            checks = [
                nd.multi_all_finite(*part, num_arrays=len(part))
                for part in (gradients[start : start + _CHUNK] for start in range(0, len(gradients), _CHUNK))
            ]
        overflow = not all(bool(check.asscalar()) for check in checks)
        self._advance(overflow)
        return overflow

    def _advance(self, overflow: bool) -> None:
        self._loss_scale = self._next_loss_scale
        if overflow:
            self._unskipped = 0
            self._next_loss_scale = self._loss_scale / 2.0
            logging.info("AMP: decreasing loss scale to %f", self._next_loss_scale)
            return
        self._unskipped += 1
        if self._unskipped == self._scale_seq_len:
            self._unskipped = 0
            self._next_loss_scale = min(self._max_loss_scale, self._loss_scale * 2.0)
            logging.info("AMP: increasing loss scale to %f", self._next_loss_scale)


__all__ = ["LossScaler"]
