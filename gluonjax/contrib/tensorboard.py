"""A callback that writes metrics for TensorBoard."""

from __future__ import annotations

import importlib
from typing import Any

from gluonjax._base.errors import MXNetError

# Packages with a SummaryWriter, the first that is there is used.
_WRITERS = ("mxboard", "tensorboardX", "torch.utils.tensorboard", "flax.metrics.tensorboard")


class _WriterMissingError(MXNetError, ImportError):
    """No package that writes event files is installed."""


def _summary_writer(folder: str) -> Any:
    for name in _WRITERS:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return module.SummaryWriter(folder)
    raise _WriterMissingError(
        "LogMetricsCallback: writing TensorBoard files needs one more package: pip install tensorboardX "
        f"(any of these will do: {', '.join(_WRITERS)})"
    )


class LogMetricsCallback:
    """Writes every value of the metric as a scalar, for ``batch_end_callback`` or ``eval_end_callback``.

    Args:
        logging_dir: the folder of event files; look at it with ``tensorboard --logdir``.
        prefix: comes before names, with a hyphen.
    """

    def __init__(self, logging_dir: str, prefix: str | None = None) -> None:
        self.prefix = prefix
        self.summary_writer = _summary_writer(logging_dir)

    def __call__(self, param: Any) -> None:
        """Write the values of ``param.eval_metric`` at step ``param.epoch``."""
        if param.eval_metric is None:
            return
        write = getattr(self.summary_writer, "add_scalar", None)
        for name, value in param.eval_metric.get_name_value():
            label = name if self.prefix is None else f"{self.prefix}-{name}"
            if write is None:  # flax's writer has short names
                self.summary_writer.scalar(label, value, param.epoch)
            else:
                write(label, value, global_step=param.epoch)
