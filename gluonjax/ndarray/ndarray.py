"""NDArray: a handle on a cell of memory. Arithmetic, conversion, in-place writes; operators come from the registry."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import jax
import numpy as np

from gluonjax._base import dtypes as _dtypes
from gluonjax._base.aligned import copied
from gluonjax._base.devices import Context, current_context, put
from gluonjax._base.errors import MXNetError, TracedValueError
from gluonjax._base.scopes import modes
from gluonjax._engine import inflight, lazy, tape
from gluonjax._engine.lazy import Lazy
from gluonjax._engine.run import is_tracer
from gluonjax._ops import registry
from gluonjax._ops.shape_rules import infer_reshape
from gluonjax.ndarray import _arithmetic, _indexing, _views
from gluonjax.ndarray._cell import Cell
from gluonjax.ndarray._invoke import cast, new_handle, run_kernel, run_operator

DETACHED = object()

_COPY = registry.get("_copy")


# Arrays whose number was given away (``_as_parameter_``).
_by_number: weakref.WeakValueDictionary[int, NDArray] = weakref.WeakValueDictionary()


class NDArrayBase:
    """Base class of handles, as in MXNet; kept so that ``isinstance`` checks in old code work."""

    __slots__ = ()


class NDArray(NDArrayBase):
    """An n-dimensional array on a device.

    Operators return before their result is computed; reading a value (``asnumpy``, ``print``, ``wait_to_read``)
    waits for it. Slices that are contiguous, ``reshape`` and ``detach`` share memory with their source.
    ``array.jax`` is the current value as a ``jax.Array``.

    >>> from gluonjax import nd
    >>> x = nd.ones((2, 3)); x[0] = 5; (x * 2).asnumpy().tolist()
    [[10.0, 10.0, 10.0], [2.0, 2.0, 2.0]]
    """

    __slots__ = ("__weakref__", "_cell", "_own", "_read", "_view", "_view_entry")

    _np_semantics = False
    __array_priority__ = 1000.0
    _stype_name = "default"

    _cell: Cell
    _view: tuple[int, tuple[int, ...]] | None

    if TYPE_CHECKING:  # what _arithmetic.install adds

        def _binary(self, other: Any) -> Self: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _binary
        __mod__ = __rmod__ = __pow__ = __rpow__ = __gt__ = __ge__ = __lt__ = __le__ = _binary
        __iadd__ = __isub__ = __imul__ = __itruediv__ = __imod__ = _binary

        def __neg__(self) -> Self: ...
        def __abs__(self) -> Self: ...

    def __init__(self, handle: Any = None, writable: bool = True) -> None:
        if isinstance(handle, NDArray):
            self._cell, self._view = handle._cell, handle._view
        elif isinstance(handle, Cell):
            self._cell, self._view = handle, None
        elif isinstance(handle, ctypes.c_void_p):
            shown = _by_number[handle.value or 0]
            self._cell, self._view = shown._cell, shown._view
        elif handle is None:
            self._cell, self._view = Cell(np.zeros((0,), np.float32), current_context()), None
        else:
            self._cell, self._view = Cell(_to_value(handle, None, current_context()), current_context()), None
        self._own = None

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        """What ``ctypes`` takes for the array: a number under which ``NDArray`` finds it while it lives.

        MXNet hands monitors such handles; their callbacks begin with ``NDArray(ctypes.cast(array, NDArrayHandle))``.
        """
        _by_number[id(self)] = self
        return ctypes.c_void_p(id(self))

    # -- memory ---------------------------------------------------------------------------------------------

    @property
    def _value(self) -> Any:
        """The current content: a NumPy or JAX array (or a tracer). Never write into it."""
        value = self._raw
        if type(value) is Lazy:
            value = lazy.force(value)
            if self._view is None:
                self._cell.value = value
        return value

    @property
    def _raw(self) -> Any:
        """The current content, which may be a call that has been put off (``_engine/lazy.py``)."""
        cell, view = self._cell, self._view
        if view is None:
            return cell.value
        try:
            version, base, value = self._read
            if version == cell.version and base is cell.value:
                return value
        except AttributeError:
            pass
        base = cell.value
        value = _views.read(base, view[0], view[1], cell.ctx.is_host)
        self._read = (cell.version, base, value)
        return value

    def _write(self, value: Any, entry: Any = None) -> None:
        """Replace the content by an array of the same shape and dtype.

        ``entry`` is the tape entry of the new value; None leaves what the tape knows as it is.
        """
        cell, view = self._cell, self._view
        if view is None:
            cell.value = value
            cell.version += 1
            if entry is not None:
                cell.entry = entry
                self._own = self._written(entry)
            return
        base = cell.value
        base_entry = _live(cell) if (modes.recording and self._own is None) else None
        if entry is not None or base_entry is not None:
            _write_recorded(cell, base, base_entry, value, entry, view[0])
            self._own = self._written(entry)
            return
        cell.replace(_views.write(base, view[0], value, cell.ctx.is_host))

    def _written(self, entry: Any) -> Any:
        """What ``_own`` becomes after a recorded write: a variable of its own stays one behind the new entry."""
        leaf = None if self._own is None else self._leaf
        if leaf is None or entry is None:
            return None
        mine = tape.Entry(entry.node, entry.index)
        mine.leaf = leaf
        return mine

    def _accumulate(self, value: Any) -> None:
        self._write(tape.ADD.run((self._raw, value), self._cell.ctx.is_host)[0])

    @property
    def _entry(self) -> Any:
        """Where this array stands on the tape, or None."""
        own = self._own
        if own is not None:
            if type(own) is tape.Entry and own.node.dead:
                own = self._own = self._leaf or own
            return None if own is DETACHED else own
        cell, view = self._cell, self._view
        entry = cell.entry
        if type(entry) is tape.Entry and entry.node.dead:
            entry = _live(cell)
        if entry is None or view is None:
            return entry
        try:
            known, mine = self._view_entry
            if known is entry:
                return mine
        except AttributeError:
            pass
        kernel = _views.reader(view[1])
        values = (cell.value, np.array(view[0], np.int64))
        node = tape.Node(kernel, values, (entry, None), [(view[1], cell.value.dtype)], cell.ctx.is_host)
        mine = tape.Entry(node, 0)
        self._view_entry = (entry, mine)
        return mine

    def _share(self, offset: int, shape: tuple[int, ...]) -> NDArray:
        """A view of ``shape`` that starts ``offset`` elements into this array."""
        handle = type(self).__new__(type(self))
        handle._cell = self._cell
        start = offset if self._view is None else self._view[0] + offset
        handle._view = (start, shape)
        handle._own = None
        if self._own is not None:
            handle._own = DETACHED
            if self._own is not DETACHED and modes.recording:
                kernel = _views.reader(shape)
                node = tape.Node(
                    kernel, (self._value, np.array(offset, np.int64)), (self._own, None), [(shape, self._value.dtype)],
                    self._cell.ctx.is_host,
                )  # fmt: skip
                handle._own = tape.Entry(node, 0)
        return handle

    @property
    def _fresh_grad(self) -> bool:
        leaf = self._leaf
        return False if leaf is None else leaf.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, value: bool) -> None:
        leaf = self._leaf
        if leaf is not None:
            leaf.fresh = bool(value)

    @property
    def _leaf(self) -> Any:
        own = self._own
        if own is not None:
            return own if type(own) is tape.Leaf else getattr(own, "leaf", None)
        return self._cell.leaf if self._view is None else None

    # -- facts ----------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        view = self._view
        return self._cell.value.shape if view is None else view[1]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        """The scalar class of the elements, e.g. ``numpy.float32``."""
        return self._cell.value.dtype.type

    @property
    def context(self) -> Context:
        """The context that holds the array."""
        return self._cell.ctx

    ctx = context

    @property
    def stype(self) -> str:
        """The storage type; dense arrays are 'default'."""
        return self._stype_name

    @property
    def handle(self) -> Any:
        """An opaque identity of the memory."""
        return self._cell

    @property
    def writable(self) -> bool:
        """Always True; MXNet's read-only arrays came from executors."""
        return True

    @property
    def jax(self) -> jax.Array:
        """The current value as a ``jax.Array`` (on the array's device)."""
        value = self._value
        if type(value) is inflight.Failed:
            value = inflight.wait(value)
        if type(value) is np.ndarray:
            value = put(value, self._cell.ctx)
            if self._view is None:
                self._cell.value = value
        return value

    def __jax_array__(self) -> jax.Array:
        return self.jax

    @property
    def T(self) -> NDArray:
        """A copy with the axes reversed."""
        return self.transpose() if self.ndim > 1 else self

    @property
    def grad(self) -> NDArray | None:
        """The gradient buffer that ``attach_grad`` made, or None."""
        leaf = self._leaf
        return None if leaf is None else leaf.buffer

    # -- values ---------------------------------------------------------------------------------------------

    def asnumpy(self) -> np.ndarray:
        """Wait for the value and return a writable NumPy copy."""
        value = self._value
        if is_tracer(value):
            raise TracedValueError(
                "asnumpy: this array stands for a value that is not there yet, because the code is being traced "
                "(jax.jit or a hybridized block). Compute with NDArray operators, or run this part outside."
            )
        return np.array(inflight.wait(value), copy=True)

    def asscalar(self) -> Any:
        """The only element, as a NumPy scalar. Raises ValueError for any other size."""
        if self.size != 1:
            raise ValueError("The current array is not a scalar")
        return self.asnumpy().reshape(-1)[0]

    def item(self) -> Any:
        """The only element, as a Python number."""
        return self.asscalar().item()

    def wait_to_read(self) -> None:
        """Wait until the value is computed; errors of the computation appear here."""
        value = self._value
        if not is_tracer(value):
            inflight.wait(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        value = self.asnumpy()
        return value if dtype is None else value.astype(dtype, copy=False)

    def __bool__(self) -> bool:
        size = self.size
        if size == 0:
            return False
        if size == 1:
            return bool(self.asscalar())
        raise ValueError("The truth value of an NDArray with multiple elements is ambiguous.")

    def __float__(self) -> float:
        return float(self._number("float"))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __index__(self) -> int:
        if self._cell.value.dtype.kind not in "iub":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self._number("index"))

    def _number(self, what: str) -> Any:
        if self.size != 1:
            raise TypeError(f"only size-1 arrays can be converted to Python scalars ({what} of shape {self.shape})")
        return self.asscalar()

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __iter__(self) -> Iterator[NDArray]:
        for index in range(len(self)):
            yield self[index]

    def __hash__(self) -> int:
        return id(self) // 16

    def __repr__(self) -> str:
        value = self._value
        shape = "x".join(str(n) for n in self.shape)
        if is_tracer(value):
            return f"\n{value}\n<{type(self).__name__} {shape} @{self.context}>"
        text = str(self.asnumpy())
        return f"\n{text}\n<{type(self).__name__} {shape} @{self.context}>"

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).asnumpy().any())

    def __getstate__(self) -> dict[str, Any]:
        """What MXNet pickles: the bytes of the array in the .params format."""
        from gluonjax._files.params import write_raw

        return {"handle": write_raw(self.asnumpy())}

    def __reduce__(self) -> Any:
        return _empty, (type(self), str(self.context)), self.__getstate__()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read MXNet's own pickle: the bytes of one array in the .params format."""
        from gluonjax._files.params import read_raw

        handle = state["handle"]
        ctx = getattr(self, "_cell", None)
        ctx = current_context() if ctx is None else ctx.ctx
        value = np.zeros((0,), np.float32) if handle is None else np.asarray(read_raw(bytes(handle)))
        self._cell = Cell(_to_value(value, None, ctx), ctx)
        self._view = self._own = None

    def __copy__(self) -> NDArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> NDArray:
        return self.copy()

    # -- conversion -----------------------------------------------------------------------------------------

    def copy(self) -> NDArray:
        """A new array with the same content."""
        return run_operator(_COPY, (self,), {}, None, type(self))

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy into another array (same shape; its dtype and context stay), or to a context as a new array."""
        if isinstance(other, Context):
            return self._to_context(other, True)
        if not isinstance(other, NDArray):
            raise TypeError(f"copyto does not support type {type(other)}")
        if other._cell is self._cell and other._view == self._view:
            import warnings

            warnings.warn("You are attempting to copy an array to itself", RuntimeWarning, stacklevel=2)
            return False  # type: ignore[return-value]  # MXNet answers so
        if other.shape != self.shape:
            raise MXNetError(f"copyto: source has shape {self.shape}, destination has shape {other.shape}")
        value = _move(self._value, self.context, other.context)
        if value.dtype != other._cell.value.dtype:
            other._write(cast(value, other._cell.value.dtype, other.context.is_host))
        else:
            other._write(value, self._entry if modes.recording else None)
        return other

    def as_in_context(self, context: Context) -> NDArray:
        """The array on a context: itself where it is there already, else a copy."""
        return self if context is self.context else self._to_context(context, True)

    as_in_ctx = as_in_context

    def _to_context(self, context: Context, copy: bool) -> NDArray:
        value = _move(self._value, self.context, context)
        handle = new_handle(type(self), value, context)
        if modes.recording and (entry := self._entry) is not None:
            copied = run_operator(_COPY, (self,), {}, None, type(self))
            handle._cell.entry = copied._cell.entry or entry
        return handle

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """The array in another dtype; itself where ``copy`` is False and nothing changes."""
        wanted = _dtypes.to_dtype(dtype)
        if not copy and wanted == self._cell.value.dtype:
            return self
        return run_operator(registry.get("Cast"), (self,), {"dtype": wanted.name}, None, type(self))

    def tostype(self, stype: str) -> NDArray:
        """Convert the storage type; dense to dense is a copy."""
        from gluonjax.ndarray import sparse

        return sparse.cast_storage(self, stype)

    def as_nd_ndarray(self) -> NDArray:
        """This array as ``mx.nd.NDArray``, sharing memory."""
        return self if type(self) is NDArray else self._as_class(NDArray)

    def as_np_ndarray(self) -> Any:
        """This array as ``mx.np.ndarray``, sharing memory."""
        from gluonjax.numpy import ndarray as np_ndarray

        return self._as_class(np_ndarray)

    def _as_class(self, cls: Any) -> Any:
        handle = cls.__new__(cls)
        handle._cell, handle._view, handle._own = self._cell, self._view, self._own
        return handle

    def __dlpack__(self, **options: Any) -> Any:
        return self.jax.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        value: Any = self.jax
        return value.__dlpack_device__()

    def to_dlpack_for_read(self) -> Any:
        """A DLPack capsule of the current value."""
        return self.jax.__dlpack__()

    to_dlpack_for_write = to_dlpack_for_read

    # -- shape ----------------------------------------------------------------------------------------------

    def reshape(self, *shape: Any, **options: Any) -> NDArray:
        """A view with another shape; 0, -1, -2, -3 and -4 are MXNet's special codes.

        >>> from gluonjax import nd
        >>> nd.zeros((2, 3, 4)).reshape((-3, 0)).shape
        (6, 4)
        """
        unknown = set(options) - {"shape", "reverse"}
        if unknown:
            raise TypeError(f"Got unknown keywords in reshape: {', '.join(sorted(unknown))}. Accepted keywords are "
                            "'shape' and 'reverse'.")  # fmt: skip
        spec: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
        if not shape:
            spec = options.get("shape")
            if spec is None:
                raise ValueError("reshape: Shape must be provided.")
            spec = (spec,) if isinstance(spec, int) else spec
        elif spec == () and not modes.np_shape:
            raise ValueError("reshape: Shape must be provided.")
        before = self.shape
        after = infer_reshape(before, tuple(int(n) for n in spec), bool(options.get("reverse", False)))
        wanted = math.prod(after)
        if wanted != math.prod(before):
            if wanted > math.prod(before):
                raise MXNetError(
                    f"reshape: target shape size is larger than the current shape: cannot make {after} of {before}"
                )
            raise MXNetError(f"reshape: cannot reshape array of size {math.prod(before)} into shape {after}")
        return self._share(0, after)

    def expand_dims(self, axis: int, inplace: bool = False) -> NDArray:
        """A copy with an axis of length 1 at ``axis``; with ``inplace`` a view."""
        if not inplace:
            return run_operator(registry.get("expand_dims"), (self,), {"axis": axis}, None, type(self))
        shape = list(self.shape)
        shape.insert(axis if axis >= 0 else axis + len(shape) + 1, 1)
        return self._share(0, tuple(shape))

    def squeeze(self, axis: Any = None, inplace: bool = False) -> NDArray:
        """A copy without axes of length 1; with ``inplace`` a view."""
        if not inplace:
            given = {} if axis is None else {"axis": axis}
            return run_operator(registry.get("squeeze"), (self,), given, None, type(self))
        shape = self.shape
        axes = range(len(shape)) if axis is None else ((axis,) if isinstance(axis, int) else tuple(axis))
        drop = set()
        for one in axes:
            position = one + len(shape) if one < 0 else one
            if not 0 <= position < len(shape):
                raise ValueError(f"squeeze: axis {one} is out of bounds for an array with {len(shape)} dimensions")
            if shape[position] == 1:
                drop.add(position)
            elif axis is not None:
                raise ValueError(f"squeeze: cannot select axis {one} of size {shape[position]}; it must be 1")
        kept = tuple(n for i, n in enumerate(shape) if i not in drop)
        return self._share(0, kept or ((1,) if not modes.np_shape else ()))

    def flatten(self, inplace: bool = False) -> NDArray:
        """A copy of shape (first axis, the rest); with ``inplace`` a view."""
        if not inplace:
            return run_operator(registry.get("Flatten"), (self,), {}, None, type(self))
        shape = self.shape
        return self._share(0, (shape[0], math.prod(shape[1:])))

    def transpose(self, *axes: Any, **options: Any) -> NDArray:
        """A copy with permuted axes (reversed where none are given)."""
        chosen = options.pop("axes", axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes)
        if options:
            raise TypeError(f"Got unknown keywords in transpose: {', '.join(options)}. Accepted keyword is 'axes'.")
        given = {} if chosen is None or len(chosen) == 0 else {"axes": tuple(chosen)}
        return run_operator(registry.get("transpose"), (self,), given, None, type(self))

    def broadcast_to(self, shape: Any) -> NDArray:
        """A copy broadcast to ``shape`` (0 keeps a dimension)."""
        wanted = (shape,) if isinstance(shape, int) else tuple(shape)
        mine = self.shape
        if len(wanted) < len(mine):
            raise ValueError(f"cannot broadcast an array of shape {mine} to {wanted}")
        source = self
        if len(wanted) > len(mine):
            source = self.reshape((1,) * (len(wanted) - len(mine)) + mine)
        return run_operator(registry.get("broadcast_to"), (source,), {"shape": wanted}, None, type(self))

    def broadcast_like(self, other: NDArray, **options: Any) -> NDArray:
        """A copy broadcast to the shape of ``other``."""
        if not options:
            return self.broadcast_to(other.shape)
        return run_operator(registry.get("broadcast_like"), (self, other), options, None, type(self))

    def slice_assign(self, rhs: NDArray, begin: Any, end: Any, step: Any = None) -> NDArray:
        """Write ``rhs`` into the region ``begin:end:step`` of this array."""
        given = {"begin": begin, "end": end, **({"step": step} if step is not None else {})}
        return run_operator(registry.get("_slice_assign"), (self, rhs), given, self, type(self))

    def slice_assign_scalar(self, value: float, begin: Any, end: Any, step: Any = None) -> NDArray:
        """Write a number into the region ``begin:end:step`` of this array."""
        given = {"scalar": value, "begin": begin, "end": end, **({"step": step} if step is not None else {})}
        return run_operator(registry.get("_slice_assign_scalar"), (self,), given, self, type(self))

    # -- indexing -------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> NDArray:
        return _indexing.get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _indexing.put(self, key, value)

    def split_v2(self, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Any:
        """``mx.nd.split_v2(self, ...)``."""
        from gluonjax.ndarray import _creation

        return _creation.split_v2(self, indices_or_sections, axis, squeeze_axis)

    @staticmethod
    def _basic_indexing_slice_is_contiguous(slc_key: tuple[slice, ...], shape: tuple[int, ...]) -> bool:
        return _indexing.slices_are_contiguous(slc_key, shape)

    def _at(self, index: int) -> NDArray:
        return _indexing.row(self, index)

    def _slice(self, start: int | None, stop: int | None) -> NDArray:
        return _indexing.rows(self, slice(start, stop))

    # -- autograd -------------------------------------------------------------------------------------------

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make this array a variable: allocate its gradient buffer, of the same shape, filled with zeros.

        Args:
            grad_req: 'write' replaces the gradient at each backward, 'add' accumulates, 'null' computes none.
        """
        if grad_req not in ("write", "add", "null"):
            raise ValueError(f"attach_grad: grad_req must be 'write', 'add' or 'null', got {grad_req!r}")
        if stype not in (None, "default"):
            from gluonjax.ndarray import sparse

            buffer = sparse.zeros(stype, self.shape, ctx=self.context, dtype=self.dtype)
        else:
            buffer = new_handle(type(self), np.zeros(self.shape, self._cell.value.dtype), self.context)
            if not self.context.is_host:
                buffer._cell.value = _to_value(buffer._cell.value, None, self.context)
        self._mark(buffer, grad_req)

    def _mark(self, buffer: NDArray | None, grad_req: str) -> None:
        leaf = tape.Leaf(buffer, grad_req)
        if self._view is None and self._own is None:
            self._cell.leaf = self._cell.entry = leaf
        else:
            self._own = leaf

    def detach(self) -> NDArray:
        """A handle on the same memory that the tape knows nothing of."""
        handle = self._as_class(type(self))
        handle._own = DETACHED
        return handle

    def backward(self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Compute the gradients of this array with respect to the variables it was recorded from."""
        from gluonjax import autograd

        autograd.backward([self], [out_grad], retain_graph, train_mode)


def _live(cell: Cell) -> Any:
    """The cell's tape entry; one of a graph that is gone falls back to the variable, if it is one."""
    entry = cell.entry
    if type(entry) is tape.Entry and entry.node.dead:
        entry = cell.entry = cell.leaf
    return entry


def _write_recorded(cell: Cell, base: Any, base_entry: Any, value: Any, entry: Any, offset: int) -> None:
    values = (base, value, np.array(offset, np.int64))
    kernel = _views.WRITER
    results = kernel.run(values, cell.ctx.is_host)
    parents = (base_entry, entry, None)
    node = tape.Node(kernel, values, parents, [(results[0].shape, results[0].dtype)], cell.ctx.is_host)
    cell.replace(results[0])
    cell.entry = tape.Entry(node, 0)


def _move(value: Any, source: Context, target: Context) -> Any:
    """The value where ``target`` wants it; a new array even on the same device."""
    if is_tracer(value):
        return value
    if target.is_host:
        return value if source.is_host else np.asarray(value)
    if not target.is_host and source.jax_device == target.jax_device and type(value) is not np.ndarray:
        return value
    return put(value, target)


def _to_value(source: Any, dtype: Any, ctx: Context) -> Any:
    """Content for a new cell from NumPy, JAX or anything array-like; NumPy stays NumPy on the host."""
    if is_tracer(source):
        return source if dtype is None or source.dtype == dtype else source.astype(dtype)
    if isinstance(source, jax.Array):
        if dtype is not None and source.dtype != dtype:
            source = np.asarray(source).astype(dtype)
        elif not ctx.is_host:
            return _move(source, Context("cpu"), ctx)
        elif ctx.jax_device in source.devices() and len(source.devices()) == 1:
            return source
    value = numpy_cast(source, dtype)
    return value if ctx.is_host else _move(value, Context("cpu"), ctx)


def numpy_cast(source: Any, dtype: Any) -> np.ndarray:
    """A C-ordered copy of an array-like in a type, as C casts: what does not fit wraps around, without a warning."""
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            if type(source) is np.ndarray:
                return copied(source, dtype)
            return np.array(source, dtype=dtype, order="C", copy=True)
        except (OverflowError, ValueError):
            return np.asarray(source).astype(dtype, order="C")


def _empty(cls: Any, context: str) -> Any:
    """An array without content, for unpickling; on the CPU where its device is not here."""
    kind, _, index = context.partition("(")
    ctx = Context(kind, int(index.rstrip(")")))
    try:
        ctx.jax_device
    except MXNetError:
        ctx = current_context()
    return new_handle(cls, np.zeros((0,), np.float32), ctx)


def wrap(value: Any, ctx: Context | None = None, cls: Any = NDArray) -> Any:
    """A handle on an array that nobody else writes to; no copy. For internal use.

    Args:
        value: a NumPy array, a ``jax.Array`` or a tracer.
        ctx: the context it lives on; the current one if None.
    """
    ctx = ctx or current_context()
    if type(value) is np.ndarray and not ctx.is_host:
        value = _move(value, Context("cpu"), ctx)
    elif isinstance(value, np.generic):
        value = np.asarray(value)
    return new_handle(cls, value, ctx)


def run_jax(kernel: Any, inputs: Sequence[NDArray], constants: Sequence[Any] = ()) -> NDArray:
    """Run a one-output kernel on handles (recorded where needed)."""
    return run_kernel(kernel, inputs, constants, type(inputs[0]))


_arithmetic.install(NDArray)

# Tables that scripts and MXNet's own tools read from this module.
py_slice = slice
integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)
_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_STORAGE_TYPE_ID_TO_STR = {code: name for name, code in _STORAGE_TYPE_STR_TO_ID.items()}
_DTYPE_NP_TO_MX = {None: -1, **{dtype.type: code for code, dtype in _dtypes.CODE_TO_DTYPE.items()}}
_DTYPE_MX_TO_NP = {code: kind for kind, code in _DTYPE_NP_TO_MX.items()}
_GRAD_REQ_MAP = {"null": 0, "write": 1, "add": 3}
