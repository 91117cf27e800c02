"""Python protocols, copies between arrays, NumPy and contexts, and the errors of wrong calls."""

from __future__ import annotations

import copy
import pickle

import numpy as np

from tests.ndarray.cases import Case

ONE = {"f32": [[2.5]], "zero": [0], "one": [1], "negative": [-1.0], "two": [1, 2], "matrix": [[1, 2], [3, 4]]}
PROTOCOLS = {
    "bool": bool, "float": float, "int": int, "len": len, "list": lambda a: [x.shape for x in a],
    "asscalar": lambda a: a.asscalar(),
    "hash": lambda a: hash(a) == hash(a),
    "shape": lambda a: (a.shape, a.size, a.ndim, a.dtype, str(a.context), a.stype),
    "not": lambda a: not a, "index": lambda a: list(range(5))[a],
}  # fmt: skip


def _protocol(values, function):
    return lambda mx: function(mx.nd.array(values))


def _copyto_view(mx):
    a, b = mx.nd.arange(4), mx.nd.zeros((2, 4))
    answer = a.copyto(b[1])
    return [b, answer]


def _copyto_dtype(mx):
    a, b = mx.nd.array([1.7, 2.2]), mx.nd.zeros((2,), dtype="int32")
    a.copyto(b)
    return [a, b]


def _copyto_shape(mx):
    return mx.nd.ones((2,)).copyto(mx.nd.zeros((3,)))


def _copyto_self(mx):
    import warnings

    a = mx.nd.ones((2,))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = a.copyto(a)
    return [answer, [str(w.message) for w in caught], [w.category.__name__ for w in caught]]


def _contexts(mx):
    a = mx.nd.ones((2,), ctx=mx.cpu(1))
    with mx.cpu(2):
        b = mx.nd.zeros((1,))
        c = mx.nd.array([1, 2])
    return [str(x) for x in (a.context, a.ctx, b.context, c.context, (a + 1).context, a[0].context, a.reshape((2, 1)).context,
                             a.as_in_context(mx.cpu(0)).context, a.copyto(mx.cpu(4)).context,
                             mx.current_context())]  # fmt: skip


def _context_facts(mx):
    cpu = mx.cpu
    with mx.Context("cpu", 3):
        inside = str(mx.context.current_context())
    return [cpu(0) == cpu(), cpu(0) != cpu(1), hash(cpu(0)) == hash(cpu()), cpu().device_type, cpu(2).device_id, cpu().device_typeid,
            str(mx.Context(cpu(3))), inside, mx.context.num_gpus(), str(mx.Context("cpu_pinned", 1)),
            mx.cpu_pinned().device_typeid,
            str(mx.context.Context.default_ctx) if hasattr(mx.context.Context, "default_ctx") else ""]  # fmt: skip


def _asnumpy_is_a_copy(mx):
    a = mx.nd.zeros((2,))
    b = a.asnumpy()
    b[0] = 5
    c = a[0:1].asnumpy()
    c += 1
    return [a, b.flags.writeable, b.flags.c_contiguous, c.flags.writeable]


def _array_copies_numpy(mx):
    source = np.zeros(2, np.float32)
    a = mx.nd.array(source)
    source[0] = 5
    return a


def _from_numpy(mx):
    source = np.arange(4, dtype=np.float32)
    a = mx.nd.from_numpy(source, zero_copy=False)
    source[0] = 9
    return [a, source.flags.writeable]


def _from_numpy_zero_copy(mx):
    source = np.arange(4, dtype=np.float32)
    a = mx.nd.from_numpy(source)
    a[1] = 7
    return [a, source, source.flags.writeable]


def _copies(mx):
    a = mx.nd.arange(3)
    twins = [copy.copy(a), copy.deepcopy(a), a.copy(), copy.deepcopy([a])[0], copy.deepcopy({"k": a})["k"]]
    for index, twin in enumerate(twins):
        twin[:] = index
    return [a, twins]


def _pickles(mx):
    arrays = [mx.nd.arange(3), mx.nd.array([[1, 2]], dtype="int64"), mx.nd.arange(6).reshape((2, 3))[1], mx.nd.array([1.5], dtype="float16")]
    return [pickle.loads(pickle.dumps(a, protocol)) for a in arrays for protocol in (0, 2, 4)]


def _iteration(mx):
    a = mx.nd.arange(6).reshape((3, 2))
    return [list(a), [x.shape for x in a[0]], len(a), next(reversed(list(a)))]


