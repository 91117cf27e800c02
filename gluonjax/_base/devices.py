"""Contexts (``cpu(0)``, ``gpu(1)``, ``tpu(0)``) and the JAX devices they stand for."""

from __future__ import annotations

import functools
import threading
from typing import Any, ClassVar

import jax

from gluonjax._base.errors import MXNetError

Device = Any  # a jax.Device, which is a variable and no type to a type checker


class _ContextMeta(type):
    """Gives the class MXNet's ``Context.default_ctx``: this thread's current context, settable."""

    @property
    def default_ctx(cls) -> Context:
        return current_context()

    @default_ctx.setter
    def default_ctx(cls, context: Context) -> None:
        stack = _stack()
        if stack:
            stack[-1] = context
        else:
            stack.append(context)


class Context(metaclass=_ContextMeta):
    """A device, as MXNet names it. Equal contexts are one object; usable in a ``with`` statement.

    Args:
        device_type: ``'cpu'``, ``'gpu'``, ``'tpu'``, ``'cpu_pinned'``, ``'cpu_shared'`` or a ``Context``.
        device_id: which of the devices of that type.

    >>> Context("cpu", 0)
    cpu(0)
    >>> Context("cpu") is Context("cpu", 0)
    True
    """

    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared", 7: "tpu"}
    devstr2type: ClassVar[dict[str, int]] = {name: code for code, name in devtype2str.items()}
    _interned: ClassVar[dict[tuple[int, int], Context]] = {}
    _default_ctx = threading.local()

    device_typeid: int
    device_id: int

    def __new__(cls, device_type: Any = "cpu", device_id: int = 0) -> Context:
        if isinstance(device_type, Context):
            device_type, device_id = device_type.device_type, device_type.device_id
        if device_type not in cls.devstr2type:
            raise MXNetError(f"Context: unknown device type {device_type!r}; use one of {sorted(cls.devstr2type)}")
        key = (cls.devstr2type[device_type], int(device_id))
        found = cls._interned.get(key)
        if found is None:
            found = super().__new__(cls)
            found.device_typeid, found.device_id = key
            found = cls._interned.setdefault(key, found)
        return found

    @property
    def device_type(self) -> str:
        return Context.devtype2str[self.device_typeid]

    def __reduce__(self) -> tuple[Any, ...]:
        return Context, (self.device_type, self.device_id)

    def __copy__(self) -> Context:
        return self

    def __deepcopy__(self, memo: Any) -> Context:
        return self

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __eq__(self, other: object) -> bool:
        return self is other

    def __str__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    __repr__ = __str__

    def __enter__(self) -> Context:
        _stack().append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack().pop()

    def empty_cache(self) -> None:
        """Memory pools belong to XLA, so there is nothing to release; the name exists in MXNet."""

    @functools.cached_property
    def jax_device(self) -> Device:
        """The JAX device behind this context. Raises MXNetError where this machine has none."""
        kind = self.device_type
        if kind in ("cpu", "cpu_pinned", "cpu_shared"):
            found = _devices("cpu")
            # cpu(1) is a label where JAX has one CPU device (scripts use it to try data parallelism).
            return found[self.device_id] if self.device_id < len(found) else found[0]
        platforms = ("gpu", "cuda", "rocm") if kind == "gpu" else ("tpu",)
        found = [d for platform in platforms for d in _devices(platform)]
        if not found:
            install = "pip install 'gluonjax[cuda13]'" if kind == "gpu" else "pip install 'gluonjax[tpu]'"
            raise MXNetError(f"{self}: JAX finds no {kind.upper()} here. For {kind.upper()} support run: {install}")
        if self.device_id >= len(found):
            raise MXNetError(f"{self}: this machine has {len(found)} {kind} device(s), 0 to {len(found) - 1}")
        return found[self.device_id]

    @functools.cached_property
    def is_host(self) -> bool:
        """True where arrays may live as NumPy arrays: the first CPU device."""
        if self.device_typeid not in (1, 3, 5):
            return False
        # Without asking JAX for number 0: processes that only use NumPy (data workers) never start a backend.
        return self.device_id == 0 or self.jax_device is _devices("cpu")[0]


def put(value: Any, context: Context) -> jax.Array:
    """A value as a JAX array on the context's device; committed to it only where it is not JAX's default.

    Programs compile once for committed and once for other arrays, and results are committed where one input is.
    """
    with jax.enable_x64(True):
        return jax.device_put(value, None if is_usual(context) else context.jax_device)


def is_usual(context: Context) -> bool:
    """Whether a context's device is the one that JAX takes where none is named."""
    default = jax.config.jax_default_device  # type: ignore[attr-defined]
    return context.jax_device is (jax.local_devices()[0] if default is None else default)


@functools.cache
def _devices(platform: str) -> tuple[Device, ...]:
    try:
        return tuple(d for d in jax.devices(platform) if d.process_index == jax.process_index())
    except RuntimeError:
        return ()


def _stack() -> list[Context]:
    stack = getattr(Context._default_ctx, "stack", None)
    if stack is None:
        stack = Context._default_ctx.stack = []
    return stack


CPU0 = Context("cpu", 0)


def current_context() -> Context:
    """The context that new arrays are created on.

    >>> with Context("cpu", 1):
    ...     current_context()
    cpu(1)
    """
    stack = getattr(Context._default_ctx, "stack", None)
    return stack[-1] if stack else CPU0


def device_count(kind: str) -> int:
    """How many devices of that kind ('cpu', 'gpu', 'tpu') this process sees."""
    platforms = ("gpu", "cuda", "rocm") if kind == "gpu" else (kind,)
    return len({d for platform in platforms for d in _devices(platform)})
