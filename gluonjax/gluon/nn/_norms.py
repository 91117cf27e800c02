"""Normalization layers."""

from __future__ import annotations

from typing import Any

from gluonjax._base.dtypes import to_dtype
from gluonjax.gluon.block import HybridBlock
from gluonjax.gluon.parameter import Parameter


class _ScaleAndShift(HybridBlock):
    """What all normalizations have in common: gamma and beta, trained or fixed at their initial values."""

    _kwargs: dict[str, Any]

    def _add_scale_and_shift(
        self,
        channels: int,
        scale: bool,
        center: bool,
        gamma_initializer: Any,
        beta_initializer: Any,
        **more: Any,
    ) -> None:
        self.gamma = self._vector("gamma", channels, gamma_initializer, scale, **more)
        self.beta = self._vector("beta", channels, beta_initializer, center, **more)

    def _vector(self, name: str, length: int, init: Any, trained: bool, **more: Any) -> Parameter:
        return self.params.get(
            name,
            grad_req="write" if trained else "null",
            shape=(length,),
            init=init,
            allow_deferred_init=True,
            **more,
        )

    def _describe(self, end: str = "") -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self._kwargs.items())
        return f"{type(self).__name__}({settings}{end})"


class _BatchNorm(_ScaleAndShift):
    """Parameters and texts that BatchNorm, BatchNormReLU and SyncBatchNorm share."""

    def __init__(
        self, axis: int = 1, momentum: float = 0.9, epsilon: float = 1e-5, center: bool = True, scale: bool = True,
        use_global_stats: bool = False, beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros", running_variance_initializer: Any = "ones", in_channels: int = 0,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._axis = axis
        self._kwargs = {
            "axis": axis, "eps": epsilon, "momentum": momentum, "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }  # fmt: skip
        self.in_channels = in_channels
        self._add_scale_and_shift(
            in_channels, scale, center, gamma_initializer, beta_initializer, differentiable=True
        )
        # Moving statistics are rewritten by the operator, never by an optimizer.
        self.running_mean = self._vector(
            "running_mean", in_channels, running_mean_initializer, False, differentiable=False
        )
        self.running_var = self._vector(
            "running_var", in_channels, running_variance_initializer, False, differentiable=False
        )

    def cast(self, dtype: Any) -> None:
        """Change the data type; statistics of half-precision layers stay in single precision."""
        super().cast("float32" if to_dtype(dtype).itemsize == 2 else dtype)

    def __repr__(self) -> str:
        channels = self.gamma.shape[0]
        return self._describe(f", in_channels={channels or None}")


class BatchNorm(_BatchNorm):
    """Normalizes every channel with the batch's mean and variance (in training) or the moving ones.

    Args:
        axis: the channel axis.
        momentum: how slowly the moving statistics follow.
        epsilon: added to the variance.
        center, scale: train beta, train gamma; otherwise they stay at their initial values.
        use_global_stats: use the moving statistics in training too.
        beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer: initializers.
        in_channels: number of channels; 0 finds out at the first forward.
    """

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)


class BatchNormReLU(_BatchNorm):
    """BatchNorm followed by ReLU, as one layer."""

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        return F.contrib.BatchNormWithReLU(
            x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs
        )


class InstanceNorm(_ScaleAndShift):
    """Normalizes every channel of every sample by itself.

    Args:
        axis: the channel axis.
        epsilon: added to the variance.
        center, scale: train beta, train gamma.
        beta_initializer, gamma_initializer: initializers.
        in_channels: number of channels; 0 finds out at the first forward.
    """

    def __init__(
        self, axis: int = 1, epsilon: float = 1e-5, center: bool = True, scale: bool = False,
        beta_initializer: Any = "zeros", gamma_initializer: Any = "ones", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        self._add_scale_and_shift(in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        moved = F.InstanceNorm(F.swapaxes(x, 1, self._axis), gamma, beta, name="fwd", eps=self._epsilon)
        return F.swapaxes(moved, 1, self._axis)

    def __repr__(self) -> str:
        return self._describe(f", in_channels={self.gamma.shape[0]}")


class LayerNorm(_ScaleAndShift):
    """Normalizes along one axis.

    Args:
        axis: the axis.
        epsilon: added to the variance.
        center, scale: train beta, train gamma.
        beta_initializer, gamma_initializer: initializers.
        in_channels: length of the axis; 0 finds out at the first forward.
    """

    def __init__(
        self, axis: int = -1, epsilon: float = 1e-5, center: bool = True, scale: bool = True,
        beta_initializer: Any = "zeros", gamma_initializer: Any = "ones", in_channels: int = 0,
        prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        self._center = center
        self._scale = scale
        self._add_scale_and_shift(in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        return self._describe(f", in_channels={self.gamma.shape[0]}")


class GroupNorm(_ScaleAndShift):
    """Normalizes groups of channels of every sample; gamma and beta have one entry for each group.

    Args:
        num_groups: number of groups.
        epsilon: added to the variance.
        center, scale: train beta, train gamma.
        beta_initializer, gamma_initializer: initializers.
    """

    def __init__(
        self, num_groups: int = 1, epsilon: float = 1e-5, center: bool = True, scale: bool = True,
        beta_initializer: Any = "zeros", gamma_initializer: Any = "ones", prefix: str | None = None,
        params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups = num_groups
        self._epsilon = epsilon
        self._center = center
        self._scale = scale
        self._add_scale_and_shift(num_groups, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self) -> str:
        return self._describe()
