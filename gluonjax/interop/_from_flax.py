"""Flax modules (nnx and Linen) as blocks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonjax import initializer
from gluonjax import ndarray as nd
from gluonjax._base.scopes import modes
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.block import HybridBlock
from gluonjax.interop._wrap import Arguments, call_operator, key_struct, make_operator, precision_for

# What Linen modules call the switch between training and inference, and whether True means training.
SWITCHES = {"train": True, "training": True, "is_training": True, "deterministic": False, "use_running_average": False}

# (values by path of what is trained, of other state, uses random numbers,
#  call(trained, state, args, kwargs, train, key) -> (outputs, new state))
Parts = tuple[dict[str, Any], dict[str, Any], bool, Callable[..., Any]]


class FlaxBlock(HybridBlock):
    """A Flax module as a block: its variables are Parameters, initialized with Flax's own values.

    Args:
        parts: see ``Parts``.
        name: of the module's class, for the block's prefix.
    """

    def __init__(self, parts: Parts, name: str, prefix: str | None = None, params: Any = None) -> None:
        self._module_name = name
        super().__init__(prefix=prefix, params=params)
        trained, state, self._uses_key, self._call = parts
        self._trained, self._state = tuple(trained), tuple(state)
        self._operators: dict[Any, tuple[Any, Any]] = {}
        with self.name_scope():
            for path, value in {**trained, **state}.items():
                array = np.asarray(value)
                learns = path in trained and array.dtype.kind == "f"
                parameter = self.params.get(
                    path.replace(".", "_"), shape=array.shape, dtype=array.dtype.type,
                    init=initializer.Constant(nd.array(array, dtype=array.dtype)),
                    grad_req="write" if learns else "null", differentiable=learns,
                )  # fmt: skip
                setattr(self, path, parameter)

    def _alias(self) -> str:
        return self._module_name.lower()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._module_name}: {len(self._trained)} trained, {len(self._state)} state)"

    def hybrid_forward(self, F: Any, *args: Any, **kwargs: Any) -> Any:
        values = [kwargs.pop(name) for name in (*self._trained, *self._state)]
        given = Arguments(self.name, args, kwargs)
        structs = given.structs(self.name)
        key = (given.key(self.name, structs), modes.training)
        found = self._operators.get(key)
        if found is None:
            found = self._operators[key] = self._make(given.rebuilder(), structs, modes.training)
        op, out_tree = found
        return jax.tree.unflatten(out_tree, call_operator(op, [*given.tensors, *values]))

    def _make(self, rebuild: Callable[..., Any], structs: list[Any], train: bool) -> Any:
        call, trained, state = self._call, self._trained, self._state
        inputs, x64 = len(structs), precision_for(structs)
        writes = train and bool(state)

        def compute(arrays: Sequence[Any], key: Any) -> Any:
            args, kwargs = rebuild(arrays[:inputs])
            rest = arrays[inputs:]
            values = dict(zip(trained, rest)), dict(zip(state, rest[len(trained) :]))
            with jax.enable_x64(x64):
                return call(*values, args, kwargs, train, key)

        def run(*arrays: Any, key: Any = None) -> Any:
            outputs, new = compute(arrays, key)
            shown = tuple(jnp.asarray(leaf) for leaf in jax.tree.leaves(outputs))
            return (shown, new) if writes else shown

        shapes = [
            jax.ShapeDtypeStruct(self._reg_params[path].shape, np.dtype(self._reg_params[path].dtype))
            for path in (*trained, *state)
        ]
        with jax.enable_x64(x64):
            outputs, _ = jax.eval_shape(compute, [*structs, *shapes], key_struct() if self._uses_key else None)
        shown, out_tree = jax.tree.flatten(outputs)
        names = [f"data{index}" for index in range(inputs)] + [*trained, *state]
        first = inputs + len(trained)
        mutated = tuple(range(first, first + len(state))) if writes else ()
        return make_operator(self._module_name, run, names, len(shown), self._uses_key, mutated=mutated), out_tree


def from_flax(module: Any, *example: Any, rngs: Any = None, prefix: str | None = None, **named: Any) -> FlaxBlock:
    """A Flax module as a HybridBlock that trains with ``autograd`` and ``Trainer``.

    ``initialize()`` gives the parameters Flax's initial values. Batch statistics are auxiliary states, written by
    forwards in training mode; dropout and the like draw from ``mx.random``'s stream.

    Args:
        module: an nnx module, or a Linen module.
        example: Linen only: inputs (arrays or shapes with dtypes) to initialize with.
        rngs: Linen only: a JAX key, or a dictionary of keys; default ``jax.random.key(0)``.
        prefix: the block's prefix.
        named: Linen only: further arguments of ``module.init``.

    >>> from flax import nnx
    >>> from gluonjax import nd
    >>> net = from_flax(nnx.Linear(3, 2, rngs=nnx.Rngs(0)))
    >>> net.initialize(); net.hybridize()
    >>> net(nd.ones((4, 3))).shape
    (4, 2)
    """
    from flax import linen, nnx

    if isinstance(module, nnx.Module):
        parts = _nnx_parts(module)
    elif isinstance(module, linen.Module):
        if not example:
            raise ArgumentError(
                f"from_flax: a Linen module is initialized with inputs; give some, e.g. "
                f"from_flax({type(module).__name__}(...), jnp.ones((1, 3)))"
            )
        parts = _linen_parts(module, example, rngs, named)
    else:
        raise ArgumentError(f"from_flax: wants an nnx or a Linen module, got {type(module).__name__}")
    return FlaxBlock(parts, type(module).__name__, prefix=prefix)


def _dotted(path: Sequence[Any]) -> str:
    return ".".join(str(step) for step in path)


def _nnx_parts(module: Any) -> Parts:
    from flax import nnx

    definitions = {}
    for train in (False, True):
        module.train() if train else module.eval()
        definitions[train], params, draws, rest = nnx.split(module, nnx.Param, nnx.RngState, ...)
    trained = {_dotted(path): variable[...] for path, variable in nnx.to_flat_state(params)}
    state = {_dotted(path): variable[...] for path, variable in nnx.to_flat_state(rest)}
    keys = [path for path, _ in nnx.to_flat_state(draws)]

    def filled(template: Any, values: dict[str, Any]) -> Any:
        return nnx.from_flat_state(
            (path, variable.replace(values[_dotted(path)])) for path, variable in nnx.to_flat_state(template)
        )

    def drawing(key: Any) -> Any:
        flat = {}
        for number, (path, variable) in enumerate(nnx.to_flat_state(draws)):
            value = variable[...]
            if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
                value = jax.random.fold_in(key, number)
            flat[path] = variable.replace(value)
        return nnx.from_flat_state(flat.items())

    def call(of_trained: Any, of_state: Any, args: Any, kwargs: Any, train: bool, key: Any) -> Any:
        parts = [filled(params, of_trained), drawing(key) if keys else draws, filled(rest, of_state)]
        copy = nnx.merge(definitions[train], *parts)
        outputs = copy(*args, **kwargs)
        _, _, _, after = nnx.split(copy, nnx.Param, nnx.RngState, ...)
        return outputs, {_dotted(path): variable[...] for path, variable in nnx.to_flat_state(after)}

    return trained, state, bool(keys), call


def _linen_parts(module: Any, example: Sequence[Any], rngs: Any, named: dict[str, Any]) -> Parts:
    from flax import traverse_util

    switch = next((name for name in SWITCHES if name in inspect.signature(type(module).__call__).parameters), None)

    def settings(train: bool) -> dict[str, Any]:
        return {} if switch is None else {switch: train is SWITCHES[switch]}

    key = jax.random.key(0) if rngs is None else rngs
    keys = key if isinstance(key, dict) else {"params": key, "dropout": jax.random.fold_in(key, 1)}
    inputs = [
        jnp.zeros(one.shape, one.dtype) if isinstance(one, jax.ShapeDtypeStruct) else jnp.asarray(_plain(one))
        for one in example
    ]
    values = module.init(keys, *inputs, **{**settings(False), **named})
    flat = traverse_util.flatten_dict(dict(values), sep=".")
    trained = {path.removeprefix("params."): value for path, value in flat.items() if path.startswith("params.")}
    state = {path: value for path, value in flat.items() if not path.startswith("params.")}
    collections = sorted({path.partition(".")[0] for path in state})

    def call(of_trained: Any, of_state: Any, args: Any, kwargs: Any, train: bool, key: Any) -> Any:
        whole = {**{f"params.{path}": value for path, value in of_trained.items()}, **of_state}
        variables = traverse_util.unflatten_dict(whole, sep=".")
        streams = {"dropout": key} if train else None
        kwargs = {**settings(train), **kwargs}
        if not train or not collections:
            return module.apply(variables, *args, rngs=streams, **kwargs), dict(of_state)
        outputs, after = module.apply(variables, *args, rngs=streams, mutable=collections, **kwargs)
        return outputs, {**of_state, **traverse_util.flatten_dict(dict(after), sep=".")}

    return trained, state, True, call


def _plain(value: Any) -> Any:
    return value.asnumpy() if isinstance(value, nd.NDArray) else value
