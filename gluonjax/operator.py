"""``mx.operator``: operators written in Python, and what there is to know about the built-in ones."""

from __future__ import annotations

import collections
import ctypes
import functools
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from gluonjax._base.dtypes import DTYPE_TO_CODE, to_dtype
from gluonjax._base.errors import MXNetError, OperatorError, did_you_mean
from gluonjax._base.scopes import modes
from gluonjax._engine.profile import recorder
from gluonjax._legacy_operator import NDArrayOp, NumpyOp, PythonOp
from gluonjax._ops import custom as _custom
from gluonjax._ops import registry
from gluonjax.autograd import _ModeScope
from gluonjax.base import NDArrayHandle
from gluonjax.context import Context, cpu, current_context
from gluonjax.ndarray.ndarray import NDArray, wrap
from gluonjax.ndarray.sparse import sparse_handle
from gluonjax.util import is_np_array as is_np_array

# ctypes and NDArrayHandle: monitors in old scripts have them from ``from mxnet.operator import *``.
__all__ = [
    "CustomOp", "CustomOpProp", "NDArray", "NDArrayHandle", "NDArrayOp", "NumpyOp", "OperatorArguments", "PythonOp",
    "ctypes", "get_all_registered_operators", "get_operator_arguments", "register",
]  # fmt: skip

OperatorArguments = collections.namedtuple("OperatorArguments", ["narg", "names", "types"])


class CustomOp:
    """The computation of an operator; subclasses override ``forward`` and ``backward``."""

    def forward(self, is_train: bool, req: list[str], in_data: list, out_data: list, aux: list) -> None:
        """Compute the outputs.

        Args:
            is_train: training mode.
            req: for every output how to write it: 'null', 'write', 'inplace' or 'add'; see ``assign``.
            in_data: the inputs.
            out_data: the arrays to write into.
            aux: auxiliary states; writing into them keeps the value.
        """

    def backward(
        self, req: list[str], out_grad: list, in_data: list, out_data: list, in_grad: list, aux: list
    ) -> None:
        """Compute the gradients of the inputs.

        Args:
            req: for every input how to write its gradient.
            out_grad: gradients of the outputs.
            in_grad: the arrays to write into.
        """

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Write ``src`` into ``dst`` as the request says; 'null' writes nothing."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src


class CustomOpProp:
    """What an operator looks like from outside; subclasses override what differs from one input, one output.

    Args:
        need_top_grad: False for losses, whose gradient does not depend on a head gradient.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: list) -> tuple:
        """Shapes of inputs, outputs and auxiliary states from the known shapes of the inputs."""
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type: list) -> tuple:
        """Types of inputs, outputs and auxiliary states from the known types of the inputs."""
        first = in_type[0]
        return (
            in_type, [first] * len(self.list_outputs()), [first] * len(self.list_auxiliary_states()),
        )  # fmt: skip

    def infer_storage_type(self, in_stype: list[str]) -> tuple:
        """Storage types of inputs, outputs and auxiliary states: all dense unless overridden."""
        for stype in in_stype:
            if stype != "default":
                raise OperatorError(
                    "Default infer_storage_type implementation doesnt allow non default stypes: "
                    "found non default "
                    f"stype {stype!r}. Please implement infer_storage_type and "
                    f"infer_storage_type_backward interface"
                )
        return (
            ["default"] * len(self.list_arguments()), ["default"] * len(self.list_outputs()),
            ["default"] * len(self.list_auxiliary_states()),
        )  # fmt: skip

    def infer_storage_type_backward(
        self, ograd_stype: list, in_stype: list, out_stype: list, igrad_stype: list, aux_stype: list
    ) -> tuple:
        """Storage types in the backward: all dense unless overridden."""
        return tuple(
            ["default"] * len(stypes) for stypes in (ograd_stype, in_stype, out_stype, igrad_stype, aux_stype)
        )

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the states that the operator keeps between calls."""
        return []

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """Which of the given arrays the backward looks at."""
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Context, in_shapes: list, in_dtypes: list) -> CustomOp:
        """A new ``CustomOp`` for inputs of these shapes and type codes."""
        return CustomOp()


_classes: dict[str, type[CustomOpProp]] = {}


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """Register a ``CustomOpProp`` class under the name that ``op_type`` gives.

    >>> import gluonjax as mx
    >>> class Double(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0] * 2)
    >>> @mx.operator.register("double")
    ... class DoubleProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, shapes, dtypes):
    ...         return Double()
    >>> mx.nd.Custom(mx.nd.array([1.0, 2.0]), op_type="double").asnumpy().tolist()
    [2.0, 4.0]
    """

    def do_register(prop_cls: type[CustomOpProp]) -> type[CustomOpProp]:
        if not (isinstance(prop_cls, type) and issubclass(prop_cls, CustomOpProp)):
            raise TypeError(f"register({reg_name!r}) wants a subclass of CustomOpProp, got {prop_cls!r}")
        _classes[reg_name] = prop_cls
        _make_program.cache_clear()
        return prop_cls

    return do_register


