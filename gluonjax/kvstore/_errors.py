"""Errors of key-value stores. Where MXNet asserted, they can be caught as assertions too."""

from __future__ import annotations

from typing import NoReturn

from gluonjax._base.errors import MXNetError


class StoreArgumentError(MXNetError, AssertionError, TypeError):
    """Keys, values or outputs have the wrong type or number."""


class StoreStateError(MXNetError, AssertionError):
    """The store is not in a state in which it can do this."""


class StoreValueError(MXNetError, ValueError):
    """A name or a setting that stores do not know."""


class MissingStoreMethod(MXNetError, NotImplementedError):
    """A store class does not offer what was asked of it."""


def missing(store: object, method: str) -> NoReturn:
    """Say that a store class does not define a method."""
    name = store.__name__ if isinstance(store, type) else type(store).__name__
    raise MissingStoreMethod(f"{name} does not define {method}; stores that offer it override it")
