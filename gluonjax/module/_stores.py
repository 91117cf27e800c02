"""A module's optimizer, and what a key-value store does for it.

Mostly nothing: one program updates the parameters of all devices.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import Any

from gluonjax import optimizer as opt
from gluonjax._base.errors import ArgumentTypeError
from gluonjax.kvstore import KVStore, KVStoreBase, create
from gluonjax.module._step import TrainingStep
from gluonjax.module.executor_group import DataParallelExecutorGroup


def make_optimizer(optimizer: Any, parameters: Any, symbol: Any, param_names: Sequence[str], batch: int) -> Any:
    """The Optimizer that ``init_optimizer(optimizer=..., optimizer_params=...)`` means.

    Args:
        batch: how many samples a gradient is summed over.
    """
    names = dict(enumerate(param_names))
    if isinstance(optimizer, str):
        options = {"rescale_grad": 1.0 / batch, **dict(parameters)}
        return opt.create(optimizer, sym=symbol, param_idx2name=names, **options)
    if not isinstance(optimizer, opt.Optimizer):
        return opt.OptaxOptimizer(optimizer, rescale_grad=1.0 / batch, param_idx2name=names)
    if not math.isclose(optimizer.rescale_grad, 1.0 / batch):
        warnings.warn(
            "Optimizer created manually outside Module but rescale_grad is not normalized to 1.0/batch_size/"
            f"num_workers ({optimizer.rescale_grad} vs. {1.0 / batch}). Is this intended?",
            stacklevel=3,
        )
    if not optimizer.idx2name:
        optimizer.idx2name = names
    return optimizer


def workers(store: KVStoreBase | None) -> int:
    """Over the batches of how many workers a gradient is summed."""
    return store.num_workers if store is not None and "dist" in store.type and "_sync" in store.type else 1


def find_store(kvstore: Any, contexts: int, compression: Any) -> KVStoreBase | None:
    """The store that ``init_optimizer(kvstore=...)`` means; None where one device needs none."""
    store: KVStoreBase | None
    if kvstore is None or isinstance(kvstore, KVStoreBase):
        store = kvstore
    elif isinstance(kvstore, str):
        store = create(kvstore) if contexts > 1 or "dist" in kvstore else None
    else:
        raise ArgumentTypeError(f"kvstore must be KVStore, str or None, got {kvstore!r}")
    if store is not None and compression:
        store.set_gradient_compression(compression)  # type: ignore[attr-defined]
    return store


def is_plain(store: KVStoreBase | None) -> bool:
    """True where the store would only sum gradients that are summed already."""
    return store is None or (type(store) is KVStore and store._compression is None)


def updates_weights(store: KVStoreBase | None) -> bool:
    """True where the store's own optimizer updates the weights (not with MXNET_UPDATE_ON_KVSTORE=0)."""
    wanted = os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") != "0"
    return not is_plain(store) and wanted and store.is_capable(KVStoreBase.OPTIMIZER)  # type: ignore[union-attr]


def enter(store: Any, group: DataParallelExecutorGroup, optimizer: Any) -> None:
    """Give a store the initial weights and, unless it is None, the optimizer."""
    for name in group.param_names:
        store.broadcast(name, group.args[name].copy(), out=[group.args[name]])
    if optimizer is not None:
        store.set_optimizer(optimizer)


class StoreStep:
    """Updates of a store with an optimizer: gradients go in, weights come out."""

    def __init__(self, group: DataParallelExecutorGroup, store: Any) -> None:
        self.group = group
        self.store = store

    def run(self) -> None:
        """Update the parameters."""
        group = self.group
        group.flush_family()
        for number, name in enumerate(group.param_names):
            if group.grads.get(name) is not None:
                self.store.pushpull(name, [group.grads[name]], out=[group.args[name]], priority=-number)


def step_of(group: DataParallelExecutorGroup, store: Any, updater: Any) -> TrainingStep | StoreStep:
    """How a module updates its parameters: by itself, with gradients that the store has summed, or in the store."""
    if updater is None:
        return StoreStep(group, store)
    if is_plain(store):
        return TrainingStep(group, updater)

    def exchange(names: list[str], gradients: list[Any]) -> None:
        for number, (name, gradient) in enumerate(zip(names, gradients)):
            store.pushpull(name, [gradient], priority=-number)

    return TrainingStep(group, updater, exchange)
