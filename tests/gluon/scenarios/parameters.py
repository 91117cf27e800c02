"""Parameters and dictionaries of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.gluon.scenarios.seen import numbers, raised

Seen = list[Any]


def weight(mx: Any, **kwargs: Any) -> Any:
    return mx.gluon.Parameter("w", **{"shape": (2, 3), **kwargs})


def texts(mx: Any) -> Seen:
    forms = [
        weight(mx), weight(mx, shape=None), weight(mx, shape=3),
        weight(mx, shape=(2, 0), dtype="float16", grad_req="null", lr_mult=2.0, wd_mult=0.5, init="ones"),
        weight(mx, stype="row_sparse", grad_stype="row_sparse"), mx.gluon.Constant("c", [[1, 2], [3, 4]]),
    ]  # fmt: skip
    return [[one, one.name, one.shape, one.dtype, one.grad_req, one.lr_mult, one.wd_mult] for one in forms]


def uninitialized(mx: Any) -> Seen:
    one = weight(mx)
    calls = (
        one.data, one.list_data, one.grad, one.list_grad, one.list_ctx, one.zero_grad, lambda: one.reset_ctx(mx.cpu(0)),
        lambda: one.set_data(mx.nd.ones((2, 3))), lambda: one.row_sparse_data(mx.nd.ones(2)),
    )  # fmt: skip
    return [raised(call) for call in calls]


def deferred(mx: Any) -> Seen:
    one = weight(mx, shape=(2, 0), allow_deferred_init=True)
    seen = [raised(weight(mx, shape=(2, 0)).initialize)]
    one.initialize()
    seen += [raised(call) for call in (one.data, one.list_data, one.grad, one.list_grad, one.list_ctx)]
    seen += [raised(one.set_data, mx.nd.ones((2, 3))), one.shape]
    return seen


def shapes_are_narrowed(mx: Any) -> Seen:
    one = weight(mx, shape=(2, 0), allow_deferred_init=True)
    wanted = ((3, 4), (2, 4), (2, 5), (2, 4, 1))
    return [[raised(setattr, one, "shape", shape), one.shape] for shape in wanted]


def setting_data(mx: Any) -> Seen:
    one = weight(mx)
    one.initialize(init="ones")
    seen = [raised(one.set_data, mx.nd.ones((3, 3)))]
    for value in (mx.nd.zeros((2, 3)), np.ones((2, 3)), mx.nd.ones((2, 3), dtype="float64")):
        seen += [raised(one.set_data, value), numbers(one.data()), one.data().dtype]
    one.initialize(init="zeros")
    seen.append(numbers(one.data()))
    one.initialize(init="zeros", force_reinit=True)
    return [*seen, numbers(one.data())]


def contexts(mx: Any) -> Seen:
    one = weight(mx, shape=(2,))
    one.initialize(init="ones", ctx=[mx.cpu(0), mx.cpu(1)])
    seen = [one.list_ctx(), [numbers(copy) for copy in one.list_data()], [numbers(copy) for copy in one.list_grad()]]
    seen += [raised(one.data, mx.cpu(2)), raised(one.grad, mx.cpu(3)), one.data(mx.cpu(1)).context]
    one.reset_ctx(mx.cpu(0))
    seen.append(one.list_ctx())
    one.reset_ctx([mx.cpu(1), mx.cpu(2)])
    one.set_data(mx.nd.array([5, 6]))
    return [*seen, one.list_ctx(), raised(one.data, mx.cpu(0)), [numbers(copy) for copy in one.list_data()]]


def gradient_requests(mx: Any) -> Seen:
    one = weight(mx, shape=(2,))
    seen = [raised(setattr, one, "grad_req", "foo"), raised(weight, mx, grad_req="bar")]
    one.initialize(init="ones")
    for request in ("null", "write", "add"):
        one.grad_req = request
        seen += [raised(one.grad), raised(one.list_grad), one.grad_req]
    fixed = weight(mx, differentiable=False)
    fixed.grad_req = "write"
    return [*seen, fixed.grad_req]


def accumulated(mx: Any) -> Seen:
    one, seen = weight(mx, shape=(2,), grad_req="add"), []
    one.initialize(init="ones")
    for _ in range(3):
        with mx.autograd.record():
            loss = (one.data() ** 2).sum()
        loss.backward()
        seen.append(numbers(one.grad()))
    one.zero_grad()
    return [*seen, numbers(one.grad())]


def casts(mx: Any) -> Seen:
    one, seen = weight(mx, shape=(2,)), []
    one.initialize(init="ones")
    for dtype in ("float64", np.float16, "float32"):
        one.cast(dtype)
        seen += [one, one.dtype, one.data().dtype, one.grad().dtype]
    return seen


def sparse(mx: Any) -> Seen:
    seen = [raised(weight, mx, stype="foo"), raised(weight, mx, grad_stype="foo")]
    one = weight(mx, stype="row_sparse", grad_stype="row_sparse")
    one.initialize(init="ones")
    seen += [raised(one.data), raised(one.list_data), raised(one.row_sparse_data, mx.nd.array([0]))]
    dense = weight(mx)
    dense.initialize()
    return [*seen, raised(dense.row_sparse_data, mx.nd.array([0]))]


def constants(mx: Any) -> Seen:
    one = mx.gluon.Constant("c", [[1, 2], [3, 4]])
    one.initialize()
    one.grad_req = "write"
    others = [mx.gluon.Constant("c", value) for value in (mx.nd.array([1.0, 2]), np.array([1, 2]))]
    return [one, numbers(one.data()), one.grad_req, raised(one.grad), [[two.shape, two.dtype] for two in others]]


def variables(mx: Any) -> Seen:
    one = weight(mx, lr_mult=2, wd_mult=3, dtype="float64", init="ones")
    return [one.var().name, sorted(one.var().list_attr().items()), one.var() is one.var()]


def dictionaries(mx: Any) -> Seen:
    params = mx.gluon.ParameterDict("net_")
    seen = [params]
    params.get("w", shape=(2,))
    sharing = mx.gluon.ParameterDict("net_", shared=params)
    seen += [params, params.prefix, list(params.keys()), "net_w" in params, len(params.values())]
    return [*seen, raised(lambda: params["zz"]), sharing.get("w") is params.get("w"), sharing, list(params.items())]


def mismatches(mx: Any) -> Seen:
    params = mx.gluon.ParameterDict("n_")
    params.get("w", shape=(2, 0), dtype="float32")
    params.get("w", shape=(2, 3))
    wrong = ({"shape": (3, 3)}, {"dtype": "float16"}, {"grad_req": "null"}, {"lr_mult": 3.0}, {"shape": (2, 3, 1)})
    seen = [params, *(raised(params.get, "w", **kwargs) for kwargs in wrong)]
    constant = params.get_constant("c", [1, 2])
    seen += [constant, params.get_constant("c") is constant, raised(params.get_constant, "w", [1])]
    other = mx.gluon.ParameterDict("n_")
    other.get("w", shape=(1,))
    return [*seen, raised(params.update, other)]


def all_at_once(mx: Any) -> Seen:
    params = mx.gluon.ParameterDict("n_")
    params.get("w", shape=(2,), init="ones")
    params.get("b", shape=(2,))
    params.initialize()
    params.setattr("grad_req", "null")
    params.setattr("lr_mult", 0.5)
    params.reset_ctx(mx.cpu(1))
    seen = [[one.grad_req, one.lr_mult] for one in params.values()] + [params.list_ctx()]
    params.initialize(init=mx.init.One(), force_reinit=True)
    return [*seen, [numbers(one.data()) for one in params.values()]]


def initializers_by_name(mx: Any) -> Seen:
    kinds = ("zeros", "ones", "uniform", "normal", "xavier", "msraprelu", "orthogonal", "bilinear", "Zeros")
    return [raised(weight(mx, shape=(2, 2, 3, 3), init=kind).initialize) for kind in (*kinds, "foo")]


def files(mx: Any) -> Seen:
    params = mx.gluon.ParameterDict("n_")
    params.get("w", shape=(2,), init="ones")
    seen = [raised(params.save, "f.params")]
    params.initialize()
    params.save("f.params")
    params.save("g.params", strip_prefix="n_")
    seen += [[list(mx.nd.load(name)) for name in ("f.params", "g.params")]]
    seen.append(raised(params.save, "h.params", strip_prefix="x_"))

    def fresh(prefix: str, *names: str, **kwargs: Any) -> Any:
        made = mx.gluon.ParameterDict(prefix)
        for name in names:
            made.get(name, **{"shape": (2,), **kwargs})
        return made

    more = fresh("n_", "w", "v")
    seen += [raised(more.load, "f.params"), raised(more.load, "f.params", allow_missing=True)]
    seen.append(numbers(more["n_w"].data()))
    less = fresh("n_")
    seen += [raised(less.load, "f.params"), raised(less.load, "f.params", ignore_extra=True), less]
    other = fresh("m_", "w")
    seen += [raised(other.load, "g.params"), raised(other.load, "g.params", restore_prefix="m_")]
    seen += [numbers(other["m_w"].data()), raised(other.load, "g.params", restore_prefix="x_")]
    half = fresh("n_", "w", dtype="float16")
    seen += [raised(fresh("n_", "w", shape=(3,)).load, "f.params"), raised(half.load, "f.params")]
    half.load("f.params", cast_dtype=True)
    saved = fresh("n_", "w", dtype="float16")
    saved.load("f.params", cast_dtype=True, dtype_source="saved")
    return [*seen, half["n_w"].data().dtype, saved["n_w"].data().dtype]
