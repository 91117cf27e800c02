"""Functions of ``np.linalg`` that run in NumPy on the host; no gradient flows through them."""

from __future__ import annotations

import numpy as _numpy

from gluonjax.numpy.fallback import through_numpy

cond = through_numpy(_numpy.linalg.cond)
matrix_rank = through_numpy(_numpy.linalg.matrix_rank)
multi_dot = through_numpy(_numpy.linalg.multi_dot)

__all__ = ["cond", "matrix_rank", "multi_dot"]
