"""``mx.ndarray_doc``: classes that MXNet hangs longer documentation of operators on; ours is in the operators."""

from __future__ import annotations


class NDArrayDoc:
    """Base of the documentation classes."""


class ReshapeDoc(NDArrayDoc):
    """See ``mx.nd.reshape``."""


class elemwise_addDoc(NDArrayDoc):
    """See ``mx.nd.elemwise_add``."""


class BroadcastToDoc(NDArrayDoc):
    """See ``mx.nd.broadcast_to``."""


class StackDoc(NDArrayDoc):
    """See ``mx.nd.stack``."""


class CustomDoc(NDArrayDoc):
    """See ``mx.nd.Custom``."""
