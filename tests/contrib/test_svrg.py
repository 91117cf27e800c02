"""SVRGModule against trainings recorded with the real MXNet, and what it says to wrong arguments."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import gluonjax as mx
from gluonjax.contrib.svrg_optimization.svrg_module import SVRGModule
from tests.contrib.svrg_cases import CASES, train

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "data" / "svrg.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_training_equals_mxnet(name: str) -> None:
    found = train(mx, *CASES[name])
    assert found.keys() == RECORDED[name].keys()
    for key, value in RECORDED[name].items():
        np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-6, err_msg=key)


def test_update_frequency_is_checked() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1)
    with pytest.raises(TypeError, match="must be an integer"):
        SVRGModule(net, label_names=None, update_freq=None)
    with pytest.raises(ValueError, match="positive"):
        SVRGModule(net, label_names=None, update_freq=0)


def test_two_contexts_give_the_same_steps() -> None:
    results = []
    for context in (mx.cpu(0), [mx.cpu(0), mx.cpu(1)]):
        net = mx.sym.LinearRegressionOutput(
            mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc"), mx.sym.var("y"), name="out"
        )
        batches = mx.io.NDArrayIter(np.eye(4, dtype=np.float32), np.arange(4.0), batch_size=4, label_name="y")
        module = SVRGModule(net, label_names=["y"], context=context, update_freq=1)
        module.fit(batches, eval_metric="mse", num_epoch=3, initializer=mx.init.One())
        results.append(module.get_params()[0]["fc_weight"].asnumpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)
