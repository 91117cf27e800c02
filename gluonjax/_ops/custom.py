"""``Custom``: an operator whose forward and backward are Python code that the user registered.

This file is the operator as the engine sees it: names, shapes and dtypes come from a ``Program``, and
compiled code calls the program back on the host. ``gluonjax/operator.py`` makes programs from
``CustomOpProp`` classes; ``gluonjax/ndarray/_custom.py`` runs eager calls without this detour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gluonjax._base.attrs import STR
from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._ops import registry
from gluonjax._ops.opdef import Attr, Attrs, OpDef, Shape

Arrays = Sequence[np.ndarray]


class Program(Protocol):
    """What a registered operator can say and do, in terms of NumPy arrays.

    ``arguments``, ``states`` and ``outputs`` are names; inputs come in the order arguments, states.
    """

    arguments: tuple[str, ...]
    states: tuple[str, ...]
    outputs: tuple[str, ...]
    needs_heads: bool

    def shapes(self, known: Sequence[Shape | None]) -> tuple[list[Any], list[Any], list[Any]]:
        """Shapes of arguments, outputs and states from what is known of the arguments; None where unknown."""
        ...

    def dtypes(self, known: Sequence[np.dtype | None]) -> tuple[list[Any], list[Any], list[Any]]:
        """Dtypes of arguments, outputs and states; entries may be None."""
        ...

    def start(self) -> Any:
        """A session: what forward and backward of one call share."""

    def forward(self, session: Any, inputs: Arrays, train: bool) -> tuple[np.ndarray, ...]:
        """Outputs followed by the new states."""
        ...

    def backward(
        self, session: Any, heads: Arrays, inputs: Arrays, outputs: Arrays
    ) -> tuple[np.ndarray, ...]:
        """Gradients of all arguments; ``inputs`` holds the states as forward left them."""
        ...


# Set by gluonjax/operator.py: attribute texts (op_type among them) -> program.
find_program: Callable[[Mapping[str, str]], Program] | None = None


def program_of(attrs: Mapping[str, str]) -> Program:
    """The program that these attributes name. Raises OperatorError where none is registered."""
    if not attrs.get("op_type"):
        raise OperatorError("Custom: Required argument `op_type` is missing.")
    if find_program is None:
        raise OperatorError(
            f"Cannot find custom operator {attrs['op_type']}: none is registered; see mx.operator.register"
        )
    return find_program(attrs)


class CustomOpDef(OpDef):
    """An operator that takes any attributes: all but ``op_type`` belong to the user's class, as text."""

    def parse(self, given: Mapping[str, Any], where: str = "") -> Attrs:
        texts = Attrs((name, str(value)) for name, value in given.items())
        program_of(texts)
        return texts


def input_names(attrs: Attrs) -> tuple[str, ...]:
    program = program_of(attrs)
    return (*program.arguments, *program.states)


def _output_names(attrs: Attrs) -> tuple[str, ...]:
    return program_of(attrs).outputs


def _rewritten(attrs: Attrs, count: int) -> tuple[int, ...]:
    program = program_of(attrs)
    first = len(program.arguments)
    return tuple(range(first, first + len(program.states)))


def _fill_shapes(known: dict[str, Shape | None], attrs: Attrs) -> dict[str, Shape]:
    program = program_of(attrs)
    given = [known.get(name) for name in program.arguments]
    whole = all(shape is not None and None not in shape for shape in given)
    if not whole and (not given or given[0] is None):
        return {}  # user code looks at in_shape[0]; without it there is nothing to ask
    try:
        arguments, _, states = program.shapes(given)
    except MXNetError:
        if whole:
            raise
        return {}
    return {
        name: shape for name, shape in zip(input_names(attrs), [*arguments, *states], strict=True)
        if shape is not None
    }  # fmt: skip


def _fill_dtypes(known: dict[str, np.dtype | None], attrs: Attrs) -> dict[str, np.dtype | None]:
    program = program_of(attrs)
    given = [known.get(name) for name in program.arguments]
    if given and given[0] is None:
        return known
    try:
        arguments, _, states = program.dtypes(given)
    except MXNetError:
        if None not in given:
            raise
        return known
    found = dict(known)
    for name, dtype in zip(input_names(attrs), [*arguments, *states], strict=True):
        if dtype is None or name not in found:
            continue
        if found[name] is not None and found[name] != dtype:
            raise OperatorError(f"'{name}' has dtype {found[name]}, but infer_type wants {dtype}")
        found[name] = dtype
    return found


