"""Symbols: names, attributes, inference, JSON, an executor and its gradients."""

import json

import mxnet as mx
from mxnet import nd
from mxnet import symbol as S

with mx.AttrScope(ctx_group="front"):
    data = S.var("data", shape=(2, 4), lr_mult=2.0)
    hidden = mx.sym.FullyConnected(data, num_hidden=3)
    hidden = mx.sym.Activation(hidden, act_type="tanh")
with mx.name.Prefix("tail_"):
    both = mx.sym.concat(hidden, hidden * 2, dim=1)
    net = mx.sym.Group([both.sum(axis=1), mx.sym.BlockGrad(both)])
print(net, net.list_arguments(), net.list_outputs())
print(net.infer_shape())
print([(name, sorted(attrs.items())) for name, attrs in sorted(net.attr_dict().items())])
print(both.get_children(), both.name)
document = json.loads(net.tojson())
print([(node["op"], node["name"], node.get("attrs")) for node in document["nodes"]])
again = mx.sym.load_json(net.tojson())
print(again.tojson() == net.tojson())

executor = both.simple_bind(mx.cpu(), data=(2, 4))
for name, array in executor.arg_dict.items():
    array[:] = 0.1 if name.endswith("weight") else nd.arange(array.size).reshape(array.shape)
print(executor.forward(is_train=True)[0].asnumpy().round(4))
executor.backward(nd.ones((2, 6)))
for name in both.list_arguments():
    print(name, executor.grad_dict[name].asnumpy().round(4).tolist())
