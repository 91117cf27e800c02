"""What sparse arrays share: dense values with a layout, conversion, arithmetic, assignment; their making."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gluonjax._base.devices import Context
from gluonjax._base.dtypes import to_dtype
from gluonjax._base.errors import ArgumentTypeError, MXNetError, OperatorError
from gluonjax._engine.run import is_tracer
from gluonjax._files.params import SparseBlock, read_raw
from gluonjax._ops import registry
from gluonjax.ndarray import _arithmetic
from gluonjax.ndarray._cell import Cell
from gluonjax.ndarray._invoke import new_handle, run_operator
from gluonjax.ndarray._sparse_layout import Layout, Parts, assemble, problem
from gluonjax.ndarray.ndarray import NDArray, _to_value, wrap


class SparseNotImplemented(MXNetError, NotImplementedError):
    """Something that sparse arrays do not have, in MXNet a bare NotImplementedError."""


def _unsupported(function: Any, alias: str | None, *args: Any) -> MXNetError:
    from gluonjax.base import NotSupportedForSparseNDArray

    return NotSupportedForSparseNDArray(function, alias, *args)


class BaseSparseNDArray(NDArray):
    """Base class of sparse arrays: a dense value in memory, and which of it counts as stored."""

    __slots__ = ("_known",)

    # -- what is stored -------------------------------------------------------------------------------------

    @property
    def _layout(self) -> Layout:
        """The layout of the current content; one that was given holds until the next write."""
        cell = self._cell
        known = getattr(self, "_known", None)
        if known is not None and known[0] is cell and known[1] == cell.version:
            return known[2]
        value = self._value  # which may have been put off until now
        layout = Layout(self._stype_name, value.shape, source=value)
        if not is_tracer(value):
            self._known = (cell, cell.version, layout)
        return layout

    @_layout.setter
    def _layout(self, layout: Layout | None) -> None:
        self._known = None if layout is None else (self._cell, self._cell.version, layout)

    def _parts(self) -> Parts:
        return self._layout.parts(self._value)

    def _to_block(self) -> SparseBlock:
        parts = self._parts()
        return SparseBlock(self._stype_name, self.shape, *parts)  # type: ignore[arg-type]

    @property
    def indices(self) -> NDArray:
        """The stored rows (row_sparse), or the column of every stored value (csr): a copy, int64."""
        return wrap(np.array(self._parts().indices), self.context)

    @property
    def data(self) -> NDArray:
        """The stored rows' values ``(rows stored, ...)``, or the stored values of a csr matrix: a copy."""
        return wrap(np.array(self._parts().data), self.context)

    @indices.setter
    def indices(self, value: Any) -> None:
        raise SparseNotImplemented(f"{type(self).__name__}: indices cannot be set; make a new array")

    @data.setter
    def data(self, value: Any) -> None:
        raise SparseNotImplemented(f"{type(self).__name__}: data cannot be set; make a new array")

    @property
    def _num_aux(self) -> int:
        return 2 if self._stype_name == "csr" else 1

    @property
    def _aux_types(self) -> list[type]:
        return [np.int64] * self._num_aux

    def check_format(self, full_check: bool = True) -> None:
        """Raise MXNetError where the arrays that this one was made of are not valid for its storage type.

        Args:
            full_check: accepted; the whole check is always done.
        """
        raw = self._layout.raw
        if raw is not None and (wrong := problem(self._stype_name, self.shape, raw)) is not None:
            raise MXNetError(f"Check failed: {type(self).__name__} of shape {self.shape}: {wrong}")

    # -- plumbing -------------------------------------------------------------------------------------------

    def __init__(self, handle: Any = None, writable: bool = True) -> None:
        super().__init__(handle, writable)
        self._known = getattr(handle, "_known", None)

    def _as_class(self, cls: Any) -> Any:
        handle = super()._as_class(cls)
        if issubclass(cls, BaseSparseNDArray):
            handle._known = getattr(self, "_known", None)
        return handle

    def __reduce__(self) -> Any:
        block = self._to_block()
        arrays = (block.data, block.indices, block.indptr)
        return _rebuild_sparse, (block.stype, block.shape, arrays, str(self.context))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read MXNet's own pickle: the bytes of one array in the .params format."""
        self._view = self._own = self._known = None
        if state["handle"] is None:
            self._cell = Cell(np.zeros((0, 0), np.float32), Context("cpu"))
            return
        block = read_raw(bytes(state["handle"]))
        if isinstance(block, np.ndarray):
            raise MXNetError(f"{type(self).__name__}: the pickle holds a dense array")
        made = from_block(block)
        self._cell = made._cell
        self._layout = made._layout

    def __repr__(self) -> str:
        shape = "x".join(str(n) for n in self.shape)
        return f"\n<{type(self).__name__} {shape} @{self.context}>"

    @property
    def size(self) -> int:
        raise SparseNotImplemented(
            f"{type(self).__name__}.size: elements or stored elements? Use numpy.prod(x.shape) or x.data.size"
        )

    def __bool__(self) -> bool:
        if 0 in self.shape:
            return False
        if all(n == 1 for n in self.shape):
            return bool(self.asnumpy().item())
        raise ValueError("The truth value of an NDArray with multiple elements is ambiguous.")

    def _at(self, index: Any) -> NDArray:
        raise _unsupported(self._at, "[idx]", index)

    def _slice(self, start: Any, stop: Any) -> NDArray:
        raise _unsupported(self._slice, None, start, stop)

    def reshape(self, *shape: Any, **options: Any) -> NDArray:
        """Not for sparse arrays: they cannot share memory with another shape."""
        raise _unsupported(self.reshape, None, shape)

    def as_np_ndarray(self) -> Any:
        raise ValueError(
            f"cannot convert ndarray of stype {self.stype} to numpy ndarray; use tostype('default')"
        )

    def as_nd_ndarray(self) -> NDArray:
        return self

    def _densely(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._as_class(NDArray), name)(*args, **kwargs)

    # -- conversion -----------------------------------------------------------------------------------------

    def asscipy(self) -> Any:
        """Only for csr matrices."""
        raise AttributeError(f"{type(self).__name__} has no asscipy; csr matrices do")

    def copy(self) -> NDArray:
        """A new array of the same storage type, with the same rows or elements stored."""
        return run_operator(registry.get("_copy"), (self,), {}, None, NDArray)

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """The array in another dtype, of the same storage type."""
        wanted = to_dtype(dtype)
        if not copy and wanted == self._cell.value.dtype:
            return self
        result = self._densely("astype", wanted)
        return sparse_handle(result, self._stype_name, self._layout)

    def _to_context(self, context: Context, copy: bool) -> NDArray:
        return sparse_handle(self._densely("_to_context", context, copy), self._stype_name, self._layout)

    def todense(self) -> NDArray:
        """The dense array."""
        return self.tostype("default")

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy into a dense array or one of the same storage type, or to a context as a new array."""
        if isinstance(other, NDArray) and other.stype not in ("default", self._stype_name):
            raise TypeError(f"copyto does not support destination NDArray stype {other.stype}")
        result = super().copyto(other)
        if isinstance(other, BaseSparseNDArray) and result is other:
            layout = self._layout
            other._layout = layout if layout.raw is None or other.dtype == self.dtype else None
        return result

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """As of dense arrays; the buffer has this array's storage type unless ``stype`` says another."""
        if grad_req not in ("write", "add", "null"):
            raise ValueError(f"attach_grad: grad_req must be 'write', 'add' or 'null', got {grad_req!r}")
        self._mark(empty_like(self, stype or self._stype_name), grad_req)

    # -- arithmetic -----------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> NDArray:
        return elementwise("add", self, other)

    def __sub__(self, other: Any) -> NDArray:
        return elementwise("subtract", self, other)

    def __mul__(self, other: Any) -> NDArray:
        return elementwise("multiply", self, other)

    def __iadd__(self, other: Any) -> Any:
        return self._assign(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._assign(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._assign(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._assign(self / other)

    __idiv__ = __itruediv__

    def __imod__(self, other: Any) -> Any:
        return self._assign(self % other)

    def __ipow__(self, other: Any) -> Any:
        return self._assign(self**other)

    def _assign(self, result: NDArray) -> Any:
        result.copyto(self)
        return self

    # -- assignment -----------------------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        kind = type(self).__name__
        if not isinstance(key, slice):
            raise ArgumentTypeError(f"{kind} only supports [:] for assignment")
        if key != slice(None):
            raise ValueError(f"Assignment with slice for {kind} is not implemented yet; assign to [:]")
        if isinstance(value, NDArray):
            if value._cell is not self._cell:
                value.copyto(self)
        elif isinstance(value, _arithmetic.NUMBERS):
            if self._stype_name == "csr":
                raise ValueError("Assigning numeric types to CSRNDArray is not implemented yet.")
            self[:] = wrap(np.full(self.shape, value, self.dtype), self.context)
        elif isinstance(value, np.ndarray):
            warnings.warn(
                f"Assigning non-NDArray object to {kind} is not efficient", RuntimeWarning, stacklevel=2
            )
            self[:] = wrap(np.array(value, self.dtype), self.context)
        else:
            raise TypeError(f"type {type(value)} not supported")


def _of_dense(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> NDArray:
        return self._densely(name, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``NDArray.{name}`` of the dense value; the result is dense."
    return method


for _name in ("expand_dims", "squeeze", "flatten", "transpose", "broadcast_to", "broadcast_like"):
    setattr(BaseSparseNDArray, _name, _of_dense(_name))


# Filled by _sparse_arrays.
CLASSES: dict[str, type[BaseSparseNDArray]] = {}


def sparse_handle(dense: NDArray, stype: str, layout: Layout | None = None) -> Any:
    """The sparse array on a dense array's memory (and place on the tape).

    Args:
        layout: which places are stored, for the same shape; None means the non-zeros.
    """
    handle = dense._as_class(CLASSES[stype])
    if layout is not None and (layout.raw is not None or is_tracer(dense._cell.value)):
        layout = None
    handle._layout = layout
    return handle


def from_parts(stype: str, shape: tuple[int, ...], parts: Parts, ctx: Context) -> Any:
    """A sparse array made of its explicit arrays; invalid ones are kept, for ``check_format`` to find."""
    dense, layout = assemble(stype, shape, parts)
    handle = new_handle(CLASSES[stype], _to_value(dense, None, ctx), ctx)
    handle._layout = layout
    return handle


def from_block(block: SparseBlock) -> BaseSparseNDArray:
    """The array of a sparse block of a file."""
    parts = Parts(
        np.array(block.data),
        np.asarray(block.indices, np.int64),
        None if block.indptr is None else np.asarray(block.indptr, np.int64),
    )
    return from_parts(block.stype, tuple(block.shape), parts, Context("cpu"))


def _rebuild_sparse(stype: str, shape: tuple[int, ...], arrays: Any, context: str) -> Any:
    kind, _, index = context.partition("(")
    ctx = Context(kind, int(index.rstrip(")")))
    try:
        _ = ctx.jax_device
    except MXNetError:
        ctx = Context("cpu")
    return from_parts(stype, shape, Parts(*arrays), ctx)


def empty_like(array: NDArray, stype: str) -> NDArray:
    """Zeros of a storage type, with the shape, dtype and context of an array."""
    value = _to_value(np.zeros(array.shape, array._cell.value.dtype), None, array.context)
    if stype == "default":
        return new_handle(NDArray, value, array.context)
    if stype not in CLASSES:
        raise ValueError(f"unknown storage type {stype!r}; use 'default', 'csr' or 'row_sparse'")
    return new_handle(CLASSES[stype], value, array.context)


def cast_storage(data: NDArray, stype: str, out: NDArray | None = None, name: str | None = None) -> NDArray:
    """Convert the storage type; a copy, through which gradients flow.

    Args:
        data: a dense array, or one that has the type already.
        stype: 'default', 'csr' (two dimensions) or 'row_sparse'.
        out: an array to write into.

    >>> from gluonjax import nd
    >>> nd.sparse.cast_storage(nd.ones((2, 2)), "csr").stype
    'csr'
    """
    if not isinstance(data, NDArray):
        raise ArgumentTypeError(f"cast_storage: data must be an NDArray, got {type(data).__name__}")
    if stype not in ("default", *CLASSES):
        raise OperatorError(
            f"Invalid Input: '{stype}', valid values are: {{'csr', 'default', 'row_sparse'}}, "
            "in operator cast_storage"
        )
    if stype == "csr" and data.ndim != 2:
        raise OperatorError(
            f"To convert to a CSR, the NDArray should be 2 Dimensional. Current shape is {data.shape}"
        )
    before = data.stype
    if "default" not in (before, stype) and before != stype:
        raise MXNetError(
            f"Operator not implemented: cast_storage from {before} to {stype}; go through tostype('default')"
        )
    layout = data._layout if isinstance(data, BaseSparseNDArray) else None
    dense = data if before == "default" else data._as_class(NDArray)
    result = run_operator(registry.get("cast_storage"), (dense,), {"stype": stype}, out, NDArray)
    if out is not None or stype == "default":
        return result
    return sparse_handle(result, stype, layout)


_ELEMENTWISE = {
    "add": "elemwise_add",
    "subtract": "elemwise_sub",
    "multiply": "elemwise_mul",
    "divide": "elemwise_div",
}


def elementwise(name: str, lhs: Any, rhs: Any) -> Any:
    """``add`` and its like: for equal shapes the operator that keeps storage types, else broadcasting."""
    left, right = isinstance(lhs, NDArray), isinstance(rhs, NDArray)
    if left and right and lhs.shape == rhs.shape:
        return run_operator(registry.get(_ELEMENTWISE[name]), (lhs, rhs), {}, None, NDArray)
    if left:
        return _arithmetic.binary(_arithmetic.operators(name), lhs, rhs, False, None, NDArray)
    if right:
        return _arithmetic.binary(_arithmetic.operators(name), rhs, lhs, True, None, NDArray)
    if isinstance(lhs, _arithmetic.NUMBERS) and isinstance(rhs, _arithmetic.NUMBERS):
        return _arithmetic.TABLE[name].numbers(lhs, rhs)
    raise TypeError(f"types ({type(lhs)}, {type(rhs)}) not supported")
