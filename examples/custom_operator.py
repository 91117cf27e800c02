"""A loss written in Python and NumPy, used in a compiled graph and on arrays (mx.operator.CustomOp).

An ordinary MXNet script. Run it on gluonjax with ``python -m gluonjax run examples/custom_operator.py``.
Three spiral arms are told apart. EXAMPLE_TINY=1 takes fewer points and epochs.
"""

import os

import mxnet as mx
import numpy as np

TINY = os.environ.get("EXAMPLE_TINY") == "1"
POINTS, EPOCHS, BATCH = (300, 25, 30) if TINY else (1500, 40, 50)


class HingeLoss(mx.operator.CustomOp):
    """Multi-class hinge loss: forward shows the scores, backward pushes the right one above all others."""

    def __init__(self, margin):
        self.margin = margin

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        scores, labels = in_data[0].asnumpy(), in_data[1].asnumpy().astype(int)
        rows = np.arange(len(labels))
        wrong = (scores - scores[rows, labels][:, None] + self.margin > 0).astype("float32")
        wrong[rows, labels] = 0
        wrong[rows, labels] = -wrong.sum(1)
        self.assign(in_grad[0], req[0], mx.nd.array(wrong))
        self.assign(in_grad[1], req[1], 0)


@mx.operator.register("hinge_loss")
class HingeLossProp(mx.operator.CustomOpProp):
    def __init__(self, margin="1.0"):
        super().__init__(need_top_grad=False)
        self.margin = float(margin)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return HingeLoss(self.margin)


def spirals():
    source = np.random.RandomState(0)
    label = np.arange(POINTS) % 3
    radius = source.uniform(0.1, 1, POINTS)
    angle = 4 * radius + 2 * np.pi / 3 * label + source.normal(0, 0.08, POINTS)
    data = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    order = source.permutation(POINTS)
    return data[order].astype("float32"), label[order].astype("float32")


def main():
    mx.random.seed(1)
    np.random.seed(1)
    data, label = spirals()
    split = POINTS * 4 // 5
    train = mx.io.NDArrayIter(data[:split], label[:split], BATCH, shuffle=True)
    test = mx.io.NDArrayIter(data[split:], label[split:], BATCH)
    net = mx.sym.var("data")
    for width in (32, 32):
        net = mx.sym.Activation(mx.sym.FullyConnected(net, num_hidden=width), act_type="tanh")
    net = mx.sym.FullyConnected(net, num_hidden=3)
    net = mx.sym.Custom(net, mx.sym.var("softmax_label"), op_type="hinge_loss", margin=0.5, name="loss")
    model = mx.mod.Module(net)
    metric = mx.metric.Accuracy()
    model.fit(
        train, eval_metric=metric, num_epoch=EPOCHS, initializer=mx.init.Xavier(), optimizer="adam",
        optimizer_params={"learning_rate": 0.02},
        epoch_end_callback=lambda epoch, *_: print("epoch %2d: accuracy %.2f" % (epoch, metric.get()[1])),
    )
    print("held-out accuracy: %.3f" % dict(model.score(test, "acc"))["accuracy"])
    scores = mx.nd.array([[1.0, 0.9, 0.0]])
    scores.attach_grad()
    with mx.autograd.record():
        loss = mx.nd.Custom(scores, mx.nd.array([0]), op_type="hinge_loss")
    loss.backward()
    print("gradient of one sample:", scores.grad.asnumpy().tolist())


if __name__ == "__main__":
    main()
