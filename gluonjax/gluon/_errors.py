"""Errors of the Gluon API: ours to catch as MXNetError, and the classes that MXNet programs catch."""

from __future__ import annotations

from gluonjax._base.errors import ArgumentTypeError, MXNetError


class DeferredInitializationError(MXNetError):
    """A parameter's value was asked for before its shape is known."""


class ParameterMismatch(MXNetError, AssertionError, ValueError):
    """Two descriptions of a parameter (in code, in a file, in another block) disagree."""


class ArgumentError(MXNetError, ValueError, AssertionError):
    """An argument of a Gluon call cannot be used; MXNet raises ValueError or AssertionError there."""


class BlockTypeError(MXNetError, TypeError):
    """A block's attribute or child has a type that cannot be registered."""


class NoConstantError(MXNetError, KeyError):
    """A constant was asked for by a name that is not there."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class StaleGradientWarning(UserWarning, MXNetError):
    """A step was asked for although backward has not written a gradient since the last one.

    MXNet *raises* a UserWarning here; the class keeps both spellings catchable.
    """


__all__ = [
    "ArgumentError", "ArgumentTypeError", "BlockTypeError", "DeferredInitializationError", "MXNetError",
    "NoConstantError", "ParameterMismatch", "StaleGradientWarning",
]  # fmt: skip
