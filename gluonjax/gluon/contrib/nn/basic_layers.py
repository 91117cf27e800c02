"""Layers side by side, sparse embeddings, synchronized batch normalization, pixel shuffling."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

from gluonjax import ndarray as nd
from gluonjax._base.devices import device_count
from gluonjax.autograd import is_training
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.block import Block, HybridBlock
from gluonjax.gluon.nn import BatchNorm, HybridSequential, Sequential


class Concurrent(Sequential):
    """Gives the input to every block and concatenates what they return.

    Args:
        axis: the axis to concatenate along.
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        return nd.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class HybridConcurrent(HybridSequential):
    """Concurrent for HybridBlocks."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """Returns its input; a branch of Concurrent that changes nothing."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x


class SparseEmbedding(Block):
    """An embedding whose weight and gradient are row_sparse; only the rows in use are transferred.

    Args:
        input_dim: number of rows.
        output_dim: length of a vector.
        dtype: type of the weight.
        weight_initializer: initializer.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": True}
        self.weight = self.params.get(
            "weight", shape=(input_dim, output_dim), init=weight_initializer, dtype=dtype,
            grad_stype="row_sparse", stype="row_sparse",
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return nd.Embedding(x, self.weight.row_sparse_data(x), name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({{input_dim}} -> {{output_dim}}, {{dtype}})".format(**self._kwargs)


class SyncBatchNorm(BatchNorm):
    """Batch normalization with statistics over all devices that run the layer in one compiled program.

    A batch that is sharded over devices (``interop.functional`` under ``jax.jit``) is normalized as a whole. Contexts
    that are called one after another cannot wait for each other here: each normalizes its own part, with a warning.

    Args:
        in_channels: number of channels; 0 finds out at the first forward.
        num_devices: how many devices take part (default: all accelerators).
        momentum, epsilon, center, scale, use_global_stats: see BatchNorm.
        beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer: initializers.
    """

    def __init__(
        self, in_channels: int = 0, num_devices: int | None = None, momentum: float = 0.9, epsilon: float = 1e-5,
        center: bool = True, scale: bool = True, use_global_stats: bool = False, beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones", running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            1, momentum, epsilon, center, scale, use_global_stats, beta_initializer, gamma_initializer,
            running_mean_initializer, running_variance_initializer, in_channels, **kwargs,
        )  # fmt: skip
        if num_devices is None:
            warnings.warn(
                "Caution using SyncBatchNorm: if not using all the GPUs, please mannually set num_devices",
                UserWarning, stacklevel=2,
            )  # fmt: skip
            num_devices = max(1, device_count("gpu"))
        self._warned = False
        self._kwargs = {
            "eps": epsilon, "momentum": momentum, "fix_gamma": not scale, "use_global_stats": use_global_stats,
            "ndev": num_devices, "key": self.prefix,
        }  # fmt: skip

    def hybrid_forward(
        self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any
    ) -> Any:
        several = self._kwargs["ndev"] > 1 and len(self.gamma._ctx_list or ()) > 1
        if several and not self._warned and is_training() and not self._kwargs["use_global_stats"]:
            self._warned = True
            warnings.warn(
                f"{self.name}: every context of {self.gamma._ctx_list} normalizes its own part of the batch. "
                "Statistics of the whole batch need one program for all devices: interop.functional(net) under "
                "jax.jit with the batch sharded over them.",
                UserWarning, stacklevel=2,
            )  # fmt: skip
        return F.contrib.SyncBatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self._kwargs.items())
        return f"{type(self).__name__}({settings}, in_channels={self.gamma.shape[0] or None})"


class _PixelShuffle(HybridBlock):
    """Turns groups of channels into pixels: an upscaling by ``factor`` along every spatial axis."""

    _dimensions: ClassVar[int]

    def __init__(self, factor: Any) -> None:
        super().__init__()
        count = self._dimensions
        factors = (factor,) * count if isinstance(factor, int) else tuple(int(one) for one in factor)
        if len(factors) != count:
            raise ArgumentError(
                f"wrong length {len(factors)}: {type(self).__name__} needs 1 factor or {count}"
            )
        self._factors = factors

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        # (N, C f1 f2, H, W) -> (N, C, f1, f2, H, W) -> (N, C, H, f1, W, f2) -> (N, C, H f1, W f2)
        factors, count = self._factors, self._dimensions
        group = 1
        for factor in factors:
            group *= factor
        x = F.reshape(x, shape=(0, -4, -1, group, *[0] * count))
        tail, rest = [], group
        for factor in factors[:-1]:
            rest //= factor
            tail.append((factor, rest))
        for position, (factor, remaining) in enumerate(tail):
            x = F.reshape(x, shape=(*[0] * (2 + position), -4, factor, remaining, *[0] * count))
        order = [0, 1]
        for axis in range(count):
            order += [2 + count + axis, 2 + axis]
        x = F.transpose(x, axes=tuple(order))
        return F.reshape(x, shape=(0, 0, *[-3] * count))


class PixelShuffle1D(_PixelShuffle):
    """From (N, C * f, W) to (N, C, W * f).

    >>> PixelShuffle1D(2)(nd.zeros((1, 8, 3))).shape
    (1, 4, 6)
    """

    _dimensions = 1

    def __init__(self, factor: Any) -> None:
        super().__init__(factor)
        self._factor = self._factors[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factor})"


class PixelShuffle2D(_PixelShuffle):
    """From (N, C * f1 * f2, H, W) to (N, C, H * f1, W * f2); ``factor`` is one number or two.

    >>> PixelShuffle2D((2, 3))(nd.zeros((1, 12, 3, 5))).shape
    (1, 2, 6, 15)
    """

    _dimensions = 2

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors})"


class PixelShuffle3D(_PixelShuffle):
    """From (N, C * f1 * f2 * f3, D, H, W) to (N, C, D * f1, H * f2, W * f3); ``factor`` is one number or three."""

    _dimensions = 3

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        # One axis after the other: MXNet, which is to run what we export, transposes up to six dimensions.
        rest = math.prod(self._factors)
        x = F.reshape(x, shape=(0, -4, -1, rest, 0, 0, 0))
        for axis, factor in zip((2, 3, 4), self._factors):
            x = F.swapaxes(x, dim1=axis, dim2=axis + 1)
            rest //= factor
            kept, behind = [0] * axis, [0] * (4 - axis)
            if not behind:
                return F.reshape(x, shape=(*kept, -3))
            x = F.reshape(x, shape=(*kept, 0, -4, factor, rest, *behind))
            x = F.reshape(x, shape=(*kept, -3, 0, *behind))
        return x

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors})"
