"""Metrics against what MXNet 1.9.1 answered (tests/data/metrics.json), on host and device values."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gluonjax import metric
from gluonjax._base.errors import MXNetError
from gluonjax._metrics import _device
from gluonjax._metrics._device import DeviceMetric, fusible
from tests.metric_cases import cases

RECORDED = json.loads((Path(__file__).parent / "data" / "metrics.json").read_text())
CASES = {key: rest for key, *rest in cases()}


def as_ndarray(array: np.ndarray) -> Any:
    from gluonjax import nd

    return nd.array(array, dtype=array.dtype)


def as_jax(array: np.ndarray) -> Any:
    with jax.enable_x64(True):
        return jnp.asarray(array)


WRAPPERS = {"numpy": np.asarray, "jax": as_jax, "ndarray": as_ndarray}


def compare(found: list[Any], wanted: list[Any]) -> None:
    assert [name for name, _ in found] == [name for name, _ in wanted]
    np.testing.assert_allclose(
        [value for _, value in found], [value for _, value in wanted], rtol=2e-6, atol=1e-7
    )


@pytest.mark.parametrize("key", CASES)
@pytest.mark.parametrize("kind", ["numpy", "ndarray"])
def test_values_are_those_of_mxnet(key: str, kind: str) -> None:
    name, settings, batches = CASES[key]
    tried = metric.create(name, **settings)
    for position, (labels, preds) in enumerate(batches):
        if position == 2:
            tried.reset_local()
        tried.update(*([WRAPPERS[kind](array) for array in side] for side in (labels, preds)))
        local_values, global_values = RECORDED[key][position]
        compare(tried.get_name_value(), local_values)
        compare(tried.get_global_name_value(), global_values)


# One case of every metric and setting is enough here: compiling takes its time.
DEVICE_CASES = list(
    {
        (name, str(settings)): key
        for key, (name, settings, _) in CASES.items()
        if fusible(metric.create(name, **settings))
    }.values()
)


@pytest.mark.parametrize("key", DEVICE_CASES)
def test_compiled_values_are_the_same(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that are not ready yet go through the compiled path; here all do."""
    monkeypatch.setattr(_device, "_on_host", lambda value: False)
    name, settings, batches = CASES[key]
    tried = metric.create(name, **settings)
    for labels, preds in batches[:2]:
        tried.update([as_jax(array) for array in labels], [as_jax(array) for array in preds])
    compare(tried.get_name_value(), RECORDED[key][1][0])


@pytest.mark.parametrize("key", DEVICE_CASES)
def test_pure_update_and_accumulate(key: str) -> None:
    name, settings, batches = CASES[key]
    tried = metric.create(name, **settings)
    assert isinstance(tried, DeviceMetric)
    with jax.enable_x64(True):
        step = jax.jit(tried.pure_update)
        for labels, preds in batches[:2]:
            tried.accumulate(*step(labels, preds))
    compare(tried.get_name_value(), RECORDED[key][1][0])


def test_updates_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = metric.create(["acc", "ce", "mae", "loss"])
    preds, labels = as_jax(np.full((3, 2), 0.5, np.float32)), as_jax(np.zeros(3, np.float32))
    monkeypatch.setattr(_device, "_on_host", lambda value: False)
    with monkeypatch.context() as strict:
        strict.setattr(jax, "device_get", lambda value: pytest.fail("update read values"))
        for _ in range(_device.MOST_PENDING - 1):
            tried.update([labels], [preds])
    assert tried.get()[1] == pytest.approx([1.0, math.log(2), 0.5, 0.5])
    # Past the limit the oldest results are added up, and memory stays bounded.
    for _ in range(2 * _device.MOST_PENDING):
        tried.update([labels], [preds])
    accuracy = tried.metrics[0]
    assert len(accuracy._pending) <= _device.MOST_PENDING
    assert accuracy.num_inst == 3 * (3 * _device.MOST_PENDING - 1)


def test_sum_and_count_can_be_set() -> None:
    tried = metric.Accuracy()
    tried.update([np.array([0, 1])], [np.array([1, 1])])
    tried.sum_metric += 3
    tried.num_inst += 4
    assert tried.get() == ("accuracy", 4 / 6)
    assert tried.get_global() == ("accuracy", 0.5)
    tried.global_sum_metric, tried.global_num_inst = 3.0, 4
    assert tried.get_global() == ("accuracy", 0.75)
    twin = copy.deepcopy(tried)
    tried.reset()
    assert math.isnan(tried.get()[1])
    assert twin.get() == ("accuracy", 4 / 6)


