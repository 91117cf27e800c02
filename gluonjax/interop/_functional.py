"""A block as a pure function of its parameters."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

from gluonjax import autograd
from gluonjax._base.errors import MXNetError
from gluonjax._base.scopes import mode
from gluonjax._engine import rng
from gluonjax._engine.run import is_tracer
from gluonjax.gluon._jax_arrays import handles
from gluonjax.gluon.block import Block
from gluonjax.gluon.parameter import Parameter
from gluonjax.interop._views import jax_view

Arrays = dict[str, jax.Array]

# The block's arrays are lent to one call at a time.
_lending = threading.RLock()

NO_KEY = (
    "functional: the block draws random numbers while it is traced, so a key has to be an argument of the traced "
    "function (the same numbers would be drawn at every call otherwise): apply(..., key=jax.random.key(0))"
)


class _NoKey:
    """Stands for the key that was not given; complains when it is used."""

    def __add__(self, other: Any) -> Any:
        raise MXNetError(NO_KEY)


def functional(block: Block, *example: Any) -> tuple[Callable[..., tuple[Any, Arrays]], Arrays, Arrays]:
    """A block as a pure function with its values, for JAX's transformations.

    Args:
        block: an initialized block, hybridized or not.
        example: inputs to run once where shapes of parameters are not known yet.

    Returns:
        ``(apply, params, aux)``. ``params`` (what is trained) and ``aux`` (moving statistics, constants, frozen
        parameters) are dictionaries of arrays by structural name, as ``save_parameters`` writes them.
        ``apply(params, aux, *inputs, train=False, key=None)`` returns ``(outputs, new aux)``; it runs in the given
        mode, draws from ``key`` (a JAX key), and leaves the block as it was. Names missing in ``params`` or ``aux``
        have the block's own values.

    Inside of a traced function ``key`` is needed wherever the block draws random numbers: without one, training mode is
    refused, and an inference that draws would draw the same at every call.

    >>> import jax, jax.numpy as jnp
    >>> from gluonjax.gluon import nn
    >>> net = nn.Dense(2, in_units=3); net.initialize()
    >>> apply, params, aux = functional(net)
    >>> slopes = jax.grad(lambda p: apply(p, aux, jnp.ones((4, 3)))[0].sum())(params)
    >>> slopes["bias"].tolist()
    [4.0, 4.0]
    """
    if example:
        with autograd.pause():
            block(*handles(example))
    parameters = block._collect_params_with_prefix()
    params = {name: one.data().jax for name, one in parameters.items() if one.grad_req != "null"}
    aux = {name: one.data().jax for name, one in parameters.items() if one.grad_req == "null"}

    def apply(
        params: Arrays, aux: Arrays, *inputs: Any, train: bool = False, key: Any = None, **named: Any
    ) -> tuple[Any, Arrays]:
        given = {**aux, **params}
        unknown = [name for name in given if name not in parameters]
        if unknown:
            raise MXNetError(f"functional: the block has no parameter {unknown[0]!r}; it has {', '.join(parameters)}")
        drawing = _drawing_from(key, train, inputs, given)
        with _lent(parameters, given) as now, autograd.pause(train_mode=train), mode(lent=True), drawing:
            outputs = jax_view(block(*handles(inputs), **handles(named)))
            return outputs, {name: now[name]() for name in aux}

    return apply, params, aux


@contextmanager
def _lent(parameters: dict[str, Parameter], values: Arrays) -> Iterator[dict[str, Callable[[], Any]]]:
    """While this lasts, the parameters hold other values; yields what reads them."""
    with _lending:
        cells = {name: parameters[name].data()._cell for name in values}
        before = [(cell, cell.value, cell.version, cell.entry) for cell in cells.values()]
        try:
            for name, cell in cells.items():
                if tuple(values[name].shape) != tuple(cell.value.shape):
                    raise MXNetError(
                        f"functional: {name} has shape {tuple(values[name].shape)}, the block's is {cell.value.shape}"
                    )
                cell.value, cell.version, cell.entry = values[name], cell.version + 1, None
            yield {name: lambda name=name: jax_view(parameters[name].data()) for name in values}
        finally:
            for cell, value, version, entry in before:
                # A version that was never used: views that were read meanwhile must not be taken for current.
                cell.value, cell.version, cell.entry = value, max(cell.version, version) + 1, entry


@contextmanager
def _drawing_from(key: Any, train: bool, *trees: Any) -> Iterator[None]:
    if key is not None:
        base = jax.random.key_data(key) if jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key) else key
        with rng.traced_key(base):
            yield
    elif train and any(is_tracer(leaf) for leaf in jax.tree.leaves(trees)):
        with rng.traced_key(_NoKey()):
            yield
    else:
        yield
