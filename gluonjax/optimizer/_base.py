"""The base class of optimizers, and the registry of their names.

An optimizer here is a formula (``_ops/update_rules.py``), a layout of its state and some host-side
arithmetic per step. From these three follow MXNet's interface (``create_state``, ``update``), the pure rule
that the engine puts into one compiled step for all parameters, and the optax transformation (``as_optax``).
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import jax
import numpy as np

from gluonjax._base.dtypes import BFLOAT16
from gluonjax._base.errors import ArgumentTypeError, MXNetError, did_you_mean
from gluonjax._base.scopes import modes
from gluonjax.ndarray.ndarray import NDArray, wrap
from gluonjax.optimizer import _kernels
from gluonjax.optimizer._state import Layout, leaves_of, map_state, refill, slot_array
from gluonjax.util import is_np_array

OptimizerClass = TypeVar("OptimizerClass", bound=type)
Rule = Callable[[Any, Any, Any, dict[str, Any]], tuple[Any, Any]]

HALF_WARNING = (
    "Accumulating with float16 in optimizer can lead to poor accuracy or slow convergence. "
    "Consider using multi_precision=True option of the {} optimizer"
)


class OptimizerError(MXNetError, ValueError):
    """An optimizer was made or used with values that it cannot take."""


class SchedulerInUseError(MXNetError, UserWarning):
    """The learning rate comes from a scheduler and cannot be set. MXNet raises a UserWarning here."""


class DeprecatedCallError(MXNetError, DeprecationWarning):
    """A method that MXNet keeps only to say that it is gone."""


def number(value: Any) -> Any:
    """A Python float, or the traced value as it is."""
    return value if isinstance(value, jax.Array) else float(value)


def is_half(dtype: Any) -> bool:
    return np.dtype(dtype) in (np.dtype(np.float16), BFLOAT16)


def aggregation_size(default: int) -> int:
    """How many weights ``Updater`` hands over at a time (MXNET_OPTIMIZER_AGGREGATION_SIZE)."""
    return int(os.environ.get("MXNET_OPTIMIZER_AGGREGATION_SIZE", str(default)))


class Optimizer:
    """The base class inherited by all optimizers.

    Args:
        rescale_grad: factor of every gradient, often 1 / batch size.
        param_idx2name: names of parameters by index. Decay then applies only to ``*_weight`` and ``*_gamma``.
        wd: weight decay.
        clip_gradient: limit of every element of the rescaled gradient.
        learning_rate: 0.01 if neither this nor a scheduler is given.
        lr_scheduler: learning rate as a function of the number of updates.
        sym: Symbol whose variables may carry ``__lr_mult__`` and ``__wd_mult__``.
        begin_num_update: where counting of updates starts.
        multi_precision: keep a float32 master copy of half-precision weights.
        param_dict: Parameters by index; their ``lr_mult`` and ``wd_mult`` apply.

    A subclass of one's own overrides ``create_state`` and ``update``, as in MXNet.
    """

    opt_registry: ClassVar[dict[str, type]] = {}

    # What a built-in optimizer is made of. ``coefficients`` names attributes fixed at compile time,
    # ``hyper_names``
    # values that change per step, ``carried`` attributes that the host arithmetic of one step leaves for
    # the next.
    coefficients: ClassVar[tuple[str, ...]] = ()
    hyper_names: ClassVar[tuple[str, ...]] = ("lr", "wd", "rescale_grad")
    carried: ClassVar[tuple[str, ...]] = ()
    master_first: ClassVar[bool] = True
    clips_at_zero: ClassVar[bool] = False
    # With a row-sparse gradient, update only the rows it has; of dense weights too, or only of row-sparse ones.
    lazy_rows: bool = False
    lazy_rows_of_dense: ClassVar[bool] = True

    def __init__(
        self, rescale_grad: float = 1.0, param_idx2name: dict[int, str] | None = None, wd: float = 0.0,
        clip_gradient: float | None = None, learning_rate: float | None = None, lr_scheduler: Any = None,
        sym: Any = None, begin_num_update: int = 0, multi_precision: bool = False, param_dict: Any = None,
    ) -> None:  # fmt: skip
        if param_idx2name is not None and not isinstance(param_idx2name, dict):
            raise ArgumentTypeError(
                f"{type(self).__name__}: param_idx2name should be a dict of param indexes to names, "
                f"got {param_idx2name!r}"
            )
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        self.lr = 0.01 if learning_rate is None and lr_scheduler is None else learning_rate
        if lr_scheduler is not None and learning_rate is not None and lr_scheduler.base_lr != learning_rate:
            print(
                "learning rate from ``lr_scheduler`` has been overwritten by ``learning_rate`` in optimizer."
            )
            lr_scheduler.base_lr = learning_rate
        self.wd = wd
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._all_index_update_counts: dict[int, dict[Any, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.idx2name = dict(param_idx2name or {})
        self.sym_info = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.param_dict = param_dict if param_dict else {}
        self.allow_np_array = is_np_array()
        self.set_lr_mult({})
        self.set_wd_mult({})

    # -- names ----------------------------------------------------------------------------------------------

    @staticmethod
    def register(klass: OptimizerClass) -> OptimizerClass:
        """Add an optimizer class under its lower-case name; a decorator.

        >>> @Optimizer.register
        ... class MyOptimizer(Optimizer): pass
        >>> type(Optimizer.create_optimizer("myoptimizer")).__name__
        'MyOptimizer'
        """
        if not isinstance(klass, type):
            raise ArgumentTypeError(f"Optimizer.register: wants a class, got {klass!r}")
        name = klass.__name__.lower()
        old = Optimizer.opt_registry.get(name)
        if old is not None:
            warnings.warn(
                f"WARNING: New optimizer {klass.__module__}.{klass.__name__} is overriding existing "
                f"optimizer "
                f"{old.__module__}.{old.__name__}",
                stacklevel=2,
            )
        Optimizer.opt_registry[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name: Any, **kwargs: Any) -> Any:
        """Make an optimizer from its name (any case); an optax transformation is accepted too.

        >>> type(Optimizer.create_optimizer("SGD", momentum=0.9)).__name__
        'SGD'
        """
        if not isinstance(name, str) and hasattr(name, "init") and hasattr(name, "update"):
            from gluonjax.optimizer._optax import OptaxOptimizer

            return OptaxOptimizer(name, **kwargs)
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"optimizer.create: wants a name or an optax transformation, got {name!r}"
            )
        klass = Optimizer.opt_registry.get(name.lower())
        if klass is None:
            raise OptimizerError(f"Cannot find optimizer {name}{did_you_mean(name, Optimizer.opt_registry)}")
        return klass(**kwargs)

    # -- learning rates, decays and counts ------------------------------------------------------------------

    @property
    def learning_rate(self) -> Any:
        """The current learning rate, before multipliers."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate; not possible with a scheduler."""
        if self.lr_scheduler is not None:
            raise SchedulerInUseError(
                "LRScheduler of the optimizer has already been defined. set_learning_rate works only "
                "without one; "
                "change lr_scheduler.base_lr instead."
            )
        self.lr = lr

    def set_lr_scale(self, args_lrscale: Any) -> None:
        """Gone in MXNet already: use ``set_lr_mult``."""
        raise DeprecatedCallError("set_lr_scale is deprecated; use set_lr_mult")

    def set_lr_mult(self, args_lr_mult: dict[Any, float]) -> None:
        """Set factors of the learning rate by parameter name or index."""
        self.lr_mult = {**self._symbol_factors("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult: dict[Any, float]) -> None:
        """Set factors of the weight decay by parameter name or index.

        Biases and the like have 0 by default.
        """
        undecayed = {name: 0.0 for name in self.idx2name.values() if not self._decays(name)}
        self.wd_mult = {**undecayed, **self._symbol_factors("__wd_mult__"), **args_wd_mult}

    @staticmethod
    def _decays(name: str) -> bool:
        return name.endswith(("_weight", "_gamma"))

    def _symbol_factors(self, attribute: str) -> dict[str, float]:
        if not self.sym_info:
            return {}
        attributes, arguments = self.sym_info
        return {
            name: float(attributes[name][attribute])
            for name in arguments
            if attribute in attributes.get(name, {})
        }

    def _set_current_context(self, device_id: int) -> None:
        """Count updates separately per device, as data parallelism updates one weight on each."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index: Any) -> None:
        counts, most = self._index_update_count, self.num_update
        for one in index if isinstance(index, (list, tuple)) else [index]:
            count = counts[one] = counts.get(one, self.begin_num_update) + 1
            if count > most:
                most = count
        self.num_update = most

    def _factors(self, indices: Sequence[Any], of_parameter: str, table: dict[Any, float]) -> list[float]:
        known = self.param_dict
        return [
            getattr(known[one], of_parameter) if one in known
            else table[one] if one in table
            else table.get(self.idx2name[one], 1.0) if one in self.idx2name
            else 1.0
            for one in indices
        ]  # fmt: skip

    def _get_lrs(self, indices: Sequence[Any]) -> list[float]:
        rate = self.learning_rate
        return [rate * factor for factor in self._factors(indices, "lr_mult", self.lr_mult)]

    def _get_lr(self, index: Any) -> float:
        return self._get_lrs([index])[0]

    def _get_wds(self, indices: Sequence[Any]) -> list[float]:
        return [self.wd * factor for factor in self._factors(indices, "wd_mult", self.wd_mult)]

    def _get_wd(self, index: Any) -> float:
        return self._get_wds([index])[0]

    # -- what a built-in optimizer is made of ---------------------------------------------------------------

    def formula(self) -> Callable[..., Any] | None:
        """The arithmetic of one update for the current settings.

        None for classes that write ``update`` themselves.
        """
        return None

    def layout(self) -> Layout:
        """What the state of one weight is made of; see ``_state.py``."""
        return None

    def static(self) -> dict[str, Any]:
        """Python values fixed at compile time, as the formula names them."""
        # MXNet's operators read clip_gradient=0 as "do not clip"; rules written with arrays in Python clip
        # at 0.
        clip = self.clip_gradient if self.clips_at_zero else (self.clip_gradient or None)
        return {"clip": clip, **{name: getattr(self, name) for name in self.coefficients}}

    def hyper(self, index: Any, lr: Any, wd: Any, t: Any, xp: Any = math) -> dict[str, Any]:
        """The values of one step that change, for one weight.

        Args:
            index: the weight.
            lr, wd: its learning rate and decay.
            t: the number of the step, from 1.
            xp: ``math``, or ``jax.numpy`` when the values are traced.
        """
        return {"lr": lr, "wd": wd, "rescale_grad": self.rescale_grad}

    # -- for the engine -------------------------------------------------------------------------------------

    @property
    def fusable(self) -> bool:
        """True where many updates may run as ``pure_rule`` in one compiled step instead of as ``update`` calls."""
        kind = type(self)
        plain = (
            kind.update is Optimizer.update
            and kind.update_multi_precision is Optimizer.update_multi_precision
        )
        return plain and self.formula() is not None

    def uses_master(self, dtype: Any) -> bool:
        """True where a weight of this dtype is updated through a float32 master copy."""
        return bool(self.multi_precision) and is_half(dtype)

    def pure_rule(self, master: bool = False) -> Rule:
        """The update as a pure function, with the current settings closed over.

        Args:
            master: the state is what ``create_state_multi_precision`` gives for a half-precision weight.

        Returns:
            ``rule(weight, grad, state, hyper) -> (new weight, new state)`` on jax arrays.

        >>> import numpy as np
        >>> from gluonjax.optimizer import SGD
        >>> sgd = SGD(learning_rate=0.5)
        >>> rule, (hyper,) = sgd.pure_rule(), sgd.step_hyper([0])
        >>> weight, state = rule(np.ones(2, np.float32), np.ones(2, np.float32), None, hyper)
        >>> float(weight[0])
        0.5
        """
        formula = self.formula()
        if formula is None:
            raise OptimizerError(
                f"{type(self).__name__} has no pure rule: it defines update() itself, so it runs one "
                f"weight at a time"
            )
        return _kernels.make_rule(formula, self.static(), master, self.master_first)

    def joint_rule(self, masters: Sequence[bool]) -> Callable[..., tuple[list[Any], list[Any]]] | None:
        """For an optimizer that looks at all weights together: their update at once (see ``_fused.apply_rules``).

        Args:
            masters: for every weight, whether it is updated through a float32 master copy.
        """
        return None

    def rule_key(self) -> tuple[Any, ...]:
        """A hashable description of everything that ``pure_rule`` closes over."""
        return (type(self), self.formula(), *self.static().items())

    def step_hyper(self, indices: Sequence[Any]) -> list[dict[str, Any]]:
        """Count one update of each weight and return its changing values (keys: ``hyper_names``)."""
        indices = list(indices)
        self._update_count(indices)
        rates, decays = self._get_lrs(indices), self._get_wds(indices)
        return [
            {n: number(v) for n, v in self.hyper(i, lr, wd, self._index_update_count[i]).items()}
            for i, lr, wd in zip(indices, rates, decays)
        ]

    def step_numbers(self, indices: Sequence[Any]) -> list[list[Any]]:
        """``step_hyper`` as rows of numbers, one row for each of ``hyper_names``."""
        kind = type(self)
        if kind.hyper is Optimizer.hyper and kind.step_hyper is Optimizer.step_hyper:
            # The common case, without a dictionary for every weight.
            self._update_count(indices)
            scale = float(self.rescale_grad)
            return [self._get_lrs(indices), self._get_wds(indices), [scale] * len(indices)]
        rows = self.step_hyper(indices)
        return [[row[name] for row in rows] for name in self.hyper_names]

    def init_state_arrays(self, weight: Any, master: bool = False) -> Any:
        """The initial state of a weight given as a NumPy or JAX array, as arrays."""
        if not master:
            return map_state(lambda slot: slot_array(slot, weight), self.layout())
        with jax.enable_x64(True):
            copy = weight.astype(np.float32)
        return _kernels.join(copy, self.init_state_arrays(copy), self.master_first)

    # -- MXNet's interface ----------------------------------------------------------------------------------

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the initial state of a weight: None, an NDArray or a tuple of them."""
        dense = weight if weight.stype == "default" else weight.tostype("default")
        return map_state(
            lambda slot: (
                dense.copy() if slot == "copy" else wrap(slot_array(slot, dense._value), weight.context)
            ),
            self.layout(),
        )

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """Like ``create_state``, with a float32 master copy for half-precision weights under ``multi_precision``."""
        if self.uses_master(weight.dtype):
            master = weight.astype(np.float32)
            return _kernels.join(master, self.create_state(index, master), self.master_first)
        if is_half(weight.dtype):
            warnings.warn(HALF_WARNING.format(type(self).__name__), stacklevel=2)
        return self.create_state(index, weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight and its state in place. Lists of indices, weights, gradients and states are taken too.

        Args:
            index: which weight, for multipliers and counts.
            weight, grad: NDArrays of one shape.
            state: what ``create_state`` gave.
        """
        self._update(index, weight, grad, state, master=False)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Like ``update``, for states made by ``create_state_multi_precision``."""
        one: Any = weight[0] if isinstance(weight, (list, tuple)) else weight
        master = self.uses_master(one.dtype)
        if type(self).update is Optimizer.update:
            self._update(index, weight, grad, state, master)
        elif master:
            copy, inner = _kernels.split(state, self.master_first)
            self.update(index, copy, grad.astype(np.float32), inner)
            one[:] = copy.astype(one.dtype)
        else:
            self.update(index, weight, grad, state)

    def _update(self, index: Any, weight: Any, grad: Any, state: Any, master: bool) -> None:
        if self.formula() is None:
            raise NotImplementedError(f"{type(self).__name__} must define update(index, weight, grad, state)")
        batch = [(index, weight, grad, state)]
        if isinstance(index, (list, tuple)):
            batch = list(zip(index, weight, grad, state))
        for _, one, slope, _ in batch:
            check_arrays(type(self).__name__, one, slope)
        for (_, one, slope, own), hyper in zip(batch, self._hyper_now([entry[0] for entry in batch])):
            self.apply(one, slope, own, hyper, master)

    def _hyper_now(self, indices: list[Any]) -> list[dict[str, Any]]:
        """``step_hyper``; in a function that is being captured, the traced values of each of its calls."""
        capture = modes.tracer
        if capture is None:
            return self.step_hyper(indices)
        scale = self.rescale_grad

        def numbers() -> np.ndarray:
            self.rescale_grad = scale
            return np.array(self.step_numbers(indices), np.float64)

        matrix = capture.host(numbers, (len(self.hyper_names), len(indices)), np.float64)
        capture.guard(self.rule_key, self.rule_key())
        return [
            {name: matrix[row, place] for row, name in enumerate(self.hyper_names)} for place in range(len(indices))
        ]

    def apply(
        self, weight: NDArray, grad: NDArray, state: Any, hyper: dict[str, Any], master: bool = False
    ) -> None:
        """Run the rule for one weight with given changing values, and write the results."""
        handles = leaves_of(state)
        rows = self.lazy_rows and grad.stype == "row_sparse"
        rows = rows and (self.lazy_rows_of_dense or weight.stype == "row_sparse")
        kernel = _kernels.kernel_for(self, master, len(handles), tuple(hyper), rows)
        slope = _kernels.row_operands(grad, weight.shape[0]) if rows else (dense_value(grad),)
        results = kernel.run(
            (dense_value(weight), *slope, *(handle._value for handle in handles), *hyper.values()),
            weight.context.is_host,
        )
        for handle, value in zip((weight, *handles), results):
            handle._write(value)

    # -- pickling -------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Parameters are not part of the optimizer's state: the trainer sets them again."""
        return {name: value for name, value in self.__dict__.items() if name != "param_dict"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.param_dict = {}


def dense_value(array: NDArray) -> Any:
    return array._value if array.stype == "default" else array.tostype("default")._value


def check_arrays(name: str, weight: Any, grad: Any) -> None:
    for what, array in (("weight", weight), ("grad", grad)):
        if not isinstance(array, NDArray):
            raise ArgumentTypeError(f"{name}.update: {what} must be an NDArray, got {type(array).__name__}")
    if weight.shape != grad.shape:
        raise OptimizerError(
            f"{name}.update: weight has shape {weight.shape}, grad {grad.shape}; they must agree"
        )


register = Optimizer.register
create = Optimizer.create_optimizer

__all__ = ["Optimizer", "OptimizerError", "create", "refill", "register"]
