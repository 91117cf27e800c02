"""Convolution, pooling and padding layers."""

from __future__ import annotations

from typing import Any, ClassVar

from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.block import HybridBlock
from gluonjax.gluon.nn.activations import Activation

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _repeat(value: Any, count: int) -> tuple[int, ...]:
    """``3`` becomes ``(3, 3)``; sequences stay."""
    return tuple(value) if hasattr(value, "__len__") else (value,) * count


class _Conv(HybridBlock):
    """What convolutions of all dimensions have in common.

    The number of spatial dimensions is the length of ``kernel_size``; ``op_name`` names the operator, and
    ``Deconvolution`` is the transposed kind, whose weight has its first two axes the other way round.
    """

    def __init__(
        self, channels: int, kernel_size: tuple[int, ...], strides: Any, padding: Any, dilation: Any, groups: int,
        layout: str, in_channels: int = 0, activation: str | None = None, use_bias: bool = True,
        weight_initializer: Any = None, bias_initializer: Any = "zeros", op_name: str = "Convolution",
        adj: Any = None, prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        count = len(kernel_size)
        self._channels = channels
        self._in_channels = in_channels
        self._op_name = op_name
        self._kwargs: dict[str, Any] = {
            "kernel": kernel_size, "stride": _repeat(strides, count), "dilate": _repeat(dilation, count),
            "pad": _repeat(padding, count), "num_filter": channels, "num_group": groups, "no_bias": not use_bias,
            "layout": layout,
        }  # fmt: skip
        self._check_sizes()
        if adj is not None:
            self._kwargs["adj"] = adj
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=self._weight_shape(), init=weight_initializer, allow_deferred_init=True
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True
                )
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def _check_sizes(self) -> None:
        """What MXNet's operator would refuse is refused where the layer is made."""
        settings, kind = self._kwargs, type(self).__name__
        kernel, groups = settings["kernel"], settings["num_group"]
        for name, label in (("stride", "Stride"), ("pad", "Padding"), ("dilate", "Dilate")):
            if len(settings[name]) != len(kernel):
                raise ArgumentError(
                    f"{kind}: {label} must have the same number of dimensions with kernel_size, but kernel_size is "
                    f"{kernel} and {label.lower()} is {settings[name]}"
                )
        for name, label in (("kernel", "kernel"), ("stride", "stride"), ("dilate", "dilate")):
            if any(size < 1 for size in settings[name]):
                raise ArgumentError(f"{kind}: incorrect {label} size: {settings[name]}; every entry must be 1 or more")
        if self._channels < 1 or groups < 1:
            raise ArgumentError(f"{kind}: channels and groups must be 1 or more, got {self._channels} and {groups}")
        for label, channels in (("output", self._channels), ("input", self._in_channels)):
            if channels % groups:
                raise ArgumentError(
                    f"{kind}: {label} num_filter must divide group size: {channels} {label} channels in {groups} groups"
                )

    def _weight_shape(self) -> tuple[int, ...]:
        kernel, groups, layout = (self._kwargs[name] for name in ("kernel", "num_group", "layout"))
        if self._op_name == "Deconvolution":
            front, back = self._in_channels, self._channels // groups
        else:
            front, back = self._channels, self._in_channels // groups
        return (front, *kernel, back) if layout.endswith("C") else (front, back, *kernel)

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        y = getattr(F, self._op_name)(*inputs, name="fwd", **self._kwargs)
        return y if self.act is None else self.act(y)

    def _alias(self) -> str:
        # Every kind of convolution counts as conv0_, conv1_, ...
        return "conv"

    def __repr__(self) -> str:
        settings = self._kwargs
        count = len(settings["kernel"])
        parts = [f"kernel_size={settings['kernel']}", f"stride={settings['stride']}"]
        if settings["pad"] != (0,) * count:
            parts.append(f"padding={settings['pad']}")
        if settings["dilate"] != (1,) * count:
            parts.append(f"dilation={settings['dilate']}")
        output_padding = getattr(self, "out_pad", None)
        if output_padding is not None and output_padding != (0,) * count:
            parts.append(f"output_padding={output_padding}")
        if settings["num_group"] != 1:
            parts.append(f"groups={settings['num_group']}")
        if self.bias is None:
            parts.append("bias=False")
        if self.act is not None:
            parts.append(str(self.act))
        shape = self.weight.shape
        # The text names the two first axes of the weight, whatever they stand for, as MXNet does.
        flow = f"{shape[1] if shape[1] else None} -> {shape[0]}"
        return f"{type(self).__name__}({flow}, {', '.join(parts)})"


