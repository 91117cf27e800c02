"""Have the real MXNet write every kind of .params file that it can (run it with that MXNet from the root).

Writes tests/data/files/arrays/*.params and expected.npz, the values that they hold.
"""

from __future__ import annotations

import pathlib
from typing import Any

import mxnet as mx
import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "files" / "arrays"
DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    expected: dict[str, np.ndarray] = {}

    def save(name: str, data: Any) -> None:
        mx.nd.waitall()  # a csr array that is still being made is written with the wrong shape
        write = mx.npx.save if mx.util.is_np_shape() else mx.nd.save
        write(str(FOLDER / f"{name}.params"), data)
        one = {"": data} if isinstance(data, mx.nd.NDArray) else data
        pairs = one.items() if isinstance(one, dict) else enumerate(one)
        for key, array in pairs:
            expected[f"{name}|{key}"] = array.asnumpy()

    save("one", mx.nd.array([1.5, -2]))
    save("list", [mx.nd.ones((2, 3)), mx.nd.arange(4, dtype="int32")])
    save("dict", {"arg:w": mx.nd.arange(6).reshape((3, 2)), "aux:größe": mx.nd.array([7], dtype="int64")})
    save("dtypes", {dtype: mx.nd.arange(3, dtype=dtype) for dtype in DTYPES})
    dense = mx.nd.array([[0, 1, 0], [2, 0, 3], [0, 0, 0]])
    save("csr", {"m": dense.tostype("csr"), "half": dense.astype("float64").tostype("csr")})
    save("row_sparse", [dense.tostype("row_sparse")])
    save("empty_sparse", [mx.nd.sparse.zeros("csr", (2, 3)), mx.nd.sparse.zeros("row_sparse", (2, 3))])
    save("mixed", {"d": mx.nd.arange(4), "s": dense.tostype("row_sparse")})
    with mx.util.np_shape(True), mx.util.np_array(True):
        save("np_shape", {"scalar": mx.np.array(2.5), "none": mx.np.zeros((0, 3)), "bool": mx.np.array([True, False])})
        save("np_list", [mx.np.arange(5), mx.np.array([[1, 2]], dtype="int8")])
    np.savez_compressed(FOLDER / "expected.npz", **expected)


if __name__ == "__main__":
    main()
