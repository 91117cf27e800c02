"""Callbacks, monitor, logger, checkpoints, summaries; texts are MXNet's."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluonjax import callback, log, metric, model, nd, sym, visualization
from gluonjax._base.errors import MXNetError
from gluonjax.model import BatchEndParam
from gluonjax.monitor import Monitor


def accuracy(value: float) -> metric.EvalMetric:
    found = metric.Accuracy()
    found.sum_metric, found.num_inst = value * 100, 100
    return found


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def test_speedometer(logged: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100, 2))
    monkeypatch.setattr(callback.time, "time", lambda: next(clock))
    speed = callback.Speedometer(batch_size=10, frequent=2)
    tried = accuracy(0.75)
    for batch in range(3):
        speed(BatchEndParam(1, batch, tried, None))
    assert logged.messages == ["Epoch[1] Batch [0-2]\tSpeed: 10.00 samples/sec\taccuracy=0.750000"]
    assert math.isnan(tried.get()[1])
    # A new epoch starts the clock again and logs nothing at its first batch.
    speed(BatchEndParam(2, 0, tried, None))
    assert len(logged.messages) == 1


def test_speedometer_without_reset_and_without_metric(
    logged: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callback.time, "time", lambda: 5.0)
    speed = callback.Speedometer(10, 1, auto_reset=False)
    tried = accuracy(0.5)
    for batch in range(2):
        speed(BatchEndParam(0, batch, tried, None))
    speed(BatchEndParam(0, 2, None, None))
    assert logged.messages == [
        "Epoch[0] Batch [0-1]\tSpeed: inf samples/sec\taccuracy=0.500000",
        "Iter[0] Batch [2]\tSpeed: inf samples/sec",
    ]
    assert tried.get() == ("accuracy", 0.5)


def test_metric_logs(logged: pytest.LogCaptureFixture) -> None:
    tried = accuracy(0.25)
    log_it = callback.log_train_metric(2, auto_reset=True)
    for batch in range(1, 3):
        log_it(BatchEndParam(3, batch, tried, None))
    log_it(BatchEndParam(3, 4, None, None))
    assert logged.messages == ["Iter[3] Batch[2] Train-accuracy=0.250000"]
    assert tried.num_inst == 0
    logged.clear()
    callback.LogValidationMetricsCallback()(BatchEndParam(3, 0, accuracy(0.5), None))
    callback.LogValidationMetricsCallback()(BatchEndParam(3, 0, None, None))
    assert logged.messages == ["Epoch[3] Validation-accuracy=0.500000"]


def test_progress_bar(logged: pytest.LogCaptureFixture) -> None:
    bar = callback.ProgressBar(total=3, length=10)
    for batch in (1, 3):
        bar(BatchEndParam(0, batch, None, None))
    assert logged.messages == ["[===-------] 34%\r", "[==========] 100%\r"]


def network() -> Any:
    data = sym.Variable("data")
    hidden = sym.FullyConnected(data, num_hidden=3, name="fc1")
    return sym.SoftmaxOutput(hidden, name="softmax")


def test_checkpoints(tmp_path: Path, logged: pytest.LogCaptureFixture) -> None:
    prefix = str(tmp_path / "model")
    weights = {"fc1_weight": nd.array([[1, 2]]), "fc1_bias": nd.array([3])}
    states = {"mean": nd.array([4])}
    save = callback.do_checkpoint(prefix, period=2)
    for epoch in range(4):
        save(epoch, network(), weights, states)
    ours = [record.message for record in logged.records if record.name == "root"]
    assert ours == [f'Saved checkpoint to "{prefix}-000{epoch}.params"' for epoch in (2, 4)]
    found, args, auxs = model.load_checkpoint(prefix, 4)
    assert found.list_arguments() == network().list_arguments()
    assert {name: array.asnumpy().tolist() for name, array in args.items()} == {
        "fc1_weight": [[1, 2]],
        "fc1_bias": [3],
    }
    assert auxs["mean"].asnumpy().tolist() == [4]
    assert model.load_params(prefix, 2)[1].keys() == {"mean"}
    nd.save(f"{prefix}-0007.params", {"weight": nd.ones((1,))})
    with pytest.raises(MXNetError, match="has the name 'weight'"):
        model.load_params(prefix, 7)
    nd.save(f"{prefix}-0008.params", [nd.ones((1,))])
    with pytest.raises(MXNetError, match="without names"):
        model.load_params(prefix, 8)


def test_module_checkpoint() -> None:
    calls: list[Any] = []

    class Module:
        def save_checkpoint(self, *arguments: Any) -> None:
            calls.append(arguments)

    save = callback.module_checkpoint(Module(), "net", period=0, save_optimizer_states=True)
    for epoch in range(2):
        save(epoch)
    assert calls == [("net", 1, True), ("net", 2, True)]


class Executor:
    """What a monitor needs of an executor."""

    def __init__(self) -> None:
        self.arg_dict = {"weight": nd.array([3, 4]), "data": nd.array([1])}
        self.aux_dict = {"mean": nd.array([[2, 2]])}

    def set_monitor_callback(self, callback: Any, monitor_all: bool) -> None:
        self.callback, self.monitor_all = callback, monitor_all

    def forward(self) -> None:
        self.callback("out_output", nd.array([6]))


def test_monitor(logged: pytest.LogCaptureFixture) -> None:
    executor = Executor()
    monitor = Monitor(2, pattern="out|weight|mean", sort=True, monitor_all=True)
    monitor.install(executor)
    assert executor.monitor_all
    executor.forward()
    for step in (1, 2, 3):
        monitor.tic()
        executor.forward()
        found = monitor.toc()
        if step == 2:
            assert found == []
        else:
            assert [(number, name) for number, name, _ in found] == [
                (step, "mean"),
                (step, "out_output"),
                (step, "weight"),
            ]
            values = [float(text.rstrip("\t")) for _, _, text in found]
            assert values == pytest.approx([2, 6, 5 / math.sqrt(2)])
    plain = Monitor(1, stat_func=lambda array: array.max())
    plain.install(executor)
    plain.tic()
    executor.forward()
    plain.toc_print()
    assert logged.messages[0] == "Batch:       1 out_output                     6.0\t"
    plain = Monitor(1, stat_func=lambda array: 1.0)
    plain.install(executor)
    plain.tic()
    with pytest.raises(TypeError, match="stat_func returned float for 'weight', wanted NDArrays"):
        plain.toc()


def test_logger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    logger = log.get_logger("gluonjax-test-file", str(path), level=log.INFO)
    assert log.get_logger("gluonjax-test-file", "other") is logger
    assert len(logger.handlers) == 1
    logger.info("to the file")
    logger.debug("not to the file")
    logger.handlers[0].close()
    assert path.read_text() == "to the file\n"
    shown = log.get_logger("gluonjax-test-terminal", level=log.DEBUG)
    text = shown.handlers[0].format(logging.LogRecord("n", log.WARNING, "a.py", 7, "careful", (), None, "f"))
    assert text.startswith("\x1b[31mW")
    assert text.endswith("a.py:f:7]\x1b[0m careful")
    with pytest.warns(DeprecationWarning, match="Use get_logger instead"):
        log.getLogger("gluonjax-test-file")
    assert log.get_logger() is logging.getLogger()


def test_print_summary(capsys: pytest.CaptureFixture[str]) -> None:
    visualization.print_summary(network(), shape={"data": (5, 2)}, line_length=60)
    # Column by column what MXNet 1.9.1 prints.
    rows = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == "_" * 60
    assert rows[1] == "Layer (type)              Output ShapeParam Previous Layer"
    assert rows[3] == "data(null)                2           0     "[:45].rstrip()
    assert rows[5] == "fc1(FullyConnected)       3           9     data"
    assert rows[7] == "softmax(SoftmaxOutput)    3           0     fc1"
    assert rows[9] == "Total params: 9"
    with pytest.raises(TypeError, match="symbol must be Symbol"):
        visualization.print_summary("net")


def test_plot_network(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    nodes: dict[str, Any] = {}
    edges: list[Any] = []

    class Digraph:
        def __init__(self, name: str, format: str) -> None:
            self.name, self.format = name, format

        def node(self, name: str, label: str, **style: str) -> None:
            nodes[name] = (label, style["fillcolor"], style["shape"])

        def edge(self, tail: str, head: str, **style: str) -> None:
            edges.append((tail, head, style["label"]))

    stand_in = types.ModuleType("graphviz")
    stand_in.Digraph = Digraph  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "graphviz", stand_in)
    picture = visualization.plot_network(network(), shape={"data": (5, 2)}, dtype={"data": np.float32})
    assert (picture.name, picture.format) == ("plot", "pdf")
    assert nodes["data"] == ("data", "#8dd3c7", "oval")
    assert nodes["fc1"] == ("FullyConnected\n3", "#fb8072", "box")
    assert "fc1_weight" not in nodes
    assert edges == [
        ("fc1", "data", "2(float32)"),
        ("softmax", "fc1", "3(float32)"),
        ("softmax", "softmax_label", "(float32)"),
    ]
    monkeypatch.setitem(sys.modules, "graphviz", None)
    assert "digraph" in visualization.plot_network(network()).source
