"""What runs in which type: the built-in lists for a target type, and the rules that a call asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gluonjax._base.dtypes import BFLOAT16
from gluonjax._base.errors import MXNetError
from gluonjax.contrib.amp.lists import symbol_bf16, symbol_fp16

FLOAT16 = np.dtype(np.float16)
Condition = tuple[str, str, Sequence[str]]


class AmpError(MXNetError, ValueError, AssertionError):
    """A call of mx.contrib.amp that cannot be served; MXNet fails an assertion there."""


def require(condition: bool, message: str) -> None:
    """Raise AmpError unless the condition holds."""
    if not condition:
        raise AmpError(message)


def target_of(dtype: Any) -> np.dtype:
    """float16 or bfloat16, from a name, NumPy type or dtype; everything else is refused."""
    for known in (FLOAT16, BFLOAT16):
        if dtype is known.type or (isinstance(dtype, (str, np.dtype)) and str(dtype) == known.name):
            return known
    raise AmpError(f"Only target_dtype float16 and bfloat16 are supported currently, got {dtype!r}")


def list_lp16_ops(target_dtype: Any) -> list[str]:
    """Operators that run in the 16-bit type."""
    return symbol_fp16.FP16_FUNCS if target_of(target_dtype) == FLOAT16 else symbol_bf16.BF16_FUNCS


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in float32."""
    return symbol_fp16.FP32_FUNCS if target_of(target_dtype) == FLOAT16 else symbol_bf16.FP32_FUNCS


def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in the type their inputs have."""
    return symbol_fp16.FP16_FP32_FUNCS if target_of(target_dtype) == FLOAT16 else symbol_bf16.BF16_FP32_FUNCS


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """Operators that run in float32 for some values of an attribute: (operator, attribute, values)."""
    lists = symbol_fp16 if target_of(target_dtype) == FLOAT16 else symbol_bf16
    return lists.CONDITIONAL_FP32_FUNCS


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """Operators that run in the widest type of their inputs."""
    return (symbol_fp16 if target_of(target_dtype) == FLOAT16 else symbol_bf16).WIDEST_TYPE_CASTS


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """Operators that ignore the gradient of a scaled loss."""
    return (symbol_fp16 if target_of(target_dtype) == FLOAT16 else symbol_bf16).LOSS_OUTPUT_FUNCTIONS


def list_lp16_use_fp32_params(target_dtype: Any) -> dict[str, list[str]] | None:
    """For some operators the inputs that stay float32; None where there are no such operators."""
    return None if target_of(target_dtype) == FLOAT16 else symbol_bf16.BF16_USE_FP32_PARAMS


@dataclass(frozen=True)
class Rules:
    """One choice of types; equal rules make equal graphs.

    Args:
        target: the 16-bit type.
        low, full, widest: operators that run in it, in float32, in the widest type of their inputs.
        conditional: (operator, attribute, value) of those that run in float32 for this value.
    """

    target: np.dtype
    low: frozenset[str]
    full: frozenset[str]
    widest: frozenset[str]
    conditional: frozenset[tuple[str, str, str]]


def make_rules(
    target_dtype: Any,
    low: Sequence[str] | None = None,
    full: Sequence[str] | None = None,
    conditional: Sequence[Condition] | None = None,
) -> Rules:
    """The built-in rules, with some lists replaced. Raises AmpError where lists overlap or name what has no choice."""
    target = target_of(target_dtype)
    usual = list_conditional_fp32_ops(target)
    for name, given in (("target_dtype_ops", low), ("fp32_ops", full), ("conditional_fp32_ops", conditional)):
        require(given is None or isinstance(given, list), f"{name} should be a list, got {given!r}")
    low = list_lp16_ops(target) if low is None else low
    full = list_fp32_ops(target) if full is None else full
    conditional = usual if conditional is None else conditional
    triples: set[tuple[str, str, str]] = set()
    for entry in conditional:
        require(
            len(entry) == 3
            and isinstance(entry[0], str)
            and isinstance(entry[1], str)
            and isinstance(entry[2], (list, tuple)),
            f"conditional_fp32_ops should be a list of (str, str, list of str), got {entry!r}",
        )
        triples.update((entry[0], entry[1], str(value)) for value in entry[2])
    sets = {"target_dtype_ops": {*low}, "fp32_ops": {*full}, "conditional_fp32_ops": {e[0] for e in conditional}}
    _refuse_overlap(sets)
    allowed = {*list_lp16_ops(target), *list_fp32_ops(target), *list_lp16_fp32_ops(target), *(e[0] for e in usual)}
    illegal = sorted(set().union(*sets.values()) - allowed)
    require(
        not illegal,
        "Can only choose ops from one of the lists amp.list_lp16_ops, list_fp32_ops, list_lp16_fp32_ops and "
        f"list_conditional_fp32_ops for {target.name}. Op {illegal} not in any of them",
    )
    return Rules(target, frozenset(low), frozenset(full), frozenset(list_widest_type_cast(target)), frozenset(triples))


def _refuse_overlap(sets: dict[str, set[str]]) -> None:
    names = list(sets)
    for position, first in enumerate(names):
        for second in names[position + 1 :]:
            common = sets[first] & sets[second]
            require(
                not common,
                f"Ops cannot be in two or more lists. Common ops in {first} and {second} {sorted(common)}",
            )


__all__ = [
    "AmpError", "Rules", "list_conditional_fp32_ops", "list_fp32_ops", "list_loss_output_functions",
    "list_lp16_fp32_ops", "list_lp16_ops", "list_lp16_use_fp32_params", "list_widest_type_cast", "make_rules",
    "require", "target_of",
]  # fmt: skip
