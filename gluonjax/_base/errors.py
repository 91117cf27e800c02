"""The errors that users see, and helpers to word them."""

from __future__ import annotations

import builtins
import difflib
import re
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


_WHOLE_REFUSED = re.compile(r"^\w+ does not accept dtype (u?int\d+|bool)\b.*floating", re.DOTALL)


def plain(error: Exception) -> str:
    """What an error says, in MXNet's words where it is JAX that refuses whole numbers.

    >>> plain(TypeError("sqrt does not accept dtype int32. Accepted dtypes are subtypes of floating."))
    "This operation only support floating point types, not int32; cast with astype('float32')"
    """
    text = str(error).strip().split("\n\n")[0]
    refused = _WHOLE_REFUSED.match(text)
    if refused is None:
        return text
    return f"This operation only support floating point types, not {refused[1]}; cast with astype('float32')"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, or an empty string."""
    names = [k for k in known if isinstance(k, builtins.str)]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not near:
        folded = {k.lower(): k for k in names}
        near = [folded[k] for k in difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)]
    return f"; did you mean '{near[0]}'?" if near else ""