class _PlainConv(_Conv):
    """Checks that Conv1D to Conv3D and their transposed forms share."""

    _dimensions: ClassVar[int]

    def _checked(self, kernel_size: Any, layout: str) -> tuple[int, ...]:
        count = self._dimensions
        accepted = LAYOUTS[count]
        if layout not in accepted:
            raise ArgumentError(
                f"Only supports '{accepted[0]}' and '{accepted[1]}' layout for now, got '{layout}'"
            )
        kernel = _repeat(kernel_size, count)
        if len(kernel) != count:
            raise ArgumentError(f"kernel_size must be a number or a list of {count} ints, got {kernel_size}")
        return kernel


class Conv1D(_PlainConv):
    """1-D convolution over data of shape (batch, channels, width).

    Args:
        channels: number of output channels.
        kernel_size, strides, padding, dilation: one number, or one for each spatial axis.
        groups: number of channel groups that do not mix.
        layout: order of the axes.
        activation: name of an activation, or None.
        use_bias: add a bias.
        weight_initializer, bias_initializer: initializers.
        in_channels: number of input channels; 0 finds out at the first forward.
    """

    _dimensions = 1

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, layout: str = "NCW", activation: str | None = None, use_bias: bool = True,
        weight_initializer: Any = None, bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        kwargs.setdefault("op_name", "Convolution")
        super().__init__(
            channels, self._checked(kernel_size, layout), strides, padding, dilation, groups, layout, in_channels,
            activation, use_bias, weight_initializer, bias_initializer, **kwargs,
        )  # fmt: skip


class Conv2D(_PlainConv):
    """2-D convolution over data of shape (batch, channels, height, width); arguments as for Conv1D."""

    _dimensions = 2

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1),
        groups: int = 1, layout: str = "NCHW", activation: str | None = None, use_bias: bool = True,
        weight_initializer: Any = None, bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        kwargs.setdefault("op_name", "Convolution")
        super().__init__(
            channels, self._checked(kernel_size, layout), strides, padding, dilation, groups, layout, in_channels,
            activation, use_bias, weight_initializer, bias_initializer, **kwargs,
        )  # fmt: skip


class Conv3D(_PlainConv):
    """3-D convolution over data of shape (batch, channels, depth, height, width); arguments as for Conv1D."""

    _dimensions = 3

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: Any = (0, 0, 0),
        dilation: Any = (1, 1, 1), groups: int = 1, layout: str = "NCDHW", activation: str | None = None,
        use_bias: bool = True, weight_initializer: Any = None, bias_initializer: Any = "zeros",
        in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        kwargs.setdefault("op_name", "Convolution")
        super().__init__(
            channels, self._checked(kernel_size, layout), strides, padding, dilation, groups, layout, in_channels,
            activation, use_bias, weight_initializer, bias_initializer, **kwargs,
        )  # fmt: skip


class _TransposedConv(_PlainConv):
    """A convolution run backwards, from a small map to a large one."""

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any, padding: Any, output_padding: Any, dilation: Any,
        groups: int, layout: str, activation: str | None, use_bias: bool, weight_initializer: Any,
        bias_initializer: Any, in_channels: int, **kwargs: Any,
    ) -> None:  # fmt: skip
        count = self._dimensions
        adjustment = _repeat(output_padding, count)
        if len(adjustment) != count:
            raise ArgumentError(
                f"output_padding must be a number or a list of {count} ints, got {output_padding}"
            )
        super().__init__(
            channels, self._checked(kernel_size, layout), strides, padding, dilation, groups, layout, in_channels,
            activation, use_bias, weight_initializer, bias_initializer, op_name="Deconvolution", adj=adjustment,
            **kwargs,
        )  # fmt: skip
        self.outpad = adjustment


