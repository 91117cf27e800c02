"""``mx.np.ndarray``: the array with NumPy semantics. It shares memory and the tape with ``mx.nd.NDArray``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as _numpy

from gluonjax._base.devices import Context
from gluonjax._base.dtypes import to_dtype
from gluonjax._engine.run import is_tracer
from gluonjax._ops.numpy import elementwise
from gluonjax.ndarray.ndarray import NDArray
from gluonjax.numpy import _indexing
from gluonjax.numpy._call import UnsupportedArgument, invoke, kernel_of

AMBIGUOUS = "The truth value of an ndarray with multiple elements is ambiguous."


class ndarray(NDArray):
    """An n-dimensional array with NumPy semantics: 0-d and empty arrays, boolean masks, dtype promotion.

    >>> from gluonjax import np
    >>> x = np.array([[1, 2], [3, 4]])
    >>> x[x > 2]
    array([3., 4.])
    """

    __slots__ = ()

    _np_semantics = True

    # -- NumPy's protocols ----------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:  # type: ignore[override]
        """``numpy.add(x, y)`` on these arrays is ``mx.np.add(x, y)``."""
        from gluonjax.numpy import _protocols

        return _protocols.call_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """``numpy.mean(x)`` on these arrays is ``mx.np.mean(x)``."""
        from gluonjax.numpy import _protocols

        return _protocols.call_function(func, args, kwargs)

    # -- values ---------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The type of the elements, a ``numpy.dtype``."""
        return self._cell.value.dtype

    def item(self, *args: Any) -> Any:
        """One element as a Python number: the only one, or the one at a flat or full index."""
        return self.asnumpy().item(*args)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.asnumpy().tolist()

    def __bool__(self) -> bool:
        if self.size == 0:
            warnings.warn(
                "The truth value of an empty array is ambiguous. Returning False, but in future this will "
                "result in an error. Use `array.size > 0` to check that an array is not empty.",
                DeprecationWarning,
                stacklevel=2,
            )
            return False
        if self.size > 1:
            raise ValueError(AMBIGUOUS)
        return bool(self.item())

    __hash__ = NDArray.__hash__

    def __iter__(self) -> Iterator[ndarray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[index] for index in range(self.shape[0]))

    def __round__(self, n: int = 0) -> Any:
        from gluonjax.numpy import around

        return around(self, n)

    def __invert__(self) -> ndarray:
        return invoke(kernel_of(elementwise.invert), (self,), ndarray)

    def __repr__(self) -> str:
        """The text NumPy would show, with MXNet's default dtypes (float32 and bool) left out."""
        if is_tracer(self._value):
            return f"array({self._value}, shape={self.shape}, dtype={self.dtype})"
        return show(self.asnumpy(), "" if self.context.device_type == "cpu" else f", ctx={self.context}")

    def __str__(self) -> str:
        return repr(self) if is_tracer(self._value) else str(self.asnumpy())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 else object.__format__(self, spec)

    def __matmul__(self, other: Any) -> ndarray:
        from gluonjax.numpy import matmul

        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> ndarray:
        from gluonjax.numpy import matmul

        return matmul(other, self)

    def __imatmul__(self, other: Any) -> ndarray:
        from gluonjax.numpy import matmul

        return matmul(self, other, out=self)

    # -- conversion -----------------------------------------------------------------------------------------

    def astype(  # type: ignore[override]
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> ndarray:
        """The array in another dtype; itself where ``copy`` is False and nothing changes.

        ``order``, ``casting`` and ``subok`` exist for NumPy's signature; only their defaults are supported.
        """
        if order not in ("K", "C"):
            raise ValueError("order must be either 'K' or 'C'")
        if casting != "unsafe":
            raise ValueError("casting must be equal to 'unsafe'")
        if not subok:
            raise ValueError("subok must be equal to True")
        wanted = to_dtype(_numpy.float32 if dtype is None else dtype)
        if not copy and wanted == self._cell.value.dtype:
            return self
        return invoke(kernel_of(elementwise.cast, dtype=wanted), (self,), ndarray)

    def copy(self, order: str = "C") -> ndarray:  # type: ignore[override]
        """A new array with the same content."""
        if order != "C":
            raise UnsupportedArgument("ndarray.copy", f"only supports order='C', while received {order}")

        return invoke(kernel_of(elementwise.identity), (self,), ndarray)

    def as_np_ndarray(self) -> ndarray:
        """This array."""
        return self

    def as_in_context(self, context: Context) -> ndarray:
        """The array on a context; ``as_in_ctx`` is the name of today."""
        warnings.warn("ndarray.as_in_context has been renamed to ndarray.as_in_ctx", DeprecationWarning, stacklevel=2)
        return self.as_in_ctx(context)

    def as_in_ctx(self, ctx: Context) -> ndarray:
        """The array on a context: itself where it is there already, else a copy."""
        return self if ctx == self.context else self._to_context(ctx, True)  # type: ignore[return-value]

    def attach_grad(self, grad_req: str = "write") -> None:  # type: ignore[override]
        """Make this array a variable: allocate its gradient buffer, filled with zeros."""
        NDArray.attach_grad(self, grad_req)

    # -- shape ----------------------------------------------------------------------------------------------

    @property
    def T(self) -> ndarray:
        """A copy with the axes reversed."""
        return self.transpose()

    def reshape(self, *args: Any, **options: Any) -> ndarray:  # type: ignore[override]
        """A copy in another shape, given as one tuple or as numbers; one length may be -1."""
        order = options.pop("order", "C")
        shape = options.pop("newshape", args[0] if len(args) == 1 else args)
        if options:
            raise TypeError(f"{next(iter(options))} is an invalid keyword argument for this function")
        from gluonjax.numpy import reshape

        return reshape(self, shape, order)

    def reshape_view(self, *shape: Any, **options: Any) -> ndarray:
        """A view in another shape, with the codes of ``mx.nd``'s reshape."""
        return NDArray.reshape(self, *shape, **options)  # type: ignore[return-value]

    def transpose(self, *axes: Any) -> ndarray:  # type: ignore[override]
        """A copy with permuted axes (reversed where none are given)."""
        from gluonjax.numpy import transpose

        chosen: Any = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return transpose(self, chosen if chosen else None)

    def flatten(self, order: str = "C") -> ndarray:  # type: ignore[override]
        """A 1-D copy."""
        return self.reshape(-1, order=order)

    def squeeze(self, axis: Any = None) -> ndarray:  # type: ignore[override]
        """A copy without axes of length 1."""
        from gluonjax.numpy import squeeze

        return squeeze(self, axis)

    def expand_dims(self, axis: int) -> ndarray:  # type: ignore[override]
        """A copy with an axis of length 1 at ``axis``."""
        from gluonjax.numpy import expand_dims

        return expand_dims(self, axis)

    def broadcast_to(self, shape: Any) -> ndarray:
        """A copy broadcast to ``shape``."""
        from gluonjax.numpy import broadcast_to

        return broadcast_to(self, shape)

    # -- indexing -------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> ndarray:
        return _indexing.get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _indexing.put(self, key, value)


# NumPy's own repr leaves these out, so MXNet appends them without looking at the line's length.
_APPENDED = ("float64", "int64")
_LEFT_OUT = ("float32", "bool")


def show(value: _numpy.ndarray, ending: str = "") -> str:
    """The ``repr`` of an array: as NumPy 1 shows it, with the dtypes that MXNet shows.

    >>> show(_numpy.array([1, 2], "int32"))
    'array([1, 2], dtype=int32)'
    """
    text = _numpy.array2string(value, separator=", ", prefix="array(") if value.size or not value.ndim else "[]"
    if value.size == 0 and value.shape != (0,):
        text += f", shape={value.shape}"
    name = value.dtype.name
    if name not in _LEFT_OUT:
        last = len("array(") + len(text) if "\n" not in text else len(text) - text.rindex("\n") - 1
        wraps = name not in _APPENDED and last + len(f", dtype={name})") > _numpy.get_printoptions()["linewidth"]
        text += f",\n      dtype={name}" if wraps else f", dtype={name}"
    return f"array({text}{ending})"
