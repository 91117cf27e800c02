"""Trainer and the helpers of ``gluon.utils``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.gluon.scenarios.blocks import rows
from tests.gluon.scenarios.seen import numbers, raised, refused

Seen = list[Any]


def dense(mx: Any, prefix: str = "d_", **kwargs: Any) -> Any:
    layer = mx.gluon.nn.Dense(2, in_units=3, prefix=prefix)
    layer.initialize(mx.init.One(), **kwargs)
    return layer


def backward(mx: Any, layer: Any) -> None:
    with mx.autograd.record():
        loss = (layer(rows(mx)) ** 2).sum()
    loss.backward()


def step(mx: Any, layer: Any, trainer: Any, size: int = 1) -> Any:
    backward(mx, layer)
    trainer.step(size)
    return numbers(layer.weight.data())


def wrong_arguments(mx: Any) -> Seen:
    make, params = mx.gluon.Trainer, dense(mx).collect_params()
    calls = (
        (3, "sgd"), ([3], "sgd"), (params, "sgdx"), (params, "sgd", {"foo": 1}),
        (params, mx.optimizer.SGD(), {"learning_rate": 1}), ([mx.gluon.Parameter("w", shape=(1,))], "sgd"),
    )  # fmt: skip
    return [raised(make, *arguments) for arguments in calls]


def learning_rates(mx: Any) -> Seen:
    layer = dense(mx)
    trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.5})
    trainer.set_learning_rate(0.1)
    seen = [trainer.learning_rate]
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=1.0)
    trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.5, "lr_scheduler": schedule})
    seen += [trainer.learning_rate, refused(trainer.set_learning_rate, 0.3)]
    return [*seen, *([step(mx, layer, trainer), trainer.learning_rate] for _ in range(5))]


def stale(mx: Any) -> Seen:
    used, idle = dense(mx), dense(mx, "e_")
    params = {**dict(used.collect_params()), **dict(idle.collect_params())}
    trainer = mx.gluon.Trainer(params, "sgd", {"learning_rate": 0.1})
    backward(mx, used)
    seen = [raised(trainer.step, 1)]
    backward(mx, used)
    seen += [raised(trainer.step, 1, ignore_stale_grad=True), numbers(used.weight.data()), numbers(idle.weight.data())]
    return [*seen, raised(trainer.step, 1), raised(trainer.step, 1, True), numbers(used.weight.data())]


def before_the_first_batch(mx: Any) -> Seen:
    net = mx.gluon.nn.Dense(2, prefix="d_")
    net.initialize()
    return [raised(mx.gluon.Trainer(net.collect_params(), "sgd").step, 1)]


def added_gradients(mx: Any) -> Seen:
    layer = dense(mx)
    layer.collect_params().setattr("grad_req", "add")
    trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.1})
    backward(mx, layer)
    seen = [step(mx, layer, trainer, 2), numbers(layer.weight.grad())]
    layer.collect_params().zero_grad()
    return [*seen, step(mx, layer, trainer)]


def multipliers(mx: Any) -> Seen:
    layer = dense(mx)
    layer.weight.lr_mult, layer.bias.wd_mult = 0.5, 0
    trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.1, "wd": 0.1})
    seen = [step(mx, layer, trainer), numbers(layer.bias.data())]
    layer.weight.lr_mult, layer.bias.grad_req = 2.0, "null"
    return [*seen, step(mx, layer, trainer), numbers(layer.bias.data())]


def scales(mx: Any) -> Seen:
    layer = dense(mx)
    options = {"learning_rate": 1, "rescale_grad": 3.0, "clip_gradient": 0.5}
    trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", options)
    return [trainer._scale, step(mx, layer, trainer, 4), trainer._optimizer.rescale_grad]


def two_contexts(mx: Any) -> Seen:
    seen: Seen = []
    contexts = [mx.cpu(0), mx.cpu(1)]
    for store, on_store in (("device", None), ("local", True), ("device", False), (None, False)):
        layer = dense(mx, ctx=contexts)
        options = {"learning_rate": 0.1, "momentum": 0.9}
        trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", options, kvstore=store, update_on_kvstore=on_store)
        for _ in range(2):
            with mx.autograd.record():
                losses = [(layer(x) ** 2).sum() for x in mx.gluon.utils.split_and_load(rows(mx), contexts)]
            mx.autograd.backward(losses)
            trainer.step(2)
        seen.append([numbers(copy) for copy in layer.weight.list_data()])
    return seen


def separate_steps(mx: Any) -> Seen:
    contexts = [mx.cpu(0), mx.cpu(1)]
    layer = dense(mx, ctx=contexts)
    trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.1}, update_on_kvstore=False)
    with mx.autograd.record():
        losses = [(layer(x) ** 2).sum() for x in mx.gluon.utils.split_and_load(rows(mx), contexts)]
    mx.autograd.backward(losses)
    trainer.allreduce_grads()
    seen = [[numbers(copy) for copy in layer.weight.list_grad()]]
    trainer.update(2)
    seen.append([numbers(copy) for copy in layer.weight.list_data()])
    stored = mx.gluon.Trainer(layer.collect_params(), "sgd", update_on_kvstore=True)
    return [*seen, raised(stored.allreduce_grads), raised(stored.update, 1)]


def states(mx: Any) -> Seen:
    layer = dense(mx)
    trainer = mx.gluon.Trainer(layer.collect_params(), "adam", {"learning_rate": 0.1})
    seen = [step(mx, layer, trainer)]
    trainer.save_states("s")
    again = mx.gluon.Trainer(layer.collect_params(), "adam", {"learning_rate": 0.5})
    again.load_states("s")
    return [*seen, again.learning_rate, again._optimizer.num_update, step(mx, layer, again)]


def optimizers(mx: Any) -> Seen:
    seen: Seen = []
    names = (
        "sgd", "nag", "adam", "adagrad", "rmsprop", "adadelta", "adamax", "nadam", "ftrl", "ftml", "signum", "dcasgd",
        "lars", "lamb",
    )  # fmt: skip
    for name in names:
        layer = dense(mx)
        trainer = mx.gluon.Trainer(layer.collect_params(), name)
        step(mx, layer, trainer)
        seen.append([name, step(mx, layer, trainer)])
    return seen


def rows_of_embeddings(mx: Any) -> Seen:
    seen: Seen = []
    momentum = {"momentum": 0.9}
    for name, options in (
        ("sgd", {}), ("sgd", momentum), ("sgd", {"lazy_update": False}), ("adam", {}), ("adam", {"lazy_update": False}),
        ("ftrl", {}), ("nag", {}), ("nag", momentum), ("signum", {}), ("rmsprop", {}), ("adamax", {}), ("ftml", {}),
    ):  # fmt: skip
        layer = mx.gluon.nn.Embedding(4, 2, sparse_grad=True)
        layer.initialize(mx.init.One())
        trainer = mx.gluon.Trainer(layer.collect_params(), name, {"wd": 0.1, **options})
        for _ in range(3):
            with mx.autograd.record():
                loss = (layer(mx.nd.array([1, 1, 3])) ** 2).sum()
            loss.backward()
            trainer.step(1)
        seen.append([name, sorted(options), numbers(layer.weight.data())])
    return seen


def splits(mx: Any) -> Seen:
    utils, x = mx.gluon.utils, mx.nd.arange(10).reshape((5, 2))
    seen = [raised(utils.split_data, x, 2), raised(utils.split_data, x, 6)]
    seen.append([piece.shape for piece in utils.split_data(x, 2, even_split=False)])
    seen.append([piece.shape for piece in utils.split_data(x, 2, batch_axis=1)])
    contexts = [mx.cpu(0), mx.cpu(1)]
    loaded = utils.split_and_load(np.ones((4, 2)), contexts)
    seen.append([[piece.shape, piece.context, piece.dtype] for piece in loaded])
    return [*seen, raised(utils.split_and_load, x, contexts)]


def clipped(mx: Any) -> Seen:
    seen: Seen = []
    for values, bound in (([[3.0, 4.0], [12.0]], 1.0), ([[0.1]], 1.0), ([[3.0, 4.0]], 10.0)):
        arrays = [mx.nd.array(one) for one in values]
        seen += [mx.gluon.utils.clip_global_norm(arrays, bound), [numbers(one) for one in arrays]]
    lazy = mx.gluon.utils.clip_global_norm([mx.nd.array([3.0, 4.0])], 1.0, check_isfinite=False)
    return [*seen, lazy.shape, numbers(lazy)]


def hook_handles(mx: Any) -> Seen:
    from collections import OrderedDict

    handle, hooks = mx.gluon.utils.HookHandle(), OrderedDict()
    handle.attach(hooks, print)
    seen = [len(hooks), raised(handle.attach, hooks, print)]
    handle.detach()
    handle.detach()
    return [*seen, len(hooks)]


def digests(mx: Any) -> Seen:
    with open("f", "w") as file:
        file.write("abc")
    known = "a9993e364706816aba3e25717850c26c9cd0d89d"
    check = mx.gluon.utils.check_sha1
    return [check("f", known), check("f", "b"), mx.gluon.utils.download("http://127.0.0.1:1/f", sha1_hash=known)]
