"""Samples of probability densities: rows of parameters and how the draws lie."""

from __future__ import annotations

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

DISCRETE = ("poisson", "negative_binomial", "generalized_negative_binomial")
# Distribution: ranges of its parameters.
PARAMETERS: dict[str, tuple[tuple[float, float], ...]] = {
    "uniform": ((-1.0, 0.0), (1.5, 2.5)),
    "normal": ((-1.0, 1.0), (0.5, 1.5)),
    "gamma": ((0.8, 2.5), (0.5, 1.5)),
    "exponential": ((0.5, 2.0),),
    "poisson": ((0.5, 3.0),),
    "negative_binomial": ((1.0, 4.0), (0.3, 0.7)),
    "generalized_negative_binomial": ((0.5, 3.0), (0.4, 0.9)),
}


def _sample(name: str, is_log: bool, draws: tuple[int, ...], dtype: type = np.float32) -> Sample:
    source = rng(len(name) + len(draws))
    parameters = tuple(source.uniform(*span, (3,)).astype(dtype) for span in PARAMETERS[name])
    shape = (3, *draws)
    drawn = source.randint(0, 5, shape) if name in DISCRETE else source.uniform(0.1, 1.4, shape)
    # The sample of a discrete or uniform distribution gets no gradient, so it is not compared with differences.
    own = (0,) if name not in (*DISCRETE, "uniform") else ()
    return Sample(f"_random_pdf_{name}", (drawn.astype(dtype), *parameters), {"is_log": is_log},
                  grad=(*own, *range(1, 1 + len(parameters))), rtol=1e-4, atol=1e-5,
                  tag=f"{dtype.__name__}_{len(draws)}")  # fmt: skip


_points = rng(4).dirichlet([1.0, 2.0, 3.0], (2, 4)).astype(np.float32)
_alpha = np.array([[1.0, 2.0, 1.5], [0.8, 0.7, 2.0]], np.float32)

SAMPLES = [
    *(_sample(name, is_log, (4,)) for name in PARAMETERS for is_log in (False, True)),
    *(_sample(name, False, (2, 2), np.float64) for name in PARAMETERS),
    *(_sample(name, True, ()) for name in PARAMETERS),
    *(Sample("_random_pdf_dirichlet", (_points, _alpha), {"is_log": is_log}, rtol=1e-4, atol=1e-5)
      for is_log in (False, True)),
]  # fmt: skip

ERROR_SAMPLES = [
    ErrorSample(
        "_random_pdf_normal", "must begin with", (np.ones((2, 3), np.float32), *[np.ones(3, np.float32)] * 2)
    ),
    ErrorSample(
        "_random_pdf_exponential", "must begin with", (np.ones((2,), np.float32), np.ones((2, 3), np.float32))
    ),
]
