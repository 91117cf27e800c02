"""Notices when a block is compiled again and again because the shapes of its inputs keep changing."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# From this many shapes on a block says what is going on. 0 never does.
MOST_SHAPES = int(os.environ.get("GLUONJAX_RECOMPILE_WARNING", "8"))


class Compilations:
    """Counts the programs of one block. It is asked while JAX traces, so calls that are compiled already cost nothing.

    Args:
        name: of the block.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._seen: dict[tuple[Any, ...], None] = {}
        self._warned = False

    def __len__(self) -> int:
        return len(self._seen)

    def counted(self, fn: Callable[..., Any], names: Sequence[str], inputs: Sequence[str]) -> Callable[..., Any]:
        """``fn``, which notes the shapes that it is traced with.

        Args:
            names: of the function's leading arguments.
            inputs: which of these are the block's inputs, in order; the rest are parameters.
        """

        def program(*values: Any) -> Any:
            self._note({name: (value.shape, np.dtype(value.dtype).name) for name, value in zip(names, values)}, inputs)
            return fn(*values)

        return program

    def _note(self, shapes: dict[str, Any], inputs: Sequence[str]) -> None:
        key = tuple(shapes.get(name) for name in inputs)
        if key in self._seen:
            return
        self._seen[key] = None
        if len(self._seen) <= MOST_SHAPES or self._warned or not MOST_SHAPES:
            return
        self._warned = True
        warnings.warn(self._explained(inputs), stacklevel=2)

    def _explained(self, inputs: Sequence[str]) -> str:
        changing = []
        for place, name in enumerate(inputs):
            kinds = list(dict.fromkeys(key[place] for key in self._seen if len(key) == len(inputs) and key[place]))
            if len(kinds) > 1:
                shown = ", ".join(f"{kind}{list(shape)}" for shape, kind in kinds[-4:])
                changing.append(f"input {place} ('{name}') has had {len(kinds)} shapes, the last ones {shown}")
        return (
            f"{self.name} has been compiled for {len(self._seen)} different shapes of its inputs, which takes time at "
            f"every new one: {'; '.join(changing) or 'the number of inputs changes'}. Pad to a few lengths "
            "(bucketing), drop the last odd batch (last_batch='discard'), or do not hybridize this block"
        )
