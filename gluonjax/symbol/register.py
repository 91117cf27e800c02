"""Functions of the ``sym`` namespaces, built from operator definitions when they are first asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gluonjax._base.errors import ArgumentTypeError, did_you_mean
from gluonjax._engine.functions import documentation_of, names_in, signature_of
from gluonjax._ops import registry
from gluonjax._ops.opdef import OpDef
from gluonjax.attribute import AttrScope as AttrScope
from gluonjax.name import NameManager as NameManager
from gluonjax.ndarray._invoke import NULL
from gluonjax.symbol._compose import SymbolBase, create

_EXTRAS = ("name", "attr", "out")


@functools.cache
def make_function(op: OpDef, public: str, cls: type[Any]) -> Callable[..., Any]:
    """The function ``sym.<public>`` of an operator, with a true signature.

    Args:
        op: the operator.
        public: the function's name; lowercased it begins automatic node names.
        cls: the class of the symbols it makes.
    """
    hint = public.lower()
    make = _any_number if op.variadic is not None or op.open_inputs else _fixed_inputs
    function = make(op, hint, cls)
    function.__name__ = function.__qualname__ = public
    function.__doc__ = documentation_of(op, public)
    function.__module__ = "gluonjax.symbol"
    function.__signature__ = signature_of(op, NULL, _EXTRAS)  # type: ignore[attr-defined]
    return function


def _fixed_inputs(op: OpDef, hint: str, cls: type[Any]) -> Callable[..., Any]:
    order = tuple(dict.fromkeys((*op.listed_inputs, *op.listed_attrs, *_EXTRAS)))
    input_set, public = frozenset(op.input_names), hint

    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(order):
            raise ArgumentTypeError(f"{public}: takes at most {len(order)} arguments, got {len(args)}")
        for key, value in zip(order, args):
            if key in kwargs:
                raise ArgumentTypeError(f"{public}: got multiple values for argument '{key}'")
            kwargs[key] = value
        name, attr = kwargs.pop("name", None), kwargs.pop("attr", None)
        kwargs.pop("out", None)
        symbols: dict[str, SymbolBase] = {}
        given: dict[str, Any] = {}
        for key, value in kwargs.items():
            if isinstance(value, SymbolBase):
                symbols[key] = value
            elif key in input_set:
                if value is not None and value is not NULL:
                    raise ArgumentTypeError(
                        f"{public}: Argument {key} must be Symbol instances, but got {value!r}"
                    )
            elif value is not NULL:
                given[key] = value
        return create(op, hint, (), symbols, given, name, attr, cls)

    return function


def _any_number(op: OpDef, hint: str, cls: type[Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if not isinstance(value, SymbolBase):
                raise ArgumentTypeError(
                    f"{hint}: Positional arguments must be Symbol instances, but got {value!r}"
                )
        name, attr = kwargs.pop("name", None), kwargs.pop("attr", None)
        kwargs.pop("out", None)
        symbols = {key: value for key, value in kwargs.items() if isinstance(value, SymbolBase)}
        given = {key: value for key, value in kwargs.items() if key not in symbols and value is not NULL}
        return create(op, hint, args, symbols, given, name, attr, cls)

    return function


def find_function(space: str, public: str, cls: type[Any]) -> Callable[..., Any] | None:
    """The function of that name in a namespace, or None."""
    registered = names_in(space).get(public)
    return None if registered is None else make_function(registry.get(registered), public, cls)


def namespace(
    space: str, contents: dict[str, Any], cls: Callable[[], type[Any]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module whose functions are made when they are first used.

    Args:
        space: the namespace, as ``namespace_of`` names it.
        contents: the module's ``globals()``; functions are kept there.
        cls: gives the class of the symbols that the functions make.
    """

    def get(name: str) -> Any:
        if not name.startswith("__"):
            found = find_function(space, name, cls())
            if found is not None:
                contents[name] = found
                return found
        raise AttributeError(
            f"module '{contents['__name__']}' has no attribute '{name}'{did_you_mean(name, names_in(space))}"
        )

    def listing() -> list[str]:
        return sorted({*contents, *names_in(space)})

    return get, listing
