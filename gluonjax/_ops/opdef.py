"""What an operator is: one record, read from the signature of one pure JAX function.

Positional parameters are tensors, keyword-only parameters are attributes. ``key`` among the keywords means "draws
random numbers", ``train`` means "depends on the training mode", ``subgraphs`` receives the bodies of a loop or
branch; none of them is an attribute. A positional parameter
annotated ``Aux`` is state that the operator rewrites: the function then returns ``(outputs, {name: new value})``.

    @operator("Flip", aliases=("flip",))
    def flip(data, *, axis: tuple[int, ...]):
        '''Reverse the order of elements along some axes. ...'''
        return jnp.flip(data, axis)
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import jax
import numpy as np
from jax import lax

from gluonjax._base.attrs import TRACED, AttributeTextError, Kind, kind_of
from gluonjax._base.errors import MXNetError, OperatorError, did_you_mean
from gluonjax._ops.bounds import BOUNDED, check_bounds

Shape = tuple[int | None, ...]
OnWhole = Literal["derive", "zero", "pass"]


if TYPE_CHECKING:
    Aux = jax.Array
else:

    class Aux:
        """Annotation of an input that the operator rewrites (moving statistics, optimizer state)."""


class Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = Required()


class Attrs(dict[str, Any]):
    """Parsed attributes of one call: ``attrs.kernel``; missing ones have their defaults filled in."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True)
class Attr:
    name: str
    kind: Kind
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


@dataclass(frozen=True)
class Input:
    name: str
    is_aux: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Ports:
    """How one subgraph is connected with the control-flow operator that runs it.

    Args:
        inputs: for each variable of the subgraph, the number of the operator's input.
        sliced: inputs of the operator that the subgraph sees one row at a time.
        outputs: (output of the subgraph, output of the operator) pairs.
        stacked: outputs of the operator that collect one row a step.
        length: the number of steps where it is known from the attributes.
    """

    inputs: tuple[int, ...]
    sliced: frozenset[int] = frozenset()
    outputs: tuple[tuple[int, int], ...] = ()
    stacked: frozenset[int] = frozenset()
    length: int | None = None


ParamShapes = Callable[[dict[str, Shape | None], Attrs], dict[str, Shape]]
DtypeRule = Callable[[dict[str, "np.dtype | None"], Attrs], dict[str, "np.dtype | None"]]
UnifyRule = Callable[
    [dict[str, Shape | None], list[Shape | None], Attrs], tuple[dict[str, Shape | None], list[Shape | None]]
]


