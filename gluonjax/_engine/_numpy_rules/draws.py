"""Large draws of random numbers in NumPy programs: compiled blocks make them, whatever the shape.

One program for each distribution and dtype then serves every shape; see `_ops/draws.py`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gluonjax._engine._numpy_rules.random import partitionable
from gluonjax._engine._numpy_rules.site import KEY_DTYPE, Function, Operand, Rule, Site
from gluonjax._engine.compile import Jitted, at_once
from gluonjax._ops.draws import BLOCK, DRAWS, REJECTIONS, TRIED, attempt_of, base_of, block_of, draw_named
from gluonjax._ops.samplers import MOST_STEPS

#: What compiled code takes for a sample, in elementary operations of NumPy.
_EACH = 20.0


def is_draw(equation: Any) -> bool:
    """Whether a call is one draw, with one key."""
    ins, outs = equation.invars, equation.outvars
    if len(outs) != 1 or not ins:
        return False
    name = draw_named(equation.params.get("name"), outs[0].aval.shape)
    if name is None or ins[0].aval.shape != ():
        return False
    wanted = outs[0].aval.shape if name in REJECTIONS else ()
    return all(one.aval.shape == wanted for one in ins[1:])


def is_large(equation: Any, patience: float) -> bool:
    """Whether a call draws more samples, and so many times more, than NumPy makes as fast as compiled blocks."""
    if not is_draw(equation) or not partitionable():
        return False
    out = equation.outvars[0].aval
    return out.size > patience * DRAWS[str(draw_named(equation.params["name"], out.shape))].few


@functools.cache
def _block(name: str, dtype: np.dtype) -> Jitted:
    return Jitted(block_of(name, dtype))


@functools.cache
def _attempt(name: str, dtype: np.dtype) -> Jitted:
    return Jitted(attempt_of(name, dtype))


@functools.cache
def _base(name: str, dtype: np.dtype) -> Jitted:
    return Jitted(base_of(name, dtype))


def _draw(site: Site) -> Function:
    out = site.outs[0]
    name = str(draw_named(site.params["name"], out.shape))
    make = _tried(name, out) if name in REJECTIONS else _in_blocks(name, out)

    def draw(key: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        words = np.ascontiguousarray(key, KEY_DTYPE).reshape(1).view(np.uint32)
        with at_once():
            return make(words, *parameters)

    return draw


def _in_blocks(name: str, out: Operand) -> Function:
    starts, total = range(0, out.size, BLOCK), np.uint32(out.size)

    def make(words: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        block = _block(name, out.dtype)
        drawn = np.empty(out.size, out.dtype)
        # All are launched before the first is waited for, so that they run side by side.
        made = [block(words, np.uint32(start), total, *parameters) for start in starts]
        for start, samples in zip(starts, made):
            part = drawn[start : start + BLOCK]
            part[:] = np.asarray(samples)[: part.size]
        return drawn.reshape(out.shape)

    return make


def _tried(name: str, out: Operand) -> Function:
    row, total = REJECTIONS[name], np.uint32(out.size)

    def make(words: np.ndarray, parameter: np.ndarray) -> np.ndarray:
        dtype = row.dtype or parameter.dtype
        parameter = np.asarray(parameter, dtype).reshape(-1)

        def run(program: Jitted, number: int, places: np.ndarray) -> Any:
            """One call for all places, in pieces of equal size; the last one is filled up."""
            given = np.resize(places, -(-places.size // TRIED) * TRIED)
            made = [
                program(words, np.uint32(number), part, total, parameter[part]) for part in given.reshape(-1, TRIED)
            ]
            if isinstance(made[0], tuple):
                return [np.concatenate([np.asarray(each) for each in one])[: places.size] for one in zip(*made)]
            return np.concatenate([np.asarray(each) for each in made])[: places.size]

        drawn = np.full(out.size, np.nan, dtype)
        waiting = np.flatnonzero(row.wants_sample(parameter)).astype(np.uint32)
        number = 1
        while waiting.size and number < MOST_STEPS:
            samples, accepted = run(_attempt(name, dtype), number, waiting)
            drawn[waiting[accepted]] = samples[accepted]
            waiting = waiting[~accepted]
            number += 1
        based = np.flatnonzero(row.wants_base(parameter)).astype(np.uint32)
        if based.size:
            drawn[based] = row.join(drawn[based], run(_base(name, dtype), 0, based))
        return drawn.reshape(out.shape)

    return make


RULES: dict[str, Rule] = {"draw": _draw}


def inherent(site: Site) -> float:
    """What compiled code takes for the same samples."""
    return _EACH * site.outs[0].size


def work(site: Site) -> float:
    """Nothing that counts against interpreting."""
    return 0.0
