"""What an estimator does with one batch."""

from __future__ import annotations

from typing import Any

from gluonjax import autograd
from gluonjax.gluon.utils import split_and_load
from gluonjax.ndarray import NDArray

Shards = list[NDArray]


class BatchProcessor:
    """Runs network and loss on one batch; subclass it where a batch is not ``(data, label)``."""

    def _get_data_and_label(self, batch: Any, ctx: Any, batch_axis: int = 0) -> tuple[Shards, Shards]:
        data, label = (split_and_load(part, ctx_list=ctx, batch_axis=batch_axis) for part in (batch[0], batch[1]))
        return data, label

    def evaluate_batch(
        self, estimator: Any, val_batch: Any, batch_axis: int = 0
    ) -> tuple[Shards, Shards, Shards, Shards]:
        """Predict one batch of validation data.

        Args:
            estimator: gives ``val_net``, ``val_loss`` and ``context``.
            val_batch: what the data loader gave.
            batch_axis: along which axis the contexts share a batch.

        Returns:
            Data, labels, predictions and losses, a list with one entry for every context each.
        """
        return self._run(estimator.val_net, estimator.val_loss, estimator, val_batch, batch_axis)

    def fit_batch(
        self, estimator: Any, train_batch: Any, batch_axis: int = 0
    ) -> tuple[Shards, Shards, Shards, Shards]:
        """Predict one batch of training data and compute the gradients; see ``evaluate_batch``."""
        with autograd.record():
            found = self._run(estimator.net, estimator.loss, estimator, train_batch, batch_axis)
        for loss in found[3]:
            loss.backward()
        return found

    def _run(
        self, net: Any, loss: Any, estimator: Any, batch: Any, batch_axis: int
    ) -> tuple[Shards, Shards, Shards, Shards]:
        data, label = self._get_data_and_label(batch, estimator.context, batch_axis)
        predictions = [net(shard) for shard in data]
        return data, label, predictions, [loss(*pair) for pair in zip(predictions, label)]


__all__ = ["BatchProcessor"]