@dataclass(frozen=True, eq=False)
class OpDef:
    """Everything the library knows about one operator. See ``operator`` for the fields' meaning."""

    name: str
    fn: Callable[..., Any]
    aliases: tuple[str, ...]
    inputs: tuple[Input, ...]
    attrs: tuple[Attr, ...]
    variadic: str | None
    uses_key: bool
    uses_train: bool
    outputs: Callable[[Attrs], tuple[str, ...]]
    visible: Callable[[Attrs], int]
    active_inputs: Callable[[Attrs], tuple[str, ...]]
    param_shapes: ParamShapes | None
    unify: UnifyRule | None
    dtypes: DtypeRule
    grad: Any
    mutates: Callable[[Attrs, int], tuple[int, ...]]
    variable_attrs: Mapping[str, Mapping[str, str]]
    host: bool
    heavy: bool
    doc: str
    attr_table: Mapping[str, Attr] = field(repr=False)
    traced: tuple[str, ...] = ()
    bodies: Any = None  # control flow: ``(attrs, number of inputs) -> tuple[Ports, ...]``, one for each subgraph
    on_whole: OnWhole = "derive"  # what the gradient with respect to whole numbers is
    open_inputs: bool = False  # which inputs there are is said by ``active_inputs`` alone (Custom)
    unlisted: frozenset[str] = frozenset()

    @property
    def is_sampler(self) -> bool:
        """Whether its results are random numbers themselves, whatever the mode (dropout's are not)."""
        return self.uses_key and not self.uses_train

    @functools.cached_property
    def input_names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.inputs)

    @functools.cached_property
    def listed_inputs(self) -> tuple[str, ...]:
        """The inputs that a call may give by position."""
        return tuple(name for name in self.input_names if name not in self.unlisted)

    @functools.cached_property
    def listed_attrs(self) -> tuple[str, ...]:
        """The attributes that a call may give by position, behind the inputs."""
        return tuple(attr.name for attr in self.attrs if attr.name not in self.unlisted)

    def parse(self, given: Mapping[str, Any], where: str = "") -> Attrs:
        """Read given attributes (text or values), fill in defaults, and complain about the rest.

        Raises OperatorError for an unknown name, a value that does not fit, or a missing required attribute.
        """
        # MXNet does not look at attributes of operators that have none (relu(x, axis=1) runs).
        unknown = [name for name in given if name not in self.attr_table] if self.attr_table else []
        # MXNet lets operators without attributes take any; scripts write nd.broadcast_maximum(a, b, axis=1).
        if unknown and self.attr_table:
            hint = did_you_mean(unknown[0], [*self.attr_table, *self.input_names])
            raise OperatorError(
                f"{self.name}: Cannot find argument '{unknown[0]}'{hint} "
                f"Possible arguments: {', '.join(self.attr_table)}{where}"
            )
        parsed = Attrs()
        for attr in self.attrs:
            if attr.name in given:
                try:
                    parsed[attr.name] = attr.kind.parse(given[attr.name])
                except AttributeTextError as error:
                    raise OperatorError(
                        f"{self.name}: attribute '{attr.name}' ({attr.kind.name}): {error}{where}"
                    ) from None
            elif attr.required:
                raise OperatorError(
                    f"{self.name}: Required parameter {attr.name} of {attr.kind.name} is not presented{where}"
                )
            else:
                parsed[attr.name] = attr.default
        if self.name in BOUNDED:
            check_bounds(self.name, parsed, where)
        return parsed

    def pure(self, attrs: Attrs, train: bool, traced: tuple[str, ...] = ()) -> Callable[..., tuple[Any, ...]]:
        """The operator as a function of arrays only.

        Returns ``f(*tensors, *traced_values, [key])`` -> a flat tuple: the outputs, then the new values of the
        inputs named by ``mutates`` in that order. ``key`` is raw threefry key data, uint32[2]: the n-th random
        operator of a program gets ``base + (0, n)``, which makes eager and compiled draws equal.
        """
        if self.bodies is not None and "subgraphs" not in attrs:
            raise OperatorError(
                f"{self.name}: runs subgraphs, which it was not given; call sym.contrib.foreach, while_loop or cond"
            )
        fixed = {name: value for name, value in attrs.items() if name not in traced}
        if self.uses_train:
            fixed["train"] = train
        function, takes_key, grad, name = self.fn, self.uses_key, self.grad, self.name
        mutates, has_aux = self.mutates, self.mutates is not no_mutation

        def run(*arrays: Any) -> tuple[Any, ...]:
            keywords = dict(fixed)
            if takes_key:
                arrays, key = arrays[:-1], arrays[-1]
                keywords["key"] = jax.random.wrap_key_data(key)
            if traced:
                keywords.update(zip(traced, arrays[len(arrays) - len(traced) :]))
                arrays = arrays[: len(arrays) - len(traced)]
            if grad is zero_grad:
                arrays = tuple(lax.stop_gradient(array) for array in arrays)
            if grad is None or grad is zero_grad:
                result = function(*arrays, **keywords)
            else:
                result = _with_custom_gradient(function, grad, attrs, self, keywords, arrays)
            return flatten(result, arrays)

        def flatten(result: Any, arrays: Any) -> tuple[Any, ...]:
            if not has_aux:
                return tuple(result) if isinstance(result, (tuple, list)) else (result,)
            outputs, updates = result
            outputs = tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
            names = self.input_names
            new = []
            for index in mutates(attrs, len(arrays)):
                value = updates.get(names[index]) if index < len(names) and not self.variadic else updates.get(index)
                new.append(arrays[index] if value is None else value)
            return outputs + tuple(new)

        run.__name__ = run.__qualname__ = name
        if grad not in (None, zero_grad) and not (takes_key or traced or has_aux):
            run.pull = functools.partial(_pull_by_rule, self, attrs, fixed)  # type: ignore[attr-defined]
        return run


