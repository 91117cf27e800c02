"""``mx.symbol_doc``: classes that MXNet hangs longer documentation of operators on; ours is in the operators."""

from __future__ import annotations

from typing import Any


class SymbolDoc:
    """Base of the documentation classes."""

    @staticmethod
    def get_output_shape(sym: Any, **input_shapes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Output shapes by name for given input shapes.

        >>> from gluonjax import sym
        >>> SymbolDoc.get_output_shape(sym.flatten(sym.var("x"), name="f"), x=(2, 3, 4))
        {'f_output': (2, 12)}
        """
        _, shapes, _ = sym.infer_shape(**input_shapes)
        return dict(zip(sym.list_outputs(), shapes))


class ActivationDoc(SymbolDoc):
    """See ``mx.sym.Activation``."""


class BroadcastPlusDoc(SymbolDoc):
    """See ``mx.sym.broadcast_plus``."""


class ConcatDoc(SymbolDoc):
    """See ``mx.sym.Concat``."""


class DropoutDoc(SymbolDoc):
    """See ``mx.sym.Dropout``."""


class EmbeddingDoc(SymbolDoc):
    """See ``mx.sym.Embedding``."""


class FlattenDoc(SymbolDoc):
    """See ``mx.sym.Flatten``."""


class FullyConnectedDoc(SymbolDoc):
    """See ``mx.sym.FullyConnected``."""
