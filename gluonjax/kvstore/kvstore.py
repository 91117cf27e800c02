"""``KVStore``: the built-in store. It sums what the devices of this process push, and may update weights with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from gluonjax import ndarray as nd
from gluonjax import optimizer as opt
from gluonjax._base.errors import MXNetError
from gluonjax._files.atomic import atomic_write
from gluonjax.kvstore._compression import TwoBit, compression_of
from gluonjax.kvstore._errors import StoreArgumentError, StoreStateError, StoreValueError
from gluonjax.kvstore._pairs import Key, pairs_of
from gluonjax.kvstore.base import KVStoreBase
from gluonjax.ndarray.ndarray import NDArray

Update = Callable[[Any, NDArray, NDArray], Any]


class KVStore(KVStoreBase):
    """Arrays by key. Use ``mx.kv.create(name)`` to make one.

    ``push`` sums the arrays given for a key and either keeps the sum or, with an optimizer or updater, updates the
    kept weight with it. ``pull`` copies the kept array out.

    Args:
        handle: the store's name.

    >>> import gluonjax as mx
    >>> store = mx.kv.create("local")
    >>> store.init(3, mx.nd.zeros(2))
    >>> store.push(3, [mx.nd.ones(2), mx.nd.ones(2)])
    >>> out = mx.nd.zeros(2)
    >>> store.pull(3, out)
    >>> out.asnumpy().tolist()
    [2.0, 2.0]
    """

    def __init__(self, handle: str) -> None:
        if "dist" in handle and int(os.environ.get("DMLC_NUM_WORKER", "1")) > 1:
            raise MXNetError(
                f"kvstore '{handle}': DMLC_NUM_WORKER is {os.environ['DMLC_NUM_WORKER']}, but parameter servers do not "
                "exist here. Several hosts train through jax.distributed.initialize() and one program over all "
                "devices; unset DMLC_NUM_WORKER to run as one worker"
            )
        self.handle = handle
        self._arrays: dict[Key, NDArray] = {}
        self._compression: TwoBit | None = None
        self._updater: Any = None
        self._updater_func: Update | None = None
        self._is_p3 = "p3" in handle

    # -- facts -----------------------------------------------------------------------------------------------

    @property
    def type(self) -> str:
        """The name the store was made with."""
        return self.handle

    @property
    def rank(self) -> int:
        """0: this process is the only worker."""
        return 0

    @property
    def num_workers(self) -> int:
        """1."""
        return 1

    def is_capable(self, capability: str) -> bool:
        """True for ``KVStoreBase.OPTIMIZER``: this store can update weights."""
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise StoreValueError(f"Unknown capability: {capability}; there is '{KVStoreBase.OPTIMIZER}'")
        return True

    # -- arrays ----------------------------------------------------------------------------------------------

    def init(self, key: Any, value: Any) -> None:
        """Set the initial values of one or several keys; each key once."""
        pairs = pairs_of(key, value, "init")
        for name, arrays in pairs:
            self._check_kind(name, "init")
            if name in self._arrays:
                raise MXNetError(
                    f"duplicate init of key {name}. Please double check if you called kv.init or kv.broadcast with "
                    "this key multiple times"
                )
            self._arrays[name] = arrays[0].copy()

    def _check_kind(self, name: Key, call: str) -> None:
        if self._arrays and type(next(iter(self._arrays))) is not type(name):
            raise MXNetError(
                f"{call}: Mixed key types are not allowed: this store has keys like "
                f"{next(iter(self._arrays))!r}, got {name!r}"
            )

    def _kept(self, name: Key, call: str) -> NDArray:
        found = self._arrays.get(name)
        if found is None:
            self._check_kind(name, call)
            raise MXNetError(f"{call}: key {name} has not been inited; call init({name!r}, value) first")
        return found

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Sum the arrays given for each key, then keep the sum or update the kept weight with it.

        Args:
            key: an int or text, or a list of them.
            value: an NDArray, a list of NDArrays (one a device), or for a list of keys a list of such.
            priority: accepted; XLA schedules.
        """
        for name, arrays in pairs_of(key, value, "push"):
            kept = self._kept(name, "push")
            total = self._sum(name, arrays, kept)
            if self._updater_func is None:
                self._arrays[name] = total
            else:
                # MXNet hands text keys to updaters as bytes.
                self._updater_func(name.encode() if isinstance(name, str) else name, total, kept)

    def _sum(self, name: Key, arrays: list[NDArray], kept: NDArray) -> NDArray:
        if self._compression is not None:
            arrays = [self._compression.apply(name, place, one) for place, one in enumerate(arrays)]
        total: Any = arrays[0].copyto(kept.context)
        for one in arrays[1:]:
            total = total + one.as_in_context(kept.context)
        return total

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy the kept arrays to ``out``.

        Args:
            key: an int or text, or a list of them.
            out: an NDArray, a list of NDArrays, or for a list of keys a list of such.
            ignore_sparse: leave row-sparse arrays of ``out`` as they are.
        """
        if out is None:
            raise StoreArgumentError("pull: give out, the array or arrays to copy to")
        for name, arrays in pairs_of(key, out, "pull"):
            kept = self._kept(name, "pull")
            for target in arrays:
                if target.stype == "default":
                    dense = kept if kept.stype == "default" else kept.tostype("default")
                    dense.copyto(target)
                elif not ignore_sparse:
                    kept.tostype(target.stype).copyto(target)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """``push`` the values, then ``pull`` to ``out``, or back into the values without it."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """``init`` keys and ``pull`` them to ``out``."""
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> None:
        """Copy chosen rows of kept arrays to row-sparse arrays; their other rows become empty.

        Args:
            out: RowSparseNDArrays as in ``pull``.
            row_ids: NDArrays of row numbers, one for all or one for each array of ``out``.
        """
        if out is None or row_ids is None:
            raise StoreArgumentError("row_sparse_pull: give out, the arrays to copy to, and row_ids")
        single = isinstance(row_ids, NDArray)
        rows = [] if single else [one for _, arrays in pairs_of_rows(key, row_ids) for one in arrays]
        number = 0
        for name, arrays in pairs_of(key, out, "row_sparse_pull"):
            kept = self._kept(name, "row_sparse_pull")
            for target in arrays:
                if target.stype != "row_sparse":
                    raise MXNetError(
                        "Expected row_sparse storage type for row_sparse_pull values, but detected storage type "
                        f"'{target.stype}'; use pull() for dense arrays"
                    )
                ids = row_ids if single else rows[min(number, len(rows) - 1)]
                number += 1
                wanted = nd.array(sorted({int(row) for row in ids.asnumpy().ravel()}), dtype="int64")
                nd.sparse.retain(kept.tostype("row_sparse"), wanted).copyto(target)

    # -- updating --------------------------------------------------------------------------------------------

    def set_optimizer(self, optimizer: opt.Optimizer) -> None:
        """Update kept weights with this optimizer: what is pushed are gradients from now on."""
        if not isinstance(optimizer, opt.Optimizer):
            raise StoreArgumentError(f"set_optimizer: wants an Optimizer, got {optimizer!r}; see mx.optimizer.create")
        self._updater = opt.get_updater(optimizer)
        self._updater_func = self._updater

    def _set_updater(self, updater: Update) -> None:
        """Call ``updater(key, sum, kept)`` at every push; it changes ``kept`` in place."""
        self._updater = updater
        self._updater_func = updater

    def set_gradient_compression(self, compression_params: Any) -> None:
        """Compress what is pushed.

        Args:
            compression_params: ``{'type': '2bit', 'threshold': 0.5}``; for ``device`` and ``dist`` stores.
        """
        if "device" not in self.type and "dist" not in self.type:
            raise MXNetError(
                f"Gradient compression is not supported for this type of kvstore ('{self.type}'); "
                "use 'device' or 'dist_sync'"
            )
        self._compression = compression_of(compression_params)

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the store's optimizer.

        Args:
            dump_optimizer: write the optimizer itself too.
        """
        if not isinstance(self._updater, opt.Updater):
            raise StoreStateError("Cannot save states for distributed training: call set_optimizer() first")
        atomic_write(fname, self._updater.get_states(dump_optimizer))

    def load_optimizer_states(self, fname: str) -> None:
        """Read what ``save_optimizer_states`` wrote."""
        if not isinstance(self._updater, opt.Updater):
            raise StoreStateError("Cannot load states for distributed training: call set_optimizer() first")
        try:
            with open(fname, "rb") as file:
                self._updater.set_states(file.read())
        except OSError as error:
            raise MXNetError(f"load_optimizer_states: cannot read '{fname}': {error.strerror}") from error

    # -- workers ---------------------------------------------------------------------------------------------

    def _barrier(self) -> None:
        """Wait until all workers are here; the only one is."""

    def _send_command_to_servers(self, head: int, body: str | bytes) -> None:
        """Commands go to server processes; there are none, so nobody listens, as in MXNet's local stores."""


def pairs_of_rows(keys: Any, row_ids: Any) -> list[tuple[Key, list[NDArray]]]:
    """``row_ids`` of ``row_sparse_pull`` by key."""
    return pairs_of(keys, row_ids, "row_sparse_pull (row_ids)")
