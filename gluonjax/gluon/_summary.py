"""The table that ``Block.summary`` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gluonjax.ndarray import NDArray

if TYPE_CHECKING:
    from gluonjax.gluon.block import Block

WIDTH = 80


@dataclass
class Row:
    label: str
    output_shape: str
    parameters: int = 0
    trainable: int = 0
    shared: int = 0


def print_summary(block: Block, inputs: tuple[Any, ...]) -> None:
    """Run the block once with hooks on every layer and print what they saw."""
    from gluonjax.gluon.block import HybridBlock
    from gluonjax.gluon.nn import HybridSequential, Sequential

    rows = [Row("Input", _shapes(inputs))]
    counted: set[int] = set()
    handles = []
    compiled = []

    def note(layer: Block, _: Any, outputs: Any) -> None:
        row = Row(f"{type(layer).__name__}-{len(rows)}", _shapes(outputs))
        for parameter in layer.params.values():
            size = parameter.data().size
            row.parameters += size
            row.trainable += size if parameter.grad_req != "null" else 0
            row.shared += size if id(parameter) in counted else 0
            counted.add(id(parameter))
        rows.append(row)

    def watch(layer: Block) -> None:
        if isinstance(layer, HybridBlock) and layer._active:
            # The layers of a compiled block are not called; for this once they are.
            compiled.append(layer)
            layer._active = False
        if not isinstance(layer, (Sequential, HybridSequential)):
            handles.append(layer.register_forward_hook(note))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
        for layer in compiled:
            layer._active = True
    _print_table(rows)


def _print_table(rows: list[Row]) -> None:
    def line(*cells: Any) -> str:
        return "{:>20}  {:>42} {:>15}".format(*cells)

    total, trainable, shared = (
        sum(getattr(row, part) for row in rows) for part in ("parameters", "trainable", "shared")
    )
    print("-" * WIDTH)
    print(line("Layer (type)", "Output Shape", "Param #"))
    print("=" * WIDTH)
    for row in rows:
        print(line(row.label, row.output_shape, row.parameters))
    print("=" * WIDTH)
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {total}")
    print(f"   Trainable params: {trainable}")
    print(f"   Non-trainable params: {total - trainable}")
    print(f"Shared params in forward computation graph: {shared}")
    print(f"Unique parameters in model: {total - shared}")
    print("-" * WIDTH)


def _shapes(values: Any) -> str:
    """The shapes in a nested structure, as MXNet prints them: without the outermost brackets."""

    def shape_of(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [shape_of(entry) for entry in value]
        return value.shape if isinstance(value, NDArray) else value

    found = shape_of(values)
    return str(found)[1:-1] if isinstance(found, list) else str(found)