class Conv1DTranspose(_TransposedConv):
    """1-D transposed convolution; ``output_padding`` adds to one side of the output, the rest is as for Conv1D."""

    _dimensions = 1

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = 1, padding: Any = 0, output_padding: Any = 0,
        dilation: Any = 1, groups: int = 1, layout: str = "NCW", activation: str | None = None,
        use_bias: bool = True, weight_initializer: Any = None, bias_initializer: Any = "zeros",
        in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            channels, kernel_size, strides, padding, output_padding, dilation, groups, layout, activation, use_bias,
            weight_initializer, bias_initializer, in_channels, **kwargs,
        )  # fmt: skip


class Conv2DTranspose(_TransposedConv):
    """2-D transposed convolution; arguments as for Conv1DTranspose."""

    _dimensions = 2

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = (1, 1), padding: Any = (0, 0),
        output_padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1, layout: str = "NCHW",
        activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None,
        bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            channels, kernel_size, strides, padding, output_padding, dilation, groups, layout, activation, use_bias,
            weight_initializer, bias_initializer, in_channels, **kwargs,
        )  # fmt: skip


class Conv3DTranspose(_TransposedConv):
    """3-D transposed convolution; arguments as for Conv1DTranspose."""

    _dimensions = 3

    def __init__(
        self, channels: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: Any = (0, 0, 0),
        output_padding: Any = (0, 0, 0), dilation: Any = (1, 1, 1), groups: int = 1, layout: str = "NCDHW",
        activation: str | None = None, use_bias: bool = True, weight_initializer: Any = None,
        bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            channels, kernel_size, strides, padding, output_padding, dilation, groups, layout, activation, use_bias,
            weight_initializer, bias_initializer, in_channels, **kwargs,
        )  # fmt: skip


