"""Operators about storage types. Values are dense here; the array classes know what is stored."""

from __future__ import annotations

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonjax._ops.opdef import check, operator


@operator("cast_storage", aliases=("_sparse_cast_storage",))
def cast_storage(data: Array, *, stype: Literal["csr", "default", "row_sparse"]) -> Array:
    """Convert to a storage type; the values stay as they are.

    Args:
        data: any shape; two dimensions for csr.
        stype: the storage type wanted.

    Returns:
        The same values.
    """
    check(
        stype != "csr" or data.ndim == 2,
        "cast_storage: To convert to a CSR, the NDArray should be 2 Dimensional. "
        f"Current shape is {data.shape}",
    )
    return data


@operator("_sparse_retain", dtypes="free")
def sparse_retain(data: Array, indices: Array) -> Array:
    """Keep some rows and make the others zero.

    Args:
        data: ``(rows, ...)``.
        indices: which rows to keep, 1-d of any number type.

    Returns:
        An array like ``data``.
    """
    check(indices.ndim == 1, f"_sparse_retain: got indices of shape {indices.shape}, wanted one dimension")
    check(data.ndim > 0, "_sparse_retain: got a 0-d array, wanted at least one dimension")
    kept = jnp.zeros((data.shape[0],), np.bool_).at[indices.astype(np.int32)].set(True, mode="drop")
    mask = lax.broadcast_in_dim(kept, data.shape, (0,))
    return lax.select(mask, data, jnp.zeros(data.shape, data.dtype))
