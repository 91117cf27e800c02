"""Rarer operators: Fourier transforms, sketches, closeness, Hawkes processes, calibration, sparse look-ups."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops import registry
from gluonjax._ops.nn.normalization import batch_norm
from gluonjax._ops.opdef import Attrs, Aux, Shape, check, operator, zero_grad


@operator("_contrib_fft")
def fft(data: Array, *, compute_size: int = 128) -> Array:
    """Discrete Fourier transform along the last axis.

    Args:
        data: ``(batch, size)`` or ``(a, b, c, size)``, real.
        compute_size: accepted; how many rows MXNet transforms at a time.

    Returns:
        The shape of data with the last axis twice as long: real and imaginary parts in turn.
    """
    check(data.ndim in (2, 4), f"fft: data must have 2 or 4 dimensions, got {data.shape}")
    spectrum = jnp.fft.fft(data.astype(jnp.promote_types(data.dtype, jnp.float32)), axis=-1)
    pairs = jnp.stack([jnp.real(spectrum), jnp.imag(spectrum)], axis=-1)
    return pairs.reshape(*data.shape[:-1], 2 * data.shape[-1]).astype(data.dtype)


@operator("_contrib_ifft")
def ifft(data: Array, *, compute_size: int = 128) -> Array:
    """Real part of the inverse Fourier transform along the last axis, not divided by its size.

    Args:
        data: ``(batch, 2 * size)`` or ``(a, b, c, 2 * size)``: real and imaginary parts in turn.

    Returns:
        The shape of data with the last axis half as long.
    """
    check(data.ndim in (2, 4), f"ifft: data must have 2 or 4 dimensions, got {data.shape}")
    check(data.shape[-1] % 2 == 0, f"ifft: the last axis holds pairs, its size {data.shape[-1]} must be even")
    size = data.shape[-1] // 2
    pairs = data.astype(jnp.promote_types(data.dtype, jnp.float32)).reshape(*data.shape[:-1], size, 2)
    values = jnp.fft.ifft(lax.complex(pairs[..., 0], pairs[..., 1]), axis=-1)
    return (jnp.real(values) * size).astype(data.dtype)


@operator("_contrib_count_sketch")
def count_sketch(data: Array, h: Array, s: Array, *, out_dim: int, processing_batch_size: int = 32) -> Array:
    """Project features down by adding them, with signs, into hashed places.

    Args:
        data: ``(batch, features)`` or ``(a, b, c, features)``.
        h: ``(1, features)``: the place of each feature, below ``out_dim``.
        s: ``(1, features)``: its sign.

    Returns:
        ``(..., out_dim)``.
    """
    check(data.ndim in (2, 4), f"count_sketch: Data should be 2D or 4D, got {data.shape}")
    for name, values in (("H", h), ("S", s)):
        check(
            values.size == data.shape[-1],
            f"count_sketch: {name} should be 2D tensor with same length as the last axis of data {data.shape}, got "
            f"{values.shape}",
        )
    places = lax.stop_gradient(h).reshape(-1).astype(jnp.int32)
    signed = data * lax.stop_gradient(s).reshape(-1)
    empty = jnp.zeros((*data.shape[:-1], out_dim), data.dtype)
    return empty.at[..., places].add(signed.astype(data.dtype), mode="drop")


@operator("_contrib_allclose", grad=zero_grad)
def allclose(a: Array, b: Array, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True) -> Array:
    """Whether two arrays agree everywhere up to ``atol + rtol * |b|``.

    Args:
        a: any shape.
        b: the same shape.
        equal_nan: NaN agrees with NaN.

    Returns:
        1 or 0, a uint8 scalar.
    """
    check(a.shape == b.shape, f"allclose: a has shape {a.shape}, b {b.shape}; they must agree")
    wide = a.dtype if jnp.issubdtype(a.dtype, jnp.floating) else jnp.float64
    a, b = a.astype(wide), b.astype(wide)
    near = (a == b) | (jnp.abs(a - b) <= np.float32(atol) + np.float32(rtol) * jnp.abs(b))
    if equal_nan:
        near |= jnp.isnan(a) & jnp.isnan(b)
    return near.all().astype(jnp.uint8)


def _hawkes_shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    lda, lags = known.get("lda"), known.get("lags")
    filled: dict[str, Shape] = {}
    if lda is not None and len(lda) == 2:
        filled.update(alpha=(lda[1],), beta=(lda[1],), state=lda, valid_length=(lda[0],), max_time=(lda[0],))
    if lags is not None and len(lags) == 2:
        filled["marks"] = lags
    return filled


def _hawkes_dtypes(dtypes: dict[str, np.dtype | None], attrs: Attrs) -> dict[str, np.dtype | None]:
    known = next((d for name, d in dtypes.items() if name != "marks" and d is not None), None)
    for name, dtype in dtypes.items():
        wanted = np.dtype(np.int32) if name == "marks" else known
        check(dtype is None or dtype == wanted, f"hawkesll: '{name}' is {dtype}, wanted {wanted}")
    return {name: np.dtype(np.int32) if name == "marks" else known for name in dtypes}


@operator(
    "_contrib_hawkesll", outputs=("output", "out_state"), param_shapes=_hawkes_shapes, dtypes=_hawkes_dtypes, heavy=True
)
def hawkesll(
    lda: Array, alpha: Array, beta: Array, state: Array, lags: Array, marks: Array, valid_length: Array, max_time: Array
) -> tuple[Array, Array]:
    """Log-likelihood of marked self-exciting point processes with exponential decay.

    Args:
        lda: ``(batch, marks)`` base intensities.
        alpha: ``(marks,)`` branching ratios.
        beta: ``(marks,)`` decay rates.
        state: ``(batch, marks)`` excitation at the start.
        lags: ``(batch, length)`` times between events.
        marks: ``(batch, length)`` kinds of events, int32.
        valid_length: ``(batch,)`` numbers of events.
        max_time: ``(batch,)`` ends of observation.

    Returns:
        Log-likelihoods ``(batch,)`` and excitations at the end ``(batch, marks)``. Gradients go to lda, alpha and
        beta, from the likelihood only, as in MXNet.
    """
    check(lda.ndim == 2 and lags.ndim == 2, f"hawkesll: lda {lda.shape} and lags {lags.shape} must have 2 dimensions")
    check(
        jnp.issubdtype(lda.dtype, jnp.floating),
        f"hawkesll: This operation only support floating point types, not {lda.dtype}",
    )
    batch, kinds = lda.shape
    for name, array, wanted in (
        ("alpha", alpha, (kinds,)), ("beta", beta, (kinds,)), ("state", state, (batch, kinds)),
        ("lags", lags, (batch, lags.shape[1])), ("marks", marks, lags.shape), ("valid_length", valid_length, (batch,)),
        ("max_time", max_time, (batch,)),
    ):  # fmt: skip
        check(array.shape == wanted, f"hawkesll: {name} must have the shape {wanted}, got {array.shape}")
    check(kinds > 0 or not lags.size, f"hawkesll: lda {lda.shape} has no kinds of events, lags {lags.shape} has events")
    state, lags, valid_length, max_time = (lax.stop_gradient(x) for x in (state, lags, valid_length, max_time))
    rows = jnp.arange(batch, dtype=jnp.int32)
    kinds_of_events = marks.astype(jnp.int32)

    def event(carry: tuple[Array, ...], number: Array) -> tuple[tuple[Array, ...], None]:
        likelihood, time, last, excitation = carry
        valid = number.astype(lda.dtype) < valid_length
        kind = kinds_of_events[:, number]
        time = time + jnp.where(valid, lags[:, number], 0)
        gap = time - last[rows, kind]
        decay = jnp.exp(-beta[kind] * gap)
        old, base = excitation[rows, kind], lda[rows, kind]
        rate = base + alpha[kind] * beta[kind] * old * decay
        passed = base * gap + alpha[kind] * old * (1 - decay)
        gain = jnp.log(jnp.where(valid, rate, 1)) - passed
        likelihood = likelihood + jnp.where(valid, gain, 0)
        excitation = excitation.at[rows, kind].set(jnp.where(valid, 1 + old * decay, old))
        last = last.at[rows, kind].set(jnp.where(valid, time, last[rows, kind]))
        return (likelihood, time, last, excitation), None

    zero = jnp.zeros(batch, lda.dtype)
    start = (zero, zero, jnp.zeros_like(state), state)
    steps = jnp.arange(lags.shape[1], dtype=jnp.int32)
    likelihood, _, last, excitation = lax.scan(event, start, steps)[0] if lags.size else start
    gap = max_time[:, None] - last
    decay = jnp.exp(-beta * gap)
    rest = lda * gap + alpha * excitation * (1 - decay)
    return likelihood - rest.sum(axis=1), lax.stop_gradient(decay * excitation)


@operator("_contrib_calibrate_entropy", outputs=("threshold", "divergence"), grad=zero_grad, host=True)
def calibrate_entropy(hist: Array, hist_edges: Array, *, num_quantized_bins: int = 255) -> tuple[Array, Array]:
    """The threshold that loses least information when a histogram is quantized.

    Args:
        hist: ``(bins,)`` counts, float32.
        hist_edges: ``(bins + 1,)``.

    Returns:
        The threshold and its divergence, both ``(1,)``.
    """
    counts, edges = np.asarray(hist, np.float32), np.asarray(hist_edges, np.float32)
    check(counts.ndim == edges.ndim == 1, f"calibrate_entropy: hist and hist_edges must be vectors, got {hist.shape}")
    check(edges.size == counts.size + 1, f"calibrate_entropy: {counts.size} bins need {counts.size + 1} edges")
    check(num_quantized_bins > 0, f"calibrate_entropy: num_quantized_bins must be positive, got {num_quantized_bins}")
    middle, half = counts.size // 2, num_quantized_bins // 2
    check(half <= middle, f"calibrate_entropy: num_quantized_bins={num_quantized_bins} exceeds {counts.size} bins")
    best = (np.float32(np.finfo(np.float32).max), edges[min(middle + half + 1, counts.size)])
    for reach in range(half, middle + 1):
        start, stop = middle - reach, middle + reach + 1
        divergence = _divergence(counts, start, stop, num_quantized_bins)
        if divergence < best[0]:
            best = (divergence, edges[stop])
    return np.array([best[1]], np.float32), np.array([best[0]], np.float32)  # type: ignore[return-value]


def _divergence(counts: np.ndarray, start: int, stop: int, bins: int) -> np.float32:
    """Kullback-Leibler divergence of a cut histogram from its quantized form."""
    cut = counts[start:stop].astype(np.float32).copy()
    inner = np.floor(cut)
    inner[0] = 0  # MXNet leaves the first bin out of the quantized histogram
    cut[0] = counts[: start + 1].sum()
    cut[-1] += counts[stop:].sum()
    width = cut.size // bins
    quantized = np.zeros_like(cut)
    for number in range(bins):
        low, high = number * width, cut.size if number == bins - 1 else (number + 1) * width
        used = np.count_nonzero(inner[low:high])
        if used:
            quantized[low:high] = np.where(cut[low:high] != 0, np.floor(inner[low:high].sum()) / used, 0)
    p, q = _smooth(cut), _smooth(quantized)
    if p is None or q is None:
        return np.float32(np.inf)
    p, q = p / p.sum(), q / q.sum()
    return np.float32((p * np.log(p / q)).sum())


def _smooth(values: np.ndarray, amount: float = 1e-4) -> np.ndarray | None:
    """Take a little from every bin for the empty ones; None where that is not possible."""
    empty = values == 0
    used = values.size - int(empty.sum())
    if not used:
        return None
    share = amount * float(empty.sum()) / used
    return None if share >= 1 else values + np.where(empty, amount, -share).astype(np.float32)


@operator("_contrib_getnnz", grad=zero_grad)
def getnnz(data: Array, *, axis: int | None = None) -> Array:
    """How many elements of a matrix are not zero (of a CSR array: are stored).

    Args:
        data: ``(rows, columns)``.
        axis: 0 for each column, 1 for each row, None for all.

    Returns:
        ``(1,)``, ``(columns,)`` or ``(rows,)``, int64.
    """
    check(data.ndim == 2, f"getnnz: data must have two dimensions, got {data.shape}")
    check(axis in (None, 0, 1), f"getnnz: Unexpected value for axis({axis}). Candidates are None, 0, and 1")
    return (data != 0).sum(axis=axis, dtype=jnp.int64).reshape(-1)


@operator("_contrib_edge_id", dtypes="free", grad=zero_grad)
def edge_id(data: Array, u: Array, v: Array) -> Array:
    """Values of the edges ``u[i] -> v[i]`` of a graph given as an adjacency matrix, -1 where there is none.

    Args:
        data: ``(vertices, vertices)``; a zero is no edge.
        u: ``(edges,)`` rows.
        v: ``(edges,)`` columns.

    Returns:
        ``(edges,)``, data's dtype.
    """
    check(data.ndim == 2, f"edge_id: data must have two dimensions, got {data.shape}")
    check(u.ndim == 1 and u.shape == v.shape, f"edge_id: u {u.shape} and v {v.shape} must be vectors of one length")
    found = data[u.astype(jnp.int32), v.astype(jnp.int32)]
    return jnp.where(found == 0, jnp.asarray(-1, data.dtype), found)


_BATCH_NORM = registry.get("BatchNorm")


@operator(
    "_contrib_BatchNormWithReLU",
    outputs=("output", "mean", "var"),
    visible=_BATCH_NORM.visible,
    param_shapes=_BATCH_NORM.param_shapes,
    dtypes=_BATCH_NORM.dtypes,
    variable_attrs=_BATCH_NORM.variable_attrs,
)
def batch_norm_with_relu(
    data: Array, gamma: Array, beta: Array, moving_mean: Aux, moving_var: Aux, *,
    eps: float = 1e-3, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False,
    output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False,
    min_calib_range: float | None = None, max_calib_range: float | None = None, train: bool,
) -> tuple[tuple[Array, Array, Array], dict[str, Array]]:  # fmt: skip
    """``BatchNorm`` followed by ``relu``, as one operator.

    Args:
        data: any shape with the channels on ``axis``.
        gamma, beta, moving_mean, moving_var: ``(channels,)``, as in ``BatchNorm``.

    Returns:
        An array like data; with ``output_mean_var`` also the mean and the inverse standard deviation.
    """
    (output, mean, scale), updates = batch_norm(
        data, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum, fix_gamma=fix_gamma,
        use_global_stats=use_global_stats, output_mean_var=output_mean_var, axis=axis, cudnn_off=cudnn_off, train=train,
    )  # fmt: skip
    positive = lax.select(lax.gt(output, lax.full_like(output, 0)), output, lax.full_like(output, 0))
    return (positive, mean, scale), updates
