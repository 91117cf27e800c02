"""``mx.error``: error classes under their public names."""

from __future__ import annotations

from gluonjax._base.errors import InternalError, MXNetError
from gluonjax.base import register_error

register = register_error

__all__ = ["InternalError", "MXNetError", "register", "register_error"]
