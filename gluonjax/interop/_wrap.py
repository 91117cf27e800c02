"""JAX functions as operators: on the tape, in hybridized blocks, inside of traced functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

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


class Arguments:
    """The arguments of a call, taken apart: arrays (or symbols) in nested containers, and everything else."""

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        leaves, self._tree = jax.tree.flatten((args, kwargs))
        arrays = (*TENSORS, jax.Array, np.ndarray)
        self._places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, arrays)]
        self._fixed = {index: leaf for index, leaf in enumerate(leaves) if not isinstance(leaf, arrays)}
        found = [leaves[index] for index in self._places]
        symbols = sum(isinstance(one, Symbol) for one in found)
        if symbols and symbols != len(found):
            raise MXNetError(f"{name}: inside of a hybridized block all arrays must be its inputs or parameters")
        self.plain = not any(isinstance(one, TENSORS) for one in found)
        self.tensors = found if symbols or self.plain else handles(found)

    def structs(self, name: str) -> list[Any]:
        """Shapes and dtypes of the tensors."""
        try:
            return [struct_of(one) for one in self.tensors]
        except ShapeUnknownError:
            raise MXNetError(
                f"{name}: the shapes of its inputs are not known; initialize the block with in_units (or the like), "
                "or run it once before hybridize()"
            ) from None

    def key(self, name: str, structs: list[Any]) -> Any:
        """Equal for calls that one program can serve."""
        static = tuple((index, type(leaf), leaf) for index, leaf in self._fixed.items())
        key = (self._tree, static, tuple((one.shape, one.dtype) for one in structs))
        try:
            hash(key)
        except TypeError:
            wrong = next(leaf for _, _, leaf in static if not _hashable(leaf))
            raise MXNetError(
                f"{name}: an argument of type {type(wrong).__name__} is neither an array nor hashable"
            ) from None
        return key

    def rebuilder(self) -> Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]]:
        """What makes ``(args, kwargs)`` of other arrays; it does not keep those of this call."""
        tree, places, fixed = self._tree, self._places, self._fixed

        def rebuild(arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            leaves = {**fixed, **dict(zip(places, arrays))}
            return jax.tree.unflatten(tree, [leaves[index] for index in range(len(leaves))])

        return rebuild


def precision_for(structs: Sequence[Any]) -> bool:
    """Whether 64-bit types are on for a user's function: where the user's JAX has them, or an input is one."""
    return bool(cast(Any, jax.config).jax_enable_x64) or any(np.dtype(one.dtype).itemsize == 8 for one in structs)


def key_struct() -> Any:
    """What a JAX key looks like, for abstract evaluation."""
    return jax.eval_shape(lambda: jax.random.key(0))


class Wrapped:
    """A JAX function that takes and returns NDArrays (and symbols)."""

    def __init__(self, fn: Callable[..., Any], key: str | None) -> None:
        self.__wrapped__ = fn
        name = getattr(fn, "__name__", type(fn).__name__)
        self.__name__ = "jax_function" if name == "<lambda>" else name
        self.__doc__ = getattr(fn, "__doc__", None)
        self._key = key
        # what a call looks like -> (operator, structure of the results)
        self._found: dict[Any, tuple[OpDef, Any]] = {}

    def __repr__(self) -> str:
        return f"<operator of the JAX function {self.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = Arguments(self.__name__, args, kwargs)
        if given.plain:
            return mx_view(self.__wrapped__(*args, **kwargs))
        structs = given.structs(self.__name__)
        x64 = precision_for(structs)
        key = (given.key(self.__name__, structs), x64)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._make(given.rebuilder(), structs, x64)
        op, out_tree = found
        return jax.tree.unflatten(out_tree, call_operator(op, given.tensors))

    def _make(self, rebuild: Callable[..., Any], structs: list[Any], x64: bool) -> tuple[OpDef, Any]:
        fn, key_name = self.__wrapped__, self._key

        def call(arrays: Sequence[Any], key: Any) -> Any:
            args, kwargs = rebuild(arrays)
            if key_name is not None:
                kwargs = {key_name: key, **kwargs}
            with jax.enable_x64(x64):
                return fn(*args, **kwargs)

        def run(*arrays: Any, key: Any = None) -> tuple[Any, ...]:
            return tuple(jnp.asarray(leaf) for leaf in jax.tree.leaves(call(arrays, key)))

        run.__doc__ = self.__doc__
        with jax.enable_x64(x64):
            result = jax.eval_shape(call, structs, None if key_name is None else key_struct())
        shown, out_tree = jax.tree.flatten(result)
        if not shown:
            raise MXNetError(f"{self.__name__}: returned no array")
        names = [f"arg{index}" for index in range(len(structs))]
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
