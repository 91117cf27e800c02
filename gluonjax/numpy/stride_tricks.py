"""``broadcast_arrays`` under the name MXNet keeps it."""

from __future__ import annotations

from gluonjax.numpy._shapes import broadcast_arrays as broadcast_arrays