class _Named:
    """Inputs, outputs or head gradients by name, as a custom gradient sees them."""

    def __init__(self, names: tuple[str, ...], values: Any) -> None:
        self.__dict__.update(zip(names, values))
        self.all = tuple(values)


def _with_custom_gradient(
    function: Callable[..., Any], rule: Callable[..., Any], attrs: Attrs, op: OpDef, keywords: dict, arrays: Any
) -> Any:
    @jax.custom_vjp
    def call(*tensors: Any) -> Any:
        return function(*tensors, **keywords)

    def forward(*tensors: Any) -> Any:
        result = function(*tensors, **keywords)
        return result, (tensors, result)

    def backward(residuals: Any, head: Any) -> Any:
        tensors, result = residuals
        if op.mutates is not no_mutation:
            result, head = result[0], head[0]
        return _by_rule(op, attrs, tensors, result, head)

    call.defvjp(forward, backward)
    return call(*arrays)


def _by_rule(op: OpDef, attrs: Attrs, tensors: Any, result: Any, head: Any) -> tuple[Any, ...]:
    """The gradients that the operator's own rule gives, one for each tensor."""
    names = tuple(n for n in op.active_inputs(attrs)) if not op.variadic else ()
    output_names = op.outputs(attrs)
    outs = result if isinstance(result, (tuple, list)) else (result,)
    heads = head if isinstance(head, (tuple, list)) else (head,)
    grads = op.grad(_Named(names, tensors), _Named(output_names, outs), _Named(output_names, heads), attrs)
    if isinstance(grads, dict):
        grads = [grads.get(name) for name in names]
    return tuple(
        _zero_cotangent(tensor) if grad is None or _is_integer(tensor)
        else grad if grad.dtype == tensor.dtype else grad.astype(tensor.dtype)
        for tensor, grad in zip(tensors, grads, strict=True)
    )  # fmt: skip


def _pull_by_rule(
    op: OpDef, attrs: Attrs, fixed: dict[str, Any], tensors: Any, heads: Sequence[Any]
) -> tuple[Any, ...] | None:
    """What ``jax.vjp`` of the operator gives, without tracing it: the rule on inputs, outputs and head gradients.

    None where some output has no head gradient.
    """
    result = op.fn(*tensors, **fixed)
    outs = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    if len(outs) != len(heads):
        return None
    heads = [h if h.dtype == out.dtype else h.astype(out.dtype) for h, out in zip(heads, outs)]
    return _by_rule(op, attrs, tensors, outs, heads)


def _is_integer(tensor: Any) -> bool:
    return not jax.numpy.issubdtype(tensor.dtype, jax.numpy.inexact)


def _zero_cotangent(tensor: Any) -> Any:
    if _is_integer(tensor):
        return np.zeros(tensor.shape, jax.dtypes.float0)
    return jax.numpy.zeros(tensor.shape, tensor.dtype)


def zero_grad(*_: Any) -> None:
    """Gradient rule: the operator passes no gradient back. Recognized by identity."""


def no_mutation(attrs: Attrs, count: int) -> tuple[int, ...]:
    return ()


def same_dtypes(dtypes: dict[str, np.dtype | None], attrs: Attrs) -> dict[str, np.dtype | None]:
    """All inputs share one dtype (MXNet never promotes between arrays)."""
    known = next((d for d in dtypes.values() if d is not None), None)
    for index, (name, dtype) in enumerate(dtypes.items()):
        if dtype is not None and dtype != known:
            raise OperatorError(
                f"Incompatible attr in node at {index}-th input ('{name}'): expected {known}, got {dtype}; "
                f"MXNet does not promote between arrays: cast one with .astype('{known}')"
            )
    return {name: known for name in dtypes}


