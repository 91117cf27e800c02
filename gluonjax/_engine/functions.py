"""What every generated function shares: its signature, its documentation, and how it sorts its arguments."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gluonjax._base.errors import MXNetError
from gluonjax._ops import registry
from gluonjax._ops.opdef import OpDef

# The namespaces that MXNet's generated functions are in, and how the operators of each begin.
SPACES = {
    "contrib": "_contrib_",
    "linalg": "_linalg_",
    "sparse": "_sparse_",
    "image": "_image_",
    "random": "_random_",
}
NUMPY_PREFIXES = ("_np_", "_npi_", "_npx_")


def generated_place_of(name: str) -> tuple[str, str]:
    """Where MXNet generates an operator's function: ``(namespace, name in it)``; the main namespace is 'op'.

    >>> generated_place_of("_contrib_box_nms"), generated_place_of("_random_uniform")
    (('contrib', 'box_nms'), ('random', 'uniform'))
    """
    if name.startswith(NUMPY_PREFIXES):
        return "numpy", name
    for space, prefix in SPACES.items():
        if name.startswith(prefix):
            return space, name[len(prefix) :]
    return ("_internal" if name.startswith("_") else "op"), name


def namespace_of(name: str) -> tuple[str, str]:
    """Where users find an operator: ``(namespace, name in it)``.

    Samplers are written by hand in ``random``, so that the generated ones stay internal.

    >>> namespace_of("Convolution"), namespace_of("_plus_scalar"), namespace_of("_random_uniform")
    (('op', 'Convolution'), ('_internal', '_plus_scalar'), ('_internal', '_random_uniform'))
    """
    space, short = generated_place_of(name)
    if space == "random" and not name.endswith("_like"):
        return "_internal", name
    return space, short


Place = Callable[[str], tuple[str, str]]


def names_in(space: str, place: Place = namespace_of) -> dict[str, str]:
    """Public name -> registered name of the functions of a namespace."""
    return _names_in(space, place, len(registry.names()))


@functools.cache
def _names_in(space: str, place: Place, registered: int) -> dict[str, str]:
    places = ((name, place(name)) for name in registry.names())
    return {short: name for name, (where, short) in places if where == space}


class GeneratedModule(ModuleType):
    """``gen_op``, ``gen_contrib``, ...: where MXNet keeps its generated functions, as modules that can be imported."""

    def __init__(self, name: str, space: str, make: Callable[[str, str], Any], base: type[Any]) -> None:
        super().__init__(name, f"The generated functions of the namespace '{space}'.")
        self._space, self._make = space, make
        setattr(self, base.__name__, base)

    def __getattr__(self, name: str) -> Any:
        registered = None if name.startswith("__") else names_in(self._space, generated_place_of).get(name)
        if registered is None:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        function = self._make(registered, name)
        setattr(self, name, function)
        return function

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *names_in(self._space, generated_place_of)})


def install_generated(package: ModuleType, make: Callable[[str, str], Any], base: type[Any]) -> None:
    """Give a package its ``gen_*`` modules.

    Args:
        package: ``gluonjax.ndarray`` or ``gluonjax.symbol``.
        make: ``(registered name, public name) -> function``.
        base: the base class of what the functions take and give, which the modules show too.
    """
    for space in ("op", "_internal", *SPACES):
        module = GeneratedModule(f"{package.__name__}.gen_{space}", space, make, base)
        sys.modules[module.__name__] = module
        setattr(package, f"gen_{space}", module)


def signature_of(op: OpDef, null: Any, extras: tuple[str, ...] = ("out", "name")) -> inspect.Signature:
    """The signature that MXNet's generated function has: inputs, attributes, then ``extras``.

    Args:
        op: the operator.
        null: the default that stands for "not given".
        extras: the parameters that are none of the operator's.
    """
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    rows: dict[str, inspect.Parameter] = {}
    if op.variadic or op.open_inputs:
        label = op.input_names[0] if op.input_names else "data"
        rows[label] = inspect.Parameter(label, inspect.Parameter.VAR_POSITIONAL)
        keyword = inspect.Parameter.KEYWORD_ONLY
    else:
        rows = {name: inspect.Parameter(name, keyword, default=None) for name in op.listed_inputs}
    for names, default in ((op.listed_attrs, null), (extras, None)):
        for name in names:
            rows.setdefault(name, inspect.Parameter(name, keyword, default=default))
    return inspect.Signature([*rows.values(), inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])


def documentation_of(op: OpDef, name: str) -> str:
    """The docstring of a generated function: the operator's text and its attributes."""
    lines = [op.doc, "", "Attributes:" if op.attrs else ""]
    for attr in op.attrs:
        default = "required" if attr.required else f"default {attr.kind.show(attr.default)}" if (
            attr.default is not None
        ) else "optional"
        lines.append(f"    {attr.name}: {attr.kind.name}, {default}")
    if name != op.name:
        lines += ["", f"Alias of ``{op.name}``."]
    return "\n".join(lines).rstrip()


def sort_arguments(
    op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any], is_tensor: Any, null: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Split a call's arguments into tensors (in input order, gaps as None) and given attributes."""
    given: dict[str, Any] = {}
    if op.variadic:
        tensors: list[Any] = []
        rest: list[Any] = []
        for arg in args:
            if isinstance(arg, (list, tuple)) and arg and all(is_tensor(one) for one in arg):
                tensors.extend(arg)
            elif is_tensor(arg):
                tensors.append(arg)
            else:
                rest.append(arg)
        if rest:
            names = [attr.name for attr in op.attrs if attr.name != op.variadic]
            given.update(zip(names, rest))
        named = []
        for name, value in kwargs.items():
            if value is null:
                continue
            if is_tensor(value):
                named.append((name, value))
            elif isinstance(value, (list, tuple)) and value and all(is_tensor(one) for one in value):
                tensors.extend(value)
            else:
                given[name] = value
        tensors.extend(value for _, value in named)
        return tensors, given
    names = op.input_names
    slots: list[Any] = [None] * len(names)
    listed, attrs = op.listed_inputs, op.listed_attrs
    count = len(listed)
    for index, arg in enumerate(args):
        if index < count:
            if arg is not None and not is_tensor(arg):
                if arg is null:
                    continue
                # An attribute given where only optional inputs remain (nd.slice_axis(x, 0, 1, 2) style calls).
                raise MXNetError(
                    f"{op.name}: argument '{listed[index]}' must be an array, got {type(arg).__name__}: {arg!r}"
                )
            slots[names.index(listed[index])] = arg
        else:
            position = index - count
            if position >= len(attrs):
                raise MXNetError(f"{op.name}: too many positional arguments ({len(args)})")
            if arg is not null:
                given[attrs[position]] = arg
    for name, value in kwargs.items():
        if value is null:
            continue
        if name in names:
            position = names.index(name)
            if value is not None:
                if not is_tensor(value):
                    raise MXNetError(
                        f"{op.name}: argument '{name}' must be an array, got {type(value).__name__}: {value!r}"
                    )
                slots[position] = value
        else:
            given[name] = value
    return slots, given
