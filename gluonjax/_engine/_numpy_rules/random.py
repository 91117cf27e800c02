"""Rules for JAX's threefry random numbers: the same bits as JAX, computed with NumPy.

Keys are one 64-bit item each (two 32-bit words in memory order, see `site.KEY_DTYPE`).
"""

from __future__ import annotations

import math
from typing import Any, cast

import jax
import numpy as np

from gluonjax._engine._numpy_rules import word_blocks as blocks
from gluonjax._engine._numpy_rules.site import KEY_DTYPE, Function, Rule, Site, identity

#: Left and right shift of each rotation; odd and even blocks of four rounds differ.
_ROTATIONS = tuple(
    tuple((np.uint32(turn), np.uint32(32 - turn)) for turn in turns)
    for turns in ((13, 15, 26, 6), (17, 29, 16, 24))
)
_PARITY = np.uint32(0x1BD11BDA)
_WORD = np.uint64(32)
#: So many numbers are made at a time: what a hundred passes over them need stays in the processor's cache.
_BLOCK = 1 << 13


def threefry(key: tuple[Any, Any], counts: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The threefry-2x32 block function (20 rounds) on arrays of 32-bit words.

    Args:
        key: Two uint32 arrays.
        counts: Two uint32 arrays; broadcast against the key.

    Returns:
        Two uint32 arrays.
    """
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    x, y = np.asarray(counts[0] + schedule[0]), np.asarray(counts[1] + schedule[1])
    turned = np.empty_like(y)  # in place: on small arrays, making new ones is most of the time
    for block in range(5):
        for left, right in _ROTATIONS[block % 2]:
            np.add(x, y, out=x)
            np.left_shift(y, left, out=turned)
            np.right_shift(y, right, out=y)
            np.bitwise_or(y, turned, out=y)
            np.bitwise_xor(y, x, out=y)
        np.add(x, schedule[(block + 1) % 3], out=x)
        np.add(y, schedule[(block + 2) % 3] + np.uint32(block + 1), out=y)
    return x, y


def _words(keys: Any) -> tuple[np.ndarray, np.ndarray]:
    """The two words of every key, shape as the keys'."""
    pairs = np.ascontiguousarray(keys).reshape(np.shape(keys) + (1,)).view(np.uint32)
    return pairs[..., 0], pairs[..., 1]


def _keys(first: Any, second: Any) -> np.ndarray:
    """Joins two words to keys."""
    pairs = np.empty(np.shape(first) + (2,), np.uint32)
    pairs[..., 0], pairs[..., 1] = first, second
    return pairs.view(KEY_DTYPE).reshape(np.shape(first))


def partitionable() -> bool:
    """Whether JAX numbers its blocks in the newer way, the only one written down here."""
    return bool(cast(Any, jax.config).jax_threefry_partitionable)


def _halves(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """High and low words of 64-bit numbers."""
    return (numbers >> _WORD).astype(np.uint32), numbers.astype(np.uint32)


def _counts(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """High and low words of the positions 0, 1, 2, ... in a shape."""
    return _halves(np.arange(math.prod(shape), dtype=np.uint64).reshape(shape))


def _seed_words(seed: Any) -> tuple[np.ndarray, np.ndarray]:
    """High and low word of an integer; narrow ones have a high word of zero, negative ones too."""
    seed = np.asarray(seed)
    if seed.dtype.itemsize < 8:
        return np.zeros(seed.shape, np.uint32), seed.astype(np.uint32)
    return _halves(seed.view(np.uint64))


def spread(keys: Any, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """A batch of keys as words with `rank` axes of length one behind."""
    shape = np.shape(keys) + (1,) * rank
    first, second = _words(keys)
    return first.reshape(shape), second.reshape(shape)


def split(keys: Any, shape: tuple[int, ...]) -> np.ndarray:
    """New keys of shape `keys.shape + shape`."""
    return _keys(*threefry(spread(keys, len(shape)), _counts(shape)))


def bits(keys: Any, width: int, shape: tuple[int, ...]) -> np.ndarray:
    """Random unsigned integers of a width in bits, shape `keys.shape + shape`."""
    if math.prod(shape) > _BLOCK and np.size(keys) == 1:
        flat = np.empty(math.prod(shape), np.dtype(f"u{width // 8}"))
        words = _words(np.reshape(keys, (1,)))
        if blocks.pay(flat.size):
            blocks.fill(flat, np.concatenate(words))
            return flat.reshape(np.shape(keys) + shape)
        for start in range(0, flat.size, _BLOCK):
            positions = np.arange(start, min(start + _BLOCK, flat.size), dtype=np.uint64)
            flat[start : start + _BLOCK] = _joined(*threefry(words, _halves(positions)), width)
        return flat.reshape(np.shape(keys) + shape)
    return _joined(*threefry(spread(keys, len(shape)), _counts(shape)), width)


def _joined(first: np.ndarray, second: np.ndarray, width: int) -> np.ndarray:
    """Numbers of a width from pairs of words."""
    if width == 64:
        return (first.astype(np.uint64) << _WORD) | second
    mixed = first ^ second
    return mixed if width == 32 else mixed.astype(np.dtype(f"u{width // 8}"))


def _random_bits(site: Site) -> Function | None:
    width, shape = site.params["bit_width"], tuple(site.params["shape"])
    if not partitionable() or width not in (8, 16, 32, 64):
        return None
    return lambda keys: bits(keys, width, shape)


def _random_split(site: Site) -> Function | None:
    shape = tuple(site.params["shape"])
    return (lambda keys: split(keys, shape)) if partitionable() else None


def _random_fold_in(site: Site) -> Function:
    return lambda keys, data: _keys(*threefry(_words(keys), _seed_words(data)))


def _random_seed(site: Site) -> Function | None:
    if site.params["impl"].name != "threefry2x32":
        return None
    return lambda seed: _keys(*_seed_words(seed))


def _random_wrap(site: Site) -> Function | None:
    if site.params["impl"].name != "threefry2x32":
        return None
    shape = site.outs[0].shape
    return lambda pairs: np.ascontiguousarray(pairs).view(KEY_DTYPE).reshape(shape)


def _random_unwrap(site: Site) -> Function:
    shape = site.outs[0].shape
    return lambda keys: np.ascontiguousarray(keys).reshape(shape[:-1] + (1,)).view(np.uint32)


# --------------------------------------------------------------------------------------------------- samples


def uniform(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """One number in [0, 1) per key: random bits as the mantissa of a number in [1, 2)."""
    info = np.finfo(dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}").type
    mantissa = bits(keys, info.bits, ()) >> unsigned(info.bits - info.nmant)
    one = dtype.type(1)
    return (mantissa | one.view(unsigned)).view(dtype) - one


def standard_normal(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """One number per key, normal by the inverse error function."""
    import scipy.special

    one = dtype.type(1)
    low = np.nextafter(-one, dtype.type(0))
    flat = np.maximum(low, uniform(keys, dtype) * (one - low) + low)
    return dtype.type(np.sqrt(2)) * scipy.special.erfinv(flat)


def _gamma_cubes(keys: np.ndarray, d: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Accepted cubes of Marsaglia and Tsang's method, one per key; keys advance as JAX advances them."""
    dtype = d.dtype
    one, half, squeeze = dtype.type(1), dtype.type(0.5), dtype.type(0.0331)
    cubes = np.ones_like(d)
    waiting = np.arange(keys.size)  # positions without an accepted number
    while waiting.size:
        following = split(keys, (3,))
        keys, normal_keys, uniform_keys = following[:, 0], following[:, 1].copy(), following[:, 2]
        x, v = np.zeros_like(d), np.full_like(d, -1)
        bad = np.arange(waiting.size)
        while bad.size:
            pairs = split(normal_keys[bad], (2,))
            normal_keys[bad] = pairs[:, 0]
            x[bad] = standard_normal(pairs[:, 1], dtype)
            v[bad] = one + x[bad] * c[bad]
            bad = bad[v[bad] <= 0]
        square, cube, u = x * x, v * v * v, uniform(uniform_keys, dtype)
        rejected = (u >= one - squeeze * (square * square)) & (
            np.log(u) >= square * half + d * ((one - cube) + np.log(cube))
        )
        cubes[waiting] = cube
        waiting, keys, d, c = waiting[rejected], keys[rejected], d[rejected], c[rejected]
    return cubes


def _random_gamma(site: Site) -> Function | None:
    """Gamma samples: below one, alpha is raised by one and the sample scaled down by a uniform power."""
    dtype = site.outs[0].dtype
    if not partitionable() or dtype not in (np.float32, np.float64):
        return None
    log_space, key_rank, shape = site.params["log_space"], len(site.ins[0].shape), site.outs[0].shape
    per_key = math.prod(shape[key_rank:])
    one, third = dtype.type(1), dtype.type(1 / 3)

    def random_gamma(keys: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        alpha = np.asarray(alpha).reshape(-1)
        each = split(split(np.asarray(keys).reshape(-1), (per_key,)).reshape(-1), (2,))
        raised = np.where(alpha >= one, alpha, alpha + one)
        d = raised - third
        cubes = _gamma_cubes(each[:, 0], d, third / np.sqrt(d))
        remaining = one - uniform(each[:, 1], dtype)
        if log_space:
            logarithms = np.log(remaining)  # minus an exponential sample
            boost = np.where((alpha >= one) | (logarithms == 0), dtype.type(0), logarithms * (one / alpha))
            return (np.log(d) + np.log(cubes) + boost).reshape(shape)
        boost = np.where(alpha >= one, one, np.power(remaining, one / alpha))
        return (d * cubes * boost).reshape(shape)

    return random_gamma


def _threefry(site: Site) -> Function:
    return lambda k1, k2, x1, x2: threefry((k1, k2), (x1, x2))


RULES: dict[str, Rule] = {
    "threefry2x32": _threefry,
    "random_bits": _random_bits,
    "random_split": _random_split,
    "random_fold_in": _random_fold_in,
    "random_seed": _random_seed,
    "random_wrap": _random_wrap,
    "random_unwrap": _random_unwrap,
    "random_clone": lambda site: identity,
    "random_gamma": _random_gamma,
}


def work(site: Site) -> float:
    """Twenty rounds of five operations for each pair of words; a gamma sample takes about ten pairs.

    Blocks that stay in the cache are about five times as fast.
    """
    count = max(site.outs[0].size, 1)
    return (1000.0 if site.name == "random_gamma" else 100.0 if count <= _BLOCK else 20.0) * count
