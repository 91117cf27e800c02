"""A model in files: ``prefix-symbol.json`` and ``prefix-0001.params``, as ``mx.model`` writes and reads
them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from gluonjax import symbol as symbols
from gluonjax._base.errors import MXNetError
from gluonjax.context import cpu
from gluonjax.ndarray import load, save

Params = dict[str, Any]


class BatchEndParam(NamedTuple):
    """What a batch-end callback is told."""

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: Any,
    arg_params: Mapping[str, Any],
    aux_params: Mapping[str, Any],
    remove_amp_cast: bool = True,
) -> None:
    """Write a graph to ``prefix-symbol.json`` and its parameters to ``prefix-EPOCH.params``.

    Args:
        prefix: folder and first part of the file names.
        epoch: a number, written with at least four digits.
        symbol: the graph; None writes the parameters only.
        arg_params: name -> NDArray of the weights.
        aux_params: name -> NDArray of the auxiliary states.
        remove_amp_cast: leave out the casts that mixed precision put into the graph.
    """
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    named = {"arg": arg_params, "aux": aux_params}
    arrays = {
        f"{kind}:{name}": array.as_in_context(cpu())
        for kind, params in named.items()
        for name, array in (params or {}).items()
    }
    path = _params_path(prefix, epoch)
    save(path, arrays)
    logging.info('Saved checkpoint to "%s"', path)


def load_params(prefix: str, epoch: int) -> tuple[Params, Params]:
    """Read ``prefix-EPOCH.params``.

    Returns:
        ``(arg_params, aux_params)``: name -> NDArray.
    """
    path = _params_path(prefix, epoch)
    found = load(path)
    kinds: dict[str, Params] = {"arg": {}, "aux": {}}
    if not found:
        logging.warning("Params file '%s' is empty", path)
        return kinds["arg"], kinds["aux"]
    if not isinstance(found, dict):
        raise MXNetError(
            f"load_params: {path!r} holds a list without names; a checkpoint has 'arg:' and 'aux:' names"
        )
    for key, array in found.items():
        kind, colon, name = key.partition(":")
        if not colon:
            raise MXNetError(
                f"load_params: {path!r} has the name {key!r}; a checkpoint has 'arg:' or 'aux:' before "
                "every name. "
                "Files of Block.save_parameters are read with Block.load_parameters"
            )
        if kind in kinds:
            kinds[kind][name] = array
    return kinds["arg"], kinds["aux"]


def load_checkpoint(prefix: str, epoch: int) -> tuple[Any, Params, Params]:
    """Read what ``save_checkpoint`` wrote.

    Returns:
        ``(symbol, arg_params, aux_params)``.
    """
    return (symbols.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch))


def _params_path(prefix: str, epoch: int) -> str:
    return f"{prefix}-{epoch:04d}.params"
