"""The optimizer that ``SVRGModule`` wraps around the user's."""

from __future__ import annotations

from typing import Any

from gluonjax import optimizer as opt

_OF_EVERY_OPTIMIZER = (
    "rescale_grad", "param_idx2name", "wd", "clip_gradient", "learning_rate", "lr_scheduler", "sym",
    "begin_num_update", "multi_precision", "param_dict",
)  # fmt: skip


@opt.register
class _AssignmentOptimizer(opt.Optimizer):
    """Stores gradients in place of weights: how a key-value store adds up full gradients."""

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """The weight becomes the gradient."""
        weight[:] = grad


@opt.register
class _SVRGOptimizer(opt.Optimizer):
    """The user's optimizer for parameters; for what is called ``*_full``, an assignment.

    Args:
        default_optimizer: a name, or an Optimizer.
        kwargs: for the optimizer of that name; what every optimizer takes is kept here, too.
    """

    def __init__(self, default_optimizer: Any, **kwargs: Any) -> None:
        super().__init__(**{name: kwargs[name] for name in _OF_EVERY_OPTIMIZER if name in kwargs})
        if isinstance(default_optimizer, str):
            default_optimizer = opt.create(default_optimizer, **kwargs)
        self.default_opt = default_optimizer
        self.aux_opt = _AssignmentOptimizer()

    def _chosen(self, index: Any) -> opt.Optimizer:
        name = index if index in self.idx2name.values() else self.idx2name[index]
        # MXNet looks for the word anywhere in the name.
        return self.aux_opt if "full" in name else self.default_opt

    def create_state(self, index: Any, weight: Any) -> Any:
        """The state of the optimizer that updates this array."""
        return self._chosen(index).create_state(index, weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Let the user's optimizer update a parameter, or assign a full gradient."""
        self._chosen(index).update(index, weight, grad, state)
