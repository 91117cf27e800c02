"""A watched training step; runs under gluonjax and the real MXNet."""

from __future__ import annotations

from typing import Any


def normalized(mx: Any, is_train: bool) -> list[list[str]]:
    """Names, hidden outputs included, and sums of magnitudes around normalizations."""
    net = mx.sym.BatchNorm(mx.sym.var("data"), fix_gamma=False, momentum=0.5, name="bn")
    net = mx.sym.LayerNorm(net, name="ln")
    executor = net.simple_bind(mx.cpu(), data=(2, 3))
    monitor = mx.mon.Monitor(1, stat_func=lambda x: mx.nd.sum(mx.nd.abs(x)), sort=False)
    monitor.install(executor)
    monitor.tic()
    values = {"bn_gamma": [1, 2, 3], "bn_beta": [0, 1, 0], "ln_gamma": [3, 1, 2], "ln_beta": [0, 0, 1]}
    for name, value in values.items():
        executor.arg_dict[name][:] = mx.nd.array(value)
    executor.aux_dict["bn_moving_var"][:] = 2
    executor.forward(is_train=is_train, data=mx.nd.array([[1, 2, 4], [3, 2.5, 8]]))
    if is_train:
        executor.backward([mx.nd.array([[1, 2, 3], [4, 5, 7]])])
    # MXNet has nodes of its own for head gradients.
    return [[name, text] for _, name, text in monitor.toc() if not name.startswith("_head")]


def watched(mx: Any, monitor_all: bool, is_train: bool) -> list[list[str]]:
    """Names and texts that a monitor collects from a step of a small network."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc_0")
    net = mx.sym.Activation(net, act_type="sigmoid", name="act_0")
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc_1")
    net = mx.sym.LinearRegressionOutput(net, mx.sym.var("label"), name="out")
    monitor = mx.mon.Monitor(1, stat_func=lambda x: mx.nd.sum(mx.nd.abs(x)), sort=False, monitor_all=monitor_all)
    module = mx.mod.Module(net, label_names=["label"])
    module.bind([("data", (1, 2))], [("label", (1, 2))], for_training=True)
    module.install_monitor(monitor)
    values = {
        "fc_0_weight": [[0.125, 0.25], [0.25, 0.5]], "fc_0_bias": [0.5, 0.5],
        "fc_1_weight": [[0.5, 0.25], [0.125, 0.75]], "fc_1_bias": [1.0, 0.5],
    }  # fmt: skip
    module.init_params(arg_params={name: mx.nd.array(value) for name, value in values.items()})
    monitor.tic()
    module.forward(mx.io.DataBatch([mx.nd.array([[0.5, 0.25]])], [mx.nd.array([[0.5, 1.0]])]), is_train=is_train)
    if is_train:
        module.backward()
    return [[name, text] for _, name, text in monitor.toc()]
