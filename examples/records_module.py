"""A network on pictures in a RecordIO file: files in folders -> im2rec -> ImageRecordIter -> Module.fit.

Run it with ``python -m gluonjax run examples/records_module.py``. The pictures are scikit-learn's 1,797 handwritten
digits, written as PNG files, one folder for each digit; a packer with the options of MXNet's tools/im2rec.py makes
the .rec files. Settings come from the environment: EXAMPLE_EPOCHS (default 8), EXAMPLE_IMAGES (default all),
EXAMPLE_FOLDER (default a temporary one).

It reaches more than 97 % held-out accuracy.
"""

import logging
import os
import subprocess
import sys
import tempfile
import time

import mxnet as mx
import numpy as np
from mxnet import sym
from PIL import Image
from sklearn.datasets import load_digits

EPOCHS = int(os.environ.get("EXAMPLE_EPOCHS", "8"))
IMAGES = int(os.environ.get("EXAMPLE_IMAGES", "1797"))
BATCH = 32
SIDE = 28


def write_pictures(folder):
    """Write the digits as files, 32 x 32 pixels: folder/digit/number.png."""
    found = load_digits()
    order = np.random.RandomState(42).permutation(len(found.target))[:IMAGES]
    for number in order:
        place = os.path.join(folder, str(found.target[number]))
        os.makedirs(place, exist_ok=True)
        pixels = (found.images[number] * 15.9).astype("uint8").repeat(4, axis=0).repeat(4, axis=1)
        Image.fromarray(pixels).save(os.path.join(place, "%d.png" % number))


def pack(prefix, folder):
    """Make prefix_train.rec and prefix_test.rec, with 80 % and 20 % of the pictures."""
    tool = [sys.executable, "-m", "gluonjax", "im2rec", prefix, folder]
    subprocess.run([*tool, "--list", "--recursive", "--train-ratio", "0.8", "--test-ratio", "0.2"], check=True)
    subprocess.run([*tool, "--color", "0", "--encoding", ".png", "--quality", "3", "--num-thread", "2"], check=True)


def records(prefix, training):
    part = "train" if training else "test"
    changes = {"rand_crop": True, "max_rotate_angle": 8} if training else {}
    return mx.io.ImageRecordIter(
        path_imgrec="%s_%s.rec" % (prefix, part), path_imgidx="%s_%s.idx" % (prefix, part), data_shape=(1, SIDE, SIDE),
        batch_size=BATCH, shuffle=training, scale=1.0 / 255, fill_value=0, verbose=False, **changes,
    )  # fmt: skip


def network():
    net = sym.Variable("data")
    for position, filters in enumerate((16, 32), 1):
        net = sym.Convolution(net, kernel=(5, 5), pad=(2, 2), num_filter=filters, name="conv%d" % position)
        net = sym.Activation(net, act_type="relu", name="relu%d" % position)
        net = sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool%d" % position)
    net = sym.FullyConnected(sym.flatten(net), num_hidden=100, name="fc1")
    net = sym.Activation(net, act_type="relu", name="relu3")
    net = sym.FullyConnected(net, num_hidden=10, name="fc2")
    return sym.SoftmaxOutput(net, name="softmax")


def main():
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    mx.random.seed(42)
    np.random.seed(42)
    start = time.time()
    folder = os.environ.get("EXAMPLE_FOLDER") or tempfile.mkdtemp()
    prefix = os.path.join(folder, "digits")
    write_pictures(os.path.join(folder, "pictures"))
    pack(prefix, os.path.join(folder, "pictures"))
    train, test = records(prefix, True), records(prefix, False)

    model = mx.mod.Module(network(), context=mx.cpu())
    model.fit(
        train, eval_data=test, num_epoch=EPOCHS, initializer=mx.init.Xavier(), optimizer="adam",
        optimizer_params={"learning_rate": 0.002}, batch_end_callback=mx.callback.Speedometer(BATCH, 15),
    )
    test.reset()
    accuracy = dict(model.score(test, "acc"))["accuracy"]
    print("held-out accuracy: %.4f" % accuracy)
    print("seconds: %.1f" % (time.time() - start))


if __name__ == "__main__":
    main()
