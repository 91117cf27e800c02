"""The TensorBoard callback, with a writer of our own in place of the optional packages."""

from __future__ import annotations

import sys
import types

import pytest

import gluonjax as mx
from gluonjax.contrib import tensorboard


def test_values_are_written(monkeypatch) -> None:
    written = []

    class SummaryWriter:
        def __init__(self, folder):
            written.append(folder)

        def add_scalar(self, name, value, global_step):
            written.append((name, value, global_step))

    module = types.ModuleType("mxboard")
    module.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "mxboard", module)
    callback = tensorboard.LogMetricsCallback("logs", prefix="train")
    metric = mx.metric.Accuracy()
    metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0, 1], [0, 1]])])
    callback(mx.model.BatchEndParam(epoch=4, nbatch=0, eval_metric=metric, locals={}))
    assert written == ["logs", ("train-accuracy", 0.5, 4)]


def test_without_a_writer_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(tensorboard, "_WRITERS", ("no_such_package",))
    with pytest.raises(ImportError, match="pip install tensorboardX"):
        tensorboard.LogMetricsCallback("logs")