def _contains(mx):
    a = mx.nd.array([3])
    return [a in [a], mx.nd.array([2]) in [a]]


def _full_names(mx):
    a = mx.nd.ones((2, 3))
    return [hasattr(a, name) for name in ("asnumpy", "handle", "writable", "grad", "T", "tostype", "backward", "as_in_context", "wait_to_read")]


def _setting(name, value):
    def run(mx):
        setattr(mx.nd.ones((1,)), name, value)

    return run


def _broadcasts(mx):
    a = mx.nd.arange(3)
    return [a.broadcast_to((2, 3)), a.reshape((3, 1)).broadcast_to((3, 2)), a.broadcast_like(mx.nd.zeros((4, 3)))]


OTHERS = {
    "copyto view": _copyto_view, "copyto dtype": _copyto_dtype, "copyto shape": _copyto_shape,
    "copyto self": _copyto_self, "copyto wrong": lambda mx: mx.nd.ones((1,)).copyto(3), "contexts": _contexts,
    "context facts": _context_facts, "context wrong": lambda mx: mx.Context("cpx"),
    "asnumpy copies": _asnumpy_is_a_copy, "array copies": _array_copies_numpy, "from_numpy copy": _from_numpy,
    "from_numpy zero copy": _from_numpy_zero_copy,
    "from_numpy order": lambda mx: mx.nd.from_numpy(np.ones((2, 3), np.float32).T),
    "from_numpy wrong": lambda mx: mx.nd.from_numpy([1]), "copies": _copies, "pickles": _pickles,
    "iteration": _iteration, "contains": _contains, "attributes": _full_names,
    "set shape": _setting("shape", (1,)), "set T": _setting("T", 1),
    "reshape none": lambda mx: mx.nd.ones((4,)).reshape(),
    "reshape grows": lambda mx: mx.nd.ones((4,)).reshape((5,)),
    "reshape shrinks": lambda mx: mx.nd.ones((4,)).reshape((3,)),
    "reshape keyword": lambda mx: mx.nd.ones((4,)).reshape(shape=(2, 2)),
    "reshape two": lambda mx: mx.nd.ones((4,)).reshape(2, -1),
    "reshape bad keyword": lambda mx: mx.nd.ones((4,)).reshape(shap=(2, 2)),
    "reshape -1 -1": lambda mx: mx.nd.ones((4,)).reshape((-1, -1)),
    "expand_dims bad": lambda mx: mx.nd.ones((4,)).expand_dims(3),
    "squeeze bad": lambda mx: mx.nd.ones((4, 1)).squeeze(0),
    "squeeze all": lambda mx: mx.nd.ones((1, 1)).squeeze(),
    "transpose bad": lambda mx: mx.nd.ones((4, 1)).transpose((0, 0)),
    "transpose args": lambda mx: mx.nd.ones((4, 1, 2)).transpose(2, 0, 1).shape,
    "transpose keyword": lambda mx: mx.nd.ones((4, 1)).transpose(axes=(1, 0)).shape, "broadcasts": _broadcasts,
    "broadcast_to fails": lambda mx: mx.nd.ones((2,)).broadcast_to((3,)),
    "broadcast_to fewer": lambda mx: mx.nd.ones((2, 1)).broadcast_to((2,)),
    "asscalar big": lambda mx: mx.nd.ones((2,)).asscalar(),
    "astype bad": lambda mx: mx.nd.ones((2,)).astype("floaty"),
    "as_in_context": lambda mx: str(mx.nd.ones((2,)).as_in_context(mx.cpu(5)).context),
    "iter 0-size": lambda mx: list(mx.nd.ones((2, 2))[2:]),
    "bool 0-size": lambda mx: bool(mx.nd.ones((2,))[2:]),
    "attach_grad bad": lambda mx: mx.nd.ones((2,)).attach_grad("wrong"),
    "grad none": lambda mx: mx.nd.ones((1,)).grad, "save none": lambda mx: mx.nd.save("/tmp/x.params", 3),
    "load missing": lambda mx: mx.nd.load("/nonexistent/file"), "invoke wrong": lambda mx: mx.nd.relu(3),
    "invoke missing": lambda mx: mx.nd.FullyConnected(mx.nd.ones((1, 2))),
}  # fmt: skip


def cases() -> list[Case]:
    """All cases of this theme."""
    found = [Case(f"{name} of {text}", _protocol(values, run)) for name, run in PROTOCOLS.items() for text, values in ONE.items()]
    return found + [Case(name, run) for name, run in OTHERS.items()]
