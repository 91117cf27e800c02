"""Gradients as functions: what a kernel's backward computes, and pullbacks that keep a forward's residuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from gluonjax._base.dtypes import FLOATS, NUMBERS
from gluonjax._engine.compile import Jitted
from gluonjax._ops.opdef import OnWhole

enable_x64 = jax.enable_x64

_WHOLE = NUMBERS - FLOATS


def _is_whole(value: Any) -> bool:
    return getattr(value, "dtype", None) in _WHOLE


def _in_floating_point(values: Sequence[Any]) -> tuple[Any, ...]:
    """Whole-number arrays as float64: MXNet differentiates with respect to them too, JAX does not."""
    return tuple(value.astype(np.float64) if _is_whole(value) else value for value in values)


def _of_some(fn: Callable[..., Any], values: Sequence[Any], places: tuple[int, ...]) -> Callable[..., Any]:
    """The function of the values at some places; the others are constants."""

    def of_some(*some: Any) -> Any:
        full = list(values)
        for index, value in zip(places, some):
            full[index] = value
        return fn(*full)

    return of_some


def backward_of(
    fn: Callable[..., tuple[Any, ...]], wanted: tuple[int, ...], present: tuple[int, ...], arity: int,
    data_inputs: int | None, on_whole: OnWhole,
) -> Callable[..., tuple[Any, ...]]:  # fmt: skip
    """The function ``(inputs..., head gradients of the present outputs...) -> gradients of the wanted inputs``.

    Args:
        arity: how many inputs there are.
        data_inputs: how many of them are data; the rest are positions. None: all are data.
        on_whole: what the gradient with respect to whole numbers is (``OpDef.on_whole``).
    """
    # Operators with a gradient rule of their own: the rule itself, without differentiating around it.
    by_rule = getattr(fn, "pull", None)

    def pull(*values: Any) -> tuple[Any, ...]:
        if on_whole == "pass":
            return (values[1].astype(values[0].dtype),)
        if on_whole == "zero" and any(_is_whole(values[index]) for index in wanted):
            return tuple(values[index] * 0 for index in wanted)
        inputs, heads = values[:arity], values[arity:]
        dtypes = [getattr(inputs[index], "dtype", None) for index in wanted]
        if any(_is_whole(value) for value in (*heads, *(inputs[index] for index in wanted))):
            inputs = _in_floating_point(inputs[:data_inputs]) + tuple(inputs[len(inputs[:data_inputs]) :])
            heads = _in_floating_point(heads)

        given = None if by_rule is None else by_rule(inputs, heads)
        if given is not None:
            found = ((given[index], dtype) for index, dtype in zip(wanted, dtypes))
            return tuple(g if g.dtype == d else g.astype(d) for g, d in found)

        def of_wanted(*some: Any) -> tuple[Any, ...]:
            results = _of_some(fn, inputs, wanted)(*some)
            return tuple(results[index] for index in present)

        outputs, pullback = jax.vjp(of_wanted, *(inputs[index] for index in wanted))
        heads = tuple(h if h.dtype == o.dtype else h.astype(o.dtype) for h, o in zip(heads, outputs))
        return tuple(g if g.dtype == d else g.astype(d) for g, d in zip(pullback(heads), dtypes))

    return pull


def forward_with_pullback(
    fn: Callable[..., tuple[Any, ...]], wanted: tuple[int, ...], count: int
) -> Callable[..., tuple[Any, Any]]:
    """The function ``(inputs...) -> (results, pullback)``; head gradients belong to the first ``count`` results."""

    def forward(*values: Any) -> tuple[Any, Any]:
        def of_wanted(*some: Any) -> tuple[Any, Any]:
            results = _of_some(fn, values, wanted)(*some)
            return results[:count], results[count:]

        heads, pullback, rest = jax.vjp(of_wanted, *(values[index] for index in wanted), has_aux=True)
        return heads + rest, pullback

    return forward


def _apply(pullback: Any, heads: tuple[Any, ...]) -> tuple[Any, ...]:
    return pullback(heads)


_apply_jitted = Jitted(_apply)


class Pullback:
    """A pullback that is no compiled program: called with the head gradients.

    Args:
        run: from the head gradients to gradients.
        wanted: which values they belong to, where that is not said elsewhere.
    """

    __slots__ = ("run", "wanted")

    def __init__(
        self, run: Callable[[tuple[Any, ...]], Sequence[Any]], wanted: tuple[int, ...] | None = None
    ) -> None:
        self.run = run
        self.wanted = wanted


def with_doubles(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs with 64-bit types, as all of the engine does."""

    def run(*values: Any) -> Any:
        with enable_x64(True):
            return function(*values)

    return run


def apply_pullback(pullback: Any, heads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run a pullback that ``Kernel.with_pullback`` returned."""
    if type(pullback) is Pullback:
        return tuple(pullback.run(heads))
    with enable_x64(True):
        return _apply_jitted(pullback, heads)
