"""Recommending by matrix factorization: a vector for every user and every item, whose product is the rating.

An ordinary MXNet script. Run it on gluonjax with ``python -m gluonjax run examples/matrix_factorization.py``.
Ratings are made up from hidden vectors plus noise of size 0.1, so the best possible error is known.
EXAMPLE_TINY=1 takes fewer users.
"""

import os

import mxnet as mx
import numpy as np

TINY = os.environ.get("EXAMPLE_TINY") == "1"
USERS, ITEMS, RATINGS, EPOCHS = (60, 40, 2000, 15) if TINY else (400, 300, 40000, 15)
FACTORS, NOISE, BATCH = 4, 0.1, 100


def ratings():
    """User numbers, item numbers and ratings; every tenth one is held out."""
    source = np.random.RandomState(5)
    users, items = source.normal(size=(USERS, FACTORS)), source.normal(size=(ITEMS, FACTORS))
    who, what = source.randint(0, USERS, RATINGS), source.randint(0, ITEMS, RATINGS)
    score = (users[who] * items[what]).sum(1) / np.sqrt(FACTORS) + NOISE * source.normal(size=RATINGS)
    return {"user": who.astype("float32"), "item": what.astype("float32")}, score.astype("float32")


def network():
    def vector(name, count):
        return mx.sym.Embedding(mx.sym.var(name), input_dim=count, output_dim=2 * FACTORS, name=name + "_vectors")

    product = mx.sym.sum(vector("user", USERS) * vector("item", ITEMS), axis=1)
    return mx.sym.LinearRegressionOutput(product, mx.sym.var("score"), name="rating")


def main():
    mx.random.seed(3)
    np.random.seed(3)
    inputs, score = ratings()
    held_out = np.arange(RATINGS) % 10 == 0

    def batches(chosen, shuffle):
        parts = {name: values[chosen] for name, values in inputs.items()}
        return mx.io.NDArrayIter(parts, {"score": score[chosen]}, BATCH, shuffle=shuffle)

    model = mx.mod.Module(network(), data_names=["user", "item"], label_names=["score"])
    metric = mx.metric.RMSE()
    model.fit(
        batches(~held_out, True), eval_metric=metric, num_epoch=EPOCHS, initializer=mx.init.Normal(0.3),
        optimizer="adam", optimizer_params={"learning_rate": 0.03, "wd": 1e-4, "rescale_grad": 1.0 / BATCH},
        epoch_end_callback=lambda epoch, *_: print("epoch %2d: training error %.3f" % (epoch, metric.get()[1])),
    )
    error = dict(model.score(batches(held_out, False), mx.metric.RMSE()))["rmse"]
    print("held-out error: %.3f, noise: %.3f, always guessing the mean: %.3f" % (error, NOISE, score.std()))


if __name__ == "__main__":
    main()
