"""Errors of modules. MXNet raised bare assertions here; ours can be caught as such too."""

from __future__ import annotations

from typing import NoReturn

from gluonjax._base.errors import MXNetError


class ModuleStateError(MXNetError, AssertionError):
    """A module is asked for something before (or after) the call that makes it possible."""


class ParameterMissingError(MXNetError):
    """A value is missing for a parameter."""


class NameMismatchError(MXNetError, ValueError):
    """Names of data, labels or parameters do not fit the symbol."""


class UnknownLabelError(NameMismatchError, KeyError):
    """Labels are given under a name that the symbol does not have."""

    __str__ = Exception.__str__  # KeyError shows the repr


class ModuleArgumentError(MXNetError, ValueError, AssertionError):
    """An argument of a module's method has a value that it cannot take."""


class MissingMethod(MXNetError, NotImplementedError):
    """A module class lacks a method that modules must have."""


def require(condition: bool, call: str, needed: str) -> None:
    """Raise ModuleStateError unless the condition holds."""
    if not condition:
        raise ModuleStateError(f"{call}: call {needed} first")


def missing(module: object, method: str) -> NoReturn:
    """Say that a module class does not define what every module must."""
    raise MissingMethod(f"{type(module).__name__} does not define {method}; modules must")
