"""What shares memory and what copies: each expression is written through both ways."""

from __future__ import annotations

import numpy as np

from tests.ndarray.cases import Case

# Expressions of a (2, 3, 4) array.
EXPRESSIONS = {
    "itself": lambda a, mx: a,
    "a[0]": lambda a, mx: a[0],
    "a[-1]": lambda a, mx: a[-1],
    "a[np.int32(1)]": lambda a, mx: a[np.int32(1)],
    "a[1][2]": lambda a, mx: a[1][2],
    "a[1][2][3]": lambda a, mx: a[1][2][3],
    "a[1, 2]": lambda a, mx: a[1, 2],
    "a[1, 2, 3]": lambda a, mx: a[1, 2, 3],
    "a[:]": lambda a, mx: a[:],
    "a[...]": lambda a, mx: a[...],
    "a[0:1]": lambda a, mx: a[0:1],
    "a[1:]": lambda a, mx: a[1:],
    "a[-1:]": lambda a, mx: a[-1:],
    "a[0:2:1]": lambda a, mx: a[0:2:1],
    "a[::2]": lambda a, mx: a[::2],
    "a[::-1]": lambda a, mx: a[::-1],
    "a[:, 1]": lambda a, mx: a[:, 1],
    "a[:, 0:3]": lambda a, mx: a[:, 0:3],
    "a[:, 0:2]": lambda a, mx: a[:, 0:2],
    "a[0, 0:2]": lambda a, mx: a[0, 0:2],
    "a[0, ::2]": lambda a, mx: a[0, ::2],
    "a[0, 1, 1:3]": lambda a, mx: a[0, 1, 1:3],
    "a[0, 1, 1:4:2]": lambda a, mx: a[0, 1, 1:4:2],
    "a[0:1, 1]": lambda a, mx: a[0:1, 1],
    "a[0:1, 1:2, 1:2]": lambda a, mx: a[0:1, 1:2, 1:2],
    "a[..., 0]": lambda a, mx: a[..., 0],
    "a[0, ...]": lambda a, mx: a[0, ...],
    "a[None]": lambda a, mx: a[None],
    "a[0, None]": lambda a, mx: a[0, None],
    "a[:, None]": lambda a, mx: a[:, None],
    "a[[0]]": lambda a, mx: a[[0]],
    "a[[0, 1]]": lambda a, mx: a[[0, 1]],
    "a[[[0]]]": lambda a, mx: a[[[0]]],
    "a[nd.array([1])]": lambda a, mx: a[mx.nd.array([1], dtype="int32")],
    "a[0, [1, 2]]": lambda a, mx: a[0, [1, 2]],
    "a[np.array([0])]": lambda a, mx: a[np.array([0])],
    "reshape((6, 4))": lambda a, mx: a.reshape((6, 4)),
    "reshape(-1)": lambda a, mx: a.reshape(-1),
    "reshape(0, -1)": lambda a, mx: a.reshape(0, -1),
    "reshape(-3, 0)": lambda a, mx: a.reshape((-3, 0)),
    "reshape(-4, 1, 2, -2)": lambda a, mx: a.reshape((-4, 1, 2, -2)),
    "reshape same": lambda a, mx: a.reshape((2, 3, 4)),
    "reshape reverse": lambda a, mx: a.reshape((-1, 0, 0), reverse=True),
    "nd.reshape": lambda a, mx: mx.nd.reshape(a, shape=(6, 4)),
    "reshape_like": lambda a, mx: a.reshape_like(mx.nd.zeros((4, 6))),
    "detach": lambda a, mx: a.detach(),
    "stop_gradient": lambda a, mx: mx.nd.BlockGrad(a),
    "identity": lambda a, mx: mx.nd.identity(a),
    "copy": lambda a, mx: a.copy(),
    "T": lambda a, mx: a.T,
    "transpose": lambda a, mx: a.transpose((0, 1, 2)),
    "swapaxes": lambda a, mx: a.swapaxes(0, 1),
    "expand_dims": lambda a, mx: a.expand_dims(0),
    "expand_dims inplace": lambda a, mx: a.expand_dims(1, inplace=True),
    "expand_dims inplace -1": lambda a, mx: a.expand_dims(-1, inplace=True),
    "squeeze": lambda a, mx: a[0:1].squeeze(0),
    "squeeze inplace": lambda a, mx: a[0:1].squeeze(0, inplace=True),
    "squeeze all inplace": lambda a, mx: a[0:1].squeeze(inplace=True),
    "flatten": lambda a, mx: a.flatten(),
    "flatten inplace": lambda a, mx: a.flatten(inplace=True),
    "nd.flatten": lambda a, mx: mx.nd.flatten(a),
    "slice_axis": lambda a, mx: a.slice_axis(axis=0, begin=0, end=1),
    "slice": lambda a, mx: a.slice(begin=(0, 0), end=(1, 3)),
    "take": lambda a, mx: a.take(mx.nd.array([0])),
    "split": lambda a, mx: a.split(num_outputs=2, axis=0)[0],
    "split one": lambda a, mx: a.split(num_outputs=1, axis=0),
    "broadcast_to": lambda a, mx: a.broadcast_to((2, 3, 4)),
    "astype": lambda a, mx: a.astype("float32"),
    "astype no copy": lambda a, mx: a.astype("float32", copy=False),
    "astype other no copy": lambda a, mx: a.astype("float64", copy=False),
    "as_in_context": lambda a, mx: a.as_in_context(mx.cpu(0)),
    "as_in_context cpu(1)": lambda a, mx: a.as_in_context(mx.cpu(1)),
    "copyto context": lambda a, mx: a.copyto(mx.cpu()),
    "tostype default": lambda a, mx: a.tostype("default"),
    "as_nd_ndarray": lambda a, mx: a.as_nd_ndarray(),
    "as_np_ndarray": lambda a, mx: a.as_np_ndarray().as_nd_ndarray(),
    "iteration": lambda a, mx: next(iter(a)),
    "second of iteration": lambda a, mx: list(a)[1],
    "nd.array": lambda a, mx: mx.nd.array(a),
    "concatenate one": lambda a, mx: mx.nd.concatenate([a]),
    "concatenate no copy": lambda a, mx: mx.nd.concatenate([a], always_copy=False),
    "in place add": lambda a, mx: a.__iadd__(1),
    "out": lambda a, mx: mx.nd.relu(a, out=a),
    "dlpack": lambda a, mx: mx.nd.from_dlpack(a.to_dlpack_for_write()),
}


