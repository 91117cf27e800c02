"""Parameters: named arrays with a gradient, one copy on each context."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonjax import autograd, initializer
from gluonjax import ndarray as nd
from gluonjax import symbol as sym
from gluonjax._base.devices import CPU0, Context, current_context
from gluonjax._base.scopes import epoch, modes
from gluonjax.gluon._errors import (
    ArgumentError,
    ArgumentTypeError,
    DeferredInitializationError,
    MXNetError,
    ParameterMismatch,
)  # fmt: skip
from gluonjax.gluon.utils import shape_is_known
from gluonjax.ndarray import NDArray
from gluonjax.ndarray._capture import outside
from gluonjax.symbol import Symbol

tensor_types = (Symbol, NDArray)

STORAGE_TYPES = ("default", "row_sparse", "csr")
GRADIENT_REQUESTS = ("write", "add", "null")
UNKNOWN = (0, -1)

NOT_INITIALIZED = (
    "Parameter '{name}' has not been initialized. Note that you should initialize parameters and "
    "create Trainer "
    "with Block.collect_params() instead of Block.params because the later does not include "
    "Parameters of nested "
    "child Blocks"
)
STILL_DEFERRED = (
    "Parameter '{name}' has not been initialized yet because initialization was deferred. Actual "
    "initialization "
    "happens during the first forward pass. Please pass one batch of data through the network before "
    "accessing "
    "Parameters. You can also avoid deferred initialization by specifying in_units, num_features, etc., for "
    "network layers."
)


class Parameter:
    """A named array that blocks use and a Trainer updates.

    There is one NDArray for each context for the parameter's whole life: ``set_data``, ``cast`` and loading write
    into it, so whoever holds it sees the new values.

    Args:
        name: full name, prefix included.
        grad_req: ``'write'``, ``'add'`` (accumulate until ``zero_grad``) or ``'null'`` (no gradient).
        shape: a dimension of 0 (or -1) is unknown until the first forward.
        dtype: data type.
        lr_mult, wd_mult: factors on the optimizer's learning rate and weight decay.
        init: an Initializer or its name; None takes the one given to ``initialize``.
        allow_deferred_init: whether ``initialize`` may wait for an unknown shape.
        differentiable: False forces ``grad_req='null'``.
        stype, grad_stype: storage types of the value and of the gradient.

    >>> weight = Parameter("weight", shape=(2, 2))
    >>> weight.initialize(init="ones")
    >>> weight.data().asnumpy().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: Any = None,
        dtype: Any = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        for label, value in (("grad_stype", grad_stype), ("stype", stype)):
            if value not in STORAGE_TYPES:
                raise ArgumentError(
                    f"{label} for Parameter '{name}' must be one of 'default', 'row_sparse', or 'csr', "
                    f"but got '{value}'"
                )
        self._var: Symbol | None = None
        self._data: list[NDArray] | None = None
        self._grad: list[NDArray] | None = None
        self._ctx_list: list[Context] | None = None
        self._trainer: Any = None
        # (initializer, contexts, fall-back initializer, value to load or None) while the shape is unknown.
        self._deferred_init: tuple[Any, ...] = ()
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._grad_req: str | None = None
        self._shape = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        self._dtype = dtype
        self._stype = stype
        self._grad_stype = grad_stype
        self.name = name
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    def __getstate__(self) -> dict[str, Any]:
        # The symbol is rebuilt on demand; a trainer belongs to the original.
        return {**self.__dict__, "_var": None, "_trainer": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._data is not None and self._grad is not None:
            autograd.mark_variables(self._data, self._grad, self.grad_req)

    # -- description ----------------------------------------------------------------------------------------

    @property
    def grad_req(self) -> str:
        return self._grad_req  # type: ignore[return-value]

    @grad_req.setter
    def grad_req(self, request: str) -> None:
        if request not in GRADIENT_REQUESTS:
            raise ArgumentError(f"grad_req must be one of 'write', 'add', or 'null', but got '{request}'")
        if not self._differentiable:
            request = "null"
        if request == self._grad_req:
            return
        self._grad_req = request
        if self._data is not None:
            self._attach_gradients()

    @property
    def dtype(self) -> Any:
        """The data type, as it was given."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> tuple[int, ...] | Any:  # Any: None where none was given, which few callers have to check
        """The shape; unknown dimensions show as 0, or as -1 in NumPy-shape mode. None while nothing is known."""
        if self._shape is None or not modes.np_shape:
            return self._shape
        return tuple(-1 if size == 0 else size for size in self._shape)

    @shape.setter
    def shape(self, shape: Sequence[int]) -> None:
        old, new = self._shape, tuple(shape)
        if old is not None:
            fits = len(old) == len(new) and all(was in UNKNOWN or was == now for was, now in zip(old, new))
            if not fits:
                raise ParameterMismatch(
                    f"Expected shape {new} is incompatible with given shape {old}. (Parameter '{self.name}')"
                )
        self._shape = new

    @property
    def stype(self) -> str:
        return self._stype

    def var(self) -> Symbol:
        """The variable that stands for this parameter in symbols; always the same object."""
        if self._var is None:
            self._var = sym.var(
                self.name, shape=self.shape, dtype=self.dtype, lr_mult=self.lr_mult, wd_mult=self.wd_mult,
                init=self.init, stype=self._stype,
            )  # fmt: skip
        return self._var

    def _rename(self, name: str) -> None:
        self.name = name
        self._var = None

    # -- initialization -------------------------------------------------------------------------------------

    def initialize(
        self,
        init: Any = None,
        ctx: Any = None,
        default_init: Any = initializer.Uniform(),  # noqa: B008 - MXNet's signature; the object holds no state
        force_reinit: bool = False,
    ) -> None:
        """Create the value and the gradient on every context, now or at the first forward.

        Args:
            init: initializer for this call; wins over the parameter's own.
            ctx: a Context or a list of them; None means the current one.
            default_init: used where neither ``init`` nor the parameter's own is given.
            force_reinit: initialize again what has a value already.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"Parameter '{self.name}' is already initialized, ignoring. Set force_reinit=True to "
                f"re-initialize.",
                stacklevel=2,
            )
            return
        contexts = _as_contexts(ctx)
        chosen = next((one for one in (init, self.init) if one is not None), default_init)
        if not shape_is_known(self.shape):
            if not self._allow_deferred_init:
                raise ArgumentError(
                    f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}."
                )
            self._data = self._grad = None
            self._deferred_init = (chosen, contexts, default_init, None)
            return
        self._deferred_init = (chosen, contexts, default_init, None)
        self._finish_deferred_init()

    def _finish_deferred_init(self) -> None:
        """Make the arrays of an initialization that waited; nothing happens where none waits."""
        if not self._deferred_init:
            return
        if not shape_is_known(self.shape):
            raise ArgumentError(
                f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}. "
                "Please specify in_units, in_channels, etc for `Block`s."
            )
        init, contexts, default_init, value = self._deferred_init
        with outside(), autograd.pause():
            if value is None:
                value = nd.zeros(self._shape, dtype=self.dtype, ctx=CPU0, stype=self._stype)
                description = initializer.InitDesc(self.name, {"__init__": init})
                initializer.create(default_init)(description, value)
            self._deferred_init = ()
            self._place(value, contexts)

    def _place(self, value: NDArray, contexts: list[Context]) -> None:
        """Put a value on the contexts, into the arrays that are there already where they fit."""
        if modes.np_array:
            value = value.as_np_ndarray()
        if self._data is not None and self._ctx_list == contexts:
            for array in self._data:
                _overwrite(array, value)
        else:
            epoch.number += 1
            self._ctx_list = list(contexts)
            self._data = [value.copyto(context) for context in self._ctx_list]
        self._attach_gradients()

    _init_impl = _place

    def _attach_gradients(self) -> None:
        assert self._data is not None
        epoch.number += 1
        if self.grad_req == "null":
            if self._grad is not None:
                for array in self._data:
                    _forget_gradient(array)
            self._grad = None
            return
        fresh = [
            nd.zeros(array.shape, dtype=array.dtype, ctx=array.context, stype=self._grad_stype)
            for array in self._data
        ]
        if self._data[0]._np_semantics:
            fresh = [gradient.as_np_ndarray() for gradient in fresh]
        if self._grad is not None and len(self._grad) == len(fresh):
            for old, new in zip(self._grad, fresh):
                _overwrite(old, new)
        else:
            self._grad = fresh
        autograd.mark_variables(self._data, self._grad, self.grad_req)

    _init_grad = _attach_gradients

    def _load_init(
        self, data: NDArray, ctx: Any, cast_dtype: bool = False, dtype_source: str = "current"
    ) -> None:
        """Take a value from a file, checking that shape, dtype and contexts agree."""
        if cast_dtype and dtype_source not in ("current", "saved"):
            raise ArgumentError(f"dtype_source must be 'current' or 'saved', got {dtype_source!r}")
        shape = self._shape
        if shape:
            fits = len(shape) == len(data.shape) and all(
                mine in UNKNOWN or mine == saved for mine, saved in zip(shape, data.shape)
            )
            if not fits:
                raise ParameterMismatch(
                    f"Failed loading Parameter '{self.name}' from saved params: shape incompatible expected "
                    f"{self.shape} vs saved {data.shape}"
                )
        self._shape = tuple(data.shape)
        if self.dtype is not None and np.dtype(self.dtype) != data.dtype:
            if not cast_dtype:
                raise ParameterMismatch(
                    f"Failed loading Parameter '{self.name}' from saved params: dtype incompatible expected "
                    f"{self.dtype} vs saved {data.dtype}. Set cast_dtype=True to cast the dtype of "
                    f"saved params."
                )
            if dtype_source == "current":
                data = data.astype(self.dtype)
            else:
                self.cast(data.dtype)
        if data.stype != self._stype:
            data = data.tostype(self._stype)
        self._load_onto(data, None if ctx is None else _as_contexts(ctx))

    def _load_onto(self, data: NDArray, contexts: list[Context] | None) -> None:
        present = (
            self._ctx_list
            if self._data is not None
            else self._deferred_init[1]
            if self._deferred_init
            else None
        )
        if present is not None and contexts is not None and set(contexts) != set(present):
            raise ParameterMismatch(
                f"Failed to load Parameter '{self.name}' on {contexts} because it was previous "
                f"initialized on "
                f"{present}."
            )
        if self._data is not None:
            self.set_data(data)
        else:
            with autograd.pause():
                self._place(data, present or contexts or [CPU0])
        self._deferred_init = ()

    # -- access ---------------------------------------------------------------------------------------------

    def _check_and_get(self, arrays: list[NDArray] | None, ctx: Any) -> Any:
        """One of the per-context arrays (``ctx=list``: all of them), or the error that says why there is none."""
        if arrays is None:
            if self._deferred_init:
                raise DeferredInitializationError(STILL_DEFERRED.format(name=self.name))
            raise MXNetError(NOT_INITIALIZED.format(name=self.name))
        if ctx is list:
            return arrays
        if ctx is None:
            if len(arrays) == 1:
                return arrays[0]
            ctx = current_context()
        contexts = self._ctx_list or []
        for context, array in zip(contexts, arrays):
            if context is ctx:
                return array
        raise MXNetError(
            f"Parameter '{self.name}' was not initialized on context {ctx}. It was only initialized "
            f"on {contexts}."
        )

    def data(self, ctx: Context | None = None) -> NDArray:
        """The value on one context; without ``ctx`` the only one, or that of the current context."""
        if self._stype != "default":
            raise MXNetError(
                f"Cannot return a copy of Parameter '{self.name}' on ctx {ctx} via data() because its "
                f"storage type "
                f"is {self._stype}. Please use row_sparse_data() instead."
            )
        arrays = self._data
        if ctx is None and arrays is not None and len(arrays) == 1:
            return arrays[0]
        return self._check_and_get(arrays, ctx)

    def list_data(self) -> list[NDArray]:
        """The values on all contexts, in the order of ``list_ctx()``."""
        if self._stype != "default":
            raise MXNetError(
                f"Cannot return copies of Parameter '{self.name}' on all contexts via list_data() "
                f"because its "
                f"storage type is {self._stype}. Please use row_sparse_data() instead."
            )
        return self._check_and_get(self._data, list)

    def _gradients(self) -> list[NDArray] | None:
        if self._data is not None and self._grad is None:
            raise MXNetError(f"Cannot get gradient array for Parameter '{self.name}' because grad_req='null'")
        return self._grad

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The gradient on one context."""
        return self._check_and_get(self._gradients(), ctx)

    def list_grad(self) -> list[NDArray]:
        """The gradients on all contexts, in the order of ``list_ctx()``."""
        return self._check_and_get(self._gradients(), list)

    def list_ctx(self) -> list[Context]:
        """The contexts that this parameter is (or will be) initialized on."""
        if self._data is not None:
            return self._ctx_list  # type: ignore[return-value]
        if self._deferred_init:
            return self._deferred_init[1]
        raise MXNetError(f"Parameter '{self.name}' has not been initialized")

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """The rows ``row_id`` of a row_sparse parameter, on row_id's context."""
        if self._stype != "row_sparse":
            raise MXNetError(
                f"Cannot return a copy of Parameter {self.name} via row_sparse_data() because its "
                f"storage type is "
                f"{self._stype}. Please use data() instead."
            )
        return self._pull_rows(row_id.context if isinstance(row_id, NDArray) else None, row_id)

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """The rows ``row_id`` of a row_sparse parameter, on all contexts."""
        if self._stype != "row_sparse":
            raise MXNetError(
                f"Cannot return copies of Parameter '{self.name}' on all contexts via list_row_sparse_data() "
                f"because its storage type is {self._stype}. Please use data() instead."
            )
        return self._pull_rows(list, row_id)

    def _pull_rows(self, ctx: Any, row_id: NDArray) -> Any:
        if not isinstance(row_id, NDArray):
            raise ArgumentTypeError(f"row_id must have NDArray type, but {type(row_id)} is given")
        if self._trainer is None:
            raise MXNetError(
                f"Cannot get row_sparse data for Parameter '{self.name}' when no Trainer is created with it."
            )
        found = self._check_and_get(self._data, ctx)
        self._trainer._row_sparse_pull(self, found, row_id)
        return found

    # -- changes --------------------------------------------------------------------------------------------

    def set_data(self, data: Any) -> None:
        """Write a value into the arrays on all contexts."""
        self.shape = data.shape
        if self._data is None:
            if not self._deferred_init:
                raise ArgumentError(f"Parameter '{self.name}' has not been initialized")
            self._deferred_init = (*self._deferred_init[:3], data)
            return
        trainer = self._trainer
        if trainer is not None and trainer._kv_initialized and trainer._update_on_kvstore:
            # The store holds the old value as the master copy; it has to start again from the new one.
            if self not in trainer._params_to_init:
                trainer._reset_kvstore()
        with autograd.pause():
            for array in self._data:
                array[:] = data

    def zero_grad(self) -> None:
        """Set the gradients on all contexts to 0; nothing happens where there are none."""
        for gradient in self._grad or ():
            if gradient.stype == "default":
                gradient[:] = 0
            else:
                _overwrite(
                    gradient, nd.zeros(gradient.shape, gradient.context, gradient.dtype, gradient.stype)
                )

    def reset_ctx(self, ctx: Any) -> None:
        """Move the parameter to other contexts, averaging the copies that there are."""
        contexts = _as_contexts(ctx)
        if self._data is not None:
            with autograd.pause():
                self._place(self._reduce(), contexts)
        elif self._deferred_init:
            init, _, default_init, value = self._deferred_init
            self._deferred_init = (init, contexts, default_init, value)
        else:
            raise ArgumentError(
                f"Cannot reset context for Parameter '{self.name}' because it has not been initialized."
            )

    def cast(self, dtype: Any) -> None:
        """Change the data type of value and gradient."""
        self._dtype = dtype
        self._var = None
        if self._data is None:
            return
        with autograd.pause():
            for array in (*self._data, *(self._grad or ())):
                _overwrite(array, array.astype(dtype))
        if self._grad is not None:
            autograd.mark_variables(self._data, self._grad, self.grad_req)

    def _set_trainer(self, trainer: Any) -> None:
        taken = self._trainer is not None and trainer is not None and self._trainer is not trainer
        if self._stype != "default" and taken:
            raise MXNetError(
                f"Failed to set the trainer for Parameter '{self.name}' because it was already set. "
                "More than one trainers for a sparse Parameter is not supported."
            )
        self._trainer = trainer

    def _reduce(self) -> NDArray:
        """The mean of the copies, on the CPU; all rows for a row_sparse parameter."""
        if self._stype != "default":
            arrays = self._check_and_get(self._data, list)
            if self._trainer is not None and self._trainer._update_on_kvstore:
                rows = nd.arange(0, self.shape[0], dtype="int64", ctx=CPU0)  # type: ignore[index]
                whole = nd.zeros(self.shape, stype=self._stype, ctx=CPU0, dtype=self.dtype)
                self._trainer._row_sparse_pull(self, whole, rows, full_idx=True)
                return whole
            return arrays[0].copyto(CPU0)
        copies = [array.copyto(CPU0) for array in self.list_data()]
        return copies[0] if len(copies) == 1 else nd.add_n(*copies) / len(copies)


def _as_contexts(ctx: Any) -> list[Context]:
    if ctx is None:
        return [current_context()]
    return [ctx] if isinstance(ctx, Context) else list(ctx)


def _overwrite(array: NDArray, value: NDArray) -> None:
    """Make an array hold another one's content, shape and dtype included, on its own context."""
    if array.stype == "default" and value.stype == "default":
        if value.context is not array.context:
            value = value.copyto(array.context)
        array._write(value._value)
    else:
        value.copyto(array)


def _forget_gradient(array: NDArray) -> None:
    """Make a variable an ordinary array again."""
    array._cell.leaf = array._cell.entry = None
