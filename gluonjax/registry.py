"""Registries of classes that can be named by text: optimizers, metrics, initializers and what users add."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from gluonjax._base.errors import MXNetError, did_you_mean
from gluonjax.base import string_types as string_types

ClassType = TypeVar("ClassType", bound=type)

_TABLES: dict[type, dict[str, type]] = {}


class RegistryError(MXNetError, AssertionError, ValueError):
    """A registry was asked for something that it does not hold. MXNet raises AssertionError here."""


def get_registry(base_class: type) -> dict[str, type]:
    """Return a copy of the table of names of one kind of class.

    Args:
        base_class: what all classes in the table derive from.
    """
    return dict(_TABLES.setdefault(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return the function (a decorator too) that adds a class under its lower-case name.

    Args:
        base_class: what every class must derive from.
        nickname: what errors and warnings call this kind of thing.

    >>> class Shape: pass
    >>> register = get_register_func(Shape, "shape")
    >>> @register
    ... class Circle(Shape): pass
    >>> get_registry(Shape)
    {'circle': <class 'gluonjax.registry.Circle'>}
    """
    table = _TABLES.setdefault(base_class, {})

    def register(klass: ClassType, name: str | None = None) -> ClassType:
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise RegistryError(f"Can only register subclass of {base_class.__name__}, got {klass!r}")
        key = (klass.__name__ if name is None else name).lower()
        old = table.get(key)
        if old is not None:
            warnings.warn(
                f"New {nickname} {klass.__module__}.{klass.__name__} registered with name {key} is "
                f"overriding existing {nickname} {old.__module__}.{old.__name__}",
                UserWarning,
                stacklevel=2,
            )
        table[key] = klass
        return klass

    register.__doc__ = f"Add a {nickname} class under its lower-case name, or under ``name``."
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Callable[[ClassType], ClassType]]:
    """Return a decorator factory that adds a class under several more names."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[ClassType], ClassType]:
        def add(klass: ClassType) -> ClassType:
            for name in aliases:
                register(klass, name)
            return klass

        return add

    alias.__doc__ = f"Add a {nickname} class under more names."
    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return the function that makes an instance from a name, a JSON text, a dict or an instance.

    Accepted are ``create("adam", learning_rate=1)``, ``create('["adam", {"learning_rate": 1}]')``,
    ``create('{"<nickname>": "adam", "learning_rate": 1}')``, the same as a dict, and a ready instance.
    """
    table = _TABLES.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        what, rest = (args[0], args[1:]) if args else (kwargs.pop(nickname, None), ())
        if isinstance(what, base_class):
            if rest or kwargs:
                raise RegistryError(f"{nickname} is already an instance. Additional arguments are invalid")
            return what
        if isinstance(what, dict):
            return create(**what)
        if not isinstance(what, str):
            raise RegistryError(f"{nickname} must be of string type, got {what!r}")
        if what[:1] in ("[", "{"):
            if rest or kwargs:
                raise RegistryError(f"{nickname} is given as JSON; additional arguments are invalid")
            return _from_json(create, what, nickname)
        klass = table.get(what.lower())
        if klass is None:
            raise RegistryError(
                f"{what} is not registered. Please register with {nickname}.register first"
                f"{did_you_mean(what, table)}"
            )
        return klass(*rest, **kwargs)

    create.__doc__ = f"Make a {nickname} from its name, a JSON text, a dict or a ready instance."
    return create


def _from_json(create: Callable[..., Any], text: str, nickname: str) -> Any:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise RegistryError(f"{nickname}: {text!r} is not JSON: {error}") from None
    if isinstance(content, dict):
        return create(**content)
    if len(content) != 2 or not isinstance(content[1], dict):
        raise RegistryError(f'{nickname}: wanted \'["name", {{"argument": value}}]\', got {text!r}')
    return create(content[0], **content[1])
