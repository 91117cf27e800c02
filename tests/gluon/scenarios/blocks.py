"""Blocks: names, children, calls, hooks, files."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from tests.gluon.scenarios.seen import numbers, raised, refused

Seen = list[Any]


def rows(mx: Any) -> Any:
    return mx.nd.array(np.arange(6.0).reshape(2, 3) / 6)


def network(mx: Any, prefix: str = "net_") -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    return net


def filled(mx: Any, prefix: str = "net_") -> Any:
    net = network(mx, prefix)
    net.initialize(mx.init.One())
    net(rows(mx))
    return net


def names(mx: Any) -> Seen:
    nn = mx.gluon.nn

    class Model(mx.gluon.Block):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.first = nn.Dense(2)
                self.rest = nn.Sequential()
                self.rest.add(nn.Dense(3))
                self.scale = self.params.get("scale", shape=(1,))

    seen: Seen = []
    for model in (Model(), Model(prefix="q_"), Model()):
        seen += [model.name, model.prefix, model, list(model.collect_params().keys()), list(model.params.keys())]
        seen.append(list(model._collect_params_with_prefix()))
    return [*seen, list(model.collect_params(".*weight").keys()), model.collect_params(".*dense1.*|.*scale$")]


def attributes(mx: Any) -> Seen:
    nn = mx.gluon.nn
    model = mx.gluon.Block()
    model.layer = nn.Dense(2)
    seen = [raised(setattr, model, "layer", 3)]
    model.layer = nn.Dense(3)
    hybrid = nn.HybridSequential()
    wrong = (nn.Lambda("relu"), mx.gluon.Block(), 3)
    return [*seen, model, *(refused(hybrid.add, one) for one in wrong)]


def slices(mx: Any) -> Seen:
    seen: Seen = []
    for kind in (mx.gluon.nn.Sequential, mx.gluon.nn.HybridSequential):
        net = kind(prefix="s_")
        with net.name_scope():
            for width in range(1, 5):
                net.add(mx.gluon.nn.Dense(width))
        net.initialize()
        part = net[1:3]
        seen += [len(net), net[1], net[-1], part, net[::2], part.prefix, net[1:1], part[0] is net[1]]
        seen += [list(part.collect_params().keys()), refused(lambda net=net: net[7])]
        seen += [net(rows(mx)).shape, net[:2](rows(mx)).shape]
    return seen


def side_by_side(mx: Any) -> Seen:
    seen: Seen = []
    contrib, dense = mx.gluon.contrib.nn, mx.gluon.nn.Dense
    for kind in (contrib.Concurrent, contrib.HybridConcurrent):
        net = kind(axis=1, prefix="c_")
        net.add(dense(2))
        net.add(dense(3))
        net.initialize(mx.init.One())
        seen += [net, numbers(net(rows(mx)))]
    return seen


def lambdas(mx: Any) -> Seen:
    nn = mx.gluon.nn

    def own(F: Any, x: Any) -> Any:
        return x

    made = (nn.Lambda("tanh"), nn.HybridLambda("tanh"), nn.HybridLambda(own), nn.HybridLambda("relu", prefix="z_"))
    two = nn.HybridLambda(lambda F, x, y: x + y)
    seen = [[one, one.name] for one in made] + [numbers(two(rows(mx), rows(mx)))]
    return [*seen, raised(nn.Lambda, "none_such"), raised(nn.HybridLambda, "none_such"), raised(nn.Lambda, 3)]


def inference(mx: Any) -> Seen:
    net = network(mx)
    net.infer_shape(rows(mx))
    seen = [net.collect_params()]
    net = network(mx)
    net.cast("float16")
    seen.append(net.collect_params())
    net = network(mx)
    net.initialize()
    net.cast("float64")
    seen += [net(rows(mx).astype("float64")).dtype, net.collect_params()]
    layers = (mx.gluon.nn.BatchNorm(), mx.gluon.nn.LayerNorm(), mx.gluon.nn.GroupNorm(), mx.gluon.nn.InstanceNorm())
    for layer in layers:
        layer.cast("float16")
    return [*seen, *(layer.collect_params() for layer in layers)]


def hooks(mx: Any) -> Seen:
    net, log = filled(mx), []
    before = net.register_forward_pre_hook(lambda block, inputs: log.append(["before", block.name, len(inputs)]))
    after = net.register_forward_hook(lambda block, inputs, output: log.append(["after", block.name, output.shape]))
    child = net[0].register_forward_hook(lambda block, inputs, output: log.append(["child", block.name]))
    net(rows(mx))
    before.detach()
    net(rows(mx))
    child.detach()
    net.hybridize()
    net(rows(mx))
    with after:
        net(rows(mx))
    net(rows(mx))
    visited: list[str] = []
    same = net.apply(lambda block: visited.append(block.name)) is net
    return [log, visited, same]


def parameter_files(mx: Any) -> Seen:
    net = network(mx)
    net.initialize(mx.init.One())
    seen = [raised(net.save_parameters, "x")]
    net(rows(mx))
    net.save_parameters("x")
    seen.append(sorted(mx.nd.load("x")))
    other = network(mx, "other_")
    other.load_parameters("x")
    seen.append(numbers(other(rows(mx))))
    wide = mx.gluon.nn.HybridSequential(prefix="wide_")
    wide.add(mx.gluon.nn.Dense(7, prefix="a_"), mx.gluon.nn.BatchNorm(prefix="b_"), mx.gluon.nn.Dense(2, prefix="c_"))
    seen.append(raised(wide.load_parameters, "x"))
    longer = network(mx)
    longer.add(mx.gluon.nn.Dense(1))
    seen += [raised(longer.load_parameters, "x"), raised(longer.load_parameters, "x", allow_missing=True)]
    half = network(mx)
    half.cast("float16")
    seen += [raised(half.load_parameters, "x"), raised(half.load_parameters, "x", cast_dtype=True)]
    seen.append(half[0].weight.data().dtype)
    both = network(mx)
    both.load_parameters("x", ctx=[mx.cpu(0), mx.cpu(1)])
    seen.append(both[0].weight.list_ctx())
    net.collect_params().save("y", strip_prefix="net_")
    mx.nd.save("z", {("aux:" if "running" in key else "arg:") + key: one for key, one in mx.nd.load("y").items()})
    for name in ("y", "z"):
        again = network(mx)
        again.load_parameters(name)
        seen.append(numbers(again(rows(mx))))
    return seen


def shared_layers(mx: Any) -> Seen:
    nn = mx.gluon.nn
    first = nn.Dense(3, in_units=3, prefix="a_")
    second = nn.Dense(3, in_units=3, params=first.params)
    net = nn.Sequential(prefix="n_")
    net.add(first, second)
    net.initialize(mx.init.One())
    net.save_parameters("f")
    net.save_parameters("g", deduplicate=True)
    seen = [sorted(mx.nd.load("f")), sorted(mx.nd.load("g")), list(net.collect_params())]
    net.load_parameters("f")
    return [*seen, raised(lambda: nn.Dense(5, in_units=3, params=first.params)), numbers(net(rows(mx)))]


def same_name_twice(mx: Any) -> Seen:
    net = mx.gluon.nn.Sequential()
    net.add(*(mx.gluon.nn.Dense(2, in_units=2, prefix="x_") for _ in range(2)))
    return [raised(net.collect_params)]


def exported(mx: Any) -> Seen:
    net = filled(mx)
    seen = [raised(net.export, "m")]
    net.hybridize()
    expected = numbers(net(rows(mx)))
    net.export("m", epoch=7)
    names = sorted(mx.nd.load("m-0007.params"))
    block = mx.gluon.SymbolBlock.imports("m-symbol.json", ["data"], "m-0007.params")
    seen += [expected, names, block, block.prefix, numbers(block(rows(mx))), list(block._collect_params_with_prefix())]
    load = mx.gluon.SymbolBlock.imports
    seen.append(raised(load, "m-symbol.json", ["data", "data1"], "m-0007.params"))
    bare = load("m-symbol.json", ["data"])
    return [*seen, raised(bare, rows(mx)), list(bare.collect_params())]


def symbol_blocks(mx: Any) -> Seen:
    data = mx.sym.var("data")
    dense = mx.sym.FullyConnected(data, mx.sym.var("w", shape=(2, 3)), no_bias=True, num_hidden=2, name="fc")
    block = mx.gluon.SymbolBlock(dense, data)
    seen = [block, block.name, block.prefix, block.collect_params(), raised(mx.gluon.SymbolBlock, dense, [dense])]
    seen.append(refused(mx.gluon.SymbolBlock, dense, 3))
    block.initialize()
    block.collect_params()["w"].set_data(mx.nd.ones((2, 3)))
    pair = mx.gluon.SymbolBlock([dense, dense * 2], [data], params=block.collect_params())
    return [*seen, numbers(block(rows(mx))), [numbers(one) for one in pair(rows(mx))], pair]


def deep_copies(mx: Any) -> Seen:
    net = filled(mx)
    twin = copy.deepcopy(net)
    twin[0].weight.set_data(mx.nd.zeros((4, 3)))
    return [twin[0].name, list(twin.collect_params()), numbers(twin(rows(mx))), numbers(net(rows(mx)))]


def nested_results(mx: Any) -> Seen:
    class Many(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, y: Any = None) -> Any:
            return [x * 2, (x + 1, [x])] if y is None else (x * y,)

    seen: Seen = []
    for hybrid in (False, True):
        net = Many()
        if hybrid:
            net.hybridize()
        first, (second, (third,)) = net(rows(mx))
        seen.append([numbers(first), numbers(second), numbers(third)])
    return seen


def constants_in_blocks(mx: Any) -> Seen:
    class Scaled(mx.gluon.HybridBlock):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.c = self.params.get_constant("c", mx.nd.array([[1.0, 2.0]]))
                self.d = mx.gluon.nn.Dense(2, in_units=2)

        def hybrid_forward(self, F: Any, x: Any, c: Any) -> Any:
            return self.d(x) * c

    net, x = Scaled(prefix="n_"), mx.nd.ones((1, 2))
    net.initialize(mx.init.One())
    seen = [numbers(net(x))]
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    with mx.autograd.record():
        loss = net(x).sum()
    loss.backward()
    trainer.step(1)
    seen += [numbers(net.c.data()), numbers(net.d.weight.data()), net.collect_params()]
    net.save_parameters("f")
    net.export("e")
    return [*seen, sorted(mx.nd.load("f")), sorted(mx.nd.load("e-0000.params"))]


def moving_statistics(mx: Any) -> Seen:
    layer, seen = mx.gluon.nn.BatchNorm(in_channels=2, momentum=0.5), []
    layer.initialize()
    x = mx.nd.array(np.arange(8.0).reshape(4, 2))
    for train in (True, True, False):
        with mx.autograd.record(train_mode=train):
            y = layer(x)
        y.backward()
        seen.append([numbers(y), numbers(layer.running_mean.data()), numbers(layer.running_var.data())])
        layer.hybridize()
    return seen


def sparse_gradients(mx: Any) -> Seen:
    layer = mx.gluon.nn.Embedding(4, 2, sparse_grad=True)
    layer.initialize(mx.init.One())
    with mx.autograd.record():
        total = layer(mx.nd.array([0, 2, 2])).sum()
    total.backward()
    slope = layer.weight.grad()
    seen = [layer, layer.weight, slope.stype, numbers(slope.indices), numbers(slope.data)]
    mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.1}).step(1)
    twin = mx.gluon.contrib.nn.SparseEmbedding(4, 2)
    return [*seen, numbers(layer.weight.data()), twin, twin.weight]
