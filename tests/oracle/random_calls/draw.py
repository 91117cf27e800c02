"""Random calls: recorded samples, changed in a few places.

A sample says what an operator's inputs look like (a sorted index, a positive definite matrix, boxes); a change
gives it other sizes, values, dtypes or attributes. What no longer fits together must be refused by both sides.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._ops import registry
from gluonjax._ops.opdef import Attr, OpDef
from tests.samples import FAMILIES, floating, samples_of
from tests.samples._sample import Sample

FLOATING = ("float32", "float32", "float64", "float16", "bfloat16")
WHOLE = ("int32", "int64", "uint8", "int8")
# Updates that the real MXNet has for row-sparse gradients only.
SPARSE_ONLY = ("_sparse_adagrad_update", "_contrib_group_adagrad_update")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30)

Random = np.random.RandomState
Change = Callable[[Random, OpDef, list[np.ndarray], dict[str, Any]], None]


def templates() -> dict[str, list[Sample]]:
    """The samples that the real MXNet can run, of each operator, by its own name.

    Of samplers it says shapes and dtypes. Operators that rewrite several weights are given arrays to write into.
    """
    found: dict[str, list[Sample]] = {}
    for family in FAMILIES:
        for sample in samples_of(family):
            op = registry.get(sample.op)
            if sample.oracle or op.uses_key or (family == "optimizer_updates" and op.name not in SPARSE_ONLY):
                found.setdefault(registry.get(sample.op).name, []).append(sample)
    return found


def draw_calls(seed: int, count: int, only: tuple[str, ...] = (), accent: str | None = None) -> list[Sample]:
    """``count`` calls, every operator in turn; equal for equal seeds. ``accent`` names a change that all get."""
    random = Random(seed)
    table = {name: samples for name, samples in templates().items() if not only or name in only}
    names = sorted(table)
    calls = []
    while len(calls) < count:
        for index in random.permutation(len(names))[: count - len(calls)]:
            samples = table[names[index]]
            calls.append(change(random, samples[random.randint(len(samples))], accent))
    return calls


def change(random: Random, sample: Sample, accent: str | None = None) -> Sample:
    """The sample with one to four changes; ``tag`` says which."""
    op = registry.get(sample.op)
    inputs, attrs, done = [np.array(array) for array in sample.inputs], dict(sample.attrs), []
    train = sample.train
    for _ in range(random.choice([1, 1, 2, 2, 3, 4])):
        chosen = CHANGES[random.choice(len(CHANGES), p=WEIGHTS)]
        chosen(random, op, inputs, attrs)
        done.append(chosen.__name__)
    if random.rand() < 0.6:
        refit(op, inputs, attrs)
    if accent:
        ACCENTS[accent](random, op, inputs, attrs)
        done.append(accent)
    if op.uses_train and random.rand() < 0.5:
        train = not train
    if op.variadic and op.variadic in attrs and op.attr_table[op.variadic].default is None:
        attrs[op.variadic] = len(inputs)
    return dataclasses.replace(
        sample, inputs=tuple(inputs), attrs=attrs, train=train, grad=None, reference=None, tag="+".join(done)
    )


def refit(op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """Give the parameters the shapes that go with the first input, as a user's layer would."""
    if op.param_shapes is None or op.variadic or not inputs:
        return
    try:
        parsed = op.parse(attrs)
        names = op.active_inputs(parsed)
        shapes = op.param_shapes({name: inputs[0].shape if i == 0 else None for i, name in enumerate(names)}, parsed)
    except (MXNetError, ValueError, TypeError, ArithmeticError, LookupError):
        return
    for place, name in enumerate(names[: len(inputs)]):
        wanted = shapes.get(name)
        if place and wanted and all(isinstance(n, int) and 0 <= n < 500 for n in wanted):
            inputs[place] = np.resize(inputs[place], wanted)


