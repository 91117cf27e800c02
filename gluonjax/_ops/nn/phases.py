"""Transposed convolutions whose stride divides the kernel, for a CPU: the outputs at each place modulo the stride.

Each of these phases is a convolution of the data with every stride-th element of the kernel, and all of them together
are one convolution with more filters. Data that is spread out by the stride instead is mostly zeros, which XLA:CPU
multiplies too: 32 to 32 channels with 4×4×4 kernels at 8×14×14, batch 2, take 10 ms so and 6 in phases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from jax import Array, lax

from gluonjax._ops.nn.windows import pad_axes, strided_slice

# With fewer filters the phases take longer to interleave than zeros to multiply.
FEWEST_FILTERS = 8


def suits(weight: Array, stride: Sequence[int], dilate: Sequence[int]) -> bool:
    """Whether ``in_phases`` is the way to convolve with a weight ``(channels, filters, kernel...)``."""
    divides = all(size % step == 0 for size, step in zip(weight.shape[2:], stride, strict=True))
    return divides and max(stride) > 1 and max(dilate) == 1 and weight.shape[1] >= FEWEST_FILTERS


def in_phases(
    data: Array, weight: Array, stride: Sequence[int], pad: Sequence[int], adj: Sequence[int],
    convolve: Callable[[Array, Array], Array],
) -> Array:  # fmt: skip
    """The transposed convolution of ``(batch, channels, spatial...)`` with ``(channels, filters, kernel...)``.

    Args:
        convolve: convolves padded data with ``(filters, channels, kernel...)``, stride 1.
    """
    count = len(stride)
    axes, zero = tuple(range(2, 2 + count)), (0,) * count
    kernel, image = weight.shape[2:], data.shape[2:]
    taps = [size // step for size, step in zip(kernel, stride)]
    size = [
        (n - 1) * step + width - 2 * amount + extra
        for n, step, width, amount, extra in zip(image, stride, kernel, pad, adj)
    ]
    # Of each phase, the outputs from first to last: what is cut off by the padding is not computed.
    first = [amount // step for amount, step in zip(pad, stride)]
    last = [-(-(amount + n) // step) for amount, n, step in zip(pad, size, stride)]
    low = [number - 1 - begin for number, begin in zip(taps, first)]
    high = [end - n for end, n in zip(last, image)]
    found = convolve(pad_axes(data, axes, 0, low, high, zero), _filters_of_phases(weight, taps, stride))
    places = found.shape[2:]
    split = lax.reshape(found, (data.shape[0], *stride, weight.shape[1], *places))
    order = [0, 1 + count, *(axis for number in range(count) for axis in (2 + count + number, 1 + number))]
    joined = lax.reshape(
        lax.transpose(split, order),
        (data.shape[0], weight.shape[1], *(n * step for n, step in zip(places, stride))),
    )
    start = [amount - begin * step for amount, begin, step in zip(pad, first, stride)]
    return strided_slice(joined, axes, start, (1,) * count, size)


def _filters_of_phases(weight: Array, taps: Sequence[int], stride: Sequence[int]) -> Array:
    """``(phases * filters, channels, taps...)``: the elements of the kernel that each phase meets, mirrored."""
    count = len(stride)
    channels, filters = weight.shape[:2]
    split = lax.reshape(weight, (channels, filters, *(n for pair in zip(taps, stride) for n in pair)))
    order = (*range(3, 3 + 2 * count, 2), 1, 0, *range(2, 2 + 2 * count, 2))
    kernels = lax.reshape(lax.transpose(split, order), (math.prod(stride) * filters, channels, *taps))
    return lax.rev(kernels, tuple(range(2, 2 + count)))
