"""What a monitor sees of an executor: names and arrays inside of the graph, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gluonjax._base.devices import Context
from gluonjax._engine.graph import Graph, Node
from gluonjax._engine.op_by_op import OpByOp
from gluonjax.ndarray.ndarray import NDArray, wrap

# Operators of one input (or of a left and a right one) whose inputs MXNet's monitors call by their names. Those of
# all others of that kind are called input0, input1.
_NAMED = frozenset(
    "Dropout IdentityAttachKLSparseReg L2Normalization LRN LeakyReLU MakeLoss Pad Pooling Pooling_v1 SliceChannel "
    "SwapAxis softmax log_softmax squeeze tile repeat reverse space_to_depth depth_to_space diag dot batch_dot "
    "_ravel_multi_index _unravel_index _split_v2 _histogram _contrib_BilinearResize2D _contrib_fft _contrib_ifft "
    "_contrib_quadratic LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput col2im im2col moments "
    "broadcast_like reshape_like slice_like _identity_with_attr_like_rhs SequenceLast SequenceMask "
    "SequenceReverse".split()
)
_PLAIN = ({"data"}, {"lhs", "rhs"}, {"x"})


class Watch:
    """A monitor's callback on an executor.

    Args:
        callback: takes a name and an array.
        everything: report what operators take, not only what they return.
        ctx: where the arrays are.
    """

    def __init__(self, callback: Callable[[str, NDArray], Any], everything: bool, ctx: Context) -> None:
        self._callback = callback
        self.everything = everything
        self._ctx = ctx

    def _report(self, name: str, value: Any) -> None:
        if value is not None:
            self._callback(name, wrap(value, self._ctx))

    def forward(self, graph: Graph, table: Mapping[tuple[int, int], Any]) -> None:
        """Report a forward.

        Args:
            table: values by (identity of the node, number of the output).
        """
        for node in graph.order:
            if node.op is None:
                continue
            if self.everything:
                for label, (source, index) in zip(input_names(node), node.inputs):
                    value = table.get((id(source), index))
                    if source.op is None:
                        self._report(source.name, value)
                    self._report(f"{node.name}_{label}", value)
            for index in range(node.output_count):  # hidden ones too: bn_mean, bn_var
                self._report(node.output_name(index), table.get((id(node), index)))

    def backward(
        self, node: Node, inputs: Sequence[Any], heads: Sequence[Any], gradients: Mapping[int, Any]
    ) -> None:
        """Report one operator's backward; gradients that nobody wants are zeros.

        Args:
            inputs: what the operator was called with.
            heads: the gradients of its outputs.
            gradients: those of its inputs, by number.
        """
        count = len(node.inputs)
        if self.everything:
            for number, value in enumerate([*heads, *inputs[:count]]):
                self._report(f"{node.name}_backward_input{number}", value)
        for index in range(count):
            if index in node.mutated:  # states have no gradients
                continue
            value = gradients.get(index)
            if value is None:
                value = np.zeros(inputs[index].shape, inputs[index].dtype)
            self._report(f"{node.name}_backward_output{'' if count == 1 else index}", value)


def input_names(node: Node) -> Sequence[str]:
    """What monitors call the inputs of an operator."""
    labels = node.input_labels
    if node.op is not None and set(labels) in _PLAIN and node.op.name not in _NAMED:
        return [f"input{index}" for index in range(len(labels))]
    return labels


def values_of(run: OpByOp, graph: Graph, given: Sequence[Any]) -> dict[tuple[int, int], Any]:
    """Values of a forward by node and output, for ``Watch.forward``."""
    table = {(id(node), 0): value for node, value in zip((*graph.arguments, *graph.auxiliary), given)}
    for node, results in run.results():
        table.update({(id(node), index): value for index, value in enumerate(results)})
    return table
