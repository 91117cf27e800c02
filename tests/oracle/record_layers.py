"""Writes tests/data/gluon/layers.{json,npz}: what the real MXNet 1.9.1's layers, losses and cells show in many
configurations (``tests/gluon/configurations.py``). Run with that MXNet, from the root of the checkout."""

from __future__ import annotations

import json
import os
import re
import sys

import mxnet as mx
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from tests.gluon.configurations import cases  # noqa: E402
from tests.gluon.observe import observe, pack  # noqa: E402

FOLDER = os.path.join(ROOT, "tests", "data", "gluon")


def record():
    texts, values = {}, []
    for case in cases():
        said, arrays = observe(mx, case)
        try:
            mx.nd.waitall()  # an error that comes late belongs to this case, not to the next
        except mx.MXNetError:
            assert "error" in said, case
        if "error" in said:
            said["message"] = re.sub(r"\[[\d:]+\] ", "", said["message"])[:200]  # without the time of day
        said["arrays"] = [(name, str(one.dtype), list(one.shape)) for name, one in arrays.items()]
        values += [pack(name, one) for name, one in arrays.items()]
        texts[case.name] = said
    with open(os.path.join(FOLDER, "layers.json"), "w") as file:
        json.dump(texts, file, indent=None, separators=(",", ":"))
    np.savez_compressed(os.path.join(FOLDER, "layers.npz"), values=np.concatenate(values))
    print(len(texts), sum("error" in said for said in texts.values()))


if __name__ == "__main__":
    record()