def _write_through(expression):
    def run(mx):
        a = mx.nd.arange(24).reshape((2, 3, 4))
        result = expression(a, mx)
        first = result.copy()
        result[:] = 100
        after_result = a.copy()
        a[:] = -1
        return [first, after_result, result]

    return run


def _chain(mx):
    """Views of views: every write is seen by every handle."""
    a = mx.nd.arange(24)
    b = a.reshape((2, 3, 4))
    c = b[1]
    d = c[1:3]
    e = d.reshape((-1,))
    f = e[2:7]
    f[:] = 50
    d[0] = -7
    e[0:2] += 1000
    a[20:24] = mx.nd.array([1, 2, 3, 4])
    c *= 2
    return [a, b, c, d, e, f]


def _chain_after_rebinding(mx):
    a = mx.nd.zeros((4, 2))
    row = a[2]
    a += 1
    b = a.detach()
    b[3] = 9
    row -= 5
    a = a + 1  # a new array: the views stay with the old one
    row[:] = 77
    return [a, b, row]


def _out_into_view(mx):
    a = mx.nd.ones((3, 2))
    mx.nd.broadcast_add(a[0], a[1], out=a[2])
    mx.nd.ones((2,)).copyto(a[0:1].reshape((2,)))
    mx.nd.arange(4).reshape((2, 2)).copyto(a[0:2])
    return a


def _swap_rows(mx):
    a = mx.nd.arange(6).reshape((3, 2))
    a[0], a[2] = a[2].copy(), a[0].copy()
    b = mx.nd.arange(6).reshape((3, 2))
    b[0:2] = b[1:3].copy()
    return [a, b]


def _metric_buffers(mx):
    """A running total kept in a slice of a bigger buffer."""
    state = mx.nd.zeros((4,))
    total, count = state[0:1], state[1:2]
    for value in range(5):
        total += value
        count += 1
    return [state, total / count]


def _scalar_view(mx):
    a = mx.nd.arange(3)
    b = a[1]
    b += 10
    a[1] *= 2
    return [a, b]


def _in_loop(mx):
    a = mx.nd.zeros((3, 2))
    for index, row in enumerate(a):
        row[:] = index
    return a


def _zero_size_view(mx):
    a = mx.nd.arange(4)
    b = a[2:2]
    return [b.shape, a[4:].shape, a[3:1].shape, a.reshape((2, 2))[:, 2:].shape]


CHAINS = {
    "chain": _chain, "chain after rebinding": _chain_after_rebinding, "out into a view": _out_into_view,
    "swap rows": _swap_rows, "metric buffers": _metric_buffers, "scalar view": _scalar_view,
    "rows in a loop": _in_loop, "zero-size views": _zero_size_view,
}  # fmt: skip


def cases() -> list[Case]:
    """All cases of this theme."""
    found = [Case(f"share {name}", _write_through(expression)) for name, expression in EXPRESSIONS.items()]
    return found + [Case(name, run) for name, run in CHAINS.items()]
