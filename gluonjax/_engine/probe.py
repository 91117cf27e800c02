"""What one operator says about shapes and dtypes, also when only part of them is known.

JAX evaluates an operator abstractly for complete shapes only. For unknown dimensions we *probe*: evaluate
with
stand-in sizes and see which output dimensions change with which input dimensions. That gives partial results
forwards, and, by solving for the size that yields a known output, backwards, for every operator alike.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from gluonjax._base.dtypes import DEFAULT_DTYPE
from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._engine.op_functions import function_of
from gluonjax._ops.opdef import Attrs, OpDef, Shape, same_dtypes

Shapes = list["Shape | None"]
Dtypes = list["np.dtype | None"]


def all_known(values: Sequence[Any]) -> bool:
    """True where no entry is None (NumPy says ``None == dtype("float64")``, so ``in`` fails)."""
    return all(value is not None for value in values)


# Stand-in sizes for unknown dimensions: large, with many divisors (reshape, split), and different.
_FIRST, _SECOND = 5040, 7560
# For questions about dtypes only: operators that build index tables would build large ones.
_MODEST = 120
_KEY = jax.ShapeDtypeStruct((2,), np.uint32)
_INT32 = np.dtype(np.int32)


class Evaluation:
    """Outputs of one abstract evaluation."""

    __slots__ = ("dtypes", "shapes")

    def __init__(self, results: Sequence[Any], count: int) -> None:
        self.shapes = tuple(tuple(result.shape) for result in results[:count])
        self.dtypes = tuple(np.dtype(result.dtype) for result in results[:count])


def evaluate(
    op: OpDef, attrs: Attrs, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype]
) -> Evaluation:
    """Outputs for complete inputs; OperatorError with the operator's words if they do not fit."""
    try:
        return _evaluate(op, _frozen(attrs), tuple(shapes), tuple(dtypes))
    except _Failed as error:
        raise OperatorError(str(error)) from None


class _Failed(Exception):
    pass


def _frozen(attrs: Attrs) -> tuple[tuple[str, Any], ...]:
    return tuple(attrs.items())


def _evaluate(
    op: OpDef, attrs: tuple[tuple[str, Any], ...], shapes: tuple[Any, ...], dtypes: tuple[Any, ...]
) -> Evaluation:
    found = _evaluate_cached(op, attrs, shapes, dtypes)
    if isinstance(found, str):
        raise _Failed(found)
    return found


@functools.lru_cache(maxsize=65536)
def _evaluate_cached(
    op: OpDef, frozen: tuple[tuple[str, Any], ...], shapes: tuple[Any, ...], dtypes: tuple[Any, ...]
) -> Evaluation | str:
    attrs = Attrs(frozen)
    structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in zip(shapes, dtypes)]
    if op.uses_key:
        structs.append(_KEY)
    try:
        with jax.enable_x64(True):
            results = function_of(op, frozen, False).plain.eval_shape(*structs)
        return Evaluation(results, len(op.outputs(attrs)))
    except MXNetError as error:
        return str(error)
    except Exception as error:  # what JAX says about arguments that do not fit is the user's information
        return str(error).strip().split("\n\n")[0] or type(error).__name__


