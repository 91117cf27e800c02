"""The error of image functions."""

from __future__ import annotations

from gluonjax._base.errors import MXNetError


class ImageArgumentError(MXNetError, ValueError, AssertionError):
    """An argument has a value that it cannot have; MXNet raises a ValueError or asserts."""
