"""What users of vocabularies and embeddings can do wrong."""

from __future__ import annotations

from gluonjax._base.errors import MXNetError


class TextArgumentError(MXNetError, ValueError, AssertionError):
    """An argument makes no sense; MXNet asserts, so scripts may catch an AssertionError."""


def require(condition: bool, message: str) -> None:
    """Raise unless the condition holds."""
    if not condition:
        raise TextArgumentError(message)
