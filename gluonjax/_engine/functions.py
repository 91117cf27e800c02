"""What every generated function shares: its signature, its documentation, and how it sorts its arguments."""

from __future__ import annotations

import inspect
from typing import Any

from gluonjax._base.errors import MXNetError
from gluonjax._ops.opdef import OpDef

PREFIXES = {
    "_contrib_": "contrib",
    "_linalg_": "linalg",
    "_sparse_": "sparse",
    "_image_": "image",
    "_random_": "random",
}


def namespace_of(name: str) -> tuple[str, str]:
    """Where MXNet puts an operator: ``(namespace, name in it)``; the main namespace is 'op'.

    >>> namespace_of("_contrib_box_nms"), namespace_of("Convolution"), namespace_of("_plus_scalar")
    (('contrib', 'box_nms'), ('op', 'Convolution'), ('_internal', '_plus_scalar'))
    """
    for prefix, namespace in PREFIXES.items():
        if name.startswith(prefix):
            return namespace, name[len(prefix) :]
    if name.startswith(("_np_", "_npi_", "_npx_")):
        return "_numpy", name
    if name.startswith("_"):
        return "_internal", name
    return "op", name


def signature_of(op: OpDef, null: Any) -> inspect.Signature:
    """The signature that MXNet's generated function has: inputs, attributes, ``out``, ``name``."""
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    if op.variadic:
        parameters.append(inspect.Parameter("data", inspect.Parameter.VAR_POSITIONAL))
        keyword = inspect.Parameter.KEYWORD_ONLY
    else:
        for entry in op.inputs:
            parameters.append(inspect.Parameter(entry.name, keyword, default=None))
    taken = {parameter.name for parameter in parameters}
    for attr in op.attrs:
        if attr.name not in taken:
            parameters.append(inspect.Parameter(attr.name, keyword, default=null))
            taken.add(attr.name)
    for extra in ("out", "name"):
        if extra not in taken:
            parameters.append(inspect.Parameter(extra, keyword, default=None))
    parameters.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


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
    count = len(names)
    for index, arg in enumerate(args):
        if index < count:
            if arg is not None and not is_tensor(arg):
                if arg is null:
                    continue
                # An attribute given where only optional inputs remain (nd.slice_axis(x, 0, 1, 2) style calls).
                raise MXNetError(
                    f"{op.name}: argument '{names[index]}' must be an array, got {type(arg).__name__}: {arg!r}"
                )
            slots[index] = arg
        else:
            position = index - count
            if position >= len(op.attrs):
                raise MXNetError(f"{op.name}: too many positional arguments ({len(args)})")
            if arg is not null:
                given[op.attrs[position].name] = arg
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
