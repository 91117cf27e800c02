"""``mx.util``: NumPy-semantics switches and small helpers."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from gluonjax._base.devices import device_count
from gluonjax._base.errors import ArgumentTypeError, MXNetError
from gluonjax._base.scopes import modes


class _ScopeMeta(type):
    """Gives a scope class MXNet's ``_current``: the scope that is in force, settable, for each thread."""

    _mode: str

    @property
    def _current(cls) -> Any:
        return cls(getattr(modes, cls._mode))

    @_current.setter
    def _current(cls, scope: Any) -> None:
        setattr(modes, cls._mode, scope._active)


class _Scope(metaclass=_ScopeMeta):
    """Switches one mode for a block, re-entrant."""

    _mode = "np_shape"

    def __init__(self, active: bool) -> None:
        self._active = bool(active)
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(getattr(modes, self._mode))
        setattr(modes, self._mode, self._active)

    def __exit__(self, *exc: object) -> None:
        setattr(modes, self._mode, self._before.pop())


class _NumpyShapeScope(_Scope):
    """np-shape semantics (0-d and zero-size arrays) for a block."""

    _mode = "np_shape"

    @property
    def _is_np_shape(self) -> bool:
        return self._active


class _NumpyArrayScope(_Scope):
    """np-array semantics for a block."""

    _mode = "np_array"

    @property
    def _is_np_array(self) -> bool:
        return self._active


def set_np_shape(active: bool) -> bool:
    """Switch np-shape semantics on or off for this thread; returns the previous state.

    With it, shape ``()`` is a scalar and a dimension of 0 is an empty one; without it (MXNet's legacy default)
    they mean "unknown".

    >>> before = set_np_shape(True)
    >>> from gluonjax import nd
    >>> nd.ones((0, 3)).shape, set_np_shape(before)
    ((0, 3), True)
    """
    before, modes.np_shape = modes.np_shape, bool(active)
    return before


def is_np_shape() -> bool:
    """True while np-shape semantics are on."""
    return modes.np_shape


def is_np_array() -> bool:
    """True while np-array semantics are on."""
    return modes.np_array


def np_shape(active: bool = True) -> _NumpyShapeScope:
    """A scope with np-shape semantics.

    >>> with np_shape():
    ...     is_np_shape()
    True
    """
    return _NumpyShapeScope(active)


def np_array(active: bool = True) -> _NumpyArrayScope:
    """A scope with np-array semantics."""
    return _NumpyArrayScope(active)


def _scoped(func: Any, *scopes: Callable[[], Any]) -> Any:
    if inspect.isclass(func):
        for name, method in list(vars(func).items()):
            if inspect.isfunction(method) and (name in ("forward", "hybrid_forward", "__init__") or name[0] != "_"):
                setattr(func, name, _scoped(method, *scopes))
        return func
    if not callable(func):
        raise ArgumentTypeError(f"wants a function or a class, got {type(func).__name__}")

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        entered = [scope() for scope in scopes]
        for scope in entered:
            scope.__enter__()
        try:
            return func(*args, **kwargs)
        finally:
            for scope in reversed(entered):
                scope.__exit__(None, None, None)

    return call


def use_np_shape(func: Any) -> Any:
    """Run a function, or the methods of a class, with np-shape semantics; a decorator."""
    return _scoped(func, np_shape)


def use_np_array(func: Any) -> Any:
    """Run a function, or the methods of a class, with np-array semantics; a decorator."""
    return _scoped(func, np_array)


def use_np(func: Any) -> Any:
    """Run a function, or the methods of a class, with NumPy semantics; a decorator."""
    return _scoped(func, np_shape, np_array)


def set_np(shape: bool = True, array: bool = True) -> None:
    """Switch NumPy semantics on for this thread. Array semantics need shape semantics."""
    if not shape and array:
        raise ValueError("NumPy Shape semantics is required in using NumPy array semantics.")
    set_np_shape(shape)
    modes.np_array = array


def reset_np() -> None:
    """Switch NumPy semantics off."""
    set_np(False, False)


def get_gpu_count() -> int:
    """How many GPUs JAX sees."""
    return device_count("gpu")


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total bytes of a GPU's memory."""
    from gluonjax.context import gpu_memory_info

    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Any) -> int:
    """The compute capability of a GPU, such as 90 for sm_90."""
    if ctx.device_type != "gpu":
        raise ValueError(f"Expecting a gpu context to get cuda compute capability, while received ctx {ctx}")
    found = getattr(ctx.jax_device, "compute_capability", None)
    if found is None:
        raise MXNetError(f"get_cuda_compute_capability: JAX does not know that of {ctx}")
    return int(str(found).replace(".", ""))


# What NumPy's ufuncs accept beside the operands, with its defaults; mx.np's functions know nothing else.
_UFUNC_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
_UFUNC_TYPES = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64")


def np_ufunc_legal_option(key: str, value: Any) -> bool:
    """Whether a keyword argument is one that NumPy's ufuncs take, with a value that they take.

    >>> np_ufunc_legal_option("casting", "safe"), np_ufunc_legal_option("casting", "odd")
    (True, False)
    """
    if key == "where":
        return True
    if key == "casting":
        return value in ("no", "equiv", "safe", "same_kind", "unsafe")
    if key == "order":
        return isinstance(value, str)
    if key == "dtype":
        return value in _UFUNC_TYPES or value in [getattr(np, name) for name in _UFUNC_TYPES]
    return key == "subok" and isinstance(value, bool)


class _UfuncOptionError(MXNetError, NotImplementedError, ValueError):
    """A ufunc option other than the default one."""


def _check_ufunc_options(function: Any, options: dict[str, Any]) -> None:
    name = function.__name__
    for key, value in options.items():
        if key not in _UFUNC_DEFAULTS:
            raise ArgumentTypeError(f"{key} is an invalid keyword to function '{name}'")
        if value != _UFUNC_DEFAULTS[key]:
            if np_ufunc_legal_option(key, value):
                raise _UfuncOptionError(f"{key}={value} is not implemented yet for operator {name}")
            raise _UfuncValueError(f"{key}={value} not understood for operator {name}")


class _UfuncValueError(MXNetError, TypeError, ValueError):
    """A ufunc option with a value that does not exist."""


def wrap_np_unary_func(func: Any) -> Any:
    """A decorator: a function of one array that checks NumPy's ufunc options; only their defaults are accepted."""

    @functools.wraps(func)
    def checked(x: Any, out: Any = None, **kwargs: Any) -> Any:
        _check_ufunc_options(func, kwargs)
        return func(x, out=out)

    return checked


def wrap_np_binary_func(func: Any) -> Any:
    """A decorator: a function of two arrays that checks NumPy's ufunc options; only their defaults are accepted."""

    @functools.wraps(func)
    def checked(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        _check_ufunc_options(func, kwargs)
        return func(x1, x2, out=out)

    return checked


def getenv(name: str) -> str | None:
    """An environment variable, or None."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; None removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def makedirs(d: str) -> None:
    """Create a folder and its parents; an existing one is fine."""
    os.makedirs(os.path.expanduser(d), exist_ok=True)


def set_module(module: str) -> Callable[[Any], Any]:
    """A decorator that sets ``__module__``."""

    def decorate(func: Any) -> Any:
        if module is not None:
            func.__module__ = module
        return func

    return decorate


def wraps_safely(wrapped: Any, assigned: Any = functools.WRAPPER_ASSIGNMENTS) -> Any:
    """``functools.wraps`` that skips attributes the wrapped object lacks."""
    return functools.wraps(wrapped, assigned=[name for name in assigned if hasattr(wrapped, name)])
