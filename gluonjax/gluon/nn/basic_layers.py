"""Containers and layers without convolution."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from gluonjax import ndarray as nd
from gluonjax import symbol as sym
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.block import Block, HybridBlock
from gluonjax.gluon.nn._norms import BatchNorm as BatchNorm
from gluonjax.gluon.nn._norms import BatchNormReLU as BatchNormReLU
from gluonjax.gluon.nn._norms import GroupNorm as GroupNorm
from gluonjax.gluon.nn._norms import InstanceNorm as InstanceNorm
from gluonjax.gluon.nn._norms import LayerNorm as LayerNorm
from gluonjax.gluon.nn.activations import Activation
from gluonjax.gluon.utils import _indent


class _Stack(Block):
    """What Sequential and HybridSequential have in common: blocks in an order."""

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        for block in blocks:
            self.register_child(block)

    def __repr__(self) -> str:
        lines = [f"  ({name}): {_indent(repr(block), 2)}" for name, block in self._children.items()]
        return f"{type(self).__name__}(\n" + "\n".join(lines) + "\n)"

    def __getitem__(self, key: int | slice) -> Any:
        found = list(self._children.values())[key]
        if not isinstance(found, list):
            return found
        part = type(self)(prefix=self._prefix)
        with part.name_scope():
            part.add(*found)
        return part

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._children.values())


class Sequential(_Stack):
    """Runs blocks one after the other.

    >>> net = Sequential()
    >>> net.add(Dense(10, activation="relu"), Dense(2))
    >>> len(net), net[1]
    (2, Dense(None -> 2, linear))
    """

    def forward(self, x: Any) -> Any:
        for block in self._children.values():
            x = block(x)
        return x

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Compile the blocks, each by itself; HybridSequential compiles them together."""
        if self._children and all(isinstance(block, HybridBlock) for block in self._children.values()):
            warnings.warn(
                f"All children of this Sequential layer '{self.prefix}' are HybridBlocks. Consider using "
                "HybridSequential for the best performance.",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Stack, HybridBlock):
    """Runs HybridBlocks one after the other; ``hybridize()`` compiles them into one program."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        for block in self._children.values():
            x = block(x)
        return x


class Dense(HybridBlock):
    """A fully connected layer: ``activation(x @ weight.T + bias)``.

    Args:
        units: width of the output.
        activation: name of an activation, or None.
        use_bias: add a bias.
        flatten: take all but the first axis as one; False works on the last axis only.
        dtype: type of the parameters.
        weight_initializer, bias_initializer: initializers.
        in_units: width of the input; 0 finds out at the first forward.

    >>> layer = Dense(3, in_units=2)
    >>> layer.initialize()
    >>> layer(nd.ones((5, 2))).shape
    (5, 3)
    """

    def __init__(
        self, units: int, activation: str | None = None, use_bias: bool = True, flatten: bool = True,
        dtype: Any = "float32", weight_initializer: Any = None, bias_initializer: Any = "zeros", in_units: int = 0,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._flatten = flatten
        self._units = units
        self._in_units = in_units
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(units, in_units),
                init=weight_initializer,
                dtype=dtype,
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True
                )
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        y = F.FullyConnected(
            *inputs, no_bias=bias is None, num_hidden=self._units, flatten=self._flatten, name="fwd"
        )
        return y if self.act is None else self.act(y)

    def __repr__(self) -> str:
        units, width = self.weight.shape
        return f"{type(self).__name__}({width or None} -> {units}, {self.act or 'linear'})"


class Dropout(HybridBlock):
    """Sets random elements to 0 in training and scales the others up.

    Args:
        rate: which part of the elements; 0 passes the input on.
        axes: axes along which all elements share their fate.
    """

    def __init__(self, rate: float, axes: Any = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Turns integers into vectors: row ``i`` of the weight for input ``i``.

    Args:
        input_dim: number of rows.
        output_dim: length of a vector.
        dtype: type of the weight.
        weight_initializer: initializer.
        sparse_grad: let the gradient be row_sparse.
    """

    def __init__(
        self, input_dim: int, output_dim: int, dtype: Any = "float32", weight_initializer: Any = None,
        sparse_grad: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": sparse_grad,
        }  # fmt: skip
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=(input_dim, output_dim), init=weight_initializer, dtype=dtype,
                allow_deferred_init=True, grad_stype="row_sparse" if sparse_grad else "default",
            )  # fmt: skip

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({{input_dim}} -> {{output_dim}}, {{dtype}})".format(**self._kwargs)


class Flatten(HybridBlock):
    """Joins all axes but the first."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Lambda(Block):
    """Wraps a function, or the name of an ``nd`` operator, as a block."""

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self._func_impl: Callable[..., Any]
        if isinstance(function, str):
            if not hasattr(nd, function):
                raise ArgumentError(f"Function name {function} is not found in ndarray.")
            self._func_name, self._func_impl = function, getattr(nd, function)
        elif callable(function):
            self._func_name, self._func_impl = getattr(function, "__name__", repr(function)), function
        else:
            raise _not_a_function(function)

    def forward(self, *args: Any) -> Any:
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """Wraps a function ``f(F, x, ...)``, or the name of an operator, as a HybridBlock."""

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self._operator: str | None = None
        self._func: Callable[..., Any] | None = None
        if isinstance(function, str):
            if not (hasattr(nd, function) and hasattr(sym, function)):
                raise ArgumentError(f"Function name {function} is not found in symbol/ndarray.")
            self._operator = self._func_name = function
        elif callable(function):
            self._func, self._func_name = function, getattr(function, "__name__", repr(function))
        else:
            raise _not_a_function(function)

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        if self._operator is not None:
            return getattr(F, self._operator)(x, *args)
        assert self._func is not None
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


def _not_a_function(given: Any) -> ArgumentError:
    return ArgumentError(f"Unrecognized function in lambda: {given} of type {type(given)}")


__all__ = [
    "BatchNorm", "BatchNormReLU", "Dense", "Dropout", "Embedding", "Flatten", "GroupNorm", "HybridLambda",
    "HybridSequential", "InstanceNorm", "Lambda", "LayerNorm", "Sequential",
]  # fmt: skip