def check_count(program: Program, count: int) -> None:
    """Raise OperatorError unless the number of inputs is that of the program's arguments and states."""
    names = (*program.arguments, *program.states)
    if count != len(names):
        raise OperatorError(
            f"Operator Custom expects {len(names)} inputs, but got {count} instead. They are "
            f"{', '.join(names)}"
        )


def result_structs(program: Program, shapes: Sequence[Shape], dtypes: Sequence[np.dtype]) -> list[Any]:
    """Shapes and dtypes of outputs followed by states, for those of all inputs."""
    count = len(program.arguments)
    _, out_shapes, _ = program.shapes(shapes[:count])
    _, out_dtypes, _ = program.dtypes(dtypes[:count])
    outputs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in zip(out_shapes, out_dtypes)]
    return outputs + [jax.ShapeDtypeStruct(s, d) for s, d in zip(shapes[count:], dtypes[count:])]


def custom(*inputs: Array, train: bool, **attrs: str) -> tuple[tuple[Array, ...], dict[int, Array]]:
    """Run a Python operator that was registered with ``mx.operator.register``.

    Args:
        inputs: one array for each of the operator's arguments, then for each of its auxiliary states.
        op_type: the name it was registered under. All other attributes go to its class as text.

    Returns:
        As many arrays as the operator has outputs.
    """
    program = program_of(attrs)
    check_count(program, len(inputs))
    first, outputs = len(program.arguments), len(program.outputs)
    structs = result_structs(program, [a.shape for a in inputs], [np.dtype(a.dtype) for a in inputs])
    session = program.start()

    def on_host_forward(*arrays: Any) -> tuple[np.ndarray, ...]:
        return program.forward(session, [np.asarray(a) for a in arrays], train)

    def on_host_backward(*arrays: Any) -> tuple[np.ndarray, ...]:
        values = [np.asarray(a) for a in arrays]
        heads, rest = values[:outputs], values[outputs:]
        grads = program.backward(session, heads, rest[: len(inputs)], rest[len(inputs) :])
        return tuple(grads[i] for i in floating)

    floating = [i for i, a in enumerate(inputs[:first]) if jnp.issubdtype(a.dtype, jnp.inexact)]

    @jax.custom_vjp
    def call(*arrays: Array) -> tuple[Array, ...]:
        return tuple(jax.pure_callback(on_host_forward, structs, *arrays))

    def forward(*arrays: Array) -> tuple[Any, Any]:
        results = call(*arrays)
        return results, (arrays, results)

    def backward(kept: Any, heads: Any) -> tuple[Any, ...]:
        arrays, results = kept
        heads = [
            head
            if program.needs_heads and head.dtype == result.dtype
            else jnp.zeros(result.shape, result.dtype)
            for head, result in zip(heads, results[:outputs])
        ]
        shapes = [jax.ShapeDtypeStruct(arrays[i].shape, arrays[i].dtype) for i in floating]
        operands = (*heads, *arrays[:first], *results[outputs:], *results[:outputs])
        found = (
            dict(zip(floating, jax.pure_callback(on_host_backward, shapes, *operands))) if floating else {}
        )
        return tuple(found[i] if i in found else _no_gradient(array) for i, array in enumerate(arrays))

    call.defvjp(forward, backward)
    results = call(*inputs)
    return results[:outputs], {first + i: state for i, state in enumerate(results[outputs:])}


def _no_gradient(array: Array) -> Any:
    if jnp.issubdtype(array.dtype, jnp.inexact):
        return jnp.zeros(array.shape, array.dtype)
    return np.zeros(array.shape, jax.dtypes.float0)


class _AnyAttribute(dict[str, Attr]):
    """Declared attributes; any other name is a text."""

    def __missing__(self, name: str) -> Attr:
        return Attr(name, STR)


_OP_TYPE = Attr("op_type", STR)

CUSTOM = CustomOpDef(
    name="Custom", fn=custom, aliases=(), inputs=(), attrs=(_OP_TYPE,), variadic=None, uses_key=False,
    uses_train=True, outputs=_output_names, visible=lambda attrs: len(_output_names(attrs)),
    active_inputs=input_names, param_shapes=_fill_shapes, unify=None, dtypes=_fill_dtypes, grad=None,
    mutates=_rewritten, variable_attrs={}, host=False, heavy=True, doc=custom.__doc__ or "",
    attr_table=_AnyAttribute(op_type=_OP_TYPE), open_inputs=True,
)  # fmt: skip
registry.add(CUSTOM)
