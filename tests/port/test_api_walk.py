"""The walk over MXNet's public names, and what it must find."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import gluonjax as mx
from gluonjax.port import _api_table, api_walk, cli

SYMBOLIC = (
    "symbol module model executor executor_manager optimizer lr_scheduler initializer metric callback monitor kvstore "
    "rnn operator profiler visualization random engine runtime util log test_utils attribute name base "
    "contrib.svrg_optimization contrib.text contrib.tensorboard contrib.autograd contrib.symbol"
).split()


def test_gluon_has_every_name_with_its_signature():
    report = api_walk.walk("gluon")
    assert not report.findings, "\n".join(map(str, report.findings))
    assert report.checked > 7000


@pytest.mark.parametrize("module", SYMBOLIC)
def test_symbols_and_training_have_every_name_with_its_signature(module):
    report = api_walk.walk(module)
    found = [one for one in report.findings if not re.match(r"mxnet\.symbol\.(np|numpy)", one.path)]
    assert not found, "\n".join(map(str, found))
    assert report.checked


def test_generated_functions_are_in_modules_of_their_own():
    from gluonjax.ndarray import gen_op
    from gluonjax.symbol import gen_random

    sample, low, high = (mx.sym.var(name) for name in ("sample", "low", "high"))
    drawn = gen_random.pdf_uniform(sample, low, high, name="density")
    assert drawn.list_arguments() == ["sample", "low", "high"] and drawn.list_outputs() == ["density_output"]
    assert gen_op.relu(mx.nd.array([-1, 2])).asnumpy().tolist() == [0, 2]
    assert "pdf_uniform" in dir(gen_random) and not hasattr(mx.sym.random, "pdf_uniform")
    with pytest.raises(AttributeError, match=r"gluonjax\.ndarray\.gen_op.*'softmaks'"):
        gen_op.softmaks


def test_unlisted_arguments_are_taken_by_keyword_only():
    matrix = mx.nd.array([[2, 1], [1, 2]])
    upper = mx.nd.linalg.potrf(matrix, lower=False).asnumpy()
    assert upper[1, 0] == 0 and np.allclose(upper.T @ upper, [[2, 1], [1, 2]])
    assert mx.sym.linalg.potrf(mx.sym.var("a"), "factor").name == "factor"  # the second argument is the name
    x, gamma, beta, variance = (mx.sym.var(name) for name in ("x", "g", "b", "mv"))
    symbol = mx.sym.BatchNorm_v1(x, gamma, beta, 0.5, name="old", moving_var=variance)
    assert symbol.list_auxiliary_states() == ["old_moving_mean", "mv"]
    assert symbol.attr_dict()["old"]["eps"] == "0.5"


def test_the_table_is_whole():
    names = list(_api_table.names())
    assert len(names) == len(set(names)) == 15070
    by_path = {one.path: one for one in names}
    dense = by_path["mxnet.gluon.nn.Dense"]
    assert dense.kind == "class" and dense.signature.startswith("(units, activation=None, use_bias=True")
    assert by_path["mxnet.gluon.nn.Dense.hybrid_forward"].signature == "(self, F, x, weight, bias=None)"
    assert set(_api_table.unpack(_api_table.pack(names))) == set(names)


def test_a_difference_is_found(monkeypatch, capsys):
    table = [
        _api_table.Name("mxnet.gluon.Trainer.step", "method", "(self, batch_size, ignore_stale_grad=True)"),
        _api_table.Name("mxnet.gluon.Trainer.leap", "method", "(self)"),
        _api_table.Name("mxnet.gluon.Trainer.update", "method", "(self, batch_size, ignore_stale_grad=False)"),
        _api_table.Name("mxnet.gluon.contrib.quantize_net", "function", "(net)"),
    ]
    monkeypatch.setattr(api_walk, "names", lambda: iter(table))
    report = api_walk.walk("mxnet.gluon")
    assert [(one.path.rpartition(".")[2], one.kind) for one in report.findings] == [
        ("leap", "missing"), ("step", "differs"),
    ]  # fmt: skip
    assert (report.checked, report.excluded) == (3, 1)
    assert cli.main(["api", "gluon", "--missing"]) == 1
    shown = capsys.readouterr().out
    assert "missing  mxnet.gluon.Trainer.leap(self)" in shown and "differs" not in shown


@pytest.mark.parametrize(
    ("wanted", "accepted"),
    [
        ("(a, b=1)", True), ("(a, b=2)", False), ("(a)", True), ("(b=1, a=None)", False), ("(a, c=1)", False),
        ("(a, b=1, *args)", False), ("(a, b=1, **kwargs)", True), ("(a, *, b=1)", True), ("(a, d='x, y')", False),
    ],
)  # fmt: skip
def test_which_signatures_accept_all_calls(wanted, accepted):
    def ours(a: int, b: int = 1, d: str = "x, y", **kwargs: int) -> None: ...

    assert api_walk.accepts_all(wanted, inspect.signature(ours)) is accepted


def test_c_library_names_are_left_out():
    for path in ("mxnet.base.c_str", "mxnet.kvstore.base.check_call", "mxnet._ctypes.ndarray.CachedOp",
                 "mxnet.base.NDArrayHandle", "mxnet.contrib.quantization.quantize_model"):  # fmt: skip
        assert api_walk.reason_to_exclude(path), path
    for path in ("mxnet.gluon.utils.HookHandle", "mxnet.gluon.nn.Dense", "mxnet.nd.one_hot"):
        assert api_walk.reason_to_exclude(path) is None, path
