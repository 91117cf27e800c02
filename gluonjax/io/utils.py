"""The array types that data iterators deal in."""

from __future__ import annotations

from gluonjax.ndarray import NDArray as NDArray
from gluonjax.ndarray import array as array
from gluonjax.ndarray.sparse import CSRNDArray as CSRNDArray
from gluonjax.ndarray.sparse import array as sparse_array  # noqa: F401
