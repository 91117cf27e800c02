"""Loading parameters under any of the names that MXNet writes them with, and whole-model files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gluonjax.gluon._errors import ArgumentError, ParameterMismatch
from gluonjax.gluon._parameter_dict import brief, without_kind
from gluonjax.gluon.parameter import Parameter

if TYPE_CHECKING:
    from gluonjax.gluon.block import Block


def load_into(
    block: Block, arrays: Any, ctx: Any, allow_missing: bool, ignore_extra: bool, cast_dtype: bool,
    dtype_source: str, where: str,
) -> None:  # fmt: skip
    """Give a block's parameters the values of a dictionary; see ``Block.load_parameters``."""
    if not isinstance(arrays, Mapping):
        if not arrays and not block._collect_params_with_prefix():
            return
        raise ArgumentError(
            f"load_parameters: {where} holds {len(arrays)} arrays without names; wanted a dictionary "
            f"of name to array"
        )
    loaded = {without_kind(key): value for key, value in arrays.items()}
    known, spelling = _naming_of(block, loaded)
    if not any(name in known for name in loaded):
        known, loaded = _without_common_prefixes(block, loaded, known)
    if not allow_missing:
        _check_nothing_missing(known, loaded, where, spelling)
    for name, value in loaded.items():
        if name in known:
            known[name]._load_init(value, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)
        elif not ignore_extra:
            raise ParameterMismatch(
                f"Parameter '{name}' loaded from {where} is not present in ParameterDict, which "
                f"contains parameters "
                f"{brief(known)}. Set ignore_extra=True to ignore. "
            )


def _without_common_prefixes(
    block: Block, loaded: dict[str, Any], known: dict[str, Parameter]
) -> tuple[dict[str, Parameter], dict[str, Any]]:
    """File and block without what all their names begin with, where that makes them fit.

    A file that ``export`` wrote carries the exporting block's prefix; the same model built again has another.
    """
    own = dict(block.collect_params().items())
    cut, own_cut = _common_prefix(loaded), _common_prefix(own)
    shorter = {name[len(own_cut) :]: parameter for name, parameter in own.items()}
    arrays = {name[len(cut) :]: value for name, value in loaded.items()}
    return (shorter, arrays) if set(shorter) == set(arrays) else (known, loaded)


def _common_prefix(names: Mapping[str, Any]) -> str:
    # Names are no paths: comparing them character by character is what is wanted.
    start = os.path.commonprefix(list(names))  # noqa: RUF071
    return start.rpartition("_")[0] + "_" if len(names) > 1 else ""


def _naming_of(block: Block, loaded: Mapping[str, Any]) -> tuple[dict[str, Parameter], str]:
    """The block's parameters under the kind of names that fits a file best.

    Structural names (``save_parameters``), full names (``export``, ``collect_params().save``) or full names without
    the block's prefix (``save_params``).
    """
    by_full_name = dict(block.collect_params().items())
    prefix = block.prefix
    candidates = {
        "structural": block._collect_params_with_prefix(),
        "full": by_full_name,
        "without prefix": {name.removeprefix(prefix): parameter for name, parameter in by_full_name.items()},
    }
    best = max(candidates, key=lambda kind: sum(name in candidates[kind] for name in loaded))
    return candidates[best], best


def _check_nothing_missing(
    known: Mapping[str, Parameter], loaded: Mapping[str, Any], where: str, spelling: str
) -> None:
    # A shared parameter has several structural names; the file needs only one of them.
    present = {id(parameter) for name, parameter in known.items() if name in loaded}
    for name, parameter in known.items():
        if id(parameter) not in present:
            raise ParameterMismatch(
                f"Parameter '{name}' is missing in {where}, which contains parameters: {brief(loaded)}. "
                "Set allow_missing=True to ignore missing parameters. "
                f"(Names were compared in their {spelling} form. If this file comes from export(), "
                "SymbolBlock.imports reads it without the Python code. Please make sure source and "
                "target networks "
                "have the same prefix.)"
            )


def save_model(block: Block, prefix: str) -> None:
    """Write the names and traced graphs of a tree of blocks, and its parameters."""
    model: dict[str, Any] = {}
    _describe(block, model, [0])
    with open(f"{prefix}-model.json", "w") as file:
        json.dump(model, file)
    block.save_parameters(f"{prefix}-model.params")


def _describe(block: Block, into: dict[str, Any], counter: list[int]) -> None:
    children: dict[str, Any] = {}
    entry: dict[str, Any] = {"orig_name": block.name}
    into[f"{type(block).__name__.lower()}{counter[0]}"] = entry
    graph = getattr(block, "_cached_graph", None)
    if graph is not None:
        entry["hybridized"] = bool(graph)
        if graph:
            inputs, outputs = graph
            entry["in_format"] = block._in_format  # type: ignore[attr-defined]
            entry["out_format"] = block._out_format  # type: ignore[attr-defined]
            entry["inputs"] = [symbol.tojson() for symbol in inputs]
            entry["symbol"] = outputs.tojson()
    entry["children"] = children
    for attribute, child in block._children.items():
        counter[0] += 1
        children[child.name] = attribute
        _describe(child, entry, counter)


def load_model(block: Block, prefix: str) -> None:
    """Read what ``save_model`` wrote."""
    with open(f"{prefix}-model.json") as file:
        _restore(block, json.load(file), [0])
    block.load_parameters(f"{prefix}-model.params")


def _restore(block: Block, model: Mapping[str, Any], counter: list[int]) -> None:
    key = f"{type(block).__name__.lower()}{counter[0]}"
    if key not in model:
        raise ArgumentError(
            f"Block.load: the file describes {sorted(model)} where this block has {key}; build the "
            f"block with the "
            "same code that saved it"
        )
    entry = model[key]
    block._name = entry["orig_name"]
    if entry.get("hybridized"):
        from gluonjax.symbol import load_json

        block._in_format = entry["in_format"]  # type: ignore[attr-defined]
        block._out_format = entry["out_format"]  # type: ignore[attr-defined]
        inputs = [load_json(text) for text in entry["inputs"]]
        block._cached_graph = (inputs, load_json(entry["symbol"]))  # type: ignore[attr-defined]
        block._active = True  # type: ignore[attr-defined]
    own = block.params
    renamed = {f"{block.name}_{name[len(own.prefix) :]}": parameter for name, parameter in own.items()}
    for name, parameter in renamed.items():
        parameter._rename(name)
    own._params.clear()
    own._params.update(renamed)
    for child in block._children.values():
        counter[0] += 1
        _restore(child, entry, counter)
    children = list(block._children.values())
    block._children.clear()
    for child in children:
        block._children[entry["children"][child.name]] = child
