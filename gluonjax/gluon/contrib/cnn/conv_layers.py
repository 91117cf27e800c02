"""Convolutions that learn where to look: the places of the kernel's taps come from another convolution."""

from __future__ import annotations

from typing import Any, ClassVar

from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.block import HybridBlock
from gluonjax.gluon.nn import Activation
from gluonjax.gluon.parameter import Parameter


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


class DeformableConvolution(HybridBlock):
    """Two-dimensional convolution whose taps are moved by learned offsets.

    Args:
        channels: channels of the output.
        kernel_size, strides, padding, dilation, groups: as for Conv2D, of both convolutions.
        num_deformable_group: groups of input channels that have offsets of their own.
        layout: ``'NCHW'``.
        use_bias, offset_use_bias: whether the convolution and that of the offsets have a bias.
        in_channels: channels of the input; 0 finds out at the first forward.
        activation: name, or None.
        weight_initializer, bias_initializer, offset_weight_initializer, offset_bias_initializer: initializers.
        op_name, adj: accepted as in MXNet.
        prefix, params: see Block.
    """

    # Numbers that one tap needs: two of its place (and a weight).
    _per_tap: ClassVar[int] = 2
    _kind: ClassVar[str] = "deformable_conv"
    # MXNet makes the parameters of the two convolutions in another order in each class; states files go by it.
    _offsets_first: ClassVar[bool] = True

    deformable_conv_weight: Parameter

    def __init__(
        self, channels: int, kernel_size: Any = (1, 1), strides: Any = (1, 1), padding: Any = (0, 0),
        dilation: Any = (1, 1), groups: int = 1, num_deformable_group: int = 1, layout: str = "NCHW",
        use_bias: bool = True, in_channels: int = 0, activation: str | None = None, weight_initializer: Any = None,
        bias_initializer: Any = "zeros", offset_weight_initializer: Any = "zeros",
        offset_bias_initializer: Any = "zeros", offset_use_bias: bool = True, op_name: str = "DeformableConvolution",
        adj: Any = None, prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        if layout != "NCHW":
            raise ArgumentError(f"{type(self).__name__}: layout must be 'NCHW', got '{layout}'")
        self._channels = channels
        self._in_channels = in_channels
        self._op_name = op_name
        kernel = _pair(kernel_size)
        taps = kernel[0] * kernel[1] * num_deformable_group
        self._places = 2 * taps
        common = {
            "kernel": kernel, "stride": _pair(strides), "dilate": _pair(dilation), "pad": _pair(padding),
            "num_group": groups, "layout": layout,
        }  # fmt: skip
        offsets = self._per_tap * taps
        self._offset_options = {**common, "num_filter": offsets, "no_bias": not offset_use_bias}
        self._conv_options = {
            **common, "num_filter": channels, "no_bias": not use_bias, "num_deformable_group": num_deformable_group,
        }  # fmt: skip
        per_group = in_channels // groups
        table = (
            ("offset_weight", (offsets, per_group, *kernel), offset_weight_initializer, True),
            ("offset_bias", (offsets,), offset_bias_initializer, offset_use_bias),
            ("deformable_conv_weight", (channels, per_group, *kernel), weight_initializer, True),
            ("deformable_conv_bias", (channels,), bias_initializer, use_bias),
        )
        with self.name_scope():
            for name, shape, init, wanted in table if self._offsets_first else table[2:] + table[:2]:
                made = self.params.get(name, shape=shape, init=init, allow_deferred_init=True) if wanted else None
                setattr(self, name, made)
            self.act = Activation(activation, prefix=f"{activation}_") if activation else None

    def _alias(self) -> str:
        return self._kind

    def hybrid_forward(
        self, F: Any, x: Any, offset_weight: Any, deformable_conv_weight: Any, offset_bias: Any = None,
        deformable_conv_bias: Any = None,
    ) -> Any:  # fmt: skip
        bias = () if offset_bias is None else (offset_bias,)
        found = F.Convolution(x, offset_weight, *bias, cudnn_off=True, **self._offset_options)
        bias = () if deformable_conv_bias is None else (deformable_conv_bias,)
        out = self._convolve(F, x, found, deformable_conv_weight, *bias)
        return out if self.act is None else self.act(out)

    def _convolve(self, F: Any, x: Any, found: Any, *weights: Any) -> Any:
        return F.contrib.DeformableConvolution(x, found, *weights, name="fwd", **self._conv_options)

    def __repr__(self) -> str:
        options, shape = self._conv_options, self.deformable_conv_weight.shape
        parts = [f"kernel_size={options['kernel']}", f"stride={options['stride']}"]
        shown = (("padding", "pad", (0, 0)), ("dilation", "dilate", (1, 1)), ("groups", "num_group", 1))
        for label, key, usual in shown:
            if options[key] != usual:
                parts.append(f"{label}={options[key]}")
        if options["no_bias"]:
            parts.append("bias=False")
        if self.act is not None:
            parts.append(str(self.act))
        return f"{type(self).__name__}({shape[1] or None} -> {shape[0]}, {', '.join(parts)})"


class ModulatedDeformableConvolution(DeformableConvolution):
    """Deformable convolution whose taps have learned weights too; arguments as for DeformableConvolution."""

    _per_tap = 3
    _kind = "modulated_deformable_conv"
    _offsets_first = False

    def __init__(
        self, channels: int, kernel_size: Any = (1, 1), strides: Any = (1, 1), padding: Any = (0, 0),
        dilation: Any = (1, 1), groups: int = 1, num_deformable_group: int = 1, layout: str = "NCHW",
        use_bias: bool = True, in_channels: int = 0, activation: str | None = None, weight_initializer: Any = None,
        bias_initializer: Any = "zeros", offset_weight_initializer: Any = "zeros",
        offset_bias_initializer: Any = "zeros", offset_use_bias: bool = True,
        op_name: str = "ModulatedDeformableConvolution", adj: Any = None, prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, num_deformable_group, layout, use_bias,
            in_channels, activation, weight_initializer, bias_initializer, offset_weight_initializer,
            offset_bias_initializer, offset_use_bias, op_name, adj, prefix, params,
        )  # fmt: skip

    # MXNet shows this one as any block: its children.
    __repr__ = HybridBlock.__repr__

    def _convolve(self, F: Any, x: Any, found: Any, *weights: Any) -> Any:
        offset = F.slice_axis(found, axis=1, begin=0, end=self._places)
        mask = F.sigmoid(F.slice_axis(found, axis=1, begin=self._places, end=None)) * 2
        return F.contrib.ModulatedDeformableConvolution(x, offset, mask, *weights, name="fwd", **self._conv_options)


__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]
