"""Record the outputs of the models in ../shared/data/models in the real MXNet (run it with that MXNet from the root).

Writes tests/data/files/models.npz.
"""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ROOT.parent / "shared" / "data" / "models"
FILE = ROOT / "tests" / "data" / "files" / "models.npz"
# Prefix, epoch and the shape of the data.
CASES = {
    "lenet": ("lenet/LeNet", 10, (2, 1, 28, 28)),
    "gender_age": ("gender_age/model", 0, (1, 3, 112, 112)),
    "det1": ("mtcnn/det1", 1, (1, 3, 24, 30)),
    "det2": ("mtcnn/det2", 1, (2, 3, 24, 24)),
    "det3": ("mtcnn/det3", 1, (2, 3, 48, 48)),
}


def data_for(shape: tuple[int, ...]) -> np.ndarray:
    return (np.sin(np.arange(np.prod(shape)) * 0.37).reshape(shape) / 2).astype(np.float32)


def outputs(mx: Any, name: str, models: pathlib.Path = MODELS) -> list[np.ndarray]:
    """The outputs of a model, through load_checkpoint and a Module."""
    prefix, epoch, shape = CASES[name]
    symbol, arguments, auxiliaries = mx.model.load_checkpoint(str(models / prefix), epoch)
    labels = [key for key in symbol.list_arguments() if key.endswith("label")]
    module = mx.mod.Module(symbol, label_names=labels, context=mx.cpu())
    module.bind([("data", shape)], for_training=False)
    module.set_params(arguments, auxiliaries, allow_missing=bool(labels))
    module.forward(mx.io.DataBatch([mx.nd.array(data_for(shape))]), is_train=False)
    return [array.asnumpy() for array in module.get_outputs()]


if __name__ == "__main__":
    import mxnet

    recorded = {}
    for case in CASES:
        for number, output in enumerate(outputs(mxnet, case)):
            recorded[f"{case}/{number}"] = output
            print(case, number, output.shape)
    np.savez_compressed(FILE, **recorded)
