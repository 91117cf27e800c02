"""Data sets: things with a length and elements, and what can be made from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from gluonjax.gluon._errors import ArgumentError, ArgumentTypeError
from gluonjax.gluon.block import BlockForwardMissing
from gluonjax.gluon.data.sampler import FilterSampler, Sampler, SequentialSampler
from gluonjax.ndarray import NDArray


class Dataset:
    """Base class: define ``__getitem__`` and ``__len__``."""

    def __getitem__(self, idx: Any) -> Any:
        raise BlockForwardMissing(f"{type(self).__name__} defines no __getitem__")

    def __len__(self) -> int:
        raise BlockForwardMissing(f"{type(self).__name__} defines no __len__")

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """The elements for which ``fn`` is true.

        >>> list(SimpleDataset([1, 2, 3]).filter(lambda x: x != 2))
        [1, 3]
        """
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """One of ``num_shards`` consecutive parts; the first ones take the remainder.

        >>> list(SimpleDataset([1, 2, 3, 4, 5]).shard(3, 0))
        [1, 2]
        """
        if num_shards <= 0:
            raise ArgumentError(f"Number of shards should be greater than 0, got {num_shards}")
        if not 0 <= index < num_shards:
            raise ArgumentError(f"Shard index of out bound: {index} out of {num_shards}")
        share, rest = divmod(len(self), num_shards)
        start = share * index + min(index, rest)
        return _SampledDataset(self, SequentialSampler(share + (index < rest), start))

    def take(self, count: int | None) -> Dataset:
        """The first ``count`` elements; all of them for None."""
        size = len(self)
        if count is not None and count < 0:
            raise ArgumentError(f"Dataset.take: count must not be negative, got {count}")
        return _SampledDataset(self, SequentialSampler(size if count is None else min(count, size)))

    def sample(self, sampler: Sampler) -> Dataset:
        """The elements that a sampler names, in its order."""
        if not isinstance(sampler, Sampler):
            raise ArgumentTypeError(
                f"Invalid sampler type: {type(sampler)}. Expected gluon.data.Sampler instead."
            )
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Apply ``fn`` to every element (tuples become several arguments), on access or, not lazy, now."""
        changed = _LazyTransformDataset(self, fn)
        return changed if lazy else SimpleDataset([changed[index] for index in range(len(changed))])

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset:
        """Apply ``fn`` to the first part of every element: to the image, not the label."""
        return self.transform(_TransformFirst(fn), lazy)


class SimpleDataset(Dataset):
    """Any list or array as a data set."""

    def __init__(self, data: Sequence[Any]) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        return self._data[idx]


class _LazyTransformDataset(Dataset):
    """Applies a function on access."""

    def __init__(self, data: Dataset, fn: Callable[..., Any]) -> None:
        self._data = data
        self._fn = fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        element = self._data[idx]
        return self._fn(*element) if isinstance(element, tuple) else self._fn(element)


class _TransformFirst:
    """Applies a function to the first of several arguments; a class, so that it can be pickled."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def __call__(self, first: Any, *rest: Any) -> Any:
        return (self._fn(first), *rest) if rest else self._fn(first)


class _SampledDataset(Dataset):
    """The elements that a sampler names."""

    def __init__(self, dataset: Dataset, sampler: Sampler) -> None:
        self._dataset = dataset
        self._sampler = sampler
        self._indices = list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: int) -> Any:
        return self._dataset[self._indices[idx]]


class ArrayDataset(Dataset):
    """Several arrays or lists of one length, side by side.

    >>> ArrayDataset([1, 2], [3, 4])[1]
    (2, 4)
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise ArgumentError("Needs at least 1 arrays")
        self._length = len(args[0])
        self._data = []
        for number, part in enumerate(args):
            if len(part) != self._length:
                raise ArgumentError(
                    f"All arrays must have the same length; array[0] has length {self._length} while "
                    f"array[{number}] has {len(part)}."
                )
            # Labels are cheap as NumPy numbers, and batches of them are made faster.
            self._data.append(part.asnumpy() if isinstance(part, NDArray) and part.ndim == 1 else part)

    def __getitem__(self, idx: Any) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(part[idx] for part in self._data)

    def __len__(self) -> int:
        return self._length


class RecordFileDataset(Dataset):
    """The records of a RecordIO file, as bytes; needs the .idx file beside it.

    Args:
        filename: path of the .rec file.
    """

    def __init__(self, filename: str) -> None:
        self.idx_file = os.path.splitext(filename)[0] + ".idx"
        self.filename = filename
        self._open()

    def _open(self) -> None:
        import threading

        from gluonjax import recordio

        self._record = recordio.MXIndexedRecordIO(self.idx_file, self.filename, "r")
        # Reading moves a file position that all workers share.
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_record", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def __getitem__(self, idx: int) -> bytes:
        with self._lock:
            record = self._record.read_idx(self._record.keys[idx])
        if record is None:
            raise ArgumentError(f"{self.filename}: record {idx} is missing; the file is shorter than its index says")
        return record

    def __len__(self) -> int:
        return len(self._record.keys)


class _DownloadedDataset(Dataset):
    """Base of data sets with images and labels in memory, read from files below ``root``."""

    def __init__(self, root: str, transform: Callable[..., Any] | None) -> None:
        self._transform = transform
        self._data: Any = None
        self._label: Any = None
        self._root = os.path.expanduser(root)
        os.makedirs(self._root, exist_ok=True)
        self._get_data()

    def __getitem__(self, idx: Any) -> Any:
        sample = (self._data[idx], self._label[idx])
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self._label)

    def _get_data(self) -> None:
        raise BlockForwardMissing(f"{type(self).__name__} defines no _get_data")
