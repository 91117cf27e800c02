"""300 different (operator, shape) pairs, each once, every second one with its backward, in a fresh process.

``python cold.py mxnet`` or ``python cold.py gluonjax`` prints JSON: the seconds after import. Run it without a
compilation cache (JAX_COMPILATION_CACHE_DIR unset).
"""

import importlib
import json
import os
import sys
import time

os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
mx = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "gluonjax")
nd, autograd = mx.nd, mx.autograd

# 30 operators, each on ten shapes.
OPERATORS = [
    lambda a, b: a + b,
    lambda a, b: a * b - 1,
    lambda a, b: a / (b + 2),
    lambda a, b: nd.tanh(a),
    lambda a, b: nd.sigmoid(a),
    lambda a, b: nd.relu(a - 0.5),
    lambda a, b: nd.exp(a),
    lambda a, b: nd.log(a + 1),
    lambda a, b: nd.sqrt(a + 1),
    lambda a, b: a**2,
    lambda a, b: nd.dot(a, b, transpose_b=True),
    lambda a, b: nd.FullyConnected(a, b, num_hidden=b.shape[0], no_bias=True),
    lambda a, b: a.sum(axis=1),
    lambda a, b: a.mean(),
    lambda a, b: a.max(axis=0),
    lambda a, b: nd.softmax(a),
    lambda a, b: nd.log_softmax(a),
    lambda a, b: a.reshape((-1, 1)),
    lambda a, b: a.T,
    lambda a, b: nd.concat(a, b, dim=0),
    lambda a, b: nd.stack(a, b, axis=1),
    lambda a, b: a[1:],
    lambda a, b: nd.slice_axis(a, axis=1, begin=0, end=2),
    lambda a, b: nd.broadcast_add(a, b[0:1]),
    lambda a, b: nd.where(a > b, a, b),
    lambda a, b: nd.maximum(a, b),
    lambda a, b: nd.clip(a, 0.2, 0.8),
    lambda a, b: nd.expand_dims(a, axis=0),
    lambda a, b: nd.LayerNorm(a, b[0], b[0], axis=-1),
    lambda a, b: nd.take(a, nd.array([0, 1])),
]
SHAPES = [(rows, columns) for rows in (2, 3, 5, 8, 13) for columns in (4, 7)]


def main():
    pairs = [(operator, shape) for operator in OPERATORS for shape in SHAPES]
    start = time.perf_counter()
    for number, (operator, shape) in enumerate(pairs):
        a, b = nd.ones(shape) * 0.5, nd.ones(shape) * 0.25
        if number % 2:
            a.attach_grad()
            with autograd.record():
                result = operator(a, b)
            result.backward()
            a.grad.asnumpy()
        else:
            operator(a, b).asnumpy()
    print(json.dumps({"%d pairs, cold" % len(pairs): time.perf_counter() - start}))


if __name__ == "__main__":
    main()
