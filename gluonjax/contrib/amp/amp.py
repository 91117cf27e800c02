"""Automatic mixed precision: 16-bit arithmetic where it is fast and safe, float32 elsewhere.

``init`` changes how hybridized blocks are traced from then on, and nothing else: blocks traced before keep their
float32 programs, code that is not hybridized runs in float32, and leaving the scope that ``init`` returns undoes it.

    >>> from gluonjax.contrib import amp
    >>> with amp.init("bfloat16"):
    ...     pass    # build, hybridize and train here; or call ``amp.init`` once and never leave
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gluonjax import autograd
from gluonjax import optimizer as opt
from gluonjax._base.dtypes import BFLOAT16 as bfloat16
from gluonjax._base.errors import ArgumentTypeError
from gluonjax.context import gpu
from gluonjax.contrib.amp import lists
from gluonjax.contrib.amp._casts import insert_casts
from gluonjax.contrib.amp._models import (
    convert_bucketing_module,
    convert_hybrid_block,
    convert_model,
    convert_symbol,
)
from gluonjax.contrib.amp._rules import (
    AmpError,
    Condition,
    Rules,
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
    make_rules,
    require,
)
from gluonjax.contrib.amp.loss_scaler import LossScaler
from gluonjax.gluon import _trace
from gluonjax.gluon.trainer import Trainer
from gluonjax.module import BucketingModule
from gluonjax.ndarray import NDArray
from gluonjax.symbol import Symbol


class Scope:
    """Mixed precision, from ``init`` to ``close`` (or the end of a ``with`` block)."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._losses = frozenset(list_loss_output_functions(rules.target))
        self._rewriter = _trace.Rewriter(rules, self._rewrite)
        _trace.rewriters.append(self._rewriter)

    def _rewrite(self, output: Symbol) -> Symbol:
        for name in sorted({node.op.name for node in output._graph.order if node.op is not None} & self._losses):
            logging.warning("%s does not support dynamic loss scaling in symbolic and hybridized execution.", name)
        return type(output)(insert_casts(output._graph, self._rules))

    def close(self) -> None:
        """Back to what was before; a second call does nothing."""
        if self._rewriter in _trace.rewriters:
            _trace.rewriters.remove(self._rewriter)

    def __enter__(self) -> Scope:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def init(
    target_dtype: Any = "float16", target_precision_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[Condition] | None = None, fp32_ops: Sequence[str] | None = None,
) -> Scope:  # fmt: skip
    """Trace hybridized blocks in mixed precision from now on.

    Args:
        target_dtype: 'float16', or 'bfloat16', which needs no loss scaling and is what TPUs and new GPUs are made for.
        target_precision_ops, fp32_ops: operators to run in that type or in float32, in place of the built-in lists.
        conditional_fp32_ops: (operator, attribute, values): float32 where the attribute has one of the values.

    Returns:
        A scope: ``close`` it or use it in a ``with`` statement to end this. MXNet returns nothing and has no end.
    """
    rules = make_rules(target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops)
    logging.info("Using AMP")
    return Scope(rules)


def _is_on() -> bool:
    return any(isinstance(rewriter.key, Rules) for rewriter in _trace.rewriters)


def _check_trainer(value: Any) -> Trainer:
    if isinstance(value, Trainer):
        return value
    if isinstance(value, opt.Optimizer):
        raise ArgumentTypeError("AMP is currently only compatible with Gluon Trainer; got an Optimizer")
    raise ArgumentTypeError(f"optimizer_or_trainer should be a Gluon Trainer or an optimizer, instead is {type(value)}")


def init_trainer(optimizer_or_trainer: Any) -> None:
    """Give a trainer dynamic loss scaling: steps whose gradients overflow are skipped.

    Args:
        optimizer_or_trainer: a Gluon Trainer.
    """
    require(_is_on(), "AMP not initialized, did you forget to call amp.init()?")
    trainer: Any = _check_trainer(optimizer_or_trainer)
    if trainer._update_on_kvstore or trainer._kvstore_params["update_on_kvstore"]:
        raise AmpError(
            "amp.init_trainer: this Trainer updates in its kvstore, where steps cannot be skipped; make it with "
            "update_on_kvstore=False"
        )
    if not trainer._kv_initialized:
        trainer._kvstore_params["update_on_kvstore"] = False
    trainer._amp_loss_scaler = LossScaler()
    trainer._amp_original_scale = trainer._scale


def _scaler_of(trainer: Any) -> LossScaler:
    scaler = getattr(trainer, "_amp_loss_scaler", None)
    if scaler is None:
        raise AmpError("Loss scaler is not initialized, did you forget to call amp.init_trainer()?")
    return scaler


@contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """Scale a loss; the trainer's next step divides the gradients again.

    >>> # with amp.scale_loss(loss, trainer) as scaled: autograd.backward(scaled)

    Args:
        loss: an array, or a list of them.
        optimizer_or_trainer: a Gluon Trainer after ``init_trainer``.
    """
    trainer: Any = _check_trainer(optimizer_or_trainer)
    scale = _scaler_of(trainer).loss_scale
    trainer._scale = trainer._amp_original_scale / scale
    yield [one * scale for one in loss] if isinstance(loss, (list, tuple)) else loss * scale


def unscale(optimizer_or_trainer: Any) -> None:
    """Divide the gradients now rather than in the step, to clip or look at them before.

    Args:
        optimizer_or_trainer: a Gluon Trainer after ``scale_loss`` and ``backward``.
    """
    trainer: Any = _check_trainer(optimizer_or_trainer)
    _scaler_of(trainer)
    with autograd.pause():
        for parameter in trainer._params:
            if parameter.grad_req != "null":
                for gradient in parameter.list_grad():
                    gradient *= trainer._scale
    trainer._scale = 1.0


__all__ = [
    "BucketingModule", "LossScaler", "NDArray", "Scope", "Symbol", "bfloat16", "convert_bucketing_module",
    "convert_hybrid_block", "convert_model", "convert_symbol", "gpu", "init", "init_trainer",
    "list_conditional_fp32_ops", "list_fp32_ops", "list_loss_output_functions", "list_lp16_fp32_ops", "list_lp16_ops",
    "list_lp16_use_fp32_params", "list_widest_type_cast", "lists", "scale_loss", "unscale",
]  # fmt: skip
