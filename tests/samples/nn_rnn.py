"""Samples of the fused RNN operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples._sample import ErrorSample, Sample, rng

r = rng(116)
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
TIME, BATCH, INPUT, STATE = 4, 2, 3, 2


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def step(
    mode: str, x: np.ndarray, h: np.ndarray, c: np.ndarray | None, w: list[np.ndarray], clip: Any = None
):
    wi, wh, bi, bh = w[:4]
    i, s = x @ wi.T + bi, h @ wh.T + bh
    if mode == "rnn_relu":
        return np.maximum(i + s, 0), None
    if mode == "rnn_tanh":
        return np.tanh(i + s), None
    if mode == "gru":
        (ir, iz, ic), (sr, sz, sc) = np.split(i, 3, -1), np.split(s, 3, -1)
        z = sigmoid(iz + sz)
        return (1 - z) * np.tanh(ic + sigmoid(ir + sr) * sc) + z * h, None
    enter, forget, update, leave = np.split(i + s, 4, -1)
    c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(update)
    if clip:
        c = np.clip(c, *clip)
    h = sigmoid(leave) * np.tanh(c)
    return (h @ w[4].T if len(w) > 4 else h), c


def rnn_reference(mode: str, layers: int, state_size: int, directions: int, projection: int | None = None,
                  lengths_given: bool = False, clip: Any = None, states: bool = True):  # fmt: skip
    """An independent implementation: one sequence, one step at a time."""

    def call(x: np.ndarray, vector: np.ndarray, state: np.ndarray, *rest: np.ndarray):
        lengths = rest[-1].astype(int) if lengths_given else np.full(x.shape[1], len(x))
        cell = rest[0] if mode == "lstm" else None
        rows, width, place = GATES[mode] * state_size, projection or state_size, 0
        shapes = []
        for layer in range(layers):
            inputs = x.shape[2] if layer == 0 else width * directions
            for _ in range(directions):
                shapes.append(
                    [(rows, inputs), (rows, width)] + ([(projection, state_size)] if projection else [])
                )
        weights = []
        for group in shapes:
            weights.append([])
            for shape in group:
                weights[-1].append(vector[place : place + shape[0] * shape[1]].reshape(shape))
                place += shape[0] * shape[1]
        for group in weights:
            group[2:2] = [vector[place : place + rows], vector[place + rows : place + 2 * rows]]
            place += 2 * rows
        assert place == len(vector)
        last_h, last_c = state.copy(), None if cell is None else cell.copy()
        for layer in range(layers):
            out = np.zeros((len(x), x.shape[1], width * directions), x.dtype)
            for way in range(directions):
                k = layer * directions + way
                for b in range(x.shape[1]):
                    h, c = state[k, b], None if cell is None else cell[k, b]
                    order = range(lengths[b]) if way == 0 else range(lengths[b] - 1, -1, -1)
                    for t in order:
                        h, c = step(mode, x[t, b], h, c, weights[k], clip)
                        out[t, b, way * width : (way + 1) * width] = h
                    last_h[k, b] = h
                    if last_c is not None:
                        last_c[k, b] = c
            x = out
        if not states:
            return x
        return (x, last_h) if last_c is None else (x, last_h, last_c)

    return call


def case(mode: str, layers: int = 1, both: bool = False, projection: int | None = None, lengths: Any = None,
         clip: Any = None, states: bool = True, dtype: str = "float32", oracle: bool = True, why: str = "",
         **attrs: Any) -> Sample:  # fmt: skip
    ways = 2 if both else 1
    rows, width = GATES[mode] * STATE, projection or STATE
    count = 0
    for layer in range(layers):
        inputs = INPUT if layer == 0 else width * ways
        count += ways * (rows * (inputs + width + 2) + (projection or 0) * STATE)

    def draw(*shape: int) -> np.ndarray:
        return r.uniform(-0.9, 0.9, shape).astype(dtype)

    arrays = [draw(TIME, BATCH, INPUT), draw(count), draw(layers * ways, BATCH, width)]
    if mode == "lstm":
        arrays.append(draw(layers * ways, BATCH, STATE))
    grad = tuple(range(len(arrays)))
    attrs = {"mode": mode, "state_size": STATE, "num_layers": layers, "state_outputs": states, **attrs}
    if both:
        attrs["bidirectional"] = True
    if projection:
        attrs["projection_size"] = projection
    if clip:
        attrs.update(lstm_state_clip_min=clip[0], lstm_state_clip_max=clip[1])
    if lengths is not None:
        arrays.append(np.array(lengths, "int32"))
        attrs["use_sequence_length"] = True
    reference = rnn_reference(mode, layers, STATE, ways, projection, lengths is not None, clip, states)
    return Sample(
        "RNN", tuple(arrays), attrs, reference, grad=grad, oracle=oracle, why=why, rtol=1e-4, atol=1e-5
    )


GPU_ONLY = "the real one does this with cuDNN only"

SAMPLES = [
    *(case(mode) for mode in GATES),
    *(case(mode, layers=2, both=True) for mode in GATES),
    *(
        case(mode, layers=3, states=False, oracle=GATES[mode] > 1,
            why="the real gradient of plain layers is wrong")
        for mode in GATES
    ),
    case("lstm", both=True, dtype="float64"),
    case("gru", dtype="float64"),
    case("lstm", layers=2, p=0.5, oracle=False, why="the real gradient in prediction is that of training"),
    case("lstm", layers=2, both=True, projection=1, oracle=False, why=GPU_ONLY),
    case("lstm", projection=3, oracle=False, why=GPU_ONLY),
    *(case(mode, both=True, lengths=[4, 2], oracle=False, why=GPU_ONLY) for mode in GATES),
    case("lstm", layers=2, both=True, lengths=[1, 3], oracle=False, why=GPU_ONLY),
    case("lstm", clip=(-0.2, 0.3), oracle=False, why=GPU_ONLY),
]

OK = case("gru")

ERROR_SAMPLES = [
    ErrorSample("RNN", r"rank-3", (OK.inputs[0][0], *OK.inputs[1:]), OK.attrs),
    ErrorSample(
        "RNN", r"Shape inconsistent.*parameters", (OK.inputs[0], OK.inputs[1][:-1], OK.inputs[2]), OK.attrs
    ),
    ErrorSample("RNN", r"Shape inconsistent.*state", (*OK.inputs[:2], OK.inputs[2][:, :1]), OK.attrs),
    ErrorSample("RNN", r"Required parameter mode", OK.inputs, {"state_size": 2, "num_layers": 1}),
]
