"""Record what the real MXNet's zoo networks give for seeded weights: ``tests/data/gluon/zoo.json``."""

from __future__ import annotations

import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import mxnet as mx  # noqa: E402 - the real one
from mxnet.gluon.model_zoo import vision  # noqa: E402

from tests.gluon.zoo_weights import CLASSES, NAMES, fill, images  # noqa: E402

TARGET = ROOT / "tests" / "data" / "gluon" / "zoo.json"


def main() -> None:
    recorded = {}
    for name in NAMES:
        started = time.time()
        net = vision.get_model(name, classes=CLASSES)
        fill(mx, net, name)
        output = net(mx.nd.array(images(name))).asnumpy()
        own = net.prefix
        names = [key[len(own) :] if key.startswith(own) else key for key in net.collect_params()]
        shapes = {key: list(value.shape) for key, value in net._collect_params_with_prefix().items()}
        recorded[name] = {
            "output": [[float(f"{value:.7g}") for value in row] for row in output],
            "parameters": len(shapes),
            "elements": sum(int(mx.nd.zeros(shape).size) for shape in shapes.values()),
            "names": names[:3] + names[-2:],
            "structural": list(shapes)[:2] + list(shapes)[-2:],
        }
        print(name, output.shape, f"{time.time() - started:.1f} s", flush=True)
    TARGET.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
