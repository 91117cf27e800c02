"""What mx.base, mx.misc and mx.util offer to old scripts; texts as the real MXNet 1.9.1 gives them."""

from __future__ import annotations

import types

import pytest

import gluonjax as mx
from gluonjax import base


def test_parameter_sections() -> None:
    text = base.build_param_doc(
        ["data", "num_args", "data", "axis"], ["NDArray", "int", "x", "int, optional"], ["The input.", "n", "", ""]
    )
    assert text == "Parameters\n----------\ndata : NDArray\n    The input.\naxis : int, optional\n"


def test_error_texts_of_the_c_library() -> None:
    assert base.c2pyerror("ValueError: bad value\nmore") == ("ValueError: bad value\nmore", "ValueError")
    assert base.c2pyerror("[12:00:00] x.cc:12: Check failed: a == b")[1] is None
    text = "a.cc:12: IndexError: oops\nStack trace:\n  [bt] (0) f\n  [bt] (1) g\n"
    expected = "Traceback (most recent call last):\n  [bt] (1) g\n  [bt] (0) f\na.cc:12: IndexError: oops"
    assert base.c2pyerror(text) == (expected, "a.cc")


def test_docstrings_say_where_functions_are() -> None:
    module = types.ModuleType("some")

    def documented() -> None:
        """Text."""

    module.documented = documented
    base.add_fileline_to_docstring(module)
    base.add_fileline_to_docstring(module)
    assert documented.__doc__.startswith("Text.\n\nFrom:") and documented.__doc__.count("From:") == 1
    assert "test_base.py:" in documented.__doc__


def test_first_schedules() -> None:
    schedule = mx.misc.FactorScheduler(step=2, factor=0.1)
    assert [round(schedule(number), 6) for number in (0, 1, 2, 5)] == [0.01, 0.01, 0.001, 0.0001]
    with pytest.raises(ValueError, match="less than 1"):
        mx.misc.FactorScheduler(step=2, factor=1.5)


def test_ufunc_options() -> None:
    double = mx.util.wrap_np_unary_func(lambda x, out=None: 2 * x)
    add = mx.util.wrap_np_binary_func(lambda x1, x2, out=None: x1 + x2)
    assert double(3, casting="same_kind") == 6 and add(1, 2, where=True) == 3
    with pytest.raises(NotImplementedError, match="casting=safe is not implemented"):
        double(3, casting="safe")
    with pytest.raises(TypeError, match="not understood"):
        add(1, 2, casting="odd")
    with pytest.raises(TypeError, match="invalid keyword"):
        add(1, 2, colour="red")
    assert mx.util.np_ufunc_legal_option("dtype", "float16") and not mx.util.np_ufunc_legal_option("dtype", "bool")


def test_feature_table_is_one_and_truthful() -> None:
    features = mx.runtime.Features()
    assert features is mx.runtime.Features()
    assert features.is_enabled("xla") and features.is_enabled("profiler") and not features.is_enabled("MKLDNN")
    assert features.is_enabled("CUDA") == (mx.context.num_gpus() > 0)
    with pytest.raises(RuntimeError, match=r"FOO.* is unknown"):
        features.is_enabled("foo")


def test_documentation_classes() -> None:
    from gluonjax import ndarray_doc, symbol_doc

    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc")
    assert symbol_doc.FullyConnectedDoc.get_output_shape(net, x=(2, 4)) == {"fc_output": (2, 3)}
    assert issubclass(ndarray_doc.StackDoc, ndarray_doc.NDArrayDoc)
