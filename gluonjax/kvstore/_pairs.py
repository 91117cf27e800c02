"""Keys and values as stores take them: one of each, or lists, with one or several arrays for a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gluonjax.kvstore._errors import StoreArgumentError
from gluonjax.ndarray.ndarray import NDArray

Key = int | str
Pair = tuple[Key, list[NDArray]]


def pairs_of(keys: Any, values: Any, call: str) -> list[Pair]:
    """``(key, arrays)`` for every key, a key that comes several times with all of its arrays.

    >>> from gluonjax import nd
    >>> [(key, len(arrays)) for key, arrays in pairs_of(["a", "b"], [nd.ones(1), [nd.ones(1), nd.ones(1)]], "push")]
    [('a', 1), ('b', 2)]
    """
    grouped: dict[Key, list[NDArray]] = {}
    for key, arrays in _walk(keys, values, call):
        grouped.setdefault(key, []).extend(arrays)
    if len({type(key) for key in grouped}) > 1:
        raise StoreArgumentError(f"{call}: inconsistent types of keys {list(grouped)}; use all ints or all texts")
    return list(grouped.items())


def _walk(keys: Any, values: Any, call: str) -> list[Pair]:
    if isinstance(keys, (list, tuple)):
        if not isinstance(values, (list, tuple)) or len(keys) != len(values):
            count = len(values) if isinstance(values, (list, tuple)) else 1
            raise StoreArgumentError(f"{call}: got {len(keys)} keys and {count} values; give one value a key")
        return [pair for key, value in zip(keys, values) for pair in _walk(key, value, call)]
    if not isinstance(keys, (int, str)):
        raise StoreArgumentError(f"{call}: unexpected type for keys: {type(keys)}; a key is an int or a text")
    arrays: Sequence[Any] = [values] if isinstance(values, NDArray) else values
    if not isinstance(arrays, (list, tuple)) or not all(isinstance(one, NDArray) for one in arrays):
        raise StoreArgumentError(
            f"{call}: the value of key {keys!r} must be an NDArray or a list of them, got {values!r}"
        )
    return [(keys, list(arrays))]
