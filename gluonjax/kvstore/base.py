"""What a key-value store must offer, the registry of store classes, and ``create``."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, TypeVar

from gluonjax._base.errors import ArgumentTypeError
from gluonjax._base.python_types import string_types as string_types
from gluonjax.kvstore._errors import missing
from gluonjax.ndarray.ndarray import NDArray

StoreClass = TypeVar("StoreClass", bound=type)

# Parts of the names of built-in stores. MXNet takes every other name for a local store, and so do we, with a warning.
KNOWN_PARTS = ("local", "device", "dist", "nccl", "p3", "horovod", "byteps")


class KVStoreBase:
    """The interface of stores. A class of one's own derives from it and is registered::

    @mx.kv.KVStoreBase.register
    class MyStore(mx.kv.KVStoreBase): ...

    store = mx.kv.create("mystore")
    """

    OPTIMIZER: ClassVar[str] = "optimizer"
    kv_registry: ClassVar[dict[str, type]] = {}

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Set the initial value of a key and copy it to ``out`` on every device of every worker."""
        missing(self, "broadcast(key, value, out, priority=0)")

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Sum values over devices and workers, and write the result to ``out`` (in place without it)."""
        missing(self, "pushpull(key, value, out=None, priority=0)")

    def set_optimizer(self, optimizer: Any) -> None:
        """Let the store update weights: values pushed are gradients then."""
        missing(self, "set_optimizer(optimizer)")

    def is_capable(self, capability: str) -> bool:
        """True where the store offers a capability; ``KVStoreBase.OPTIMIZER`` is the one there is."""
        missing(self, "is_capable(capability)")

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the store's optimizer to a file."""
        missing(self, "save_optimizer_states(fname, dump_optimizer=False)")

    def load_optimizer_states(self, fname: str) -> None:
        """Read what ``save_optimizer_states`` wrote."""
        missing(self, "load_optimizer_states(fname)")

    @property
    def type(self) -> str:
        """The store's name."""
        missing(self, "type")

    @property
    def rank(self) -> int:
        """This worker's number, from 0."""
        missing(self, "rank")

    @property
    def num_workers(self) -> int:
        """How many workers there are."""
        missing(self, "num_workers")

    @staticmethod
    def register(klass: StoreClass) -> StoreClass:
        """Make a store class known to ``create`` under its lower-case name; a decorator."""
        if not isinstance(klass, type):
            raise ArgumentTypeError(f"KVStoreBase.register: wants a class, got {klass!r}")
        name = klass.__name__.lower()
        old = KVStoreBase.kv_registry.get(name)
        if old is not None:
            warnings.warn(
                f"WARNING: New kvstore {klass.__module__}.{klass.__name__} is overriding existing kvstore "
                f"{old.__module__}.{old.__name__}",
                stacklevel=2,
            )
        KVStoreBase.kv_registry[name] = klass
        return klass


@KVStoreBase.register
class TestStore(KVStoreBase):
    """The smallest store: sums over the given arrays, remembers nothing.

    >>> from gluonjax import nd
    >>> values = [nd.ones(2), nd.ones(2)]
    >>> create("teststore").pushpull("w", values)
    >>> values[0].asnumpy().tolist()
    [2.0, 2.0]
    """

    __test__ = False  # no test class, whatever its name says to pytest

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Copy the value to every array of ``out``."""
        for target in _several(out):
            target[:] = value

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Write the sum of the values to every array of ``out``, or to all of ``value``."""
        values = _several(value)
        total = values[0].copy()
        for one in values[1:]:
            total += one.as_in_context(total.context)
        for target in values if out is None else _several(out):
            target[:] = total

    @staticmethod
    def is_capable(capability: str) -> bool:
        """False: there is no optimizer in this store."""
        return False

    @property
    def type(self) -> str:
        """``'teststore'``."""
        return "teststore"

    @property
    def rank(self) -> int:
        """0: there is one worker."""
        return 0

    @property
    def num_workers(self) -> int:
        """1."""
        return 1


def _several(arrays: Any) -> list[Any]:
    return [arrays] if isinstance(arrays, NDArray) else list(arrays)


def create(name: str = "local") -> KVStoreBase:
    """A key-value store by name.

    Args:
        name: ``local``, ``device`` and ``nccl`` sum over the devices of this process; names with ``dist`` also over
            worker processes, of which there is one here. Registered classes go by their lower-case names.

    >>> create("device").type
    'device'
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"name must be a string, got {type(name).__name__}")
    name = name.lower()
    if name in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[name]()
    if not any(part in name for part in KNOWN_PARTS):
        warnings.warn(f"unknown kvstore type '{name}': it is taken for a local store", stacklevel=2)
    from gluonjax.kvstore.kvstore import KVStore

    return KVStore(name)
