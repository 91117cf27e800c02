"""What JAX adds: any optax optimizer where MXNet takes one, here AdamW with a warm-up and gradient clipping.

Run it with ``python -m gluonjax run examples/optax_in_module.py``. EXAMPLE_TINY=1 trains for fewer epochs.
"""

import os

import mxnet as mx
import numpy as np
import optax

TINY = os.environ.get("EXAMPLE_TINY") == "1"
POINTS, EPOCHS, BATCH = (400, 10, 40) if TINY else (2000, 20, 40)


def main():
    mx.random.seed(6)
    source = np.random.RandomState(0)
    data = source.uniform(-1, 1, (POINTS, 2)).astype("float32")
    label = (data[:, 0] * data[:, 1] > 0).astype("float32")  # opposite quadrants: no straight line tells them apart
    split = POINTS * 3 // 4
    train = mx.io.NDArrayIter(data[:split], label[:split], BATCH)
    test = mx.io.NDArrayIter(data[split:], label[split:], BATCH)

    net = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=32), act_type="tanh")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=2), name="softmax")
    steps = EPOCHS * (split // BATCH)
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.08, warmup_steps=steps // 10, decay_steps=steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-4))

    model = mx.mod.Module(net)
    metric = mx.metric.Accuracy()
    model.fit(
        train, eval_metric=metric, num_epoch=EPOCHS, initializer=mx.init.Xavier(), optimizer=optimizer,
        epoch_end_callback=lambda epoch, *_: print("epoch %2d: accuracy %.3f" % (epoch, metric.get()[1])),
    )
    print("held-out accuracy: %.3f" % dict(model.score(test, "acc"))["accuracy"])


if __name__ == "__main__":
    main()
