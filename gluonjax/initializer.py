"""``mx.init`` / ``mx.initializer``: how parameters get their first values.

An initializer is called with a description (the parameter's name and attributes) and the array to fill. The
end of
the name decides what it is: ``*weight`` is drawn, ``*bias`` is zero, ``*gamma`` is one, and so on.
"""

from __future__ import annotations

import json
import logging
import math
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gluonjax import random, registry
from gluonjax._base.errors import ArgumentTypeError, MXNetError
from gluonjax._base.python_types import string_types as string_types
from gluonjax._base.scopes import mode
from gluonjax.ndarray.ndarray import NDArray
from gluonjax.ndarray.utils import load as load
from gluonjax.util import is_np_array as is_np_array


class InitializerError(MXNetError, ValueError, AssertionError):
    """An initializer cannot fill an array."""


class InitDesc(str):
    """A parameter's name with its attributes, as initializers get it.

    Args:
        name: the parameter's name.
        attrs: its attributes; ``__init__`` holds an initializer of its own as text.
        global_init: the initializer that was called first; FusedRNN hands its parts to it.

    >>> InitDesc("fc_weight", {"__init__": "one"}).attrs
    {'__init__': 'one'}
    """

    attrs: dict[str, Any]
    global_init: Any

    def __new__(cls, name: str, attrs: dict[str, Any] | None = None, global_init: Any = None) -> InitDesc:
        description = super().__new__(cls, name)
        description.attrs = attrs or {}
        description.global_init = global_init
        return description


# What the end of a name means: the method that fills the array. The first match counts.
BY_SUFFIX = (
    ("weight", "_init_weight"), ("bias", "_init_bias"), ("gamma", "_init_gamma"), ("beta", "_init_beta"),
    ("min", "_init_zero"), ("max", "_init_one"), ("weight_quantize", "_init_quantized_weight"),
    ("bias_quantize", "_init_quantized_bias"),
)  # fmt: skip
# The same for plain names without description, which also cover beginnings and running statistics.
BY_PLAIN_NAME = (
    (r"upsampling", "_init_bilinear"), (r"stn_loc.*weight$", "_init_zero"), (r"stn_loc.*bias$", "_init_loc_bias"),
    (r".*bias$", "_init_bias"), (r".*gamma$", "_init_gamma"), (r".*beta$", "_init_beta"),
    (r".*weight$", "_init_weight"), (r".*moving_(mean|inv_var|avg)$", "_init_zero"), (r".*moving_var$", "_init_one"),
    (r".*min$", "_init_zero"), (r".*max$", "_init_one"),
)  # fmt: skip


def bilinear_kernel(shape: Sequence[int]) -> np.ndarray:
    """The weights of a deconvolution that upsamples bilinearly; shape (out, in, height, width)."""
    height, width = shape[2], shape[3]
    half = math.ceil(width / 2.0)
    center = (2 * half - 1 - half % 2) / (2.0 * half)
    tents = [1 - np.abs(np.arange(size, dtype=np.float64) / half - center) for size in (height, width)]
    return np.broadcast_to(np.outer(*tents), tuple(shape)).astype(np.float32)


