"""How many samples a second the input pipelines deliver, in MXNet and in gluonjax, side by side.

    python data_feed.py make FOLDER                     once: 512 JPEG files and a .rec of them (needs gluonjax, scikit-learn)
    python data_feed.py one FOLDER mxnet|gluonjax       all workloads in this process; prints JSON
    python data_feed.py compare FOLDER PYTHON [ROUNDS]  gluonjax here and MXNet in PYTHON by turns; prints a table

Every figure is the best of its rounds. The workloads: a .rec of JPEGs through ImageRecordIter to 224 x 224, as
float32 with mean and deviation or as bytes; DataLoader on an ArrayDataset and on a folder of the same JPEGs.
"""  # noqa: E501

import importlib
import json
import os
import subprocess
import sys
import time

import numpy as np

BATCH = 32
WORKERS = 2


def make(folder):
    """Write the pictures and pack them."""
    import io

    from PIL import Image
    from sklearn.datasets import load_sample_images

    from gluonjax.port import cli

    photographs = [Image.fromarray(picture) for picture in load_sample_images().images]
    draws = np.random.RandomState(0)
    for number in range(512):
        source = photographs[number % 2]
        width, height = draws.randint(300, 500), draws.randint(280, 400)
        left, top = draws.randint(0, 640 - width), draws.randint(0, 427 - height)
        stream = io.BytesIO()
        source.crop((left, top, left + width, top + height)).save(stream, "JPEG", quality=90)
        place = os.path.join(folder, "pictures", "class%d" % (number % 4))
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "%d.jpg" % number), "wb") as file:
            file.write(stream.getvalue())
    stem, pictures = os.path.join(folder, "all"), os.path.join(folder, "pictures")
    cli.main(["im2rec", stem, pictures, "--list", "--recursive"])
    cli.main(["im2rec", stem, pictures, "--resize", "256", "--num-thread", "2"])


def record_iter(mx, folder, **settings):
    return mx.io.ImageRecordIter(
        path_imgrec=os.path.join(folder, "all.rec"), path_imgidx=os.path.join(folder, "all.idx"), shuffle=True,
        data_shape=(3, 224, 224), batch_size=BATCH, rand_crop=True, rand_mirror=True, preprocess_threads=4,
        verbose=False, **settings,
    )  # fmt: skip


def epoch_of_iter(iterator):
    count = 0
    for batch in iterator:
        batch.data[0].wait_to_read()
        count += batch.data[0].shape[0] - batch.pad
    iterator.reset()
    return count


def epoch_of_loader(loader):
    count = 0
    for data, _ in loader:
        data.wait_to_read()
        count += data.shape[0]
    return count


def workloads(mx, folder):
    """Names, and functions that run one epoch and say how many samples it had."""
    normal = {"mean_r": 123.68, "mean_g": 116.28, "mean_b": 103.53, "std_r": 58.4, "std_g": 57.1, "std_b": 57.4}
    gluon = mx.gluon.data
    draws = np.random.RandomState(0)
    arrays = gluon.ArrayDataset(draws.rand(4096, 3, 32, 32).astype("float32"), np.arange(4096, dtype="float32"))
    steps = gluon.vision.transforms
    changes = steps.Compose([steps.Resize((224, 224)), steps.ToTensor()])
    files = gluon.vision.ImageFolderDataset(os.path.join(folder, "pictures")).transform_first(changes)
    iterators = {
        "ImageRecordIter, float32": record_iter(mx, folder, **normal),
        "ImageRecordIter, float32, ctx='cpu'": record_iter(mx, folder, ctx="cpu", **normal),
        "ImageRecordIter, uint8": record_iter(mx, folder, dtype="uint8"),
    }
    loaders = {
        "DataLoader, arrays, no worker": gluon.DataLoader(arrays, BATCH, shuffle=True),
        "DataLoader, arrays, %d workers" % WORKERS: gluon.DataLoader(arrays, BATCH, shuffle=True, num_workers=WORKERS),
        "DataLoader, picture files, %d workers" % WORKERS: gluon.DataLoader(files, BATCH, num_workers=WORKERS),
    }
    found = {name: (lambda it=iterator: epoch_of_iter(it)) for name, iterator in iterators.items()}
    found.update({name: (lambda it=loader: epoch_of_loader(it)) for name, loader in loaders.items()})
    return found


def one(folder, library, epochs=3):
    """Samples a second of every workload, the best epoch."""
    mx = importlib.import_module(library)
    only = os.environ.get("DATA_FEED_ONLY", "")
    rates = {}
    for name, epoch in workloads(mx, folder).items():
        if only not in name:
            continue
        epoch()
        best = 0.0
        for _ in range(epochs):
            start = time.perf_counter()
            count = epoch()
            best = max(best, count / (time.perf_counter() - start))
        rates[name] = best
    return rates


def measured(python, folder, library):
    done = subprocess.run([python, __file__, "one", folder, library], capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s failed:\n%s" % (library, done.stderr[-2000:]))
    return json.loads(done.stdout.splitlines()[-1])


def compare(folder, python, rounds=2):
    best = {"mxnet": {}, "gluonjax": {}}
    for _ in range(rounds):
        for library, interpreter in (("mxnet", python), ("gluonjax", sys.executable)):
            for name, rate in measured(interpreter, folder, library).items():
                best[library][name] = max(rate, best[library].get(name, 0.0))
    print("%-40s %10s %10s %7s" % ("samples a second", "mxnet", "gluonjax", "ratio"))
    for name, rate in best["mxnet"].items():
        ours = best["gluonjax"][name]
        print("%-40s %10.0f %10.0f %7.2f" % (name, rate, ours, ours / rate))


def main():
    command, folder = sys.argv[1:3]
    if command == "make":
        make(folder)
    elif command == "one":
        print(json.dumps(one(folder, sys.argv[3])))
    else:
        compare(folder, sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 2)


if __name__ == "__main__":
    main()
