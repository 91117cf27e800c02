"""Weights with the same learning rate share it in the compiled update, until one gets another."""

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax.optimizer._numbers import Shared


def test_groups_are_split_and_never_joined():
    shared = Shared(4)
    assert not shared.split([[1, 1, 1, 1], [2, 2, 2, 2]]) and shared.groups == (0, 0, 0, 0)
    assert shared.split([[1, 1, 5, 1], [2, 2, 2, 3]]) and shared.groups == (0, 0, 1, 2)
    np.testing.assert_array_equal(shared.matrix([[1, 1, 5, 1], [2, 2, 2, 3]]), [[1, 5, 1], [2, 2, 3]])
    assert not shared.split([[7, 7, 7, 7], [2, 2, 2, 2]]) and shared.groups == (0, 0, 1, 2)
    assert shared.split([[1, 2, 1, 1], [2, 2, 2, 2]]) and shared.groups == (0, 1, 2, 3)
    assert Shared(0).groups == () and not Shared(0).split([[], []])


@pytest.mark.parametrize("how", ["trainer", "mx.jit", "module"])
def test_rates_that_change_for_some_weights_between_steps(how):
    """Plain descent on a sum: every weight falls by its own rate."""
    if how == "module":
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="one")
        net = mx.sym.MakeLoss(mx.sym.FullyConnected(net, num_hidden=1, name="two"))
        module = mx.mod.Module(net, label_names=None)
        module.bind([("data", (1, 1))])
        module.init_params(mx.init.Zero())
        module.init_optimizer(None, "sgd", {"learning_rate": 1.0, "wd": 0.0})
        optimizer = module._optimizer

        def step():
            module.forward_backward(mx.io.DataBatch([nd.ones((1, 1))]))
            module.update()
            return module.get_params()[0]["two_bias"].asscalar()

        def rate(factor):
            optimizer.set_lr_mult({"two_bias": factor})
    else:
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(1, in_units=1, weight_initializer="zeros"), gluon.nn.Dense(1, in_units=1))
        net.initialize(mx.init.Zero())
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})

        def plain():
            with autograd.record():
                loss = net(nd.ones((1, 1)))
            loss.backward()
            trainer.step(1)

        run = mx.jit(plain) if how == "mx.jit" else plain

        def step():
            run()
            return net[1].bias.data().asscalar()

        def rate(factor):
            net[1].bias.lr_mult = factor

    found = []
    for factor in (1, 1, 3, 3, 1, 0.5, 1):
        rate(factor)
        found.append(step())
    np.testing.assert_allclose(found, -np.cumsum([1, 1, 3, 3, 1, 0.5, 1]))
