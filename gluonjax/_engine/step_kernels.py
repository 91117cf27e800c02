"""Kernels of a graph's nodes, shared by every graph: equal operators with equal attributes are one kernel.

Unrolled cells repeat a few operators many times, and scripts build equal graphs again and again; what a kernel knows
of a shape (its NumPy program, its compiled function) then serves all of them.
"""

from __future__ import annotations

import collections
from typing import Any

from gluonjax._base.scopes import modes
from gluonjax._engine.graph import Node
from gluonjax._engine.op_functions import function_of
from gluonjax._engine.run import Kernel
from gluonjax._ops.opdef import Attrs

_MOST = 4096
_kernels: collections.OrderedDict[Any, Kernel] = collections.OrderedDict()


def kernel_of(node: Node, attrs: Attrs, train: bool) -> tuple[Kernel, list[float]]:
    """The kernel of a node that has no bodies, and the numbers it takes behind the node's inputs.

    Args:
        attrs: the node's attributes, with open shapes filled in.
        train: training mode.
    """
    op = node.op
    assert op is not None
    # As in eager calls: numbers that vary from call to call (a scalar, a rate) are arguments.
    traced = tuple([name for name in op.traced if name in node.attrs and type(attrs[name]) is float])
    fixed = {name: value for name, value in attrs.items() if name not in traced}
    train = train and op.uses_train
    key = op, train, modes.np_shape, traced, len(node.inputs), repr(fixed)
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = Kernel(
            op.name, op.pure(attrs, train, traced), host=op.host, on_whole=op.on_whole, steady=op.is_sampler
        )
        if not traced:
            found.jitted = function_of(op, tuple(attrs.items()), train)
        if len(_kernels) > _MOST:
            _kernels.popitem(last=False)
    else:
        _kernels.move_to_end(key)
    return found, [attrs[name] for name in traced]
