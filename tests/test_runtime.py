"""What the build says of itself, and the engine's switches that change nothing."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

import gluonjax as mx


def test_features_tell_the_truth() -> None:
    features = mx.runtime.Features()
    assert features is mx.runtime.Features() and features.is_enabled("xla")
    assert features.is_enabled("CUDA") == (mx.context.num_gpus() > 0) == features.is_enabled("CUDNN")
    assert features.is_enabled("OPENCV") == (importlib.util.find_spec("cv2") is not None)
    assert not features.is_enabled("MKLDNN") and not features.is_enabled("TENSORRT")
    flags = pathlib.Path("/proc/cpuinfo")
    if flags.exists() and " avx2 " in flags.read_text():
        assert features.is_enabled("CPU_AVX2")
    with pytest.raises(RuntimeError, match=r"Feature 'CUDAA' is unknown(.|\n)*did you mean 'CUDA'"):
        features.is_enabled("CUDAA")
    shown = {feature.name for feature in mx.runtime.feature_list()}
    assert shown == set(features) and "INT64_TENSOR_SIZE" in shown


def test_int64_is_there_as_the_feature_says() -> None:
    big = mx.nd.array([2**40 + 1], dtype="int64")
    assert (big + 1).asnumpy().tolist() == [2**40 + 2] and mx.runtime.Features().is_enabled("INT64_TENSOR_SIZE")


def test_bulk_scopes_are_accepted_and_give_the_size_back() -> None:
    before = mx.engine.set_bulk_size(7)
    with mx.engine.bulk(20):
        total = mx.nd.ones((2,))
        for _ in range(3):
            total += 1
        assert mx.engine.set_bulk_size(20) == 20
    assert mx.engine.set_bulk_size(before) == 7
    assert total.asnumpy().tolist() == [4, 4]


def test_seeds_are_checked() -> None:
    with pytest.raises(ValueError, match="seed_state must be int"):
        mx.random.seed("x")
    with pytest.raises(mx.MXNetError, match="unknown device type 'cpuu'"):
        mx.random.seed(1, ctx="cpuu")


def test_tables_of_operators_arguments_are_those_of_mxnet() -> None:
    found = mx.operator.get_operator_arguments("FullyConnected")
    assert found.narg == 6 and found.names == ["data", "weight", "bias", "num_hidden", "no_bias", "flatten"]
    assert found.types[3:] == ["int, required", "boolean, optional, default=0", "boolean, optional, default=1"]
    dropout = mx.operator.get_operator_arguments("Dropout")
    assert dropout.types[1:4] == [
        "float, optional, default=0.5", "{'always', 'training'},optional, default='training'",
        "Shape(tuple), optional, default=[]",
    ]  # fmt: skip
    assert "FullyConnected" in mx.operator.get_all_registered_operators()
