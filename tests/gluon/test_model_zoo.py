"""The networks of the model zoo against the real MXNet's outputs for the same weights (``oracle/record_zoo.py``)."""

from __future__ import annotations

import hashlib
import json
import pathlib
from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon
from gluonjax.gluon.model_zoo import model_store, vision
from tests.gluon.zoo_weights import CLASSES, NAMES, fill, images

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "data" / "gluon" / "zoo.json").read_text())
# Quick enough for every run; the others take up to minutes.
QUICK = ("mobilenet0.25", "mobilenetv2_0.25", "resnet18_v2")
QUICK_COMPILED = ("mobilenet0.25",)


def choose(quick: tuple[str, ...]) -> list[Any]:
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]


def filled(name: str) -> Any:
    net = vision.get_model(name, classes=CLASSES)
    fill(mx, net, name)
    return net


def test_all_networks_are_recorded() -> None:
    assert sorted(RECORDED) == sorted(NAMES) == sorted(vision.MODELS) and len(NAMES) == 34


@pytest.mark.parametrize("name", choose(QUICK))
def test_output_names_and_sizes(name: str) -> None:
    known, net = RECORDED[name], filled(name)
    output = net(mx.nd.array(images(name))).asnumpy()
    expected = np.array(known["output"], np.float32)
    np.testing.assert_allclose(output, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    structural = net._collect_params_with_prefix()
    assert len(structural) == known["parameters"]
    assert sum(parameter.data().size for parameter in structural.values()) == known["elements"]
    assert [*list(structural)[:2], *list(structural)[-2:]] == known["structural"]
    names = [key.removeprefix(net.prefix) for key in net.collect_params()]
    assert names[:3] + names[-2:] == known["names"]


@pytest.mark.parametrize("name", choose(QUICK_COMPILED))
def test_hybridized_equals_eager_and_a_step_trains(name: str) -> None:
    net, x = filled(name), mx.nd.array(images(name))
    eager = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), eager, rtol=1e-3, atol=1e-4 * np.abs(eager).max())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    before = {key: value.data().asnumpy() for key, value in net._collect_params_with_prefix().items()}
    with autograd.record():
        value = loss(net(x), mx.nd.zeros((x.shape[0],)))
    value.backward()
    trainer.step(x.shape[0])
    assert np.isfinite(value.asnumpy()).all()
    after = {key: value.data().asnumpy() for key, value in net._collect_params_with_prefix().items()}
    assert sum(not np.array_equal(after[key], old) for key, old in before.items()) > 0.5 * len(before)


def test_unknown_names_are_explained() -> None:
    with pytest.raises(ValueError, match=r"(?s)Model resnet18 is not supported.*resnet18_v1"):
        vision.get_model("resnet18")


def test_pretrained_weights_from_a_local_folder(tmp_path, monkeypatch) -> None:
    net = filled("mobilenet0.25")
    net.save_parameters(str(tmp_path / "any.params"))
    content = (tmp_path / "any.params").read_bytes()
    digest = hashlib.sha1(content).hexdigest()
    monkeypatch.setitem(model_store.DIGESTS, "mobilenet0.25", digest)
    (tmp_path / f"mobilenet0.25-{digest[:8]}.params").write_bytes(content)
    loaded = vision.mobilenet0_25(pretrained=True, root=str(tmp_path), classes=CLASSES)
    x = mx.nd.array(images("mobilenet0.25"))
    np.testing.assert_array_equal(loaded(x).asnumpy(), net(x).asnumpy())


def test_without_a_network_the_error_says_what_to_do(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MXNET_GLUON_REPO", "file:///nowhere/")
    with pytest.raises(mx.MXNetError) as caught:
        vision.alexnet(pretrained=True, root=str(tmp_path))
    text = str(caught.value)
    assert "alexnet-44335d1f" in text and str(tmp_path) in text and model_store.DIGESTS["alexnet"] in text
