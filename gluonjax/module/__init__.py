"""``mx.mod``: symbols trained through modules."""

from __future__ import annotations

from gluonjax.module import base_module as base_module
from gluonjax.module import bucketing_module as bucketing_module
from gluonjax.module import executor_group as executor_group
from gluonjax.module import module as module
from gluonjax.module import python_module as python_module
from gluonjax.module import sequential_module as sequential_module
from gluonjax.module.base_module import BaseModule
from gluonjax.module.bucketing_module import BucketingModule
from gluonjax.module.module import Module
from gluonjax.module.python_module import PythonLossModule, PythonModule
from gluonjax.module.sequential_module import SequentialModule

__all__ = ["BaseModule", "BucketingModule", "Module", "PythonLossModule", "PythonModule", "SequentialModule"]
