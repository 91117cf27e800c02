"""Two tasks with one network: which digit it is, and whether it is even; a composite metric watches both.

An ordinary MXNet script. Run it on gluonjax with ``python -m gluonjax run examples/multi_task.py``.
The images are scikit-learn's 1,797 packaged digits. EXAMPLE_TINY=1 takes a part of them.
"""

import os

import mxnet as mx
import numpy as np
from sklearn.datasets import load_digits

TINY = os.environ.get("EXAMPLE_TINY") == "1"
IMAGES, EPOCHS, BATCH = (600, 8, 30) if TINY else (1797, 20, 32)


def network():
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=64, name="shared")
    hidden = mx.sym.Activation(hidden, act_type="relu", name="relu")
    digit = mx.sym.FullyConnected(hidden, num_hidden=10, name="digit_scores")
    digit = mx.sym.SoftmaxOutput(digit, mx.sym.var("digit_label"), name="digit")
    even = mx.sym.FullyConnected(hidden, num_hidden=1, name="even_score")
    even = mx.sym.LogisticRegressionOutput(even, mx.sym.var("even_label"), grad_scale=0.5, name="even")
    return mx.sym.Group([digit, even])


def metrics():
    """Each metric takes the output and the label that it is named for."""
    both = mx.metric.CompositeEvalMetric()
    both.add(mx.metric.Accuracy(name="digit", output_names=["digit_output"], label_names=["digit_label"]))
    right = mx.metric.np(lambda label, pred: ((pred.ravel() > 0.5) == label).mean(), name="even")
    right.output_names, right.label_names = ["even_output"], ["even_label"]
    both.add(right)
    return both


def shown(metric):
    return ", ".join("%s %.3f" % one for one in metric.get_name_value())


def main():
    mx.random.seed(2)
    np.random.seed(2)
    found = load_digits()
    order = np.random.RandomState(0).permutation(len(found.target))[:IMAGES]
    data, digit = (found.data[order] / 16).astype("float32"), found.target[order].astype("float32")
    labels = {"digit_label": digit, "even_label": (digit % 2 == 0).astype("float32")}
    held_out = np.arange(IMAGES) % 5 == 0

    def batches(chosen, shuffle):
        return mx.io.NDArrayIter(data[chosen], {k: v[chosen] for k, v in labels.items()}, BATCH, shuffle=shuffle)

    model = mx.mod.Module(network(), label_names=["digit_label", "even_label"])
    watch = metrics()
    model.fit(
        batches(~held_out, True), eval_metric=watch, num_epoch=EPOCHS, initializer=mx.init.Xavier(),
        optimizer="adam", optimizer_params={"learning_rate": 0.005},
        epoch_end_callback=lambda epoch, *_: print("epoch %2d:" % epoch, shown(watch)),
    )
    scores = dict(model.score(batches(held_out, False), metrics()))
    print("held out: digit %.3f, even %.3f" % (scores["digit"], scores["even"]))


if __name__ == "__main__":
    main()
