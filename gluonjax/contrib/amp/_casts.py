"""Insert casts into a graph so that every operator runs in the type that the rules give it.

The result, node names included, is what MXNet's pass makes: saved mixed precision models are exchangeable.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from gluonjax._base.dtypes import DEFAULT_DTYPE
from gluonjax._base.errors import MXNetError
from gluonjax._engine.graph import Entry, Graph, Node
from gluonjax._engine.infer import infer_dtypes
from gluonjax._ops import registry
from gluonjax.contrib.amp._rules import Rules

# Operators that name their only output in MXNet; casts of any other's are called after its number, ``exp0_0``.
_NAMED_OUTPUT = frozenset(
    """
    Activation BatchNorm BatchNorm_v1 BilinearSampler Concat Convolution Convolution_v1 Correlation Crop Custom
    Deconvolution Dropout FullyConnected GridGenerator GroupNorm IdentityAttachKLSparseReg InstanceNorm
    L2Normalization LRN LayerNorm LeakyReLU MakeLoss Pad Pooling Pooling_v1 RNN ROIPooling SVMOutput SequenceLast
    SequenceMask SequenceReverse SliceChannel SoftmaxActivation SoftmaxOutput SpatialTransformer SwapAxis UpSampling
    _CrossDeviceCopy _contrib_DeformableConvolution _contrib_DeformablePSROIPooling
    _contrib_ModulatedDeformableConvolution _contrib_MultiBoxDetection _contrib_MultiBoxPrior
    _contrib_MultiBoxTarget _contrib_MultiProposal _contrib_PSROIPooling _contrib_Proposal _contrib_ROIAlign
    _contrib_BatchNormWithReLU _contrib_RROIAlign _contrib_SyncBatchNorm _contrib_count_sketch _contrib_fft
    _contrib_hawkesll _contrib_ifft
    _contrib_index_array _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt _rnn_param_concat col2im
    elemwise_add im2col make_loss softmax softmin
    """.split()
)
Key = tuple[int, int]


def _key(entry: Entry) -> Key:
    return id(entry[0]), entry[1]


class _Conversion:
    """One run over one graph.

    Args:
        rules: what runs in which type.
        excluded: names of nodes that run in float32 whatever the rules say.
        ready: names of variables that will be given in the right type already, so that they need no cast.
    """

    def __init__(self, rules: Rules, excluded: Collection[str], ready: Collection[str]) -> None:
        self.rules = rules
        self.excluded = excluded
        self.ready = ready
        self.copies: dict[int, Node] = {}
        # For each type the old entries that are at hand in it, and where.
        self.at_hand: dict[np.dtype, dict[Key, Entry]] = {DEFAULT_DTYPE: {}, rules.target: {}}
        self.probes: dict[Any, tuple[list[Any], list[Any]]] = {}

    def run(self, graph: Graph) -> Graph:
        for node in graph.order:
            role = self._role(node)
            inputs, types = self._roles[role](self, node)
            copy = self.copies[id(node)] = node.with_inputs(inputs)
            for index, dtype in enumerate(types):
                if dtype in self.at_hand:
                    self.at_hand[dtype][id(node), index] = (copy, index)
        return Graph(self._in_type(entry, DEFAULT_DTYPE) for entry in graph.entries)

    # -- what a node is ------------------------------------------------------------------------------------------

    def _role(self, node: Node) -> str:
        if node.name in self.excluded:
            return "full"
        if node.op is None:
            return "free"
        name = node.op.name
        for role, names in (("full", self.rules.full), ("low", self.rules.low), ("widest", self.rules.widest)):
            if name in names:
                return role
        if any((name, key, text) in self.rules.conditional for key, text in node.attrs.items()):
            return "conditional"
        return "free"

    def _probe(self, node: Node, dtype: np.dtype) -> tuple[list[Any], list[Any]]:
        """Types of inputs and outputs when the first input has this type; None where that says nothing."""
        key = (node.op, tuple(sorted(node.attrs.items())), len(node.inputs), dtype) if not node.subgraphs else id(node)
        found = self.probes.get(key)
        if found is None:
            stand_ins = [Node(None, f"input{position}") for position in range(len(node.inputs))]
            probe = node.with_inputs([(variable, 0) for variable in stand_ins])
            try:
                table = infer_dtypes(Graph([(probe, 0)]), {"input0": dtype})
                found = [table.get((variable, 0)) for variable in stand_ins], table.outputs(probe)
            except MXNetError:
                found = [None] * len(stand_ins), [None] * node.output_count
            self.probes[key] = found
        return found

    # -- inputs --------------------------------------------------------------------------------------------------

    def _copy(self, entry: Entry) -> Entry:
        return self.copies[id(entry[0])], entry[1]

    def _in_type(self, entry: Entry, dtype: np.dtype) -> Entry:
        """The entry in that type, cast where it is not at hand; a cast serves all who need it."""
        at_hand = self.at_hand[dtype]
        found = at_hand.get(_key(entry))
        if found is None:
            name = f"{self._name(entry)}_amp_cast_{dtype.name}"
            cast = Node(registry.get("amp_cast"), name, {"dtype": dtype.name}, [self._copy(entry)])
            found = at_hand[_key(entry)] = (cast, 0)
        return found

    def _name(self, entry: Entry) -> str:
        node, index = entry
        if node.op is None:
            return node.name
        labels = node.op.outputs(node.parsed)
        label = labels[index] if node.op.name in _NAMED_OUTPUT else index
        return f"{node.name}_{label}"

    def _multicast(self, inputs: Sequence[Entry]) -> list[Entry]:
        """All inputs in the widest of their types, found when it runs."""
        name = f"{self._name(inputs[0])}_amp_multicast"
        cast = Node(registry.get("amp_multicast"), name, {"num_outputs": str(len(inputs))}, map(self._copy, inputs))
        return [(cast, index) for index in range(len(inputs))]

    # -- roles: the new inputs, and the types of the outputs -----------------------------------------------------

    def _full(self, node: Node) -> tuple[list[Entry], list[Any]]:
        """float32; variables are taken to be that already."""
        full = self.at_hand[DEFAULT_DTYPE]
        inputs = []
        for entry in node.inputs:
            as_is = entry[0].op is None and _key(entry) not in full
            inputs.append(self._copy(entry) if as_is else self._in_type(entry, DEFAULT_DTYPE))
        return inputs, [DEFAULT_DTYPE] * node.output_count

    def _conditional(self, node: Node) -> tuple[list[Entry], list[Any]]:
        inputs = [
            self._copy(entry) if position in node.mutated else self._in_type(entry, DEFAULT_DTYPE)
            for position, entry in enumerate(node.inputs)
        ]
        return inputs, [DEFAULT_DTYPE] * node.output_count

    def _low(self, node: Node) -> tuple[list[Entry], list[Any]]:
        """The 16-bit type, but for inputs that are rewritten or that the operator wants in float32 all the same."""
        target = self.rules.target
        wanted, types = self._probe(node, target)
        inputs = []
        for position, entry in enumerate(node.inputs):
            ready = entry[0].op is None and entry[0].name in self.ready
            other = wanted[position] is not None and wanted[position] != target
            if _key(entry) not in self.at_hand[target] and (ready or other or position in node.mutated):
                inputs.append(self._copy(entry))
                if ready:
                    self.at_hand[target][_key(entry)] = inputs[-1]
            else:
                inputs.append(self._in_type(entry, target))
        return inputs, types

    def _widest(self, node: Node) -> tuple[list[Entry], list[Any]]:
        keys = [_key(entry) for entry in node.inputs]
        full, low = self.at_hand[DEFAULT_DTYPE], self.at_hand[self.rules.target]
        if not all(key in full or key in low for key in keys):
            return self._multicast(node.inputs), []
        dtype = DEFAULT_DTYPE if any(key in full for key in keys) else self.rules.target
        return [self._in_type(entry, dtype) for entry in node.inputs], [dtype] * node.output_count

    def _free(self, node: Node) -> tuple[list[Entry], list[Any]]:
        """Whatever the inputs are; what comes out may be known from the first of them."""
        types: list[Any] = []
        if node.inputs:
            first = _key(node.inputs[0])
            for dtype in (self.rules.target, DEFAULT_DTYPE):
                if first in self.at_hand[dtype]:
                    types = self._probe(node, dtype)[1]
                    break
        return [self._copy(entry) for entry in node.inputs], types

    _roles: ClassVar[dict[str, Any]] = {
        "full": _full, "conditional": _conditional, "low": _low, "widest": _widest, "free": _free,
    }  # fmt: skip


def insert_casts(graph: Graph, rules: Rules, excluded: Collection[str] = (), ready: Collection[str] = ()) -> Graph:
    """The graph on new nodes, with casts; its outputs are float32. See _Conversion for the arguments."""
    return _Conversion(rules, frozenset(excluded), frozenset(ready)).run(graph)