class Initializer:
    """Base class. A subclass defines ``_init_weight(name, array)``.

    Args:
        kwargs: what the subclass was made with; ``dumps`` writes it.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], str] | None = None

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None
    ) -> Initializer:
        """Log every initialization.

        Args:
            verbose: log or not.
            print_func: makes the logged text of an array; default: the norm divided by the root of the size.
        """
        self._verbose = verbose
        self._print_func = print_func or _size_text
        return self

    def _verbose_print(self, desc: str, init: str, arr: NDArray) -> None:
        if self._verbose and self._print_func:
            logging.info("Initialized %s as %s: %s", desc, init, self._print_func(arr))

    def dumps(self) -> str:
        """The initializer as JSON text, which ``create`` reads.

        >>> Uniform(0.1).dumps()
        '["uniform", {"scale": 0.1}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Fill an array.

        Args:
            desc: an InitDesc.
            arr: the array.
        """
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            create(own)._init_weight(desc, arr)
            self._verbose_print(desc, own, arr)
            return
        for suffix, method in BY_SUFFIX:
            if desc.endswith(suffix):
                getattr(self, method)(desc, arr)
                self._verbose_print(desc, suffix, arr)
                return
        self._init_default(desc, arr)

    def _legacy_init(self, name: str, arr: NDArray) -> None:
        warnings.warn(
            "Calling initializer with init(str, NDArray) has been deprecated; "
            "please use init(mx.init.InitDesc(...), NDArray) instead.",
            DeprecationWarning,
            stacklevel=3,
        )
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{type(self).__name__}: name must be string, got {name!r}")
        if not isinstance(arr, NDArray):
            raise ArgumentTypeError(f"{type(self).__name__}: arr must be NDArray, got {type(arr).__name__}")
        for pattern, method in BY_PLAIN_NAME:
            if re.match(pattern, name):
                getattr(self, method)(name, arr)
                return
        self._init_default(name, arr)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _init_weight(name, arr)")

    def _init_zero(self, name: str, arr: NDArray) -> None:
        arr[:] = 0

    def _init_one(self, name: str, arr: NDArray) -> None:
        arr[:] = 1

    def _init_bias(self, name: str, arr: NDArray) -> None:
        arr[:] = 0

    def _init_gamma(self, name: str, arr: NDArray) -> None:
        arr[:] = 1

    def _init_beta(self, name: str, arr: NDArray) -> None:
        arr[:] = 0

    def _init_quantized_bias(self, name: str, arr: NDArray) -> None:
        arr[:] = 0

    def _init_quantized_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = random.randint(-127, 127, shape=arr.shape, dtype="int32").asnumpy().astype(np.int8)

    def _init_bilinear(self, name: str, arr: NDArray) -> None:
        arr[:] = bilinear_kernel(arr.shape)

    def _init_loc_bias(self, name: str, arr: NDArray) -> None:
        """The identity of an affine transformation (spatial transformer)."""
        if arr.shape[0] != 6:
            raise InitializerError(
                f"{name}: the bias of a spatial transformer has 6 elements, got shape {arr.shape}"
            )
        arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise InitializerError(
            f"Unknown initialization pattern for {name}. Default initialization is now limited to "
            '"weight", "bias", "gamma" (1.0), and "beta" (0.0). '
            "Please use mx.sym.Variable(init=mx.init.*) to set initialization pattern"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self.dumps() == other.dumps()

    def __hash__(self) -> int:
        return hash(type(self))


def _size_text(array: NDArray) -> str:
    return str(np.float32(np.linalg.norm(array.asnumpy().ravel()) / math.sqrt(array.size)))


_register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
create = registry.get_create_func(Initializer, "initializer")


def register(klass: type) -> type:
    """Add an initializer class under its lower-case name, for ``init='name'``; a decorator.

    >>> @register
    ... class Two(Initializer):
    ...     def _init_weight(self, name, arr): arr[:] = 2
    >>> type(create("two")).__name__
    'Two'
    """
    return _register(klass)


class Load:
    """Fill arrays with saved ones of the same name.

    Args:
        param: a file, or a dict of NDArrays; ``arg:`` and ``aux:`` before names are dropped.
        default_init: what fills arrays that are not in it.
        verbose: log which is which.
    """

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False) -> None:
        if isinstance(param, str):
            from gluonjax.ndarray import load

            param = load(param)
        if not isinstance(param, dict):
            raise ArgumentTypeError(
                f"init.Load: wants a dict of named arrays or its file, got {type(param).__name__}"
            )
        self.param = {
            name[4:] if name.startswith(("arg:", "aux:")) else name: arr for name, arr in param.items()
        }
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        saved = self.param.get(name)
        if saved is not None:
            if tuple(arr.shape) != tuple(saved.shape):
                raise InitializerError(
                    f"Parameter {name} cannot be initialized from loading. "
                    f"Shape mismatch, target {arr.shape} vs loaded {saved.shape}"
                )
            arr[:] = saved
        elif self.default_init is not None:
            self.default_init(name, arr)
        else:
            raise InitializerError(
                f"Cannot Initialize {name}. Not found in loaded param and no default Initializer is provided."
            )
        if self.verbose:
            logging.info("Initialized %s by %s", name, "default" if saved is None else "loading")


class Mixed:
    """Choose the initializer by the first regular expression that the name begins with.

    Args:
        patterns: regular expressions.
        initializers: as many initializers.
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        if len(patterns) != len(initializers):
            raise InitializerError(
                f"init.Mixed: {len(patterns)} patterns for {len(initializers)} initializers"
            )
        self.map = [(re.compile(pattern), init) for pattern, init in zip(patterns, initializers)]

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise InitializerError(
            f'Parameter name {name} did not match any pattern. Consider adding a ".*" pattern at the end '
            "with a default Initializer."
        )


@alias("zeros")
@register
class Zero(Initializer):
    """All zeros."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 0


@alias("ones")
@register
class One(Initializer):
    """All ones."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 1


@register
class Constant(Initializer):
    """One value, or given values.

    Args:
        value: a number, or an array of the parameter's shape.
    """

    def __init__(self, value: Any) -> None:
        listed = value.asnumpy() if isinstance(value, NDArray) else value
        # What ``dumps`` writes must be plain JSON, so arrays are kept as lists there.
        super().__init__(value=listed.tolist() if isinstance(listed, (np.ndarray, np.generic)) else listed)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self.value


def _fill(arr: NDArray, rnd_type: str, scale: float) -> None:
    """Draw from the uniform distribution on [-scale, scale], or the normal one with that deviation."""
    with mode(once=True):
        if rnd_type == "uniform":
            drawn = random.uniform(-scale, scale, shape=arr.shape, ctx=arr.context)
        else:
            drawn = random.normal(0, scale, shape=arr.shape, ctx=arr.context)
    arr[:] = drawn


