"""Finding the operator that makes the first NaN or infinity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonjax._base.scopes import modes
from gluonjax._engine import lazy
from gluonjax._engine.run import is_tracer
from gluonjax.gluon._errors import MXNetError
from gluonjax.gluon._places import name_in, users_line

if TYPE_CHECKING:
    from gluonjax.gluon.block import Block


class NonFiniteError(MXNetError, FloatingPointError):
    """A NaN or an infinity has appeared; attributes ``operator``, ``layer`` (path) and ``line`` say where."""

    operator = ""
    layer = ""
    line: str | None = None


class _Watch:
    """Looks at the results of every operator, and knows which block is running."""

    def __init__(self, root: Block) -> None:
        self.root = root
        self.running: list[str] = []
        # What forward knows about a recorded call, for the walk backwards.
        self._places: dict[int, tuple[str, str | None]] = {}

    def enter(self, block: Block, _: Any) -> None:
        self.running.append(name_in(self.root, block) or self.root.name or type(self.root).__name__)

    def leave(self, block: Block, _: Any, __: Any) -> None:
        self.running.pop()

    def forward(self, name: str, inputs: Sequence[Any], results: Sequence[Any], node: Any) -> None:
        """Called after every operator."""
        layer = self.running[-1] if self.running else "outside of the block"
        line = users_line()
        if node is not None:
            self._places[node.number] = layer, line
        self._check(name, name, inputs, results, layer, line)

    def backward(self, node: Any, gradients: Sequence[Any]) -> None:
        """Called after every step of the walk backwards."""
        layer, line = self._places.get(node.number, ("outside of the block", None))
        name = node.kernel.name if node.kernel is not None else "a Python function"
        values = [one.value for one in gradients if one is not None]
        self._check(name, f"the gradient of {name}", node.values, values, layer, line)

    @staticmethod
    def _check(
        name: str, what: str, inputs: Sequence[Any], results: Sequence[Any], layer: str, line: str | None
    ) -> None:
        for number, result in enumerate(results):
            wrong = _problem(result)
            if wrong is None:
                continue
            before = next((f", input {i} {problem}" for i, one in enumerate(inputs) if (problem := _problem(one))), "")
            text = f"{what} in layer {layer}: result {number} {wrong}{before}"
            error = NonFiniteError(text if line is None else f"{text}\n  at {line}")
            error.operator, error.layer, error.line = name, layer, line
            raise error


def _problem(value: Any) -> str | None:
    """'has 3 NaN and 1 infinite of 12 elements, shape (3, 4)', or None."""
    value = lazy.force(value)
    if type(value) is float or is_tracer(value) or not hasattr(value, "dtype") or value.dtype.kind not in "fV":
        return None
    array = np.asarray(value)
    if array.dtype.kind == "V":
        array = array.astype(np.float32)
    finite = np.isfinite(array)
    if finite.all():
        return None
    nan = int(np.isnan(array).sum())
    infinite = finite.size - int(finite.sum()) - nan
    return f"has {nan} NaN and {infinite} infinite of {array.size} elements, shape {array.shape}"


@contextmanager
def watching(root: Block) -> Iterator[None]:
    """Run operator by operator, and raise NonFiniteError at the first result that is not finite."""
    from gluonjax.gluon.block import HybridBlock

    watch = _Watch(root)
    hooks, compiled = [], []
    for _, block in root._paths():
        hooks.append(block.register_forward_pre_hook(watch.enter))
        hooks.append(block.register_forward_hook(watch.leave))
        if isinstance(block, HybridBlock) and block._active:
            compiled.append(block)
            block._active = False
    before, modes.watch = modes.watch, watch
    try:
        yield
    finally:
        modes.watch = before
        for hook in hooks:
            hook.detach()
        for block in compiled:
            block._active = True
