"""``mx.mod``: symbols trained through modules."""

from __future__ import annotations

from gluonjax.module.base_module import BaseModule
from gluonjax.module.module import Module

__all__ = ["BaseModule", "Module"]