def test_reset_local_keeps_the_global_value() -> None:
    for name in ("acc", "mse", "f1", "mcc", "pcc", "ce", "pearsonr"):
        tried = metric.create(name)
        labels = np.array([0.0, 1.0, 1.0, 0.0], np.float32)
        preds = (
            labels * 0.5
            if name in ("mse", "pearsonr")
            else np.array([[0.2, 0.8], [0.3, 0.7]] * 2, np.float32)
        )
        tried.update([labels], [preds])
        before = tried.get_global()
        tried.reset_local()
        assert tried.num_inst == 0
        assert math.isnan(tried.get()[1]), name
        np.testing.assert_equal(tried.get_global(), before)


def test_create() -> None:
    assert type(metric.create("Accuracy")) is metric.Accuracy
    assert metric.create('["acc", {"axis": 0}]').axis == 0
    assert metric.create({"metric": "acc", "axis": 2}).axis == 2
    ready = metric.create("ce")
    assert metric.create(ready) is ready
    combined = metric.create(["acc", "mse"])
    assert str(combined) == "EvalMetric: {'accuracy': nan, 'mse': nan}"
    again = metric.create(json.dumps(combined.get_config()))
    assert again.get_config() == combined.get_config()
    assert isinstance(combined.get_metric(5), ValueError)
    assert metric.create("acc").get_config() == {
        "axis": 1,
        "metric": "Accuracy",
        "name": "accuracy",
        "output_names": None,
        "label_names": None,
    }
    top = metric.create("top_k_acc", top_k=3)
    assert metric.create(top.get_config()).name == top.name == "top_k_accuracy_3"


