"""Operators that move blocks and windows of images into channels and columns, and back."""

from __future__ import annotations

import itertools
import math

import jax
from jax import Array, lax

from gluonjax._ops.opdef import check, operator


def _check_blocks(name: str, data: Array, block: int) -> None:
    check(
        data.ndim == 4,
        f"{name}: requires exactly a 4D tensor (batch, channel, height, width), got {data.shape}",
    )
    check(block > 0, f"{name}: block_size must be a positive integer value, got {block}")
    check(0 not in data.shape, f"{name}: Operation requires a 4D tensor without sizes of 0, got {data.shape}")


@operator("depth_to_space")
def depth_to_space(data: Array, *, block_size: int) -> Array:
    """Move groups of channels into square blocks of pixels.

    Args:
        data: ``(n, c, h, w)``, with c a multiple of ``block_size ** 2``.
        block_size: the side of a block.

    Returns:
        ``(n, c / block_size ** 2, h * block_size, w * block_size)``.
    """
    _check_blocks("depth_to_space", data, block_size)
    count, channels, height, width = data.shape
    check(
        channels % block_size**2 == 0,
        f"depth_to_space: the channel axis should be a multiple of block_size ** 2 = {block_size**2}, got "
        f"{channels}",
    )
    kept = channels // block_size**2
    split = lax.reshape(data, (count, block_size, block_size, kept, height, width))
    return lax.reshape(
        lax.transpose(split, (0, 3, 4, 1, 5, 2)), (count, kept, height * block_size, width * block_size)
    )


@operator("space_to_depth")
def space_to_depth(data: Array, *, block_size: int) -> Array:
    """Move square blocks of pixels into channels; undoes ``depth_to_space``.

    Args:
        data: ``(n, c, h, w)``, with h and w multiples of ``block_size``.
        block_size: the side of a block.

    Returns:
        ``(n, c * block_size ** 2, h / block_size, w / block_size)``.
    """
    _check_blocks("space_to_depth", data, block_size)
    count, channels, height, width = data.shape
    check(
        height % block_size == 0 and width % block_size == 0,
        f"space_to_depth: height and width should be multiples of block_size={block_size}, got {height} and "
        f"{width}",
    )
    rows, columns = height // block_size, width // block_size
    split = lax.reshape(data, (count, channels, rows, block_size, columns, block_size))
    return lax.reshape(
        lax.transpose(split, (0, 3, 5, 1, 2, 4)), (count, channels * block_size**2, rows, columns)
    )


def _patches(
    data: Array,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilate: tuple[int, ...],
    pad: tuple[int, ...],
) -> Array:
    """All windows of ``data`` (n, c, *space) as columns: (n, c * window size, number of windows)."""
    padded = lax.pad(data, lax.full((), 0, data.dtype), [(0, 0, 0), (0, 0, 0), *((p, p, 0) for p in pad)])
    space = padded.shape[2:]
    counts = [(s - (d * (k - 1) + 1)) // step + 1 for s, k, d, step in zip(space, kernel, dilate, stride)]
    windows = []
    for position in itertools.product(*map(range, kernel)):
        start = [p * d for p, d in zip(position, dilate)]
        limit = [s + (n - 1) * step + 1 for s, n, step in zip(start, counts, stride)]
        part = lax.slice(padded, (0, 0, *start), (*padded.shape[:2], *limit), (1, 1, *stride))
        windows.append(lax.reshape(part, (*padded.shape[:2], 1, math.prod(counts))))
    joined = lax.concatenate(windows, 2)
    return lax.reshape(joined, (data.shape[0], data.shape[1] * math.prod(kernel), math.prod(counts)))


def _window(
    name: str,
    space: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilate: tuple[int, ...],
    pad: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Fill in and check stride, dilate and pad for a kernel over the given space."""
    count = len(kernel)
    stride, dilate, pad = stride or (1,) * count, dilate or (1,) * count, pad or (0,) * count
    check(
        count == len(space) == len(stride) == len(dilate) == len(pad),
        f"{name}: kernel={kernel}, stride={stride}, dilate={dilate} and pad={pad} need one number for each "
        "of the "
        f"{len(space)} spatial dimensions",
    )
    check(
        all(v > 0 for v in (*kernel, *stride, *dilate)), f"{name}: kernel, stride and dilate must be positive"
    )
    for size, k, d, p in zip(space, kernel, dilate, pad):
        check(
            d * (k - 1) + 1 <= size + 2 * p,
            f"{name}: kernel size exceed input, got kernel={kernel} on {space}",
        )
    return stride, dilate, pad


@operator("im2col")
def im2col(
    data: Array,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> Array:
    """Write every window of an image as a column.

    Args:
        data: ``(n, c, *space)``.
        kernel: the size of a window.
        stride: the steps between windows.
        dilate: the steps inside of a window.
        pad: zeros around the image.

    Returns:
        ``(n, c * product(kernel), number of windows)``.
    """
    stride, dilate, pad = _window("im2col", data.shape[2:], kernel, stride, dilate, pad)
    return _patches(data, kernel, stride, dilate, pad)


@operator("col2im")
def col2im(
    data: Array,
    *,
    output_size: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> Array:
    """Add up columns into an image, each where ``im2col`` would have read it.

    Args:
        data: ``(n, c * product(kernel), number of windows)``.
        output_size: the spatial size of the image.
        kernel: the size of a window.
        stride: the steps between windows.
        dilate: the steps inside of a window.
        pad: zeros around the image.

    Returns:
        ``(n, c, *output_size)``.
    """
    stride, dilate, pad = _window("col2im", output_size, kernel, stride, dilate, pad)
    size = math.prod(kernel)
    check(data.ndim == 3, f"col2im: wanted (n, c * product(kernel), windows), got {data.shape}")
    check(
        data.shape[1] % size == 0,
        f"col2im: the second dim of input shape should be multiples of kernel size {size}, got "
        f"{data.shape[1]}",
    )
    image = jax.ShapeDtypeStruct((data.shape[0], data.shape[1] // size, *output_size), data.dtype)

    def columns(picture: Array) -> Array:
        return _patches(picture, kernel, stride, dilate, pad)

    windows = jax.eval_shape(columns, image).shape
    check(
        windows == data.shape,
        f"col2im: output size does not match convolution parameters, got {data.shape}, wanted {windows}",
    )
    return jax.linear_transpose(columns, image)(data)[0]
