"""Functions of the ``sym`` namespaces, built from operator definitions when they are first asked for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from gluonjax._base.errors import ArgumentTypeError, did_you_mean
from gluonjax._engine.functions import documentation_of
from gluonjax._ops import registry
from gluonjax._ops.opdef import OpDef
from gluonjax.attribute import AttrScope as AttrScope
from gluonjax.name import NameManager as NameManager
from gluonjax.ndarray._invoke import NULL
from gluonjax.symbol._compose import SymbolBase, create

PREFIXES = ("_contrib_", "_linalg_", "_sparse_", "_image_", "_random_")
NUMPY_PREFIXES = ("_np_", "_npi_", "_npx_")
_EXTRA = ("name", "attr", "out")


def place_of(name: str) -> tuple[str, str]:
    """The namespace and public name of an operator's function: ``_contrib_fft`` -> ``('contrib', 'fft')``."""
    if name.startswith(NUMPY_PREFIXES):
        return "numpy", name
    for prefix in PREFIXES:
        if name.startswith(prefix):
            if prefix == "_random_" and not name.endswith("_like"):
                return "_internal", name
            return prefix[1:-1], name[len(prefix) :]
    return ("_internal" if name.startswith("_") else "op"), name


def names_in(space: str) -> dict[str, str]:
    """Public name -> registry name of the functions of a namespace."""
    return _names_in(space, len(tuple(registry.items())))


@functools.cache
def _names_in(space: str, registered: int) -> dict[str, str]:
    found = {}
    for name, _ in registry.items():
        where, public = place_of(name)
        if where == space:
            found[public] = name
    return found


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
    function, parameters = make(op, hint, cls)
    function.__name__ = function.__qualname__ = public
    function.__doc__ = documentation_of(op, public)
    function.__module__ = "gluonjax.symbol"
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


def _fixed_inputs(op: OpDef, hint: str, cls: type[Any]) -> tuple[Callable[..., Any], list[inspect.Parameter]]:
    inputs = op.input_names
    attrs = tuple(attr.name for attr in op.attrs)
    order = (*inputs, *attrs, *_EXTRA)
    input_set, public = frozenset(inputs), hint

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

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(key, kind, default=None) for key in inputs]
    parameters += [inspect.Parameter(key, kind, default=NULL) for key in attrs]
    parameters += [inspect.Parameter(key, kind, default=None) for key in _EXTRA]
    parameters.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    return function, parameters


def _any_number(op: OpDef, hint: str, cls: type[Any]) -> tuple[Callable[..., Any], list[inspect.Parameter]]:
    label = op.input_names[0] if op.input_names else "data"

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

    parameters = [
        inspect.Parameter(label, inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
    ]
    return function, parameters


def find_function(space: str, public: str, cls: type[Any]) -> Callable[..., Any] | None:
    """The function of that name in a namespace, or None."""
    registered = names_in(space).get(public)
    return None if registered is None else make_function(registry.get(registered), public, cls)


def namespace(
    space: str, contents: dict[str, Any], cls: Callable[[], type[Any]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module whose functions are made when they are first used.

    Args:
        space: the namespace, as ``place_of`` names it.
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
