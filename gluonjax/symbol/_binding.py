"""Binding symbols to arrays: ``bind``, ``simple_bind``, ``eval``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gluonjax._base.devices import Context, current_context
from gluonjax._base.dtypes import to_dtype
from gluonjax._base.errors import ArgumentTypeError, ArgumentValueError, MXNetError
from gluonjax._base.scopes import modes
from gluonjax._engine import infer
from gluonjax._engine.graph import Graph, Node
from gluonjax.executor import Bound, Executor
from gluonjax.ndarray import _sparse_graph
from gluonjax.ndarray._creation import zeros
from gluonjax.ndarray.ndarray import NDArray
from gluonjax.symbol._compose import SymbolBase

REQUESTS = ("null", "write", "add")
# What MXNet shows where a request is none of those it knows.
_REQUEST_CODES = {"null": 0, "write": 1, "add": 3}


def arrays_by_name(what: str, given: Any, names: Sequence[str], allow_missing: bool) -> list[Any]:
    """The arrays in the order of the names; given as a list in that order or as a dict."""
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ArgumentValueError(
                f"Length of {what} does not match the number of arguments: got {len(given)}, wanted "
                f"{len(names)} "
                f"({', '.join(names)})"
            )
        for array in given:
            if not (isinstance(array, NDArray) or (allow_missing and array is None)):
                raise ArgumentTypeError(
                    f"Only accept list of NDArrays or dict of str to NDArray, got {type(array)} in {what}"
                )
        return list(given)
    if isinstance(given, Mapping):
        found = []
        for name in names:
            array = given.get(name)
            if array is None and not allow_missing:
                raise ArgumentValueError(f"key `{name}` is missing in `{what}`")
            if array is not None and not isinstance(array, NDArray):
                raise ArgumentTypeError(
                    f"Only accept list of NDArrays or dict of str to NDArray, got {type(array)} in {what}"
                )
            found.append(array)
        return found
    raise ArgumentTypeError(f"Only accept list of NDArrays or dict of str to NDArray, got {type(given)} as {what}")


def requests_by_name(given: Any, names: Sequence[str]) -> list[str]:
    """What to do with each argument's gradient: 'write', 'add' or 'null'."""
    if isinstance(given, str):
        wanted = [given] * len(names)
    elif isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise MXNetError(
                "The length of grad_req list does not match the number of input arguments, "
                f"expected {len(names)}, provided {len(given)}"
            )
        wanted = list(given)
    elif isinstance(given, Mapping):
        wanted = [given.get(name, "null") for name in names]
    else:
        raise ArgumentTypeError(f"grad_req wants a str, a list or a dict, got {type(given)}")
    for request in wanted:
        if request not in REQUESTS:
            raise ArgumentValueError(f"grad_req must be in {_REQUEST_CODES}, got {request!r}")
    return wanted


