"""``mx.optimizer.contrib``: GroupAdaGrad."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from gluonjax._ops import update_rules as rules
from gluonjax.ndarray._creation import zeros as zeros
from gluonjax.ndarray.ndarray import NDArray
from gluonjax.optimizer._base import Optimizer, OptimizerError, register
from gluonjax.optimizer._state import Layout


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one learning rate per row of a matrix, for embeddings. Weight decay is not supported.

    Args:
        eps: added to the history.
    """

    hyper_names: ClassVar[tuple[str, ...]] = ("lr", "rescale_grad")
    clips_at_zero: ClassVar[bool] = True
    lazy_rows = True

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def formula(self) -> Callable[..., Any]:
        return rules.group_adagrad

    def layout(self) -> Layout:
        return "rows"

    def static(self) -> dict[str, Any]:
        return {**super().static(), "epsilon": self.float_stable_eps}

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the history, of shape (rows, 1)."""
        if len(weight.shape) != 2:
            raise OptimizerError(
                f"GroupAdaGrad: weight {index} has shape {weight.shape}; it must be a matrix"
            )
        return super().create_state(index, weight)

    def hyper(self, index: Any, lr: Any, wd: Any, t: Any, xp: Any = math) -> dict[str, Any]:
        if wd != 0:
            raise OptimizerError(
                f"Weight decay is not supported for GroupAdaGrad; weight {index} has wd={wd}"
            )
        return {"lr": lr, "rescale_grad": self.rescale_grad}


__all__ = ["GroupAdaGrad"]
