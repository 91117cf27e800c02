"""Samples of Activation and LeakyReLU."""

from __future__ import annotations

import math

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(102)


def away_from_zero(*shape: int, dtype: str = "float32") -> np.ndarray:
    return (r.uniform(0.1, 2, shape) * r.choice([-1, 1], shape)).astype(dtype)


X = away_from_zero(3, 4)
FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "softrelu": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
}
ERF = np.vectorize(math.erf)
ZERO = np.array([-1, 0, 2], "float32")

SAMPLES = [
    *(Sample("Activation", (X,), {"act_type": name}, formula) for name, formula in FORMULAS.items()),
    *(
        Sample("Activation", (X.astype("float64"),), {"act_type": name}, formula)
        for name, formula in FORMULAS.items()
    ),
    *(
        Sample("Activation", (ZERO,), {"act_type": name}, formula, numeric_grad=False, tag="at zero")
        for name, formula in FORMULAS.items()
    ),
    Sample(
        "Activation",
        (np.array([-100, 30, 100], "float32"),),
        {"act_type": "softrelu"},
        tag="no overflow",
        numeric_grad=False,
    ),
    Sample(
        "Activation",
        (np.array([15, -15], "float16"),),
        {"act_type": "softrelu"},
        numeric_grad=False,
        rtol=1e-3,
        tag="half precision",
    ),
    Sample("LeakyReLU", (X,), {}, lambda x: np.where(x > 0, x, 0.25 * x)),
    Sample("LeakyReLU", (X,), {"act_type": "leaky", "slope": 0.1}, lambda x: np.where(x > 0, x, 0.1 * x)),
    Sample("LeakyReLU", (ZERO,), {"act_type": "leaky"}, numeric_grad=False, tag="at zero"),
    Sample(
        "LeakyReLU", (X,), {"act_type": "elu", "slope": 0.3}, lambda x: np.where(x > 0, x, 0.3 * np.expm1(x))
    ),
    Sample("LeakyReLU", (ZERO,), {"act_type": "elu"}, numeric_grad=False, tag="at zero"),
    Sample(
        "LeakyReLU",
        (np.array([-100, 1000], "float32"),),
        {"act_type": "elu"},
        numeric_grad=False,
        tag="large",
    ),
    Sample("LeakyReLU", (X,), {"act_type": "selu"}, grad=(), tag="forward"),
    Sample(
        "LeakyReLU",
        (X,),
        {"act_type": "selu"},
        oracle=False,
        why="the real gradient of negative entries is wrong",
        reference=lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    ),
    Sample("LeakyReLU", (X,), {"act_type": "gelu"}, lambda x: x * (1 + ERF(x / np.sqrt(2))) / 2),
    Sample(
        "LeakyReLU",
        (away_from_zero(2, 3, 4), away_from_zero(3)),
        {"act_type": "prelu"},
        lambda x, g: np.where(x > 0, x, g[None, :, None] * x),
    ),
    Sample(
        "LeakyReLU",
        (away_from_zero(2, 3, 4), away_from_zero(1)),
        {"act_type": "prelu"},
        lambda x, g: np.where(x > 0, x, g * x),
    ),
    Sample(
        "LeakyReLU",
        (away_from_zero(2, 3, 4), away_from_zero(2, 3)),
        {"act_type": "prelu"},
        lambda x, g: np.where(x > 0, x, g[:, :, None] * x),
    ),
    Sample(
        "LeakyReLU",
        (away_from_zero(3, 3, 2), away_from_zero(3, 1)),
        {"act_type": "prelu"},
        lambda x, g: np.where(x > 0, x, g[:, :, None] * x),
    ),
    Sample(
        "LeakyReLU",
        (away_from_zero(3), away_from_zero(1)),
        {"act_type": "prelu"},
        lambda x, g: np.where(x > 0, x, g * x),
    ),
    Sample(
        "LeakyReLU",
        (X,),
        {"act_type": "rrelu", "lower_bound": 0.2, "upper_bound": 0.4},
        oracle=False,
        reference=lambda x: (np.where(x > 0, x, np.float32(0.3) * x), np.full_like(x, 0.3)),
        why="the real one returns memory never written as the mask",
    ),
    Sample(
        "LeakyReLU",
        (X,),
        {"act_type": "rrelu", "lower_bound": 0.2, "upper_bound": 0.2},
        train=True,
        oracle=False,
        reference=lambda x: (np.where(x > 0, x, np.float32(0.2) * x), np.full_like(x, 0.2)),
        why="random",
    ),
]

ERROR_SAMPLES = [
    ErrorSample("Activation", r"relux.*relu", (X,), {"act_type": "relux"}),
    ErrorSample("Activation", r"Required parameter act_type", (X,), {}),
    ErrorSample("LeakyReLU", r"Cannot broadcast gamma", (X, away_from_zero(7)), {"act_type": "prelu"}),
    ErrorSample("LeakyReLU", r"Cannot broadcast gamma", (away_from_zero(2, 3, 4),) * 2, {"act_type": "prelu"}),
]
