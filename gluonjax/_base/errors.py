"""The errors that users see, and helpers to word them."""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Iterable


class MXNetError(RuntimeError):
    """Base of every error that a user of the MXNet API can cause."""


class InternalError(MXNetError):
    """Something inside gluonjax is wrong; the user's call was right."""


class OperatorError(MXNetError, ValueError):
    """An operator was called with arguments that it cannot take."""


class ArgumentTypeError(MXNetError, TypeError):
    """An argument has the wrong Python type."""


class ArgumentValueError(MXNetError, ValueError):
    """An argument has a value that cannot be used."""


class OutOfBoundsError(MXNetError, IndexError):
    """An index lies outside of the array."""


class ShapeUnknownError(MXNetError, ValueError):
    """A shape is needed and cannot be inferred from what is known."""


class TracedValueError(MXNetError, TypeError):
    """A concrete value was asked for while a function is being traced."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, or an empty string."""
    names = [k for k in known if isinstance(k, builtins.str)]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not near:
        folded = {k.lower(): k for k in names}
        near = [folded[k] for k in difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)]
    return f"; did you mean '{near[0]}'?" if near else ""
