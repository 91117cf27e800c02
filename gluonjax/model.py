"""Checkpoints of symbolic models, and what batch-end callbacks get."""

from __future__ import annotations

from gluonjax._checkpoint import BatchEndParam as BatchEndParam
from gluonjax._checkpoint import load_checkpoint as load_checkpoint
from gluonjax._checkpoint import load_params as load_params
from gluonjax._checkpoint import save_checkpoint as save_checkpoint
from gluonjax.callback import LogValidationMetricsCallback as LogValidationMetricsCallback
from gluonjax.context import Context as Context
from gluonjax.context import cpu as cpu
from gluonjax.io import DataDesc as DataDesc