class Call:
    """One operator with its attributes and the names of its inputs, ready to be asked.

    Args:
        op: the operator.
        attrs: its parsed attributes.
        labels: names of its inputs.
    """

    def __init__(self, op: OpDef, attrs: Attrs, labels: tuple[str, ...]) -> None:
        self.op = op
        self.attrs = attrs
        self.labels = labels

    # -- shapes ----------------------------------------------------------------------------------------------

    def exact_shapes(self, shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        """Output shapes for complete input shapes (whatever the dtypes are)."""
        kinds = [DEFAULT_DTYPE] * len(shapes)
        try:
            return evaluate(self.op, self.attrs, shapes, kinds).shapes
        except OperatorError:
            if not shapes:
                raise
            try:  # an operator on whole numbers only
                return evaluate(self.op, self.attrs, shapes, [_INT32] * len(shapes)).shapes
            except OperatorError:
                pass
            raise

    def accepts(self, shapes: Shapes) -> bool:
        """True where the operator runs on inputs of these complete shapes."""
        try:
            self.exact_shapes(shapes)  # type: ignore[arg-type]
        except OperatorError:
            return False
        return True

    def _try(self, shapes: Shapes, sizes: dict[tuple[int, int], int]) -> tuple[tuple[int, ...], ...] | None:
        """Output shapes for given sizes of unknown (input, axis); None where they do not fit."""
        filled: Shapes = [
            None if shape is None
            else tuple(sizes.get((i, axis), _FIRST) if dim is None else dim for axis, dim in enumerate(shape))
            for i, shape in enumerate(shapes)
        ]  # fmt: skip
        if self.op.param_shapes is not None and any(shape is None or None in shape for shape in shapes[1:]):
            # Parameters follow from the data: a stand-in in the data changes them, too.
            open_ones = {self.labels[i] for i, s in enumerate(shapes) if i and (s is None or None in s)}
            known = {
                label: None if label in open_ones else shape for label, shape in zip(self.labels, filled)
            }
            try:
                derived = self.op.param_shapes(known, self.attrs)
            except (MXNetError, TypeError, IndexError, ZeroDivisionError):
                return None
            for i, label in enumerate(self.labels):
                shape = derived.get(label)
                if label in open_ones and shape is not None and None not in shape:
                    filled[i] = shape
        if any(shape is None for shape in filled):
            return None
        try:
            return self.exact_shapes(filled)  # type: ignore[arg-type]
        except OperatorError:
            return None

    def partial_shapes(self, shapes: Shapes) -> Shapes:
        """Output shapes as far as they follow from partly known input shapes."""
        count = len(self.op.outputs(self.attrs))
        holes = [
            (i, axis) for i, s in enumerate(shapes) if s is not None for axis, d in enumerate(s) if d is None
        ]
        first = self._try(shapes, {})
        second = self._try(shapes, dict.fromkeys(holes, _SECOND)) if first is not None else None
        if first is None or second is None:
            return [None] * count
        # A small size shows dimensions that only look independent (cut off at 5, say). It may also not fit
        # at all.
        small = self._try(shapes, dict.fromkeys(holes, 2)) or first
        return [
            tuple(a if a == b == c else None for a, b, c in zip(x, y, z))
            if len(x) == len(y) == len(z)
            else None
            for x, y, z in zip(first, second, small)
        ]

    def solve_backwards(self, shapes: Shapes, outputs: Shapes) -> Shapes:
        """Input shapes completed from known output dimensions, where exactly one size explains them."""
        if any(shape is None for shape in shapes) or all(o is None or set(o) == {None} for o in outputs):
            return shapes
        holes = [
            (i, axis) for i, shape in enumerate(shapes) for axis, dim in enumerate(shape or ()) if dim is None
        ]
        base = self._try(shapes, {})
        if not holes or base is None:
            return shapes
        groups = self._independent_groups(shapes, holes)
        moved = {group: self._try(shapes, dict.fromkeys(group, _SECOND)) for group in groups}
        found: dict[tuple[int, int], int] = {}
        for o, known in enumerate(outputs):
            for axis, target in enumerate(known or ()):
                if target is None or axis >= len(base[o]):
                    continue
                causes = [
                    g
                    for g, m in moved.items()
                    if m is not None and m[o][axis : axis + 1] != base[o][axis : axis + 1]
                ]
                if len(causes) == 1:
                    size = self._solve(shapes, causes[0], o, axis, target, base, moved[causes[0]])
                    if size is not None:
                        found.update(dict.fromkeys(causes[0], size))
        return [
            shape
            and tuple(found.get((i, axis), dim) if dim is None else dim for axis, dim in enumerate(shape))
            for i, shape in enumerate(shapes)
        ]

    def _independent_groups(
        self, shapes: Shapes, holes: list[tuple[int, int]]
    ) -> list[tuple[tuple[int, int], ...]]:
        """Unknown dimensions that vary alone, and those equal along an axis (concatenation)."""
        groups: list[tuple[tuple[int, int], ...]] = []
        joint: dict[int, list[tuple[int, int]]] = {}
        for hole in holes:
            alone = self._try(shapes, {hole: _SECOND}) is not None or self._try(shapes, {hole: 1}) is not None
            if alone:
                groups.append((hole,))
            else:
                joint.setdefault(hole[1], []).append(hole)
        return groups + [tuple(group) for group in joint.values()]

    def _solve(
        self,
        shapes: Shapes,
        group: tuple[tuple[int, int], ...],
        o: int,
        axis: int,
        target: int,
        base: Any,
        moved: Any,
    ) -> int | None:
        """The one size of the group that gives output ``o`` the target along ``axis``, or None."""
        rise = moved[o][axis] - base[o][axis]
        size, rest = divmod((target - base[o][axis]) * (_SECOND - _FIRST), rise)
        size += _FIRST
        if rest or size <= 0:
            return None

        def at(value: int) -> int | None:
            result = self._try(shapes, dict.fromkeys(group, value)) if value > 0 else None
            return result[o][axis] if result is not None and axis < len(result[o]) else None

        return size if at(size) == target and target not in (at(size - 1), at(size + 1)) else None

    # -- dtypes ----------------------------------------------------------------------------------------------

    def output_dtypes(self, dtypes: Dtypes, shapes: Shapes) -> Dtypes:
        """Output dtypes as far as they follow from the known input dtypes."""
        count = len(self.op.outputs(self.attrs))
        if self.op.host:
            told = self.attrs.get("dtype")
            return [told if isinstance(told, np.dtype) else (dtypes[0] if dtypes else DEFAULT_DTYPE)] * count
        if all_known(dtypes):
            found = self._dtypes_for(dtypes, shapes)
            return list(found) if found is not None else [None] * count
        answers = [
            self._dtypes_for([stand_in if d is None else d for d in dtypes], shapes)
            for stand_in in (DEFAULT_DTYPE, np.dtype(np.float64))
        ]
        if answers[0] is None or answers[1] is None:
            return [None] * count
        return [a if a == b else None for a, b in zip(*answers)]

    def _dtypes_for(self, dtypes: Dtypes, shapes: Shapes) -> tuple[np.dtype, ...] | None:
        if self.labels and any(shape is None or None in shape for shape in shapes):
            candidates = self._stand_in_shapes(shapes)
        else:
            candidates = [shapes]
        for candidate in candidates:
            try:
                return evaluate(self.op, self.attrs, candidate, dtypes).dtypes  # type: ignore[arg-type]
            except OperatorError:
                continue
        # Nothing fits: an operator has the dtype it is told, else that of its first input.
        told = self.attrs.get("dtype")
        kind = told if isinstance(told, np.dtype) else (dtypes[0] if dtypes else DEFAULT_DTYPE)
        return (kind,) * len(self.op.outputs(self.attrs))  # type: ignore[return-value]

    def _stand_in_shapes(self, shapes: Shapes) -> list[Any]:
        found = []
        for size, rank in itertools.product((_MODEST, _FIRST), (4, 3, 2, 5, 1)):
            first = shapes[0] if shapes[0] is not None else (None,) * rank
            known: dict[str, Shape | None] = dict(zip(self.labels, shapes))
            known[self.labels[0]] = tuple(size if dim is None else dim for dim in first)
            derived: dict[str, Shape] = {}
            if self.op.param_shapes is not None:
                try:
                    derived = self.op.param_shapes(known, self.attrs)
                except (MXNetError, TypeError, IndexError, ZeroDivisionError):
                    derived = {}
            candidate = []
            for label in self.labels:
                shape = derived.get(label) or known[label] or known[self.labels[0]] or ()
                candidate.append(tuple(size if dim is None else dim for dim in shape))
            if candidate not in found:
                found.append(candidate)
        return found

    def input_dtypes(self, dtypes: Dtypes, outputs: Dtypes, shapes: Shapes) -> Dtypes:
        """Input dtypes by the operator's rule, or backwards where inputs and outputs share one."""
        if not self.labels:
            return dtypes
        ruled = self.op.dtypes(dict(zip(self.labels, dtypes)), self.attrs)
        result: Dtypes = [ruled.get(label, given) for label, given in zip(self.labels, dtypes)]
        if result[0] is None and outputs and all_known(outputs) and self.op.dtypes is same_dtypes:
            told = outputs[0]
            guess = self._dtypes_for([told] * len(result), shapes)
            other = self._dtypes_for([_INT32 if told != _INT32 else DEFAULT_DTYPE] * len(result), shapes)
            if guess is not None and guess[0] == told and (other is None or other[0] != told):
                return [told] * len(result)
        return result
