"""Samples of the operators that update weights. Rows: operator, number of state inputs, attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

SHAPE = (3, 2)
HALF = np.float16

# Operators of one dtype: every state has the weight's shape. Variances come last and are positive.
SINGLE: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("sgd_update", 0, {}),
    ("sgd_mom_update", 1, {"momentum": 0.9}),
    # No decay: MXNet computes another momentum in place than out of place (see update_rules.nesterov).
    ("nag_mom_update", 1, {"momentum": 0.9, "wd": 0.0}),
    ("signsgd_update", 0, {}),
    ("signum_update", 1, {"momentum": 0.9, "wd_lh": 0.01}),
    ("adam_update", 2, {"beta1": 0.8}),
    ("ftrl_update", 2, {"lamda1": 0.3}),
    ("rmsprop_update", 1, {"gamma1": 0.9}),
    ("rmspropalex_update", 3, {"gamma1": 0.9}),
    ("ftml_update", 3, {"t": 3}),
    ("lamb_update_phase1", 2, {"t": 2}),
)
MASTERED: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("mp_sgd_update", 0, {}),
    ("mp_sgd_mom_update", 1, {"momentum": 0.9}),
    ("mp_nag_mom_update", 1, {"momentum": 0.9}),
    ("mp_lamb_update_phase1", 2, {"t": 2}),
)


def _arrays(
    seed: int, states: int, dtype: Any = np.float32, shape: tuple[int, ...] = SHAPE
) -> list[np.ndarray]:
    """Weight, gradient and states; states are positive, the first of three (d) above the rest."""
    source = rng(seed)
    weight, grad = (source.uniform(-1, 1, shape).astype(dtype) for _ in range(2))
    rest = [
        source.uniform(0.3, 0.9, shape).astype(np.float32 if dtype == HALF else dtype) for _ in range(states)
    ]
    if states == 3:
        rest[1] = (rest[1] * 0.3).astype(rest[1].dtype)
    return [weight, grad, *rest]


def _settings(op: str, rich: bool) -> dict[str, Any]:
    if "lamb" in op:
        return {"wd": 0.01, **({"rescale_grad": 0.5, "clip_gradient": 0.2} if rich else {})}
    clip = "clip_grad" if op == "ftml_update" else "clip_gradient"
    return {"lr": 0.1, **({"wd": 0.01, "rescale_grad": 0.5, clip: 0.2} if rich else {})}


def _one(
    op: str, seed: int, states: int, attrs: dict[str, Any], rich: bool, dtype: Any, master: bool
) -> Sample:
    arrays = _arrays(seed, states, dtype)
    if master:
        arrays.append(arrays[0].astype(np.float32))
    loose = 2e-3 if dtype == HALF else 1e-5
    tag = ("full" if rich else "bare") + ("_f64" if dtype == np.float64 else "")
    return Sample(op, tuple(arrays), {**_settings(op, rich), **attrs}, grad=(), numeric_grad=False,
                  rtol=loose, atol=loose / 10, tag=tag)  # fmt: skip


def _interleaved(
    seed: int, count: int, states: int, master: bool, tail: list[np.ndarray]
) -> tuple[np.ndarray, ...]:
    arrays: list[np.ndarray] = []
    for number in range(count):
        group = _arrays(seed + number, states, HALF if master else np.float32, (2 + number, 2))
        arrays += group + ([group[0].astype(np.float32)] if master else [])
    return (*arrays, *tail)


MULTI_WHY = "MXNet runs these with out= only; compared with it by hand when written"


def _groups(arrays: tuple[np.ndarray, ...], tail: int, count: int = 2) -> list[tuple[np.ndarray, ...]]:
    body = arrays[: len(arrays) - tail]
    stride = len(body) // count
    return [body[i * stride : (i + 1) * stride] for i in range(count)]


def _clipped(grad: np.ndarray, scale: float, limit: float) -> np.ndarray:
    scaled = grad.astype(np.float32) * scale
    return scaled if limit < 0 else np.clip(scaled, -limit, limit)


def _sgd_reference(momentum: float | None, master: bool, tail: int, limit: float) -> Callable[..., Any]:
    def reference(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        results = []
        for (weight, grad, *rest), lr, wd in zip(_groups(arrays, tail), (0.1, 0.2), (0.01, 0.0)):
            base = rest[-1] if master else weight
            carried = 0.0 if momentum is None else momentum * rest[0]
            results.append(
                (base + carried - lr * (wd * base + _clipped(grad, 0.5, limit))).astype(weight.dtype)
            )
        return tuple(results)

    return reference


def _adam_reference(lamb: bool, master: bool, limit: float) -> Callable[..., Any]:
    def reference(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        results = []
        rows = zip(_groups(arrays, 0 if lamb else 1), (0.1, 0.2), (0.01, 0.0), (1.0, 0.5), (1, 3))
        for (weight, grad, mean, var, *rest), lr, wd, eta, step in rows:
            base = rest[-1] if master else weight
            scaled = _clipped(grad, 0.5, limit)
            mean, var = 0.9 * mean + 0.1 * scaled, 0.999 * var + 0.001 * scaled**2
            if lamb and limit > 0:
                mean, var = mean / (1 - 0.9**step), var / (1 - 0.999**step)
            direction = mean / (np.sqrt(var) + (1e-6 if lamb else 1e-8))
            if lamb:
                direction = direction + wd * base
                size = min(max(np.sqrt((base * base).sum()), 0.1), 0.5)
                new = base - lr * size / np.sqrt((direction**2).sum()) * direction
            else:
                new = base - eta * (lr * direction + wd * base)
            results.append(new.astype(weight.dtype))
        return tuple(results)

    return reference


def _multi() -> list[Sample]:
    vectors = [np.array([0.1, 0.2], np.float32), np.array([0.01, 0.0], np.float32)]
    samples = []
    for master in (False, True):
        for momentum in (False, True):
            name = ("mp_" if master else "") + ("sgd_mom" if momentum else "sgd")
            attrs: dict[str, Any] = {"num_weights": 2, "clip_gradient": 0.3, "rescale_grad": 0.5}
            if momentum:
                attrs["momentum"] = 0.9
            for clip in (0.3, -1.0):
                attrs = {**attrs, "clip_gradient": clip}
                loose = dict(
                    rtol=2e-3 if master else 1e-5,
                    grad=(),
                    numeric_grad=False,
                    tag=f"clip{clip}",
                    oracle=False,
                    why=MULTI_WHY,
                )
                beta = 0.9 if momentum else None
                arrays = _interleaved(20, 2, int(momentum), master, [])
                samples.append(
                    Sample(
                        f"multi_{name}_update",
                        arrays,
                        {**attrs, "lrs": (0.1, 0.2), "wds": (0.01, 0.0)},
                        reference=_sgd_reference(beta, master, 0, clip),
                        **loose,
                    )
                )
                samples.append(
                    Sample(
                        f"preloaded_multi_{name}_update",
                        (*arrays, *vectors),
                        attrs,
                        reference=_sgd_reference(beta, master, 2, clip),
                        **loose,
                    )
                )
        scale = [np.array([0.5], np.float32)]
        middle = "mp_" if master else ""
        common = dict(rtol=2e-3 if master else 3e-5, grad=(), numeric_grad=False, oracle=False, why=MULTI_WHY)
        for clip in (-1.0, 0.3):
            samples += [
                Sample(f"_multi_{middle}adamw_update", _interleaved(30, 2, 2, master, scale), {
                    "num_weights": 2, "lrs": (0.1, 0.2), "wds": (0.01, 0.0), "etas": (1.0, 0.5),
                    "clip_gradient": clip}, reference=_adam_reference(False, master, clip), **common),
                Sample(f"_multi_{middle}lamb_update", _interleaved(40, 2, 2, master, []), {
                    "num_tensors": 2, "learning_rates": (0.1, 0.2), "wds": (0.01, 0.0), "step_count": (1, 3),
                    "clip_gradient": clip, "rescale_grad": 0.5, "bias_correction": clip > 0,
                    "lower_bound": 0.1, "upper_bound": 0.5},
                    reference=_adam_reference(True, master, clip), **common),
            ]  # fmt: skip
    return samples


def _adamw(scale: float, master: bool) -> Sample:
    arrays = _arrays(9, 2, HALF if master else np.float32)
    if master:
        arrays.append(arrays[0].astype(np.float32))
    attrs = {"lr": 0.1, "eta": 0.5, "wd": 0.01, "clip_gradient": 0.4}
    return Sample("_mp_adamw_update" if master else "_adamw_update", (*arrays, np.array([scale], np.float32)), attrs,
                  grad=(), numeric_grad=False, rtol=2e-3 if master else 1e-5, tag=f"scale{scale}")  # fmt: skip


def _phase2(attrs: dict[str, Any], norms: tuple[float, float] = (1.5, 0.7)) -> list[Sample]:
    weight, direction = _arrays(11, 0)
    first, second = (np.array([n], np.float32) for n in norms)
    size = min(max(norms[0], attrs.get("lower_bound", -1.0)), attrs.get("upper_bound", np.inf))
    ratio = size / norms[1] if all(norms) else 1.0
    return [
        Sample("lamb_update_phase2", (weight, direction, first, second), attrs, grad=(), numeric_grad=False),
        Sample("mp_lamb_update_phase2", (weight.astype(HALF), direction, first, second, weight), attrs, grad=(),
               numeric_grad=False, rtol=2e-3, oracle=False, why="MXNet forgets to update the master copy",
               reference=lambda w, g, r1, r2, w32: (w32 - 0.1 * ratio * g).astype(HALF)),
    ]  # fmt: skip


_norms = rng(5)
SAMPLES = [
    *(_one(op, 1, n, attrs, rich, np.float32, False) for op, n, attrs in SINGLE for rich in (False, True)),
    *(_one(op, 2, n, attrs, True, np.float64, False) for op, n, attrs in SINGLE),
    *(_one(op, 3, n, attrs, rich, HALF, True) for op, n, attrs in MASTERED for rich in (False, True)),
    Sample("rmsprop_update", tuple(_arrays(4, 1)), {"lr": 0.5, "clip_weights": 0.3}, grad=(), numeric_grad=False),
    Sample("rmspropalex_update", tuple(_arrays(4, 3)), {"lr": 0.5, "clip_weights": 0.3}, grad=(), numeric_grad=False),
    Sample("lamb_update_phase1", tuple(_arrays(4, 2)), {"t": 1, "wd": 0.1, "bias_correction": False}, grad=(),
           numeric_grad=False),
    Sample("adam_update", tuple(_arrays(1, 2, shape=(4,))), {"lr": "0.1", "wd": "0.5"}, grad=(), numeric_grad=False,
           tag="text"),
    *(_adamw(scale, master) for scale in (0.5, 2.0) for master in (False, True)),
    *_phase2({"lr": 0.1}),
    *_phase2({"lr": 0.1, "lower_bound": 2.0, "upper_bound": 3.0}),
    *_phase2({"lr": 0.1}, (0.0, 0.7)),
    *_phase2({"lr": 0.1}, (1.5, 0.0)),
    *_multi(),
    Sample("_sparse_adagrad_update", tuple(_arrays(6, 1)), {"lr": 0.1, "wd": 0.01}, grad=(), numeric_grad=False,
           oracle=False, why="MXNet takes row-sparse gradients only", reference=lambda w, g, h: (
               w - 0.1 * (g / np.sqrt(h + g * g + 1e-7) + 0.01 * w))),
    Sample("_contrib_group_adagrad_update", (*_arrays(6, 0), np.full((3, 1), 0.5, np.float32)), {"lr": 0.1}, grad=(),
           numeric_grad=False, oracle=False, why="MXNet takes row-sparse gradients only", reference=lambda w, g, h: (
               w - 0.1 * g / np.sqrt(h + (g * g).mean(1, keepdims=True) + 1e-5))),
    Sample("multi_sum_sq", (_arrays(7, 0)[0], _arrays(8, 0, shape=(4,))[0]), {"num_arrays": 2}, grad=(),
           numeric_grad=False),
    Sample("multi_sum_sq", (_arrays(7, 0, HALF)[0],), {"num_arrays": 1}, grad=(), numeric_grad=False, rtol=1e-3,
           tag="half"),
    *(Sample("multi_lars", tuple(np.array(v, np.float32) for v in (
        (0.1, 0.2, 0.3), (4.0, zero, 2.0), (1.0, 3.0, zero), (0.01, 0.0, 0.1))),
        {"eta": 0.5, "eps": 1e-3, "rescale_grad": 0.5}, grad=(), numeric_grad=False, tag=f"zero{zero}")
      for zero in (0.0, 1.0)),
    Sample("reset_arrays", (_arrays(7, 0)[0], _arrays(8, 0)[1]), {"num_arrays": 2}, grad=(), numeric_grad=False),
]  # fmt: skip

ERROR_SAMPLES = [
    ErrorSample("sgd_update", "lr", tuple(_arrays(1, 0)), {}),
    ErrorSample("lamb_update_phase1", "must agree", (*_arrays(1, 0), *(np.ones((2, 3), np.float32),) * 2), {
        "t": 1, "wd": 0.1}),
    ErrorSample("lamb_update_phase2", "one number", (*_arrays(1, 0), *(np.ones(2, np.float32),) * 2), {"lr": 0.1}),
    ErrorSample("multi_sgd_update", "must agree", (np.ones((2, 2), np.float32), np.ones((2, 1), np.float32)), {
        "num_weights": 1, "lrs": (0.1,), "wds": (0.0,)}),
    ErrorSample("multi_sum_sq", "does not promote", (np.ones(2, np.float32), np.ones(2)), {"num_arrays": 2}),
    ErrorSample("multi_sum_sq", "floating point", (np.ones(2, np.int32),), {"num_arrays": 1}),
    ErrorSample("sgd_update", "shape", (np.ones((2, 2), np.float32), np.ones((2, 3), np.float32)), {"lr": 0.1}),
    ErrorSample("multi_sgd_update", "learning rates", _interleaved(1, 2, 0, False, []), {
        "num_weights": 2, "lrs": (0.1,), "wds": (0.0, 0.0)}),
    ErrorSample("mp_sgd_update", "dtype", tuple(_arrays(1, 1, HALF)[:2]) + (np.ones(SHAPE, HALF),), {"lr": 0.1}),
]  # fmt: skip