@register
class Uniform(Initializer):
    """Uniform on [-scale, scale].

    Args:
        scale: the bound.
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _fill(arr, "uniform", self.scale)


@register
class Normal(Initializer):
    """Normal with mean 0.

    Args:
        sigma: the standard deviation.
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _fill(arr, "normal", self.sigma)


@register
class Orthogonal(Initializer):
    """A random matrix with orthogonal rows or columns (Saxe et al.).

    Args:
        scale: factor of the orthogonal matrix.
        rand_type: ``'uniform'`` or ``'normal'``: what the matrix is made from.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if self.rand_type not in ("uniform", "normal"):
            raise InitializerError(f"Orthogonal: rand_type is {self.rand_type!r}; use 'uniform' or 'normal'")
        shape = (arr.shape[0], int(np.prod(arr.shape[1:])))
        draw = (
            random.uniform(-1.0, 1.0, shape=shape)
            if self.rand_type == "uniform"
            else random.normal(shape=shape)
        )
        left, _, right = np.linalg.svd(draw.asnumpy(), full_matrices=False)
        chosen = left if left.shape == shape else right
        arr[:] = self.scale * chosen.reshape(arr.shape)


@register
class Xavier(Initializer):
    """Scaled so that signals keep their size through the layers (Glorot and Bengio).

    The variance is ``magnitude / factor``, where the factor comes from the numbers of inputs and outputs.

    Args:
        rnd_type: ``'uniform'`` or ``'gaussian'``.
        factor_type: ``'avg'``, ``'in'`` or ``'out'``.
        magnitude: numerator.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise InitializerError(
                f"Xavier initializer cannot be applied to vector {name}. It requires at least 2D."
            )
        window = float(np.prod(shape[2:]))
        inputs, outputs = shape[1] * window, shape[0] * window
        factors = {"avg": (inputs + outputs) / 2.0, "in": inputs, "out": outputs}
        if self.factor_type not in factors:
            raise InitializerError(f"Incorrect factor type {self.factor_type!r}; use 'avg', 'in' or 'out'")
        if self.rnd_type not in ("uniform", "gaussian"):
            raise InitializerError(f"Unknown random type {self.rnd_type!r}; use 'uniform' or 'gaussian'")
        _fill(arr, self.rnd_type, math.sqrt(self.magnitude / factors[self.factor_type]))


@register
class MSRAPrelu(Xavier):
    """Xavier's scaling for layers followed by PReLU (He et al.).

    Args:
        factor_type: ``'avg'``, ``'in'`` or ``'out'``.
        slope: the initial slope of the PReLU.
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """Weights of a deconvolution that upsamples bilinearly."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        self._init_bilinear(name, arr)


@register
class LSTMBias(Initializer):
    """Zeros, and ``forget_bias`` for the forget gate of an LSTM (the second quarter).

    Args:
        forget_bias: bias of the forget gate.
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        units = arr.shape[0] // 4
        arr[:] = 0
        arr[units : 2 * units] = self.forget_bias


@register
class FusedRNN(Initializer):
    """Fill the one long vector of a fused RNN part by part.

    Args:
        init: what fills the parts; None for the global initializer.
        num_hidden, num_layers, mode, bidirectional: as in FusedRNNCell.
        forget_bias: bias of the forget gate, for LSTMs.
    """

    def __init__(
        self, init: Any, num_hidden: int, num_layers: int, mode: str, bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:  # fmt: skip
        if isinstance(init, str):
            init = create(init)
        super().__init__(
            init=None if init is None else init.dumps(), num_hidden=num_hidden, num_layers=num_layers, mode=mode,
            bidirectional=bidirectional, forget_bias=forget_bias,
        )  # fmt: skip
        self._init, self._forget_bias = init, forget_bias
        self._mode, self._bidirectional = mode, bidirectional
        self._num_hidden, self._num_layers = num_hidden, num_layers

    def _init_weight(self, name: str, arr: NDArray) -> None:
        from gluonjax.rnn import rnn_cell

        cell = rnn_cell.FusedRNNCell(
            self._num_hidden, self._num_layers, self._mode, self._bidirectional, forget_bias=self._forget_bias,
            prefix="",
        )  # fmt: skip
        fill: Any = self._init or getattr(name, "global_init", None)
        outer = getattr(name, "global_init", None)
        parts = cell.unpack_weights({"parameters": arr})
        for part, content in parts.items():
            if self._mode == "lstm" and part.endswith("_f_bias"):
                content[:] = self._forget_bias
            else:
                fill(InitDesc(part, global_init=outer), content)
        arr[:] = cell.pack_weights(parts)["parameters"]


__all__ = [
    "Bilinear", "Constant", "FusedRNN", "InitDesc", "Initializer", "LSTMBias", "Load", "MSRAPrelu", "Mixed", "Normal",
    "One", "Orthogonal", "Uniform", "Xavier", "Zero", "alias", "create", "register",
]  # fmt: skip