def get_all_registered_operators() -> list[str]:
    """Every name under which a built-in operator can be called."""
    return list(registry.names())


def _default_text(shown: str, choice: bool) -> str:
    """How MXNet's tables write a default: numbers as they are, booleans as 0 and 1, tuples in brackets."""
    if shown in ("True", "False"):
        return str(int(shown == "True"))
    if shown.startswith("(") and shown.endswith(")"):
        return f"[{shown[1:-1].rstrip(',').replace(' ', '')}]"
    return shown if (shown == "None" and not choice) or shown.lstrip("-")[:1].isdigit() else repr(shown)


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Names and types of an operator's inputs and attributes, in order."""
    op = registry.get(op_name)
    if op.variadic is not None or op.open_inputs:
        names, types = ["data"], ["NDArray-or-Symbol[]"]
    else:
        names, types = list(op.input_names), ["NDArray-or-Symbol"] * len(op.inputs)
    for attr in op.attrs:
        names.append(attr.name)
        kind = attr.kind.name.replace("float (traced)", "float")
        choice = kind.startswith("{")
        if choice and kind.endswith(" or None"):
            kind = f"{{None, {kind[1:].removesuffix(' or None')}"
        default = _default_text(attr.kind.show(attr.default), choice) if not attr.required else ""
        gap = "" if choice else " "
        types.append(f"{kind}, required" if attr.required else f"{kind},{gap}optional, default={default}")
    return OperatorArguments(len(names), names, types)


class _Session:
    """One operator object with what it was made for: the forward and the backward of a call share it."""

    def __init__(self, context: Context | None) -> None:
        self.context = context or cpu()
        self.operator: CustomOp | None = None