@pytest.mark.parametrize(
    ("what", "arguments", "text"),
    [
        (
            "acuracy",
            {},
            "acuracy is not registered. Please register with metric.register first; did you mean 'accuracy'",
        ),
        (None, {}, "metric must be of string type"),
        (5, {}, "metric must be of string type"),
        (metric.MSE(), {"name": "x"}, "metric is already an instance"),
        ("top_k_acc", {}, "Please use Accuracy if top_k is no more than 1"),
        ("{", {}, "is not JSON"),
    ],
)
def test_create_errors(what: Any, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(AssertionError, match=text) as caught:
        metric.create(what, **arguments)
    assert isinstance(caught.value, MXNetError)


@pytest.mark.parametrize(
    ("name", "settings", "label", "pred", "text"),
    [
        ("acc", {}, (2,), (3, 3), "Shape of labels 2 does not match shape of predictions 3"),
        ("acc", {"axis": 2}, (3,), (3, 3), "axis 2 exceeds the input dimension of 2"),
        ("top_k_acc", {"top_k": 2}, (2,), (3, 3), "Shape of labels 2 does not match shape of predictions 3"),
        ("top_k_acc", {"top_k": 2}, (2,), (2, 3, 3), "no more than 2 dims"),
        ("mse", {}, (3,), (2,), "operands could not be broadcast together"),
        ("ce", {}, (2,), (3, 3), "one label for each row"),
        ("nll_loss", {}, (2,), (3, 3), "NegativeLogLikelihood"),
        ("perplexity", {"ignore_label": 0}, (2,), (3, 3), "shape mismatch"),
        ("f1", {}, (2,), (3, 2), "Shape of labels 2 does not match shape of predictions 3"),
        ("pearsonr", {}, (3,), (3, 1), "does not match shape of predictions"),
    ],
)
def test_shapes_are_checked(
    name: str, settings: dict[str, Any], label: tuple[int, ...], pred: tuple[int, ...], text: str
) -> None:
    with pytest.raises(MXNetError, match=text):
        metric.create(name, **settings).update([np.zeros(label)], [np.zeros(pred)])


def test_values_are_checked() -> None:
    with pytest.raises(IndexError, match=r"labels reach from 0 to 3, but the predictions have 3 classes"):
        metric.CrossEntropy().update([np.array([0, 3])], [np.full((2, 3), 0.3)])
    with pytest.raises(ValueError, match="only supports binary classification"):
        metric.F1().update([np.array([0, 1, 2])], [np.full((3, 3), 0.3)])
    with pytest.raises(ValueError, match="Shape of labels 1 does not match shape of predictions 0"):
        metric.Accuracy().update([np.zeros(1)], [])
    with jax.enable_x64(True):
        total, _ = jax.jit(metric.CrossEntropy().pure_update)([np.array([0, 3])], [np.full((2, 3), 0.3)])
    assert math.isnan(total)


def test_update_inside_a_compiled_function_is_explained() -> None:
    tried = metric.Accuracy()
    with pytest.raises(MXNetError, match="pure_update"):
        jax.jit(lambda pred: tried.update([np.zeros(2)], [pred]))(np.zeros((2, 2)))


def test_half_precision_keeps_its_digits() -> None:
    preds = np.full((4096, 2), 0.5, np.float16)
    tried = metric.create(["ce", "loss", "mae"])
    tried.update([np.zeros((4096,), np.float16)], [preds])
    tried.metrics[2].reset()
    tried.metrics[2].update([np.zeros((4096, 2), np.float16)], [preds])
    assert tried.get()[1] == pytest.approx([math.log(2), 0.5, 0.5], rel=1e-6)


def test_named_arrays() -> None:
    label = {"a": np.array([0, 1]), "b": np.array([5, 5])}
    pred = {"x": np.array([9, 9]), "y": np.array([0, 1])}
    tried = metric.Accuracy(label_names=["a"], output_names=["y"])
    tried.update_dict(label, pred)
    assert tried.get() == ("accuracy", 1.0)
    combined = metric.CompositeEvalMetric(["acc"], label_names=["b"], output_names=["x"])
    combined.update_dict(label, pred)
    assert combined.get() == (["accuracy"], [0.0])
    assert fusible(metric.create(["acc", "mse"])) is not None
    assert fusible(combined) is None
    assert fusible(metric.create("f1")) is None


def test_functions_as_metrics() -> None:
    tried = metric.create(lambda label, pred: (float((label == pred).sum()), len(label)))
    tried.update([np.array([0, 1])], [np.array([1, 1])])
    assert tried.get() == ("custom(<lambda>)", 0.5)

    def same(label: np.ndarray, pred: np.ndarray) -> float:
        return float((label == pred).mean())

    tried = metric.np(same, allow_extra_outputs=True)
    tried.update([np.array([0, 1])], [np.array([1, 1]), np.array([7, 7])])
    assert tried.get() == ("same", 0.5)
    with pytest.raises(NotImplementedError, match="cannot be serialized"):
        tried.get_config()


def test_own_metrics() -> None:
    class Count(metric.EvalMetric):
        def update(self, labels: Any, preds: Any) -> None:
            self.sum_metric += len(preds)
            self.num_inst += 1

    class Louder(metric.Accuracy):
        def update(self, labels: Any, preds: Any) -> None:
            super().update(labels, preds)
            self.sum_metric *= 2

    metric.register(Count)
    tried = metric.create("count", "counted")
    tried.update([], [np.zeros(2)] * 3)
    assert tried.get() == tried.get_global() == ("counted", 3.0)
    louder = Louder()
    assert fusible(louder) is None
    louder.update([np.array([0, 1])], [np.array([0, 1])])
    assert louder.get() == ("accuracy", 2.0)
    with pytest.raises(NotImplementedError):
        metric.EvalMetric("plain").update([], [])
    with pytest.warns(UserWarning, match="overriding existing metric"):
        metric.register(Count)


def test_correlation_over_batches() -> None:
    random = np.random.RandomState(0)
    labels, preds = random.uniform(size=(2, 30))
    tried = metric.PearsonCorrelation(average="micro")
    for part in np.split(np.arange(30), [4, 17]):
        tried.update([labels[part]], [preds[part]])
    assert tried.get()[1] == pytest.approx(np.corrcoef(labels, preds)[0, 1])
    assert tried.get() == tried.get_global()


def test_edge_shapes() -> None:
    tried = metric.TopKAccuracy(top_k=10)
    tried.update([np.array([0, 2])], [np.ones((2, 3))])
    assert tried.get() == ("top_k_accuracy_10", 1.0)
    tried = metric.Perplexity(ignore_label=0)
    tried.update([np.zeros(3)], [np.full((3, 2), 0.5)])
    assert math.isnan(tried.get()[1])
    tried.update([np.ones((2, 3))], [np.full((2, 3, 2), 0.5)])
    assert tried.get()[1] == pytest.approx(2.0)