class _Pooling(HybridBlock):
    """What all pooling layers have in common."""

    def __init__(
        self, pool_size: Any, strides: Any, padding: Any, ceil_mode: bool, global_pool: bool, pool_type: str,
        layout: str, count_include_pad: bool | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        count = len(layout) - 2
        if layout not in LAYOUTS.get(count, ()):
            accepted = [name for names in LAYOUTS.values() for name in names]
            raise ArgumentError(f"{type(self).__name__}: unknown layout '{layout}'; use one of {accepted}")
        size = _repeat(pool_size, count)
        if len(size) != count:
            raise ArgumentError(f"pool_size must be a number or a list of {count} ints, got {pool_size}")
        self._kwargs: dict[str, Any] = {
            "kernel": size, "stride": size if strides is None else _repeat(strides, count),
            "pad": _repeat(padding, count), "global_pool": global_pool, "pool_type": pool_type, "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }  # fmt: skip
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        text = (
            "size={kernel}, stride={stride}, padding={pad}, ceil_mode={ceil_mode}, "
            "global_pool={global_pool}, "
            "pool_type={pool_type}, layout={layout}"
        )
        ceil_mode = self._kwargs["pooling_convention"] == "full"
        return f"{type(self).__name__}({text.format(ceil_mode=ceil_mode, **self._kwargs)})"


def _check_layout(name: str, layout: str, count: int) -> None:
    if layout not in LAYOUTS[count]:
        raise ArgumentError(
            f"{name}: Only {' and '.join(LAYOUTS[count])} layouts are valid for {count}D Pooling, got "
            f"'{layout}'"
        )


class MaxPool1D(_Pooling):
    """Maximum over windows of width ``pool_size``; ``strides=None`` means windows side by side."""

    def __init__(
        self, pool_size: Any = 2, strides: Any = None, padding: Any = 0, layout: str = "NCW",
        ceil_mode: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        _check_layout("MaxPool1D", layout, 1)
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool2D(_Pooling):
    """Maximum over windows of height and width ``pool_size``."""

    def __init__(
        self, pool_size: Any = (2, 2), strides: Any = None, padding: Any = 0, layout: str = "NCHW",
        ceil_mode: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        _check_layout("MaxPool2D", layout, 2)
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool3D(_Pooling):
    """Maximum over windows of depth, height and width ``pool_size``."""

    def __init__(
        self, pool_size: Any = (2, 2, 2), strides: Any = None, padding: Any = 0, ceil_mode: bool = False,
        layout: str = "NCDHW", **kwargs: Any,
    ) -> None:  # fmt: skip
        _check_layout("MaxPool3D", layout, 3)
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class AvgPool1D(_Pooling):
    """Mean over windows of width ``pool_size``; ``count_include_pad`` lets padding count as zeros."""

    def __init__(
        self, pool_size: Any = 2, strides: Any = None, padding: Any = 0, layout: str = "NCW",
        ceil_mode: bool = False, count_include_pad: bool = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        _check_layout("AvgPool1D", layout, 1)
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs
        )


class AvgPool2D(_Pooling):
    """Mean over windows of height and width ``pool_size``."""

    def __init__(
        self, pool_size: Any = (2, 2), strides: Any = None, padding: Any = 0, ceil_mode: bool = False,
        layout: str = "NCHW", count_include_pad: bool = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        _check_layout("AvgPool2D", layout, 2)
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs
        )


class AvgPool3D(_Pooling):
    """Mean over windows of depth, height and width ``pool_size``."""

    def __init__(
        self, pool_size: Any = (2, 2, 2), strides: Any = None, padding: Any = 0, ceil_mode: bool = False,
        layout: str = "NCDHW", count_include_pad: bool = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        _check_layout("AvgPool3D", layout, 3)
        super().__init__(
            pool_size, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs
        )


class _GlobalPooling(_Pooling):
    """Pooling over the whole map, to size 1."""

    _pool_type: ClassVar[str]

    def __init__(self, layout: str, **kwargs: Any) -> None:
        super().__init__(1, None, 0, True, True, self._pool_type, layout, **kwargs)


class GlobalMaxPool1D(_GlobalPooling):
    """Maximum over the width."""

    _pool_type = "max"

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        _check_layout("GlobalMaxPool1D", layout, 1)
        super().__init__(layout, **kwargs)


class GlobalMaxPool2D(_GlobalPooling):
    """Maximum over height and width."""

    _pool_type = "max"

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        _check_layout("GlobalMaxPool2D", layout, 2)
        super().__init__(layout, **kwargs)


class GlobalMaxPool3D(_GlobalPooling):
    """Maximum over depth, height and width."""

    _pool_type = "max"

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        _check_layout("GlobalMaxPool3D", layout, 3)
        super().__init__(layout, **kwargs)


class GlobalAvgPool1D(_GlobalPooling):
    """Mean over the width."""

    _pool_type = "avg"

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        _check_layout("GlobalAvgPool1D", layout, 1)
        super().__init__(layout, **kwargs)


class GlobalAvgPool2D(_GlobalPooling):
    """Mean over height and width."""

    _pool_type = "avg"

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        _check_layout("GlobalAvgPool2D", layout, 2)
        super().__init__(layout, **kwargs)


class GlobalAvgPool3D(_GlobalPooling):
    """Mean over depth, height and width."""

    _pool_type = "avg"

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        _check_layout("GlobalAvgPool3D", layout, 3)
        super().__init__(layout, **kwargs)


class ReflectionPad2D(HybridBlock):
    """Pads height and width with the mirrored border.

    Args:
        padding: one number, or eight: before and after for each of the four axes.
    """

    def __init__(self, padding: Any = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(padding, int):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        if len(padding) != 8:
            raise ArgumentError(f"ReflectionPad2D: padding needs 1 number or 8, got {padding}")
        self._padding = tuple(padding)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)