class PythonProgram:
    """A registered operator with its arguments, as the engine and ``nd.Custom`` run it."""

    def __init__(self, op_type: str, prop: CustomOpProp) -> None:
        self.op_type = op_type
        self.prop = prop
        self.arguments = tuple(self._ask("list_arguments") or ())
        self.outputs = tuple(self._ask("list_outputs") or ())
        self.states = tuple(self._ask("list_auxiliary_states") or ())
        numbers = iter(range(2 * len(self.outputs) + len(self.arguments)))
        heads, data, outs = (
            [next(numbers) for _ in names] for names in (self.outputs, self.arguments, self.outputs)
        )
        used = set(self._ask("declare_backward_dependency", heads, data, outs))
        self.needs_heads = any(number in used for number in heads)

    def _ask(self, method: str, *arguments: Any) -> Any:
        return _explained(f"{self.op_type}.{method}", getattr(self.prop, method), *arguments)

    # -- inference -------------------------------------------------------------------------------------------

    def shapes(self, known: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Ask ``infer_shape``; the user sees [] for an unknown shape, 0 (np: -1) for a dimension."""
        hole = -1 if modes.np_shape else 0
        asked = [[] if shape is None else [hole if dim is None else dim for dim in shape] for shape in known]
        found = self._ask("infer_shape", asked)
        return tuple(  # type: ignore[return-value]
            [self._own_shape(shape, whole) for shape in shapes]
            for shapes, whole in zip(self._three(found, "infer_shape"), (False, True, False))
        )

    def _own_shape(self, shape: Any, is_output: bool) -> Any:
        if shape is None:
            return None
        dims = (
            tuple(int(dim) for dim in np.atleast_1d(shape)) if np.ndim(shape) == 0 else tuple(map(int, shape))
        )
        if not dims and not is_output and not modes.np_shape:
            return None
        return tuple(
            None if dim < 0 or (dim == 0 and not modes.np_shape and not is_output) else dim for dim in dims
        )

    def dtypes(self, known: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Ask ``infer_type``; the user sees NumPy scalar types, None where unknown."""
        found = self._ask("infer_type", [None if dtype is None else np.dtype(dtype).type for dtype in known])
        return tuple(  # type: ignore[return-value]
            [None if dtype is None else to_dtype(dtype) for dtype in dtypes]
            for dtypes in self._three(found, "infer_type")
        )

    def _three(self, found: Any, method: str) -> list[list[Any]]:
        """Answers for arguments, outputs and states; the last may be left out where there are none."""
        parts = [list(part) for part in found]
        if len(parts) == 2:
            parts.append([])
        if len(parts) != 3:
            raise OperatorError(
                f"{self.op_type}.{method} must return (inputs, outputs, auxiliary states), got "
                f"{len(parts)} lists"
            )
        for part, names, what in zip(
            parts, (self.arguments, self.outputs, self.states), ("inputs", "outputs", "auxiliary states")
        ):
            if len(part) != len(names):
                raise OperatorError(
                    f"{self.op_type}.{method}: expecting {len(names)} entries for {what} "
                    f"({', '.join(names)}), got "
                    f"{len(part)}"
                )
        return parts

    # -- eager -----------------------------------------------------------------------------------------------

    def default_context(self) -> Context:
        return current_context()

    def start(self, context: Context | None = None) -> _Session:
        return _Session(context)

    def new_outputs(
        self, arguments: Sequence[NDArray], structs: Sequence[Any], context: Context, cls: type[NDArray]
    ) -> list[NDArray]:
        """Arrays for the outputs, of the storage types that the operator asks for."""
        outputs = [wrap(np.zeros(s.shape, s.dtype), context)._as_class(cls) for s in structs]
        stypes = [array.stype for array in arguments]
        if all(stype == "default" for stype in stypes):
            return outputs
        wanted = self._ask("infer_storage_type", stypes)[1]
        return [self.as_stored(output, stype) for output, stype in zip(outputs, wanted)]

    def as_stored(self, array: NDArray, stype: str) -> NDArray:
        """The array under a handle of that storage type."""
        return array if stype == "default" else sparse_handle(array, stype)

    def gradient_stypes(self, stypes: list[str]) -> list[str]:
        """Storage types of the gradients of inputs that have these."""
        if all(stype == "default" for stype in stypes):
            return stypes
        outputs = self._ask("infer_storage_type", stypes)[1]
        undecided = ["undefined"] * len(stypes)
        dense = ["default"] * len(self.states)
        return list(self._ask("infer_storage_type_backward", outputs, stypes, outputs, undecided, dense)[3])

    def _operator(self, session: _Session, inputs: Sequence[NDArray], states: Sequence[NDArray]) -> CustomOp:
        if session.operator is None:
            every = [*inputs, *states]
            codes = [DTYPE_TO_CODE[to_dtype(array.dtype)] for array in every]
            session.operator = self._ask(
                "create_operator", session.context, [list(array.shape) for array in every], codes
            )
        assert session.operator is not None
        return session.operator

    def call_forward(
        self, session: _Session, train: bool, req: list[str], in_data: list, out_data: list, aux: list
    ) -> None:
        """Run the user's forward on arrays; nothing of it is recorded."""
        operator = self._operator(session, in_data, aux)
        with _ModeScope(False, train), _timed(self.op_type):
            _explained("CustomOp.forward", operator.forward, int(train), req, in_data, out_data, aux)

    def call_backward(
        self, session: _Session, req: list[str], out_grad: list, in_data: list, out_data: list, in_grad: list,
        aux: list, record: bool = False,
    ) -> None:  # fmt: skip
        """Run the user's backward on arrays."""
        operator = self._operator(session, in_data, aux)
        with _ModeScope(record, None), _timed(f"_backward_{self.op_type}"):
            _explained("CustomOp.backward", operator.backward, req, out_grad, in_data, out_data, in_grad, aux)

    # -- from compiled code: NumPy arrays in and out ---------------------------------------------------------

    def forward(self, session: _Session, inputs: Sequence[np.ndarray], train: bool) -> tuple[np.ndarray, ...]:
        count = len(self.arguments)
        structs = _custom.result_structs(self, [a.shape for a in inputs], [a.dtype for a in inputs])
        arrays = _handles(inputs)
        outputs = _handles([np.zeros(s.shape, s.dtype) for s in structs[: len(self.outputs)]])
        self.call_forward(session, train, ["write"] * len(outputs), arrays[:count], outputs, arrays[count:])
        return tuple(array.asnumpy() for array in [*outputs, *arrays[count:]])

    def backward(
        self, session: _Session, heads: Sequence[np.ndarray], inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
    ) -> tuple[np.ndarray, ...]:  # fmt: skip
        count = len(self.arguments)
        arrays = _handles(inputs)
        grads = _handles([np.zeros(a.shape, a.dtype) for a in inputs[:count]])
        self.call_backward(
            session,
            ["write"] * count,
            _handles(heads),
            arrays[:count],
            _handles(outputs),
            grads,
            arrays[count:],
        )
        return tuple(array.asnumpy() for array in grads)


def _timed(name: str) -> Any:
    """The scope in which the profiler attributes time to a user's operator."""
    return recorder.custom(name) if recorder.on else nullcontext()


def _handles(values: Sequence[np.ndarray]) -> list[NDArray]:
    return [wrap(np.array(value), cpu()) for value in values]


def _explained(where: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call user code; what it raises becomes an MXNetError that shows its traceback."""
    try:
        return function(*arguments)
    except Exception as error:
        text = "".join(traceback.format_exception(error)).strip()
        raise MXNetError(f"Error in {where}: {text}") from error


@functools.lru_cache(maxsize=1024)
def _make_program(texts: tuple[tuple[str, str], ...]) -> PythonProgram:
    arguments = dict(texts)
    op_type = arguments.pop("op_type")
    prop_cls = _classes.get(op_type)
    if prop_cls is None:
        raise OperatorError(
            f"Cannot find custom operator {op_type}{did_you_mean(op_type, _classes)}; register its "
            f"CustomOpProp class "
            f"with @mx.operator.register({op_type!r})"
        )
    return PythonProgram(op_type, _explained(f"{op_type}.__init__", functools.partial(prop_cls, **arguments)))  # type: ignore[arg-type]


def _find_program(attrs: Mapping[str, str]) -> PythonProgram:
    return _make_program(tuple(sorted(attrs.items())))


_custom.find_program = _find_program
