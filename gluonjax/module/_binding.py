"""What a module's arrays are: shapes, dtypes, places and gradient requests, before any of them is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gluonjax import ndarray as nd
from gluonjax._base.devices import Context
from gluonjax._base.errors import MXNetError
from gluonjax.io import DataDesc
from gluonjax.module._errors import ModuleArgumentError, NameMismatchError
from gluonjax.ndarray import NDArray, _sparse_graph


def requests_of(
    grad_req: Any,
    arg_names: Sequence[str],
    param_names: Sequence[str],
    fixed_names: Sequence[str],
    data_names: Sequence[str],
    for_training: bool,
    inputs_need_grad: bool,
) -> dict[str, str]:
    """'write', 'add' or 'null' for every argument.

    A single request holds for what is trained, and for data where its gradient is wanted; lists and dicts are taken
    by their word.
    """
    if not for_training:
        return dict.fromkeys(arg_names, "null")
    general = grad_req if isinstance(grad_req, str) else "write"
    requests = {}
    for name in arg_names:
        trained = name in param_names and name not in fixed_names
        asked = name in data_names and name not in param_names and inputs_need_grad
        requests[name] = general if trained or asked else "null"
    if isinstance(grad_req, Mapping):
        requests.update({name: request for name, request in grad_req.items() if name in requests})
    elif isinstance(grad_req, (list, tuple)):
        if len(grad_req) != len(arg_names):
            raise ModuleArgumentError(
                f"grad_req has {len(grad_req)} entries for {len(arg_names)} arguments: {list(arg_names)}"
            )
        requests = dict(zip(arg_names, grad_req))
    elif not isinstance(grad_req, str):
        raise ModuleArgumentError(f"grad_req must be one of str, list, tuple, or dict, got {type(grad_req).__name__}")
    return requests


def contexts_of_groups(symbol: Any, group2ctxs: Any, contexts: Sequence[Context]) -> dict[str, Context]:
    """Argument name -> context, for arguments whose ``ctx_group`` has one.

    Args:
        group2ctxs: None, a dict for every context, or one dict of a context or a list of contexts by group.
    """
    if group2ctxs is None:
        return {}
    if isinstance(group2ctxs, Mapping):
        first = {group: one[0] if isinstance(one, (list, tuple)) else one for group, one in group2ctxs.items()}
        lengths = {len(one) for one in group2ctxs.values() if isinstance(one, (list, tuple))} - {1}
    elif isinstance(group2ctxs, (list, tuple)):
        first, lengths = group2ctxs[0], {len(group2ctxs)}
    else:
        raise ModuleArgumentError(f"group2ctxs must be a dict or a list of dicts, got {type(group2ctxs).__name__}")
    if lengths - {len(contexts)}:
        raise ModuleArgumentError(f"group2ctxs has {lengths} contexts for a group; the module has {len(contexts)}")
    places = {}
    for name, attributes in symbol.attr_dict().items():
        group = attributes.get("ctx_group", attributes.get("__ctx_group__"))
        if group in first:
            places[name] = Context(first[group])
    return places


class ArrayPlan:
    """Shapes and dtypes of everything that a group binds, and which existing arrays it goes on using.

    Making a plan changes nothing, so that a failing reshape leaves its module as it was.

    Args:
        group: who binds.
        data, labels: the inputs.
        before: the group whose arrays are used further; it may be ``group`` itself.
    """

    def __init__(self, group: Any, data: Sequence[DataDesc], labels: Sequence[DataDesc], before: Any) -> None:
        self.group, self.before = group, before
        for one in [*data, *labels]:
            if any(not isinstance(size, int) for size in map(_whole, one.shape)):
                raise TypeError(f"bind: the shape of '{one.name}' must be a tuple of ints, got {one.shape!r}")
        given = {one.name: one for one in [*data, *labels]}
        for name in given:
            if name not in group.arg_names and name in [one.name for one in data]:
                raise NameMismatchError(f"bind: the symbol has no argument '{name}'; it has {group.arg_names}")
        given = {name: one for name, one in given.items() if name in group.arg_names}
        self.shapes = {name: tuple(one.shape) for name, one in given.items()}
        arg_shapes, self.output_shapes, aux_shapes = group.symbol.infer_shape(**self.shapes)
        if arg_shapes is None:
            raise MXNetError(f"bind: the shapes {self.shapes} do not determine all parameters")
        arg_types, self.output_types, aux_types = group.symbol.infer_type(
            **{name: one.dtype for name, one in given.items()}
        )
        self.arguments = list(zip(group.arg_names, arg_shapes, arg_types))
        self.auxiliary = list(zip(group.aux_names, aux_shapes, aux_types))
        if before is not None:
            self._check(before)

    def _check(self, before: Any) -> None:
        kept = set(self.group.param_names)
        for rows, arrays in ((self.arguments, before.args), (self.auxiliary, before.auxs)):
            for name, shape, _ in rows:
                old = arrays.get(name)
                if old is not None and (name in kept or arrays is before.auxs) and old.shape != shape:
                    raise MXNetError(
                        f"Shape of unspecifie arg: {name} changed from {old.shape} to {shape} with the inputs "
                        f"{self.shapes}. Parameters are shared with what was bound before, so they must keep their "
                        "shapes; check the inputs against the network"
                    )

    def arrays(self) -> tuple[dict[str, NDArray], dict[str, NDArray], dict[str, NDArray]]:
        """Arguments, gradients and auxiliary states, kept or new."""
        group, before = self.group, self.before
        pool = group.shared_data_arrays[0]
        args, grads, auxs = {}, {}, {}
        stypes = {node.name: _sparse_graph.declared(node) for node in group.symbol._graph.arguments}
        for name, shape, dtype in self.arguments:
            place = group._placing.get(name, group.contexts[0])
            is_parameter = name in group.param_names
            old = (before.args.get(name) if before is not None else None) if is_parameter else pool.get(name)
            stype = stypes.get(name, "default") if is_parameter else "default"
            args[name] = old if _fits(old, shape, dtype) else nd.zeros(shape, place, dtype, stype)
            if not is_parameter:
                pool[name] = args[name]
            if group.grad_req[name] != "null":
                old = before.grads.get(name) if before is not None else None
                grads[name] = old if _fits(old, shape, dtype) else nd.zeros(shape, place, dtype)
        for name, shape, dtype in self.auxiliary:
            old = before.auxs.get(name) if before is not None else None
            auxs[name] = old if old is not None else nd.zeros(shape, group.contexts[0], dtype)
        return args, grads, auxs


def _whole(size: Any) -> Any:
    try:
        return size.__index__()
    except (AttributeError, TypeError):
        return size


def _fits(array: NDArray | None, shape: tuple[int, ...], dtype: Any) -> bool:
    return array is not None and array.shape == shape and array.dtype == dtype
