"""``meshgrid`` and ``broadcast_arrays`` under the name MXNet keeps them."""

from __future__ import annotations

from gluonjax.numpy._shapes import broadcast_arrays as broadcast_arrays
from gluonjax.numpy._shapes import meshgrid as meshgrid
