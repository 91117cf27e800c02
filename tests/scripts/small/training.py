"""A Gluon regression with two optimizers, a metric, saving and loading."""

import os
import tempfile

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

points = nd.array([[i / 8.0, (i * 3 % 8) / 8.0] for i in range(8)])
targets = (points * nd.array([2.0, -1.0])).sum(axis=1, keepdims=True) + 0.5


def network():
    net = nn.HybridSequential(prefix="model_")
    with net.name_scope():
        net.add(nn.Dense(4, activation="tanh"), nn.Dense(1))
    net.initialize(mx.init.Constant(0.1))
    return net


for optimizer, settings in (("sgd", {"learning_rate": 0.2, "momentum": 0.9, "wd": 0.001}), ("adam", {})):
    net = network()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), optimizer, settings)
    loss_of = gluon.loss.L2Loss()
    metric = mx.metric.RMSE()
    for step in range(4):
        with autograd.record():
            predicted = net(points)
            loss = loss_of(predicted, targets)
        loss.backward()
        trainer.step(len(points))
        metric.update([targets], [predicted])
        print(optimizer, step, "%.5f" % loss.mean().asscalar(), "%s %.5f" % metric.get())

print(net)
print(net.collect_params())
path = os.path.join(tempfile.mkdtemp(), "model.params")
net.save_parameters(path)
copy = nn.HybridSequential()
copy.add(nn.Dense(4, activation="tanh"), nn.Dense(1))
copy.load_parameters(path)
print(sorted(nd.load(path)), bool((nd.abs(copy(points) - net(points)).max() < 1e-6).asscalar()))
