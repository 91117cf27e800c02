"""Write ``tests/data/numpy.json``: run this file where the real MXNet 1.9.1 is installed.

python tests/numpy/record.py
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))

import cases  # type: ignore[import-not-found]  # noqa: E402


def run_case(mx: Any, call: Callable[..., Any], values: list[Any]) -> dict[str, Any]:
    """Result, dtype and gradients (with head gradient 1, 2, 3, ...) of one case."""
    import numpy

    arrays = [mx.np.array(value) for value in values]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        result = call(mx.np, mx.npx, *arrays)
    head = numpy.arange(1, result.size + 1).reshape(result.shape).astype(result.dtype)
    result.backward(mx.np.array(head))
    return {
        "value": result.asnumpy().tolist(), "shape": list(result.shape), "dtype": str(result.dtype),
        "gradients": [array.grad.asnumpy().tolist() for array in arrays],
    }  # fmt: skip


def run_text(mx: Any, call: Callable[..., Any]) -> str:
    """What Python shows for the result of one call."""
    import numpy

    return repr(call(mx.np, mx.npx, numpy))


def main() -> None:
    import mxnet as mx

    mx.npx.set_np()
    recorded: dict[str, dict[str, Any]] = {"cases": {}, "texts": {}}
    values = cases.arrays()
    for name, (call, _) in cases.CASES.items():
        recorded["cases"][name] = run_case(mx, call, values[name])
    for name, call in cases.TEXTS.items():
        recorded["texts"][name] = run_text(mx, call)
    target = HERE.parents[1] / "data" / "numpy.json"
    target.write_text(json.dumps(recorded, indent=0))


if __name__ == "__main__":
    main()
