"""``mx.sym.contrib``: newer and rarer operators."""

from __future__ import annotations

import math
from typing import Any

from gluonjax._ops import registry
from gluonjax.attribute import AttrScope as AttrScope
from gluonjax.symbol import _creation
from gluonjax.symbol._compose import SymbolBase
from gluonjax.symbol._control_flow import cond as cond
from gluonjax.symbol._control_flow import foreach as foreach
from gluonjax.symbol._control_flow import while_loop as while_loop
from gluonjax.symbol.random import uniform as uniform
from gluonjax.symbol.register import make_function, namespace
from gluonjax.symbol.symbol import Symbol

_find, _names = namespace("contrib", globals(), lambda: Symbol)


def _call(name: str, /, *args: Any, **kwargs: Any) -> Any:
    return make_function(registry.get(name), name, Symbol)(*args, **kwargs)


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Draw class numbers from an approximately log-uniform distribution.

    Args:
        true_classes: the target classes.
        num_sampled: how many to draw.
        range_max: numbers are below it.

    Returns:
        Drawn classes, expected counts of the true classes, expected counts of the drawn ones.
    """
    span = math.log(range_max + 1)

    def expected(classes: Any) -> Any:
        return ((classes + 2.0) / (classes + 1.0)).log() / span * num_sampled

    drawn: Any = uniform(0, span, shape=(num_sampled,), dtype="float64")
    sampled = (drawn.exp() - 1).astype("int64") % range_max
    return (
        sampled,
        expected(_call("cast", true_classes, dtype="float64")),
        expected(sampled.astype("float64")),
    )


def _scale(rescale_grad: Any) -> Any:
    return rescale_grad if isinstance(rescale_grad, SymbolBase) else _creation.full((1,), rescale_grad)


def adamw_update(
    weight: Symbol, grad: Symbol, mean: Symbol, var: Symbol, rescale_grad: Any, lr: float, eta: float,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, wd: float = 0, clip_gradient: float = -1,
    out: Any = None, name: str | None = None, **kwargs: Any,
) -> Symbol:  # fmt: skip
    """One step of AdamW; ``rescale_grad`` is a number or a symbol."""
    return _call(
        "_adamw_update",
        weight,
        grad,
        mean,
        var,
        _scale(rescale_grad),
        lr=lr,
        eta=eta,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        clip_gradient=clip_gradient,
        out=out,
        name=name,
        **kwargs,
    )


def mp_adamw_update(
    weight: Symbol, grad: Symbol, mean: Symbol, var: Symbol, weight32: Symbol, rescale_grad: Any, lr: float,
    eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, wd: float = 0,
    clip_gradient: float = -1, out: Any = None, name: str | None = None, **kwargs: Any,
) -> Symbol:  # fmt: skip
    """One step of AdamW with a float32 copy of the weight; ``rescale_grad`` is a number or a symbol."""
    return _call(
        "_mp_adamw_update",
        weight,
        grad,
        mean,
        var,
        weight32,
        _scale(rescale_grad),
        lr=lr,
        eta=eta,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        clip_gradient=clip_gradient,
        out=out,
        name=name,
        **kwargs,
    )


def __getattr__(name: str) -> Any:
    return _find(name)


def __dir__() -> list[str]:
    return _names()
