"""One call of an operator on handles: parse and look up (cached), run, wrap, record, commit state."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonjax._base.attrs import AttributeTextError
from gluonjax._base.devices import Context, current_context
from gluonjax._base.dtypes import is_floating
from gluonjax._base.errors import ArgumentTypeError, MXNetError, OperatorError, OutOfBoundsError
from gluonjax._base.scopes import modes
from gluonjax._engine import lazy, rng
from gluonjax._engine.lazy import Lazy
from gluonjax._engine.profile import recorder
from gluonjax._engine.run import Kernel, is_tracer
from gluonjax._engine.tape import Entry, Node, follows, wanted_inputs
from gluonjax._ops.opdef import OpDef, no_mutation, same_dtypes, zero_grad
from gluonjax.ndarray._cell import Cell
from gluonjax.ndarray._checks import check_of, verification_of
from gluonjax.ndarray._returning import Returning


class _Null:
    """Stands for "argument not given" in generated functions, as ``mxnet.base._Null``."""

    def __repr__(self) -> str:
        return "_Null"

    def __bool__(self) -> bool:
        return False


NULL = _Null()


class Call:
    """An operator with given attributes, ready to run: what is constant over calls that look alike."""

    __slots__ = (
        "arity", "attrs", "check", "differentiable", "heavy", "kernel", "mutates", "names", "op", "outputs",
        "returning", "shape_spec", "traced", "verify", "visible",
    )  # fmt: skip

    def __init__(self, op: OpDef, given: dict[str, Any], traced: tuple[str, ...], arity: int, train: bool) -> None:
        self.op = op
        placeholders = {name: 0.0 for name in traced}
        attrs = op.parse({**given, **placeholders})
        if op.variadic is not None:
            declared = attrs.get(op.variadic)
            if declared is None:
                attrs[op.variadic] = arity
        self.attrs = attrs
        self.traced = traced
        self.names = op.active_inputs(attrs)
        self.outputs = len(op.outputs(attrs))
        self.visible = op.visible(attrs)
        self.mutates = () if op.mutates is no_mutation else op.mutates(attrs, arity)
        self.differentiable = op.grad is not zero_grad
        self.heavy = op.heavy
        self.check = check_of(op, attrs)
        self.verify = verification_of(op)
        self.returning = Returning()
        names = self.names

        def validate(values: Sequence[Any]) -> None:
            tensors = values[:arity]
            labels = names if len(names) == arity else tuple(f"arg{i}" for i in range(arity))
            try:
                op.dtypes(dict(zip(labels, (value.dtype for value in tensors))), attrs)
            except OperatorError as error:
                raise OperatorError(f"{op.name}: {error}") from None

        need_check = arity > 1 or op.dtypes is not same_dtypes
        shown = {name: op.attr_table[name].kind.show(value) for name, value in attrs.items() if name in given}
        self.kernel = Kernel(
            op.name, op.pure(attrs, train, traced), validate if need_check else None, host=op.host,
            on_whole=op.on_whole, source=("operator", op, shown, traced), steady=op.is_sampler,
        )


_calls: dict[Any, Call] = {}
# Attributes that differ at every call (slice bounds in a loop) must not fill the memory.
MOST_CALLS = 16384


def _no_storage(op: OpDef, inputs: Sequence[Any], given: dict[str, Any], out: Any) -> Any:
    raise MXNetError(f"{op.name}: sparse arrays need gluonjax.ndarray.sparse")


_storage: Any = _no_storage


def use_storage(run: Any) -> None:
    """Set what runs operators on sparse arrays: ``run(op, inputs, given, out)``."""
    global _storage
    _storage = run



def _freeze(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_freeze(entry) for entry in value)
    if isinstance(value, np.ndarray):
        return tuple(value.reshape(-1).tolist())
    if isinstance(value, tuple):
        return tuple(_freeze(entry) for entry in value)
    if hasattr(value, "asnumpy"):
        return tuple(value.asnumpy().reshape(-1).tolist())
    return value


def find_call(op: OpDef, given: dict[str, Any], traced: tuple[str, ...], arity: int) -> Call:
    """The prepared call for these attributes; made at the first use."""
    if not given and not traced and not op.uses_train:
        # The usual arithmetic: its key is made in half of the time.
        short = (op, arity, modes.np_shape)
        found = _calls.get(short)
        if found is None:
            found = _calls[short] = Call(op, given, traced, arity, False)
        return found
    train = modes.training if op.uses_train else False
    key = (op, arity, train, modes.np_shape, traced, tuple(given.items()))
    try:
        found = _calls.get(key)
    except TypeError:
        given = {name: _freeze(value) for name, value in given.items()}
        key = (*key[:-1], tuple(given.items()))
        found = _calls.get(key)
    if found is None:
        if len(_calls) >= MOST_CALLS:
            for old in list(_calls)[: MOST_CALLS // 4]:
                del _calls[old]
        found = _calls[key] = Call(op, given, traced, arity, train)
    return found


def take_traced(op: OpDef, given: dict[str, Any]) -> tuple[tuple[str, ...], list[float]]:
    """Move attributes whose values are data (``scalar``, ``lr``) out of ``given``."""
    names = tuple([name for name in op.traced if name in given])
    numbers = []
    for name in names:
        value = given.pop(name)
        if type(value) is not float:
            try:
                value = op.attr_table[name].kind.parse(value)
            except AttributeTextError as error:
                raise OperatorError(f"{op.name}: attribute '{name}': {error}") from None
        numbers.append(value)
    return names, numbers


def run_operator(op: OpDef, inputs: Sequence[Any], given: dict[str, Any], out: Any, cls: Any) -> Any:
    """Run an operator on handles and return a handle, or a list of them where it has several outputs.

    Args:
        inputs: handles, in the operator's order, optional ones left out.
        given: attributes as the user wrote them (consumed).
        out: a handle or a list of handles to write into, or None.
        cls: the class of new handles.
    """
    arity = len(inputs)
    if op.traced:
        names, numbers = take_traced(op, given)
    else:
        names, numbers = (), ()
    if arity:
        if inputs[0]._np_semantics:
            cls = type(inputs[0])  # operators of mx.np arrays give mx.np arrays
        ctx = inputs[0]._cell.ctx
        if given:
            given.pop("ctx", None)
        for handle in inputs:
            if type(handle) is not cls and handle._stype_name != "default":
                return _storage(op, inputs, given if not names else {**given, **dict(zip(names, numbers))}, out)
            other = handle._cell.ctx
            if other is not ctx and not (other.is_host and ctx.is_host) and other.jax_device != ctx.jax_device:
                raise MXNetError(f"{op.name}: inputs are on different contexts, {ctx} and {other}; use as_in_context")
    else:
        ctx = _context_of(given.pop("ctx", None), out)
    call = find_call(op, given, names, arity)
    on_host = ctx.is_host
    values = [handle._cell.value if handle._view is None else handle._raw for handle in inputs]
    fault = None
    if call.check is not None:
        values = [lazy.force(value) for value in values]
        try:
            call.check({**call.attrs, **dict(zip(names, numbers))}, values)
        except OutOfBoundsError:
            raise
        except MXNetError as error:
            # MXNet tests such values while the operator runs, so scripts expect the error where they wait.
            fault = error
    if numbers:
        values += numbers
    if op.uses_key:
        values.append(rng.take_keys())
    kernel = call.kernel
    parents: Any = None
    if modes.recording:
        parents = [handle._entry for handle in inputs]
        if not any(parents):
            parents = None
    pullback = plan = None
    if fault is not None:
        results = kernel.fail(fault, values)
    elif (
        parents is not None and call.heavy and call.differentiable and not recorder.on
        and not any(type(value) is Lazy for value in values)
        and (_all_floating(values, parents) if kernel.host else not lazy.eager.on)
    ):  # fmt: skip
        extra = len(values) - arity
        parents += [None] * extra
        wanted = wanted_inputs(values, parents)
        results, pullback = kernel.with_pullback(values, wanted, call.outputs)
    else:
        joining = modes.joining
        if parents is not None:
            defer = lazy.eager.on
        elif joining is not None:
            joining.count += 1
            defer = joining.on
        else:
            defer = False
        device = None if arity or on_host else ctx.jax_device
        plan = kernel.lookup(values)
        if plan is None:
            results = kernel.run_observed(values, on_host, device)
        else:
            results = kernel.run_planned(plan, values, on_host, device, defer)
    if results and type(results[0]) is not np.ndarray and on_host and np.ndarray in map(type, values):
        call.returning.upload(values, [handle._cell for handle in inputs])
    if call.verify is not None and fault is None:
        fault = call.verify(values, [lazy.force(value) for value in results])
        if fault is not None:
            results = kernel.fail(fault, values)
    if call.mutates:
        # Moving statistics are the same after a forward that does not train.
        if modes.training or not call.op.uses_train or call.op.open_inputs:
            for index, value in zip(call.mutates, results[call.outputs :]):
                commit(inputs[index], value)
        results = results[: call.outputs]
    node = None
    if parents is not None:
        parents += [None] * (len(values) - len(parents))
        outputs = None if plan is None else plan.results
        if outputs is None:
            outputs = [(r.shape, r.dtype) for r in results]
            if plan is not None and not kernel.host:
                plan.results = outputs
        if call.differentiable:
            node = Node(kernel, values, parents, outputs, on_host, pullback, plan=plan)
        else:
            node = Node(None, (), parents, outputs, on_host, zero=True)
    if modes.watch is not None:
        modes.watch.forward(op.name, values, results, node)
    if out is not None:
        if node is None and type(out) is cls and out._view is None and len(results) == 1:
            old, value = out._cell.value, results[0]
            if value.shape == old.shape and value.dtype == old.dtype:
                out._cell.replace(value)
                return out
        return _write_out(op, out, results, node)
    if len(results) == 1:
        return new_handle(cls, results[0], ctx, node, 0)
    handles = [new_handle(cls, value, ctx, node, index) for index, value in enumerate(results[: call.visible])]
    return handles[0] if call.visible == 1 else handles


def _all_floating(values: Sequence[Any], parents: Sequence[Any]) -> bool:
    """Whether JAX can differentiate with respect to all recorded inputs."""
    return all(is_floating(value.dtype) for value, parent in zip(values, parents) if parent is not None)


def commit(handle: Any, value: Any) -> None:
    """Write an operator's new state. What is only being traced must not get into an array that outlives the trace."""
    if is_tracer(value) and not modes.lent and modes.tracer is None and not is_tracer(handle._raw):
        warnings.warn(
            "a state (moving statistics, say) is rewritten inside of a function that JAX traces, and keeps its old "
            "value; gluonjax.interop.functional(block) returns new states",
            stacklevel=2,
        )
        return
    handle._write(value)


