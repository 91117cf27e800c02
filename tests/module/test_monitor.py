"""Monitors: what real MXNet's collect, on graphs that are compiled otherwise."""

from __future__ import annotations

import json
import logging
import pathlib

import numpy as np
import pytest

import gluonjax as mx
from tests.module.monitor_cases import normalized, watched

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "data" / "monitor.json").read_text())


@pytest.mark.parametrize("every, train", [(False, True), (True, False), (False, False)])
def test_names_and_texts_are_those_of_mxnet(every: bool, train: bool) -> None:
    found = watched(mx, every, train)
    wanted = RECORDED[f"{every}-{train}"]
    assert [name for name, _ in found] == [name for name, _ in wanted]
    for (name, text), (_, expected) in zip(found, wanted):
        if name == "fc_0_backward_output0":  # nobody asks for the data's gradient: MXNet shows old memory, we zeros
            assert float(text) == 0
            continue
        assert text.endswith("\t")
        np.testing.assert_allclose(float(text), float(expected), rtol=2e-6, err_msg=name)


@pytest.mark.parametrize("train", [False, True])
def test_hidden_outputs_are_seen_as_in_mxnet(train: bool) -> None:
    found, wanted = normalized(mx, train), RECORDED[f"normalized-{train}"]
    assert [name for name, _ in found] == [name for name, _ in wanted]
    for (name, text), (_, expected) in zip(found, wanted):
        np.testing.assert_allclose(float(text), float(expected), rtol=2e-4, atol=2e-4, err_msg=name)


def test_texts_are_short() -> None:
    monitor = mx.mon.Monitor(1, stat_func=lambda x: x.mean())
    monitor.tic()
    monitor.stat_helper("x", mx.nd.array([0.15]))
    assert monitor.toc() == [(1, "x", "0.15\t")]


def test_monitor_in_fit(caplog) -> None:
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="softmax")
    data = np.random.RandomState(0).uniform(-1, 1, (8, 4)).astype("float32")
    batches = mx.io.NDArrayIter(data, np.zeros(8), batch_size=2)
    results = []
    for monitor in (None, mx.mon.Monitor(2, pattern=".*weight|.*output", sort=True)):
        module = mx.mod.Module(net)
        with caplog.at_level(logging.INFO):
            module.fit(batches, num_epoch=1, monitor=monitor, initializer=mx.init.One())
        results.append({name: array.asnumpy() for name, array in module.get_params()[0].items()})
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Batch:")]
    # Batches 1 and 3 of the four.
    assert {line.split()[1] for line in lines} == {"1", "3"}
    assert any("backward_output" in line for line in lines) and any("weight" in line for line in lines)
    for name, array in results[0].items():
        np.testing.assert_allclose(array, results[1][name], rtol=1e-5, atol=1e-7)