def _stretched(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array cut or repeated along each axis to a shape of the same rank."""
    for axis, size in enumerate(shape):
        if array.shape[axis] == 0 and size:
            return np.zeros(shape, array.dtype)
        array = array.take(np.arange(size) % max(array.shape[axis], 1), axis)
    return array


def sizes(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """Equal sizes become another size, the same in all inputs."""
    # A stretched matrix is singular.
    keep = 2 if "linalg" in op.name or "_npi_" in op.name else 0
    known = sorted({size for array in inputs for size in array.shape[: array.ndim - keep]})
    if not known:
        return
    chosen = known[random.randint(len(known))]
    table = {chosen: int(random.choice([1, 2, 3, 4, 5, 6, 8]))}
    if random.rand() < 0.3:
        table = {size: int(random.choice([1, 2, 3, 4, 5, 7])) for size in known}
    for place, array in enumerate(inputs):
        last = array.ndim - keep
        shape = tuple(table.get(s, s) if i < last else s for i, s in enumerate(array.shape))
        inputs[place] = _stretched(array, shape)


def one_size(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """One axis of one input has another size; often no longer fits, sometimes broadcasts."""
    places = [i for i, array in enumerate(inputs) if array.ndim]
    if places:
        place = places[random.randint(len(places))]
        shape = list(inputs[place].shape)
        shape[random.randint(len(shape))] = int(random.choice([1, 1, 2, 3, 5]))
        inputs[place] = _stretched(inputs[place], tuple(shape))


def no_elements(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """One of the sizes becomes 0, in all inputs."""
    known = sorted({size for array in inputs for size in array.shape})
    if known:
        chosen = known[random.randint(len(known))]
        for place, array in enumerate(inputs):
            shape = tuple(0 if size == chosen else size for size in array.shape)
            inputs[place] = _stretched(array, shape)


def rank(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """One axis more, or one less, in all inputs."""
    if random.rand() < 0.5:
        size = int(random.choice([1, 2, 3]))
        inputs[:] = [np.broadcast_to(array, (size, *array.shape)).copy() for array in inputs]
    elif all(array.ndim > 1 and array.shape[0] for array in inputs):
        inputs[:] = [array[0].copy() for array in inputs]


def values(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """Other values from the range of the old ones; whole numbers stay whole."""
    wider = 2 if random.rand() < 0.15 else 0
    rounded = random.rand() < 0.3
    for place, array in enumerate(inputs):
        if not array.size or not (np.abs(array.astype(np.float64)) < 1e9).all():
            continue
        low, high = float(array.min()), float(array.max())
        if len(inputs) > 1 and array.ndim == 2 and array.shape[1] in (5, 6) and random.rand() < 0.8:
            # Rows like (image number, box): each column has a range of its own.
            inputs[place] = array[random.randint(len(array), size=array.shape), np.arange(array.shape[1])]
            continue
        if "linalg" in op.name or "_npi_" in op.name:
            inputs[place] = (array * random.uniform(0.5, 2)).astype(array.dtype)
        elif (array == np.rint(array)).all():
            low, high = low - wider, high + wider
            if array.dtype.kind == "u":
                low = max(low, 0)
            inputs[place] = random.randint(int(low), int(high) + 1, array.shape).astype(array.dtype)
        else:
            fresh = random.uniform(low, high, array.shape)
            inputs[place] = (np.rint(fresh * 2) / 2 if rounded else fresh).astype(array.dtype)


def special(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """A NaN, an infinity, a zero or a very large number somewhere in a floating input."""
    places = [i for i, array in enumerate(inputs) if floating(array.dtype) and array.size]
    if places:
        array = inputs[places[random.randint(len(places))]]
        with np.errstate(over="ignore"):
            array.flat[random.randint(array.size)] = SPECIAL[random.randint(len(SPECIAL))]


def many_special(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """A third of the elements of a floating input are NaN, infinite, zero or very large."""
    places = [i for i, array in enumerate(inputs) if floating(array.dtype) and array.size]
    if places:
        place = places[random.randint(len(places))]
        array = inputs[place]
        with np.errstate(over="ignore"):
            drawn = np.asarray(SPECIAL)[random.randint(len(SPECIAL), size=array.shape)].astype(array.dtype)
        inputs[place] = np.where(random.rand(*array.shape) < 0.3, drawn, array)


def far_indices(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """Zeros, negative numbers and numbers beyond every size in an input of whole numbers."""
    places = [i for i, a in enumerate(inputs) if a.size and floating(a.dtype) <= (a == np.rint(a)).all()]
    if places:
        array = inputs[places[random.randint(len(places))]]
        far = int(random.choice([-100, -3, -2, -1, 0, 0, 0, 7, 100]))
        array.flat[random.randint(array.size)] = abs(far) if array.dtype.kind == "u" else far


def larger(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """One of the sizes becomes 9 to 70, in all inputs."""
    keep = 2 if "linalg" in op.name or "_npi_" in op.name else 0
    known = sorted({size for array in inputs for size in array.shape[: array.ndim - keep] if size})
    if known:
        chosen, new = known[random.randint(len(known))], int(random.choice([9, 16, 17, 33, 70]))
        for place, array in enumerate(inputs):
            last = array.ndim - keep
            shape = tuple(new if size == chosen and i < last else size for i, size in enumerate(array.shape))
            inputs[place] = _stretched(array, shape)


def negative_axis(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """Axes are counted from the end."""
    for name in ("axis", "axes", "dim", "axis1", "axis2", "dim1", "dim2"):
        value, ndim = attrs.get(name), inputs[0].ndim if inputs else 0
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < ndim:
            attrs[name] = value - ndim
        elif isinstance(value, tuple):
            attrs[name] = tuple(v - ndim if isinstance(v, int) and 0 <= v < ndim else v for v in value)


def half(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """All floating inputs are float16, or bfloat16."""
    chosen = str(random.choice(["float16", "bfloat16"]))
    inputs[:] = [_to(array, chosen) if floating(array.dtype) else array for array in inputs]


def whole(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """All inputs hold whole numbers of one dtype."""
    chosen = str(random.choice(WHOLE))
    inputs[:] = [_to(array, chosen) for array in inputs]


def _to(array: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "uint8":
        array = np.abs(array)
    with np.errstate(invalid="ignore", over="ignore"):
        return array.astype(dtype)


def dtypes(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """Another dtype for all inputs that have the first one's."""
    if inputs:
        chosen = str(random.choice(FLOATING if random.rand() < 0.6 else WHOLE))
        old = inputs[0].dtype
        inputs[:] = [_to(array, chosen) if array.dtype == old else array for array in inputs]


def one_dtype(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """Another dtype for one of the inputs."""
    if len(inputs) > 1:
        place = random.randint(len(inputs))
        inputs[place] = _to(inputs[place], str(random.choice(FLOATING + WHOLE)))


def attribute(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """Another value for one attribute."""
    usable = [attr for attr in op.attrs if attr.name != op.variadic]
    if usable:
        _set(random, usable[random.randint(len(usable))], attrs)


def all_attributes(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """Half of the attributes anew, from what the schema allows."""
    for attr in op.attrs:
        if attr.name != op.variadic and random.rand() < 0.5:
            _set(random, attr, attrs)


def default(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """One attribute is not given."""
    if attrs:
        del attrs[sorted(attrs)[random.randint(len(attrs))]]


def fewer_inputs(random: Random, op: OpDef, inputs: list[np.ndarray], attrs: dict[str, Any]) -> None:
    """Without the last input, where a variadic operator has several."""
    if op.variadic and len(inputs) > 1:
        inputs.pop()


def _set(random: Random, attr: Attr, attrs: dict[str, Any]) -> None:
    old = attrs.get(attr.name, None if attr.required else attr.default)
    kind = attr.kind.name
    if kind.endswith(" or None"):
        kind = kind.removesuffix(" or None")
        if random.rand() < 0.25:
            attrs[attr.name] = None
            return
    new = _value(random, kind, old)
    if new is not None:
        attrs[attr.name] = new


def _value(random: Random, kind: str, old: Any) -> Any:
    if kind == "boolean":
        return not old
    if kind == "int":
        near = [int(old) - 1, int(old) + 1] if isinstance(old, (int, float)) else []
        return int(random.choice([*near, -2, -1, 0, 1, 2, 3]))
    if kind.startswith("float"):
        near = [float(old) * 2, -float(old)] if isinstance(old, (int, float)) and abs(old) < 1e30 else []
        return float(random.choice([*near, 0.0, 1.0, -1.0, 0.5, 2.0, 0.3]))
    if kind.startswith("Shape"):
        return _tuple(random, old)
    if kind == "tuple of <float>":
        found = [float(entry) for entry in (old if isinstance(old, (tuple, list)) else ())]
        return tuple(entry * float(random.choice([0.5, 1, 2, -1])) for entry in found) or (0.5,)
    if kind == "dtype":
        return str(random.choice([*FLOATING, *WHOLE]))
    if kind.startswith("{"):
        words = sorted(str(word) for word in ast.literal_eval(kind))
        return words[random.randint(len(words))]
    return None


def _tuple(random: Random, old: Any) -> tuple[int | None, ...]:
    known = list(old) if isinstance(old, (tuple, list)) else [old] if isinstance(old, int) else []
    way = random.rand()
    if known and way < 0.6:
        place = random.randint(len(known))
        near = known[place] if isinstance(known[place], int) else 1
        known[place] = int(random.choice([near - 1, near + 1, 0, 1, 2, -1]))
    elif known and way < 0.7:
        known = known[:-1]
    elif way < 0.8:
        known = [*known, int(random.choice([0, 1, 2, -1]))]
    else:
        known = [int(random.choice([-1, 0, 1, 2, 3])) for _ in range(random.randint(1, 4))]
    return tuple(known)


_WEIGHTED: tuple[tuple[Change, float], ...] = (
    (sizes, 4), (one_size, 1), (no_elements, 1), (rank, 1), (values, 4), (special, 1), (dtypes, 3), (one_dtype, 0.5),
    (attribute, 5), (all_attributes, 1), (default, 0.7), (fewer_inputs, 0.5),
)  # fmt: skip
# Changes that every call of a run can get (``--accent``).
ACCENTS: dict[str, Change] = {
    change.__name__: change
    for change in (no_elements, special, many_special, far_indices, larger, negative_axis, half, whole, dtypes, rank)
}
CHANGES = tuple(change for change, _ in _WEIGHTED)
WEIGHTS = np.array([weight for _, weight in _WEIGHTED]) / sum(weight for _, weight in _WEIGHTED)
