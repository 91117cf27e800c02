"""Blocks as Flax (nnx) modules."""

from __future__ import annotations

from typing import Any

import jax
from flax import nnx

from gluonjax.gluon.block import Block
from gluonjax.interop._functional import functional


class _Part(nnx.Module):
    """One level of the block's structure: holds variables and further parts."""


class GluonModule(_Part):
    """A Gluon block as an nnx module. Its variables have the block's structural names as paths.

    ``train()`` and ``eval()`` (of nnx) switch dropout and batch normalization.
    """

    def __init__(self, block: Block, rngs: nnx.Rngs | None, example: tuple[Any, ...]) -> None:
        apply, params, aux = functional(block, *example)
        self._apply = apply
        self._params, self._aux = tuple(params), tuple(aux)
        self.deterministic = False
        self.rngs = rngs
        for kind, values in ((nnx.Param, params), (nnx.BatchStat, aux)):
            for name, value in values.items():
                owner, last = self._place(name, make=True)
                setattr(owner, last, kind(value))

    def _place(self, name: str, make: bool = False) -> tuple[Any, str]:
        owner: Any = self
        *path, last = name.split(".")
        for step in path:
            if make and not hasattr(owner, step):
                setattr(owner, step, _Part())
            owner = getattr(owner, step)
        return owner, last

    def _variable(self, name: str) -> Any:
        owner, last = self._place(name)
        return getattr(owner, last)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        params = {name: _value(self._variable(name)) for name in self._params}
        aux = {name: _value(self._variable(name)) for name in self._aux}
        train = not self.deterministic
        key = self.rngs() if train and self.rngs is not None else None
        outputs, new = self._apply(params, aux, *inputs, train=train, key=key, **named)
        if train:
            for name, value in new.items():
                self._variable(name)[...] = value
        return outputs


def _value(variable: Any) -> jax.Array:
    return variable[...]


def to_flax(block: Block, *example: Any, rngs: nnx.Rngs | None = None) -> GluonModule:
    """An nnx module that computes what a block computes, with a copy of its weights.

    Args:
        block: an initialized block.
        example: inputs to run once where shapes of parameters are not known yet.
        rngs: random streams for blocks with dropout.

    Returns:
        A module to call, differentiate (``nnx.grad``, ``nnx.value_and_grad``) and train with optax.

    >>> import jax.numpy as jnp
    >>> from gluonjax.gluon import nn
    >>> net = nn.Dense(2, in_units=3); net.initialize()
    >>> module = to_flax(net)
    >>> module(jnp.ones((4, 3))).shape, module.weight[...].shape
    ((4, 2), (2, 3))
    """
    return GluonModule(block, rngs, example)
