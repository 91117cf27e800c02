"""Conversion of float32 models: symbols, symbols with parameters, blocks, bucketing modules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gluonjax._base.dtypes import CODE_TO_DTYPE, DEFAULT_DTYPE, DTYPE_TO_CODE
from gluonjax._base.errors import MXNetError
from gluonjax._engine.graph import Entry, Graph, Node
from gluonjax._engine.infer import infer_dtypes
from gluonjax.context import Context, num_gpus
from gluonjax.contrib.amp._casts import insert_casts
from gluonjax.contrib.amp._rules import AmpError, Condition, make_rules, require
from gluonjax.gluon import HybridBlock, SymbolBlock
from gluonjax.module import BucketingModule
from gluonjax.symbol import Symbol

_DTYPE_KEY = "__dtype__"
# MXNet converts for GPUs unless told otherwise.
_FIRST_GPU = Context("gpu", 0)

Names = Sequence[str] | None
Conditions = Sequence[Condition] | None


def convert_symbol(
    sym: Symbol, target_dtype: Any = "float16", target_dtype_ops: Names = None, fp32_ops: Names = None,
    conditional_fp32_ops: Conditions = None, excluded_sym_names: Names = None, data_names: Names = None,
    cast_optional_params: bool = False,
) -> Symbol:  # fmt: skip
    """A float32 network with casts, so that its operators run in the types that suit them.

    >>> from gluonjax import sym
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    >>> [name for name in convert_symbol(net).get_internals().list_outputs() if "cast" in name][:2]
    ['data_amp_cast_float16_output', 'fc_weight_amp_cast_float16_output']

    Args:
        sym: the network.
        target_dtype: 'float16' or 'bfloat16'.
        target_dtype_ops, fp32_ops: operators to run in that type or in float32, in place of the built-in lists.
        conditional_fp32_ops: (operator, attribute, values): float32 where the attribute has one of the values.
        excluded_sym_names: names of nodes that stay float32.
        data_names: inputs that are no parameters; None for those without a given type.
        cast_optional_params: leave out casts of parameters that may be stored in the 16-bit type.

    Returns:
        A new symbol with float32 outputs. The types parameters are to be stored in are ``__dtype__`` attributes.
    """
    require(isinstance(sym, Symbol), f"First argument to convert_symbol should be Symbol, got {type(sym).__name__}")
    rules = make_rules(target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    _check_excluded(excluded_sym_names)
    graph = sym._graph
    names = [node.name for node in graph.variables]
    data = set(data_names) if data_names is not None else {v.name for v in graph.variables if _DTYPE_KEY not in v.attrs}
    params = {name for name in names if name not in data}
    converted = insert_casts(graph, rules, excluded_sym_names or (), params if cast_optional_params else ())
    stored = _stored_types(converted, data, rules.target if cast_optional_params else None)
    for variable in converted.variables:
        if variable.name in params if params else _DTYPE_KEY in variable.attrs:
            code = DTYPE_TO_CODE[stored.get(variable.name, DEFAULT_DTYPE)]
            variable.attrs[_DTYPE_KEY] = str(code)
    return type(sym)(converted)


def _check_excluded(names: Names) -> None:
    require(
        names is None or isinstance(names, list),
        f"excluded_sym_names must be a list of names of symbols that should not be casted, got {names!r}",
    )


def _stored_types(graph: Graph, data: Collection[str], target: np.dtype | None) -> dict[str, np.dtype]:
    """The types of variables that operators ask for, or (``target`` given) that all their casts agree about.

    Raises MXNetError where operators get inputs of types that they cannot take together.
    """
    plain = {variable.name: Node(None, variable.name) for variable in graph.variables}
    wishes: dict[str, set[Any]] = {}  # without a target they are not read

    def build(node: Node, inputs: list[Entry]) -> tuple[Node, None]:
        kind = node.op.name if node.op is not None else None
        if kind is None:
            return plain[node.name], None
        if kind in ("amp_cast", "amp_multicast"):
            # A cast takes any type, so it says nothing about its input: it reads a stand-in.
            params = [source.name for source, _ in inputs if source.op is None and source.name not in data]
            inputs = [(Node(None, f"{e[0].name} of {node.name}"), 0) if e[0].name in params else e for e in inputs]
            if kind == "amp_cast" or all(source.op is None for source, _ in node.inputs):
                wish = np.dtype(node.parsed.dtype) if kind == "amp_cast" else target
                for name in params:
                    wishes.setdefault(name, set()).add(wish)
        return node.with_inputs(inputs), None

    table = infer_dtypes(graph.rebuild(build), dict.fromkeys((name for name in plain if name in data), DEFAULT_DTYPE))
    types = {name: table.get((variable, 0)) for name, variable in plain.items()}
    asked = {name: dtype for name, dtype in types.items() if dtype is not None}
    if target is None:
        return asked
    agreed = {name: next(iter(found)) for name, found in wishes.items() if len(found) == 1}
    return {**agreed, **asked}


def _types_in(sym: Symbol) -> dict[str, np.dtype]:
    """What ``__dtype__`` attributes of the variables say."""
    return {
        variable.name: CODE_TO_DTYPE[int(variable.attrs[_DTYPE_KEY])]
        for variable in sym._graph.variables
        if int(variable.attrs.get(_DTYPE_KEY, "-1")) >= 0
    }


def _cast_values(values: Mapping[str, Any], types: Mapping[str, np.dtype]) -> dict[str, Any]:
    """The arrays in the types of that table; arrays it does not name stay."""
    return {
        name: array.astype(types[name]) if name in types and array.dtype != types[name] else array
        for name, array in values.items()
    }


def convert_model(
    sym: Symbol, arg_params: dict[str, Any], aux_params: dict[str, Any], target_dtype: Any = "float16",
    target_dtype_ops: Names = None, fp32_ops: Names = None, conditional_fp32_ops: Conditions = None,
    excluded_sym_names: Names = None, cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, Any], dict[str, Any]]:  # fmt: skip
    """A float32 model in mixed precision: ``convert_symbol`` with the parameters in the types it stores them in.

    Args:
        sym, arg_params, aux_params: the model; it is not changed.
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params:
            see ``convert_symbol``.

    Returns:
        The new symbol, parameters and auxiliary states.
    """
    require(isinstance(sym, Symbol), f"First argument to convert_model should be Symbol, got {type(sym).__name__}")
    for position, params in (("Second", arg_params), ("Third", aux_params)):
        require(
            isinstance(params, dict),
            f"{position} argument to convert_model should be a dict of name to ndarray, got {type(params).__name__}",
        )
    data = [name for name in sym.list_inputs() if name not in arg_params and name not in aux_params]
    converted = convert_symbol(
        sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, data,
        cast_optional_params,
    )  # fmt: skip
    types = _types_in(converted)
    return converted, _cast_values(arg_params, types), _cast_values(aux_params, types)


def convert_hybrid_block(
    block: HybridBlock, target_dtype: Any = "float16", target_dtype_ops: Names = None, fp32_ops: Names = None,
    conditional_fp32_ops: Conditions = None, excluded_sym_names: Names = None, ctx: Any = _FIRST_GPU,
    cast_optional_params: bool = False,
) -> SymbolBlock:  # fmt: skip
    """A float32 block in mixed precision, for inference.

    Args:
        block: hybridized and called once, or a SymbolBlock.
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params:
            see ``convert_symbol``.
        ctx: where the new block's parameters live; by default the first GPU, or where there is none the place of
            the block's own.
    """
    require(isinstance(block, HybridBlock), f"block input should be a HybridBlock, got {type(block).__name__}")
    if not block._cached_graph:
        raise MXNetError(
            "Please first call block.hybridize() and then run forward with this block at least once before calling "
            "convert_hybrid_block."
        )
    inputs, output = block._cached_graph
    converted = convert_symbol(
        output, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names,
        [variable.name for variable in inputs], cast_optional_params,
    )  # fmt: skip
    used = set(converted.list_inputs())
    params = {name: param for name, param in block.collect_params().items() if name in used}
    values = _cast_values({name: param._reduce() for name, param in params.items()}, _types_in(converted))
    result = SymbolBlock(converted, inputs)
    for name, param in result.collect_params().items():
        if name in values:
            param.cast(values[name].dtype)
    if ctx is _FIRST_GPU and params and not num_gpus():
        ctx = next(iter(params.values())).list_ctx()
    result.collect_params().load_dict(values, ctx=ctx)
    return result


def convert_bucketing_module(
    bucketing_mod: BucketingModule, target_dtype: Any = "float16", target_dtype_ops: Names = None,
    fp32_ops: Names = None, conditional_fp32_ops: Conditions = None, excluded_sym_names: Names = None,
    cast_optional_params: bool = False,
) -> BucketingModule:  # fmt: skip
    """A bucketing module with every bucket's symbol in mixed precision, ready to be bound.

    Args:
        bucketing_mod: bound, with parameters.
        target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params:
            see ``convert_symbol``.
    """
    require(
        isinstance(bucketing_mod, BucketingModule),
        f"module should be instance of bucketing module, got {type(bucketing_mod).__name__}",
    )
    require(bool(bucketing_mod._buckets), "Bucketing Module should not be empty; bind it first")
    if not bucketing_mod.params_initialized:
        raise AmpError("bucketing_mod params should be initialized for mixed precision conversion")
    args, aux = bucketing_mod.get_params()
    symbols: dict[Any, Symbol] = {}
    new_args: dict[str, Any] = {}
    new_aux: dict[str, Any] = {}
    for key, module in bucketing_mod._buckets.items():
        symbols[key], bucket_args, bucket_aux = convert_model(
            module._symbol, args, aux, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops,
            excluded_sym_names, cast_optional_params,
        )  # fmt: skip
        new_args.update(_of(symbols[key].list_inputs(), bucket_args))
        new_aux.update(_of(symbols[key].list_inputs(), bucket_aux))
    return BucketingModule.load_dict(
        symbols, bucketing_mod._sym_gen, bucketing_mod._default_bucket_key, new_args, new_aux,
        logger=bucketing_mod.logger, **bucketing_mod._options,
    )  # fmt: skip


def _of(names: Collection[str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


__all__ = ["convert_bucketing_module", "convert_hybrid_block", "convert_model", "convert_symbol"]