def free_dtypes(dtypes: dict[str, np.dtype | None], attrs: Attrs) -> dict[str, np.dtype | None]:
    """Inputs may differ in dtype; unknown ones take the first input's."""
    known = next((d for d in dtypes.values() if d is not None), None)
    return {name: known if dtype is None else dtype for name, dtype in dtypes.items()}


def operator(
    name: str,
    *,
    aliases: tuple[str, ...] = (),
    variadic: str | None = None,
    outputs: tuple[str, ...] | Callable[[Attrs], tuple[str, ...]] = ("output",),
    visible: int | Callable[[Attrs], int] | None = None,
    active_inputs: Callable[[Attrs], tuple[str, ...]] | None = None,
    param_shapes: ParamShapes | None = None,
    unify: UnifyRule | None = None,
    dtypes: DtypeRule | Literal["same", "free"] = "same",
    grad: Any = None,
    mutates: Callable[[Attrs, int], tuple[int, ...]] | None = None,
    variable_attrs: Mapping[str, Mapping[str, str]] | None = None,
    host: bool = False,
    heavy: bool = False,
    on_whole: OnWhole = "derive",
    bodies: Callable[[Attrs, int], tuple[Ports, ...]] | None = None,
    unlisted: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a pure JAX function as the MXNet operator ``name``; return the function unchanged.

    Args:
        aliases: every other spelling that nd, sym and JSON accept.
        variadic: for ``*data`` operators, the attribute that holds the number of inputs (``num_args``). It is
            filled in from the call and is not passed to the function unless the function names it.
        outputs: output names (they become ``<node>_<name>``), or a function of the attributes that gives them.
        visible: how many outputs the caller sees (default: all).
        active_inputs: names of the inputs that are used for given attributes (``no_bias`` drops ``bias``).
        param_shapes: ``(known shapes by input name, attrs) -> {name: shape}`` fills unknown parameters from data;
            known shapes may hold ``None`` for an unknown dimension.
        unify: ``(input shapes, output shapes, attrs) -> (input shapes, output shapes)``: information that flows
            backwards (``rules.same_shape``).
        dtypes: ``"same"`` (default: all inputs share one dtype, checked), ``"free"``, or a rule
            ``(known dtypes, attrs) -> dtypes``.
        grad: ``None`` (JAX differentiates the function), ``zero_grad``, or ``(inputs, outputs, head, attrs) ->
            {input name: gradient}``; inputs not named get zeros. Values are attributes: ``inputs.data``.
        mutates: for variadic operators, ``(attrs, number of inputs) -> indices of inputs that are rewritten``; the
            function returns ``(outputs, {index: value})``. Non-variadic ones use the ``Aux`` annotation.
        variable_attrs: attributes of automatically created variables, e.g. ``{"gamma": {"__init__": ...}}``.
        host: runs eagerly on concrete NumPy values; its output shape depends on values (``boolean_mask``).
        bodies: how inputs and outputs are connected with those of the subgraphs (``control_flow.py``); the function
            then has the keyword ``subgraphs``.
        on_whole: the gradient with respect to whole numbers, which JAX does not differentiate and MXNet does:
            ``derive``: as if they were floating point; ``zero``; ``pass``: the head's, in the input's type, also
            where the result alone is whole numbers (Cast).
        heavy: recording keeps residuals instead of recomputing the forward in the backward (RNN, scans).
        unlisted: inputs and attributes that MXNet takes by keyword only and does not show in its signature.
    """
    from gluonjax._ops import registry  # registry imports OpDef for its types

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        # Reading signatures of hundreds of functions takes a while; a program uses few of them.
        read = functools.partial(
            _read_signature, name, fn, aliases=aliases, variadic=variadic, outputs=outputs, visible=visible,
            active=active_inputs, mutates=mutates,
            rest=dict(param_shapes=param_shapes, unify=unify, grad=grad, host=host, heavy=heavy, bodies=bodies,
                      on_whole=on_whole,
                      unlisted=frozenset(unlisted),
                      dtypes={"same": same_dtypes, "free": free_dtypes}.get(dtypes, dtypes)  # type: ignore[arg-type]
                      , variable_attrs=variable_attrs or {}),
        )  # fmt: skip
        registry.announce((name, *aliases), read)
        return fn

    return register


def _read_signature(
    name: str, fn: Callable[..., Any], *, aliases: tuple[str, ...], variadic: str | None, outputs: Any, visible: Any,
    active: Any, mutates: Any, rest: dict[str, Any],
) -> OpDef:  # fmt: skip
    doc = inspect.getdoc(fn)
    if not doc:
        raise TypeError(f"operator {name}: the function needs a docstring")
    hints = _hints_of(fn)
    inputs: list[Input] = []
    attrs: list[Attr] = []
    uses_key = uses_train = False
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            if variadic is None:
                raise TypeError(f"operator {name}: *{parameter.name} needs variadic='num_args' (or its real name)")
            inputs.append(Input(parameter.name))
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY):
            optional = parameter.default is not parameter.empty
            inputs.append(Input(parameter.name, hints.get(parameter.name) is Aux, optional))
        elif parameter.name == "train" and parameter.default is parameter.empty:
            uses_train = True
        elif parameter.name == "key" and parameter.default is parameter.empty:
            uses_key = True
        elif parameter.name == "subgraphs":
            if rest["bodies"] is None:
                raise TypeError(f"operator {name}: subgraphs need bodies=")
        else:
            if parameter.name not in hints:
                raise TypeError(f"operator {name}: attribute {parameter.name} needs an annotation")
            default = REQUIRED if parameter.default is parameter.empty else parameter.default
            attrs.append(Attr(parameter.name, kind_of(hints[parameter.name]), default))
    if variadic and variadic not in {attr.name for attr in attrs}:
        attrs.insert(0, Attr(variadic, kind_of(int), None))
        fn = _without(fn, variadic)
    table = {attr.name: attr for attr in attrs}
    names = tuple(entry.name for entry in inputs)
    aux = tuple(i for i, entry in enumerate(inputs) if entry.is_aux)
    if mutates is None:
        mutates = no_mutation if not aux else lambda attrs, count: aux
    output_rule: Any = outputs if callable(outputs) else lambda attrs: outputs
    visible_rule: Any
    if visible is None:
        visible_rule = lambda attrs: len(output_rule(attrs))  # noqa: E731
    else:
        visible_rule = visible if callable(visible) else lambda attrs: visible
    if any(s is not None and not isinstance(s, str) for s in aliases):
        raise TypeError(f"operator {name}: aliases must be strings")
    return OpDef(
        name=name, fn=fn, aliases=tuple(aliases), inputs=tuple(inputs), attrs=tuple(attrs), variadic=variadic,
        uses_key=uses_key, uses_train=uses_train, outputs=output_rule, visible=visible_rule,
        active_inputs=active or (lambda attrs: names), mutates=mutates, doc=doc, attr_table=table,
        traced=tuple(a.name for a in attrs if a.kind is TRACED), **rest,
    )  # fmt: skip


# What annotations mean, by module and text: they repeat, and reading one takes 40 microseconds at every import.
_meanings: dict[tuple[str, str], Any] = {}


def _hints_of(fn: Callable[..., Any]) -> dict[str, Any]:
    """A function's annotations, read."""
    module, written = fn.__module__, fn.__annotations__
    new = {text: text for text in written.values() if (module, text) not in _meanings}
    if new:
        found = typing.get_type_hints(types.SimpleNamespace(__annotations__=new), fn.__globals__)
        _meanings.update({(module, text): meaning for text, meaning in found.items()})
    return {name: _meanings[module, text] for name, text in written.items()}


def _without(fn: Callable[..., Any], keyword: str) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop(keyword, None)
        return fn(*args, **kwargs)

    return call


def check(condition: bool, message: str) -> None:
    """Raise OperatorError with the message unless the condition holds; for use inside operators."""
    if not condition:
        raise OperatorError(message)


__all__ = [
    "REQUIRED", "Attr", "Attrs", "Aux", "Input", "MXNetError", "OpDef", "Ports", "Shape", "check", "free_dtypes",
    "no_mutation", "operator", "same_dtypes", "zero_grad",
]  # fmt: skip
