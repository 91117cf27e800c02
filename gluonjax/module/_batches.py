"""Batches as modules take them: one, or one per context, of the bound shapes or of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gluonjax import ndarray as nd
from gluonjax.io import DataBatch, DataDesc


def join_batches(batches: Sequence[Any]) -> DataBatch:
    """One batch from one per context."""
    first = batches[0]
    data = [nd.concatenate(list(parts)) for parts in zip(*(batch.data for batch in batches))]
    label = None
    if first.label is not None:
        label = [nd.concatenate(list(parts)) for parts in zip(*(batch.label for batch in batches))]
    return DataBatch(data, label, pad=first.pad)


def descriptions_for(
    batch: Any, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc] | None
) -> tuple[Any, Any]:
    """What to bind for a batch of other shapes: its own descriptions, or the bound ones with its shapes.

    Args:
        data_shapes, label_shapes: what is bound.
    """
    data = getattr(batch, "provide_data", None) or _like(data_shapes, [one.shape for one in batch.data])
    given = getattr(batch, "provide_label", None)
    if given or not label_shapes:
        return data, given or None
    arrays = getattr(batch, "label", None)
    if arrays:
        return data, _like(label_shapes, [one.shape for one in arrays])
    rows = batch.data[0].shape[0]
    return data, _like(label_shapes, [(rows, *one.shape[1:]) for one in label_shapes])


def _like(old: Sequence[DataDesc], shapes: Sequence[Sequence[int]]) -> list[DataDesc]:
    return [DataDesc(one.name, tuple(shape), one.dtype, one.layout) for one, shape in zip(old, shapes)]