def new_handle(cls: Any, value: Any, ctx: Context, node: Node | None = None, index: int = 0) -> Any:
    """A new handle on new memory."""
    handle = cls.__new__(cls)
    cell = Cell(value, ctx)
    if node is not None and follows(node, value.dtype):
        cell.entry = Entry(node, index)
    handle._cell = cell
    handle._view = None
    handle._own = None
    return handle


def run_kernel(kernel: Kernel, inputs: Sequence[Any], constants: Sequence[Any], cls: Any) -> Any:
    """Run a one-output kernel on handles followed by constant arrays, recording it where needed."""
    ctx = inputs[0]._cell.ctx
    values = [*(handle._raw for handle in inputs), *constants]
    node = None
    results = kernel.run(values, ctx.is_host)
    if modes.recording:
        parents = [handle._entry for handle in inputs]
        if any(parents):
            parents += [None] * len(constants)
            node = Node(kernel, values, parents, [(r.shape, r.dtype) for r in results], ctx.is_host)
    return new_handle(cls, results[0], ctx, node)


def _context_of(given: Any, out: Any) -> Context:
    if given is None or given is NULL or given == "":
        if out is not None:
            return (out[0] if isinstance(out, (list, tuple)) else out)._cell.ctx
        return current_context()
    if isinstance(given, Context):
        return given
    text = str(given)
    kind, _, rest = text.partition("(")
    try:
        return Context(kind, int(rest.rstrip(")") or 0))
    except ValueError:
        raise MXNetError(f"Invalid context string {text!r}; write e.g. 'cpu(0)'") from None


