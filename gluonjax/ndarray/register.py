"""Operator functions on arrays: one closure per registered name, put into the namespaces MXNet has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gluonjax._base.errors import OperatorError
from gluonjax._engine.functions import documentation_of, names_in, namespace_of, signature_of, sort_arguments
from gluonjax._ops import registry
from gluonjax._ops.opdef import OpDef
from gluonjax.ndarray import _namespaces
from gluonjax.ndarray._custom import Custom
from gluonjax.ndarray._invoke import NULL, run_operator
from gluonjax.ndarray.ndarray import NDArray

# Functions by registered name; ``Custom`` runs the user's Python code without compiling anything.
_functions: dict[str, Callable[..., Any]] = {"Custom": Custom}


def is_array(value: Any) -> bool:
    return isinstance(value, NDArray)


def operator_function(name: str) -> Callable[..., Any]:
    """The function ``nd.<name>``; the same object at every call."""
    found = _functions.get(name)
    if found is None:
        found = _functions.setdefault(name, make_function(registry.get(name), name, NDArray))
    return found


def replace(name: str, function: Callable[..., Any]) -> None:
    """Let ``nd.<name>`` be another function than the generated one; before ``install``."""
    _functions[name] = function


def make_function(op: OpDef, name: str, cls: Any) -> Callable[..., Any]:
    """Build the function of one operator for handles of class ``cls``."""
    required = [entry.name for entry in op.inputs if not entry.optional]
    single = not op.variadic and len(op.inputs) == 1

    def function(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        kwargs.pop("name", None)
        if single and len(args) == 1 and isinstance(args[0], NDArray) and not _has_null(kwargs):
            return run_operator(op, args, kwargs, out, cls)
        if "attr" in kwargs and "attr" not in op.attr_table:
            kwargs.pop("attr")
        slots, given = sort_arguments(op, args, kwargs, is_array, NULL)
        if op.variadic:
            # Where the count has a default of its own (multi_all_finite), MXNet does not count for the caller.
            if op.attr_table[op.variadic].default is None:
                given.pop(op.variadic, None)
            return run_operator(op, slots, given, out, cls)
        if any(slot is None for slot in slots):
            slots = _drop_missing(op, name, slots, given, required)
        elif len(slots) > len(required):
            slots = _drop_unused(op, slots, given)
        return run_operator(op, slots, given, out, cls)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = documentation_of(op, name)
    function.__module__ = "gluonjax.ndarray.op"
    function.__signature__ = signature_of(op, NULL)  # type: ignore[attr-defined]
    return function


def _has_null(kwargs: dict[str, Any]) -> bool:
    return any(value is NULL for value in kwargs.values())


def _active(op: OpDef, given: dict[str, Any]) -> tuple[str, ...]:
    return op.active_inputs(op.parse({k: v for k, v in given.items() if k != "ctx" or "ctx" in op.attr_table}))


def _drop_missing(
    op: OpDef, name: str, slots: list[Any], given: dict[str, Any], required: list[str]
) -> list[Any]:
    active = _active(op, given)
    kept = []
    for input_name, value in zip(op.input_names, slots):
        if input_name not in active:
            continue
        if value is None:
            if input_name in required:
                got = sum(slot is not None for slot in slots)
                raise OperatorError(
                    f"Operator {name} expects {len(active)} inputs ({', '.join(active)}), but got {got} instead: "
                    f"'{input_name}' is missing."
                )
            continue
        kept.append(value)
    return kept


def _drop_unused(op: OpDef, slots: list[Any], given: dict[str, Any]) -> list[Any]:
    active = _active(op, given)
    if len(active) == len(slots):
        return slots
    return [value for name, value in zip(op.input_names, slots) if name in active]


def install(namespaces: dict[str, ModuleType], main: ModuleType) -> None:
    """Let every registered name be found in its namespace; names a module defines itself stay."""
    for space, module in namespaces.items():
        names = _internal_names if space == "_internal" else functools.partial(names_in, space)
        _namespaces.install(module, names, operator_function)
    _namespaces.install(main, functools.partial(names_in, "op"), operator_function)


def _internal_names() -> dict[str, str]:
    """``_internal`` has its own and, by their registered names, those of the other namespaces."""
    return {name: name for name in registry.names() if namespace_of(name)[0] != "op"}
