"""What a configuration of a block shows, under either package: texts, names, outputs, gradients."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np

from tests.gluon.configurations import Case


def values_for(case: Case, kind: str, index: int, shape: tuple[int, ...]) -> np.ndarray:
    """The same numbers everywhere; away from the kinks of the operators."""
    draw = np.random.RandomState(zlib.crc32(f"{case.name} {index}".encode()))
    base = draw.uniform(0.2, 1.2, size=shape)
    if kind == "f":
        base *= draw.choice([-1, 1], size=shape)
    elif kind == "s":
        base = draw.choice([-1, 1], size=shape)
    elif kind == "b":
        base = draw.choice([0, 1], size=shape)
    elif kind == "c":
        base = draw.randint(0, 4, size=shape)
    return base.astype(np.float32)


def fill(mx: Any, block: Any) -> None:
    """Parameters with values of their own, by their place."""
    for place, parameter in enumerate(block.collect_params().values()):
        draw = np.random.RandomState(place + 1)
        size = draw.uniform(0.2, 0.9, size=parameter.shape)
        if not parameter.name.endswith(("gamma", "var")):
            size = size * draw.choice([-1, 1], size=parameter.shape)
        parameter.set_data(mx.nd.array(size))


# Arrays with more elements are kept as this many products with fixed random vectors.
FEW = 24


def pack(name: str, array: np.ndarray) -> np.ndarray:
    """The elements of a small array, or numbers that change with every element of a larger one."""
    # Windows that hold nothing but padding are nan or the lowest number.
    flat_values = np.nan_to_num(np.clip(array.astype(np.float64).ravel(), -1e4, 1e4), nan=1234.0)
    if flat_values.size <= FEW:
        return flat_values.astype(np.float32)
    draw = np.random.RandomState(zlib.crc32(name.encode()))
    return (draw.uniform(-1, 1, size=(FEW, flat_values.size)) @ flat_values).astype(np.float32)


def head_for(place: int, shape: tuple[int, ...]) -> np.ndarray:
    """The factor of an output in the loss."""
    return np.random.RandomState(place).uniform(0.5, 1, size=shape)


def flat(value: Any) -> list[Any]:
    """The leaves of nested lists."""
    return [leaf for one in value for leaf in flat(one)] if isinstance(value, (list, tuple)) else [value]


def call(mx: Any, case: Case, block: Any, inputs: list[Any]) -> list[Any]:
    """Run the block as its kind wants: a cell is unrolled, a layer with states returns them too."""
    if case.path.endswith("Cell"):
        outputs, states = block.unroll(case.shapes[0][1], inputs[0], layout="NTC")
        return flat([outputs, states])
    if case.path in ("rnn.RNN", "rnn.LSTM", "rnn.GRU"):
        batch = inputs[0].shape[1 if case.kwargs.get("layout", "TNC") == "TNC" else 0]
        return flat(block(inputs[0], block.begin_state(batch)))
    return flat(block(*inputs))


def plain(text: str) -> str:
    """A text without what differs between the packages on purpose."""
    return re.sub(r"gluonjax", "mxnet", text)


def build(mx: Any, case: Case) -> Any:
    """The block, with names as in a fresh process."""
    place = mx.gluon
    for part in case.path.split("."):
        place = getattr(place, part)
    return place(**case.kwargs)


def observe(mx: Any, case: Case) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Texts and arrays; an error is an observation too."""
    texts: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    with mx.name.NameManager():
        try:
            _observe(mx, case, texts, arrays)
        except Exception as error:
            texts["error"] = type(error).__name__
            texts["message"] = plain(str(error))
    return texts, arrays


def _observe(mx: Any, case: Case, texts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    block = build(mx, case)
    texts["repr"] = plain(repr(block))
    texts["params"] = plain(repr(block.collect_params()))
    inputs = [
        mx.nd.array(values_for(case, kind, index, shape))
        for index, (kind, shape) in enumerate(zip(case.kinds, case.shapes))
    ]
    block.initialize()
    with mx.autograd.pause():
        call(mx, case, block, inputs)
    texts["repr after"] = plain(repr(block))
    texts["names"] = list(block.collect_params())
    texts["structural"] = list(block._collect_params_with_prefix())
    for name, parameter in block.collect_params().items():
        texts.setdefault("shapes", []).append(list(parameter.shape))
        if parameter.name.endswith(("bias", "gamma", "beta", "mean", "var")):
            arrays[f"initial {name}"] = parameter.data().asnumpy()
    fill(mx, block)
    for kind, array in zip(case.kinds, inputs):
        if kind in "fp":
            array.attach_grad()
    with mx.autograd.record():
        outputs = call(mx, case, block, inputs)
        # One loss over all: a cell's last output is its state too, and MXNet takes the last head given for an array.
        loss = sum((one * mx.nd.array(head_for(place, one.shape))).sum() for place, one in enumerate(outputs))
    loss.backward()
    for place, one in enumerate(outputs):
        arrays[f"output {place}"] = one.asnumpy()
    for place, array in enumerate(inputs):
        if array.grad is not None:
            arrays[f"slope of input {place}"] = array.grad.asnumpy()
    for name, parameter in block.collect_params().items():
        kept = parameter.data() if parameter.grad_req == "null" else parameter.grad()
        arrays[("state " if parameter.grad_req == "null" else "slope of ") + name] = kept.asnumpy()
    with mx.autograd.predict_mode():
        for place, one in enumerate(call(mx, case, block, inputs)):
            arrays[f"predicted {place}"] = one.asnumpy()
    if hasattr(block, "hybridize"):
        block.hybridize()
        for place, one in enumerate(call(mx, case, block, inputs)):
            arrays[f"hybrid {place}"] = one.asnumpy()
