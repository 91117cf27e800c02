"""Two-bit gradient compression: each element becomes -t, 0 or t, and what is lost is added to the next gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gluonjax._base.errors import MXNetError
from gluonjax.kvstore._errors import StoreArgumentError


class TwoBit:
    """The compression of one store, with the residuals of every key and device.

    Args:
        threshold: t.

    >>> from gluonjax import nd
    >>> codec = TwoBit(0.5)
    >>> codec.apply("w", 0, nd.array([0.3, -0.7])).asnumpy().tolist()
    [0.0, -0.5]
    >>> codec.apply("w", 0, nd.array([0.3, -0.7])).asnumpy().tolist()
    [0.5, -0.5]
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._residuals: dict[tuple[Any, int], Any] = {}

    def apply(self, key: Any, device: int, gradient: Any) -> Any:
        """The NDArray that arrives on the other side in place of the gradient."""
        total = gradient
        before = self._residuals.get((key, device))
        if before is not None:
            total = total + before
        sent = ((total >= self.threshold) - (total <= -self.threshold)) * self.threshold
        self._residuals[key, device] = total - sent
        return sent


def compression_of(parameters: Any) -> TwoBit | None:
    """The compression that ``{'type': '2bit', 'threshold': 0.5}`` describes; None for type 'none'."""
    if not isinstance(parameters, Mapping):
        raise StoreArgumentError(f"set_gradient_compression: unexpected type for param_dict: {type(parameters)}")
    kind = parameters.get("type")
    if kind == "none":
        return None
    if kind != "2bit":
        raise MXNetError(f"Unknown type for gradient compression {kind}; there are '2bit' and 'none'")
    threshold = float(parameters.get("threshold", 0.5))
    if not threshold > 0:
        raise MXNetError(f"set_gradient_compression: threshold must be greater than 0, got {threshold}")
    return TwoBit(threshold)
