"""Arrays as the other kind, without copies."""

from __future__ import annotations

from typing import Any

import jax

from gluonjax.gluon._jax_arrays import context_of, from_handles, mapped
from gluonjax.ndarray.ndarray import wrap as _handle


def mx_view(tree: Any) -> Any:
    """JAX arrays as NDArrays on the same memory.

    Writing into the NDArray puts a new array into it; the JAX array keeps its value. Traced values are taken too.

    Args:
        tree: a ``jax.Array``, or nested containers of them; everything else is left as it is.

    >>> import jax.numpy as jnp
    >>> mx_view({"x": jnp.ones((2,))})["x"] * 3
    <BLANKLINE>
    [3. 3.]
    <NDArray 2 @cpu(0)>
    """
    return mapped(tree, lambda one: _handle(one, context_of(one)) if isinstance(one, jax.Array) else one)


def jax_view(tree: Any) -> Any:
    """NDArrays as the JAX arrays that hold their current values.

    Args:
        tree: an NDArray, or nested containers of them; everything else is left as it is.

    >>> from gluonjax import nd
    >>> jax_view([nd.ones((2,))])[0] + 1
    Array([2., 2.], dtype=float32)
    """
    return from_handles(tree)