def _write_out(op: OpDef, out: Any, results: Sequence[Any], node: Node | None) -> Any:
    targets = list(out) if isinstance(out, (list, tuple)) else [out]
    if len(targets) > len(results):
        raise MXNetError(f"{op.name}: out= has {len(targets)} arrays for {len(results)} outputs")
    for index, (target, value) in enumerate(zip(targets, results)):
        if not hasattr(target, "_cell"):
            raise ArgumentTypeError(f"{op.name}: out= wants an NDArray or a list of them, got {type(target).__name__}")
        shape, dtype = target.shape, target._cell.value.dtype
        if value.shape != shape:
            if target.size == 0 or value.size != target.size:
                raise OperatorError(
                    f"{op.name}: Incompatible attr in node  at {index}-th output: expected {list(shape)}, "
                    f"got {list(value.shape)}"
                )
            value = value.reshape(shape)
        if value.dtype != dtype:
            value = cast(value, dtype, target._cell.ctx.is_host)
            target._write(value)
            continue
        target._write(value, None if node is None else Entry(node, index))
    return out


_casts: dict[Any, Kernel] = {}


def cast(value: Any, dtype: Any, on_host: bool) -> Any:
    """The array in another dtype."""
    kernel = _casts.get(dtype)
    if kernel is None:

        def convert(array: Any) -> tuple[Any]:
            return (array.astype(dtype),)

        kernel = _casts[dtype] = Kernel("cast", convert)
    return kernel.run((value,), on_host)[0]
