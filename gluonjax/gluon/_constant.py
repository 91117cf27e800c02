"""Parameters that never change."""

from __future__ import annotations

import warnings
from typing import Any

from gluonjax import initializer
from gluonjax import ndarray as nd
from gluonjax.gluon._parameter import Parameter
from gluonjax.ndarray import NDArray


class Constant(Parameter):
    """A parameter that holds a fixed value: no gradient, no update.

    >>> Constant("c", [[1, 2], [3, 4]])
    Constant c (shape=(2, 2), dtype=<class 'numpy.float32'>)
    """

    def __init__(self, name: str, value: Any) -> None:
        self.value = value if isinstance(value, NDArray) else nd.array(value)
        super().__init__(
            name, grad_req="null", shape=self.value.shape, dtype=self.value.dtype,
            init=initializer.Constant(self.value),
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Constant {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def grad_req(self) -> str:
        return "null"

    @grad_req.setter
    def grad_req(self, request: str) -> None:
        self._grad_req = "null"
        if request != "null":
            warnings.warn(
                f'Constant parameter "{self.name}" does not support grad_req other than "null", and '
                f'new value '
                f'"{request}" is ignored.',
                stacklevel=2,
            )
