"""Several contexts: labels of one device, and real devices that share a batch."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gluonjax as mx
from tests.module import networks

SHAPE = (4, 5)


def trained(contexts, steps=4, size=4, optimizer="adam", **options):
    symbol = networks.perceptron(mx)
    shape = (size, 5)
    module = mx.mod.Module(symbol, context=contexts, **options)
    module.bind([("data", shape)], [("softmax_label", shape[:1])])
    args, auxs = networks.initial(mx, symbol, shape)
    module.init_params(arg_params=args, aux_params=auxs)
    module.init_optimizer("device", optimizer, {"learning_rate": 0.05})
    for data, label in zip(*networks.arrays(shape, steps)):
        module.forward_backward(networks.batch(mx, data, label))
        module.update()
    return module


def same(first, second):
    for key, value in first.get_params()[0].items():
        np.testing.assert_allclose(value.asnumpy(), second.get_params()[0][key].asnumpy(), rtol=1e-5, atol=1e-6)


def test_labels_of_one_device():
    two = trained([mx.cpu(0), mx.cpu(1)], work_load_list=[1, 3])
    same(two, trained(mx.cpu()))
    pieces = two.get_outputs(merge_multi_context=False)
    assert [[piece.shape for piece in one] for one in pieces] == [[(1, 3), (3, 3)]]
    assert two.get_outputs()[0].shape == (4, 3)


def test_too_many_contexts():
    module = mx.mod.Module(networks.perceptron(mx), context=[mx.cpu(0), mx.cpu(1)])
    with pytest.raises(ValueError, match="Too many slices"):
        module.bind([("data", (1, 5))], [("softmax_label", (1,))])
    assert not module.binded


def test_batch_axis_of_the_layout():
    data = mx.sym.Variable("data")
    symbol = mx.sym.Activation(data, act_type="relu", __layout__="TNC")
    module = mx.mod.Module(symbol, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([mx.io.DataDesc("data", (3, 8, 7), layout="TNC")])
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((3, 8, 7))]))
    assert [piece.shape for piece in module.get_outputs(False)[0]] == [(3, 4, 7)] * 2


def test_context_groups():
    with mx.AttrScope(ctx_group="first"):
        a = mx.sym.Variable("a")
    with mx.AttrScope(ctx_group="second"):
        b = mx.sym.Variable("b")
    groups = {"first": mx.cpu(1), "second": [mx.cpu(2)]}
    module = mx.mod.Module(a * 2 + b, data_names=["a", "b"], label_names=None, group2ctxs=groups)
    module.bind([("a", (2, 3)), ("b", (2, 3))], inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3)), mx.nd.ones((2, 3))]), is_train=True)
    module.backward([mx.nd.ones((2, 3))])
    first, second = module.get_input_grads()
    assert (first.context, second.context) == (mx.cpu(1), mx.cpu(2))
    assert first.asnumpy().tolist() == [[2] * 3] * 2 and second.asnumpy().tolist() == [[1] * 3] * 2


REAL = """
import json
import jax
import numpy as np
import gluonjax as mx
from tests.module import networks, test_devices

assert len(jax.devices("cpu")) == 2
contexts = [mx.cpu(0), mx.cpu(1)]
two, one = test_devices.trained(contexts), test_devices.trained(mx.cpu())
test_devices.same(two, one)
assert two._step.mesh is not None and one._step.mesh is None
assert two._step.compilations() == 1
for a, b in zip(two._exec_group.grad_arrays, one._exec_group.grad_arrays):
    np.testing.assert_allclose(a[0].asnumpy(), b[0].asnumpy(), rtol=1e-4, atol=1e-6)
shown = two.get_outputs()[0]
pieces = two.get_outputs(False)[0]
odd = test_devices.trained(contexts, size=3)
test_devices.same(odd, test_devices.trained(mx.cpu(), size=3))
weight = two._exec_group.param_arrays[0][0]
print(json.dumps({
    "context": str(shown.context), "pieces": [str(piece.context) for piece in pieces],
    "devices": len(weight._value.devices()), "copies": len(two._step.mesh._copies),
}))
"""


def test_real_devices_share_the_batch(request):
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    root = request.path.parent.parent.parent
    found = subprocess.run([sys.executable, "-c", REAL], cwd=root, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    facts = json.loads(found.stdout)
    assert facts["context"] == "cpu(0)" and facts["pieces"] == ["cpu(0)", "cpu(1)"]
    # Users' arrays stay on one device; the step keeps replicas of the parameters and of both Adam moments.
    assert facts["devices"] == 1 and facts["copies"] == 4 * 3