class Binding(SymbolBase):
    """Making executors."""

    __slots__ = ()

    def bind(
        self, ctx: Context, args: Any, args_grad: Any = None, grad_req: Any = "write", aux_states: Any = None,
        group2ctx: Any = None, shared_exec: Any = None,
    ) -> Executor:  # fmt: skip
        """An executor that computes this symbol from the given arrays.

        Args:
            ctx: where to compute.
            args: arrays of all arguments, a list in the order of ``list_arguments()`` or a dict.
            args_grad: arrays that receive gradients, a list or a dict; none are computed without it.
            grad_req: 'write', 'add' or 'null', one for all, a list, or a dict by name.
            aux_states: arrays of all auxiliary states.
            group2ctx: accepted; arrays may live anywhere, the executor computes on one context.
            shared_exec: accepted; memory is shared by XLA.
        """
        if not isinstance(ctx, Context):
            raise ArgumentTypeError(f"Context type error: bind wants a context such as mx.cpu(), got {ctx!r}")
        graph = self._graph
        names = [node.name for node in graph.arguments]
        arguments = arrays_by_name("args", args, names, False)
        gradients: list[Any] = [None] * len(names)
        if args_grad is not None:
            gradients = arrays_by_name("args_grad", args_grad, names, True)
        states = arrays_by_name(
            "aux_states", aux_states or [], [node.name for node in graph.auxiliary], False
        )
        requests = requests_by_name(grad_req, names)
        known = [*zip(graph.arguments, arguments), *zip(graph.auxiliary, states)]
        shapes = _shapes_of(graph, {node.name: array.shape for node, array in known})
        dtypes = {node.name: to_dtype(array.dtype) for node, array in known}
        infer.infer_dtypes(graph, dtypes, shapes=shapes)
        bound = Bound(graph, arguments, gradients, states, shapes)
        return Executor(bound, type(self)(graph.copy()), ctx, requests, group2ctx)

    def simple_bind(
        self,
        ctx: Context,
        grad_req: Any = "write",
        type_dict: Any = None,
        stype_dict: Any = None,
        group2ctx: Any = None,
        shared_arg_names: Any = None,
        shared_exec: Any = None,
        shared_buffer: Any = None,
        **kwargs: Any,
    ) -> Executor:
        """An executor with new zero-filled arrays; all shapes follow from those given by name.

        Args:
            ctx: where to compute.
            grad_req: 'write', 'add' or 'null', one for all, a list, or a dict by name.
            type_dict: dtypes by argument name; float32 where nothing says otherwise.
            stype_dict: storage types by argument name, before those that variables were made with.
            group2ctx: contexts of the arrays of variables by their ``ctx_group``; ``ctx`` computes.
            shared_arg_names: arguments that are taken from ``shared_exec`` where their shapes agree.
            shared_exec: the executor that shares its arrays.
            shared_buffer: arrays by name to reuse; new ones are added.
            kwargs: shapes by argument name.
        """
        if not isinstance(ctx, Context):
            raise ArgumentTypeError(f"Context type error: simple_bind wants a context such as mx.cpu(), got {ctx!r}")
        given = {name: tuple(shape) for name, shape in kwargs.items() if isinstance(shape, (tuple, list))}
        try:
            graph = self._graph
            arguments, auxiliary = graph.arguments, graph.auxiliary
            requests = requests_by_name(grad_req, [node.name for node in arguments])
            shapes = _shapes_of(graph, given)
            unknown = [
                node.name for node in (*arguments, *auxiliary) if not infer.is_complete(shapes.get((node, 0)))
            ]
            if unknown:
                raise MXNetError(
                    "InferShape pass cannot decide shapes for the following arguments (-1 means unknown "
                    "dimensions). "
                    "Please consider providing them as inputs:\n"
                    + ", ".join(f"{name}: {shapes_text(shapes, graph, name)}" for name in unknown)
                )
            known = {name: to_dtype(dtype) for name, dtype in (type_dict or {}).items() if dtype is not None}
            names = {node.name for node in graph.variables}
            dtypes = infer.infer_dtypes(graph, {k: v for k, v in known.items() if k in names}, True, shapes)
        except (MXNetError, ValueError) as error:
            listed = "".join(f"{name}: {shape}\n" for name, shape in given.items())
            kind = type(error) if isinstance(error, MXNetError) else MXNetError
            raise kind(f"simple_bind error. Arguments:\n{listed}{error}") from None
        shared = _Shared(shared_arg_names, shared_exec, shared_buffer)
        stypes = {node.name: _sparse_graph.declared(node) for node in graph.variables} | dict(stype_dict or {})
        slopes: dict[str, str] = {}
        if _sparse_graph.may_be_sparse(graph, stypes) or any("sparse_grad" in node.attrs for node in graph.order):
            slopes = _sparse_graph.gradient_stypes(graph, _sparse_graph.value_stypes(graph, stypes, shapes))
        tables = {"arg": stypes, "aux": stypes, "grad": slopes}

        def make(node: Node, role: str) -> NDArray:
            shape, dtype = shapes.get((node, 0)), dtypes.get((node, 0))
            where = (group2ctx or {}).get(node.attrs.get("__ctx_group__"), ctx)
            return shared.find(node.name, role, shape, dtype, where) or shared.keep(
                node.name, role, zeros(shape, ctx=where, dtype=dtype, stype=tables[role].get(node.name))
            )

        arrays = [make(node, "arg") for node in arguments]
        gradients = [None if req == "null" else make(node, "grad") for node, req in zip(arguments, requests)]
        states = [make(node, "aux") for node in auxiliary]
        bound = Bound(graph, arrays, gradients, states, shapes)
        return Executor(bound, type(self)(graph.copy()), ctx, requests, group2ctx)

    def eval(self, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
        """Compute this symbol from arrays given by name.

        >>> from gluonjax import nd, sym
        >>> (sym.var("a") + 1).eval(a=nd.ones((2,)))[0].asnumpy()
        array([2., 2.], dtype=float32)
        """
        states = {node.name: kwargs[node.name] for node in self._graph.auxiliary if node.name in kwargs}
        return self.bind(ctx or current_context(), kwargs, aux_states=states or None).forward()

    def _bind(self, *args: Any, **kwargs: Any) -> Executor:
        """Another name of ``bind``."""
        return self.bind(*args, **kwargs)


def _shapes_of(graph: Graph, given: Mapping[str, Sequence[int]]) -> infer.ShapeTable:
    names = {node.name for node in graph.variables}
    known = {name: infer.from_user(shape, modes.np_shape) for name, shape in given.items() if name in names}
    return infer.infer_shapes(graph, known, modes.np_shape)


def shapes_text(shapes: infer.ShapeTable, graph: Graph, name: str) -> str:
    """A partly known shape as MXNet prints it."""
    shape = next(shapes.get((node, 0)) for node in graph.variables if node.name == name)
    return "None" if shape is None else str([-1 if dim is None else dim for dim in shape]).replace(" ", "")


class _Shared:
    """Arrays that an executor takes over from others."""

    def __init__(self, names: Any, executor: Executor | None, buffer: dict[str, NDArray] | None) -> None:
        if buffer is not None and not isinstance(buffer, dict):
            raise ArgumentValueError("shared_buffer in simple_bind must be dict or None")
        if names is not None and not isinstance(names, (list, tuple)):
            raise ArgumentValueError("shared_arg_names in simple_bind must be a list or None")
        self.names = frozenset(names or ())
        self.executor = executor
        self.buffer = buffer

    def find(self, name: str, role: str, shape: Any, dtype: Any, ctx: Context) -> NDArray | None:
        """An array of that shape and dtype that may be used, or None."""
        found: NDArray | None = None
        if self.executor is not None and (role == "aux" or name in self.names):
            table = {
                "arg": self.executor.arg_dict,
                "grad": self.executor.grad_dict,
                "aux": self.executor.aux_dict,
            }
            found = table[role].get(name)
            if found is not None and found.shape == shape and to_dtype(found.dtype) == dtype:
                return found
        if self.buffer is not None and role == "arg" and name not in self.names:
            found = self.buffer.get(name)
            size = math.prod(shape)
            if (
                found is not None
                and to_dtype(found.dtype) == dtype
                and found.context == ctx
                and found.size >= size
            ):
                return found.reshape((-1,))[:size].reshape(shape)
        return None

    def keep(self, name: str, role: str, array: NDArray) -> NDArray:
        """Offer a new array to later executors."""
        if self.buffer is not None and role == "arg" and name not in self.names:
            self.buffer[name] = array
        return array
