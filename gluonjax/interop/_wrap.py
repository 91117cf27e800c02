"""JAX functions as operators: on the tape, in hybridized blocks, inside of traced functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonjax._base.errors import MXNetError, ShapeUnknownError
from gluonjax._base.scopes import modes
from gluonjax._engine import infer
from gluonjax._engine.graph import hints
from gluonjax._ops.opdef import Attrs, Input, OpDef, free_dtypes, no_mutation
from gluonjax.gluon._jax_arrays import handles
from gluonjax.gluon.block import Block
from gluonjax.interop._views import mx_view
from gluonjax.ndarray import NDArray
from gluonjax.ndarray._invoke import run_operator
from gluonjax.symbol import Symbol
from gluonjax.symbol._compose import create, single_entry

TENSORS = (NDArray, Symbol)


def make_operator(
    name: str, fn: Callable[..., Any], inputs: Sequence[str], outputs: int, uses_key: bool = False,
    uses_train: bool = False, mutated: tuple[int, ...] = (),
) -> OpDef:  # fmt: skip
    """An operator of our registry's kind that is in no registry: it exists in graphs that hold it.

    Args:
        fn: ``fn(*arrays, [key], [train]) -> tuple of arrays``, or ``(outputs, {input name: new value})`` where it
            rewrites inputs.
        inputs: names.
        outputs: how many.
        mutated: positions of the inputs that it rewrites.
    """
    names = tuple(f"output{index}" for index in range(outputs)) if outputs > 1 else ("output",)

    def no_rewrite(attrs: Attrs, count: int) -> tuple[int, ...]:
        return mutated

    return OpDef(
        name=name, fn=fn, aliases=(), inputs=tuple(Input(one) for one in inputs), attrs=(), variadic=None,
        uses_key=uses_key, uses_train=uses_train, outputs=lambda attrs: names, visible=lambda attrs: len(names),
        active_inputs=lambda attrs: tuple(inputs), param_shapes=None, unify=None, dtypes=free_dtypes, grad=None,
        mutates=no_rewrite if mutated else no_mutation, variable_attrs={}, host=False, heavy=True,
        doc=inspect.getdoc(fn) or name, attr_table={},
    )  # fmt: skip


def call_operator(op: OpDef, tensors: Sequence[Any]) -> list[Any]:
    """Run an operator on arrays, or put it on top of symbols; a list of its outputs."""
    if isinstance(tensors[0], Symbol):
        symbol = create(op, op.name, list(tensors), {}, {}, None, None, Symbol)
        return [symbol] if op.visible(Attrs()) == 1 else list(symbol)
    found = run_operator(op, list(tensors), {}, None, type(tensors[0]))
    return list(found) if isinstance(found, (list, tuple)) else [found]


def struct_of(tensor: Any) -> Any:
    """Shape and dtype of an array, or of a symbol that is being traced by ``hybridize``."""
    if isinstance(tensor, NDArray):
        return jax.ShapeDtypeStruct(tensor.shape, np.dtype(tensor._cell.value.dtype))
    entry = single_entry(tensor, "an argument")
    known = {node.name: node.hint for node in tensor._graph.variables if node.hint is not None}
    shape = infer.infer_shapes(tensor._graph, known, modes.np_shape).get(entry)
    if not infer.is_complete(shape):
        raise ShapeUnknownError(f"the shape of '{entry[0].name}' is not known")
    hints.read = True  # the trace serves inputs of these shapes only
    _, types, _ = tensor.infer_type_partial()
    kind = np.dtype(np.float32) if not types or types[0] is None else np.dtype(types[0])
    return jax.ShapeDtypeStruct(shape, kind)


def is_64bit(struct: Any) -> bool:
    return np.dtype(struct.dtype).itemsize == 8


class Wrapped:
    """A JAX function that takes and returns NDArrays (and symbols)."""

    def __init__(self, fn: Callable[..., Any], key: str | None) -> None:
        self.__wrapped__ = fn
        name = getattr(fn, "__name__", type(fn).__name__)
        self.__name__ = "jax_function" if name == "<lambda>" else name
        self.__doc__ = getattr(fn, "__doc__", None)
        self._key = key
        # (structure of the arguments, shapes and dtypes) -> (operator, structure of the results)
        self._found: dict[Any, tuple[OpDef, Any]] = {}

    def __repr__(self) -> str:
        return f"<operator of the JAX function {self.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, (*TENSORS, jax.Array, np.ndarray))]
        tensors = [leaves[index] for index in places]
        if not any(isinstance(one, TENSORS) for one in tensors):
            return mx_view(self.__wrapped__(*args, **kwargs))
        if any(isinstance(one, Symbol) for one in tensors):
            if not all(isinstance(one, Symbol) for one in tensors):
                raise MXNetError(
                    f"{self.__name__}: inside of a hybridized block all arrays must be its inputs or parameters"
                )
        else:
            tensors = handles(tensors)
        fixed = {index: leaf for index, leaf in enumerate(leaves) if index not in places}
        op, out_tree = self._operator(tree, tuple(places), fixed, tensors)
        return jax.tree.unflatten(out_tree, call_operator(op, tensors))

    def _operator(self, tree: Any, places: tuple[int, ...], fixed: dict[int, Any], tensors: list[Any]) -> Any:
        try:
            structs = [struct_of(one) for one in tensors]
        except ShapeUnknownError:
            raise MXNetError(
                f"{self.__name__}: the shapes of its inputs are not known; initialize the block with in_units (or the "
                "like), or run it once before hybridize()"
            ) from None
        # 64-bit types are there for the user's function where the user's JAX has them, or an input is one.
        x64 = bool(jax.config.jax_enable_x64) or any(is_64bit(one) for one in structs)
        static = tuple((index, type(leaf), leaf) for index, leaf in fixed.items())
        shapes = tuple((one.shape, one.dtype) for one in structs)
        key = (tree, static, shapes, x64)
        try:
            found = self._found.get(key)
        except TypeError:
            wrong = next(leaf for _, _, leaf in static if not _hashable(leaf))
            raise MXNetError(
                f"{self.__name__}: an argument of type {type(wrong).__name__} is neither an array nor hashable"
            ) from None
        if found is None:
            found = self._found[key] = self._make(tree, places, fixed, structs, x64)
        return found

    def _make(self, tree: Any, places: tuple[int, ...], fixed: dict[int, Any], structs: list[Any], x64: bool) -> Any:
        fn, key_name = self.__wrapped__, self._key
        count = len(places) + len(fixed)

        def call(arrays: Sequence[Any], key: Any) -> Any:
            leaves = [fixed.get(index) for index in range(count)]
            for index, array in zip(places, arrays):
                leaves[index] = array
            args, kwargs = jax.tree.unflatten(tree, leaves)
            if key_name is not None:
                kwargs = {key_name: key, **kwargs}
            with jax.enable_x64(x64):
                return fn(*args, **kwargs)

        def run(*arrays: Any, key: Any = None) -> tuple[Any, ...]:
            return tuple(jnp.asarray(leaf) for leaf in jax.tree.leaves(call(arrays, key)))

        run.__doc__ = self.__doc__
        sample = jax.eval_shape(lambda: jax.random.key(0)) if key_name is not None else None
        with jax.enable_x64(x64):
            result = jax.eval_shape(call, structs, sample)
        shown, out_tree = jax.tree.flatten(result)
        if not shown:
            raise MXNetError(f"{self.__name__}: returned no array")
        names = [f"arg{index}" for index in range(len(places))]
        return make_operator(self.__name__, run, names, len(shown), uses_key=key_name is not None), out_tree


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def wrap(fn: Callable[..., Any], key: str | None = None) -> Callable[..., Any]:
    """A JAX function as an operator.

    The result takes NDArrays and returns NDArrays, is recorded by ``autograd.record`` (to any order of
    differentiation; ``jax.custom_vjp`` is respected), and works in ``hybrid_forward`` of hybridized blocks, where it is
    compiled with the rest of the block.

    Args:
        fn: any function of arrays (in nested containers) and hashable values that JAX can trace.
        key: the name of the argument that receives a fresh JAX key at every call, if it draws random numbers.

    >>> import jax
    >>> from gluonjax import autograd, nd
    >>> swish = wrap(lambda x, beta: x * jax.nn.sigmoid(beta * x))
    >>> x = nd.array([0.0, 2.0]); x.attach_grad()
    >>> with autograd.record():
    ...     y = swish(x, 1.5)
    >>> y.backward(); x.grad.shape
    (2,)
    """
    if isinstance(fn, Block):
        raise MXNetError("wrap: a Block is called as it is; use functional(block) for a pure function of it")
    return Wrapped(fn, key)
