"""Automatic names of symbols: counters per operator, and prefixes."""

from __future__ import annotations

import threading
import warnings
from typing import Any, ClassVar

from gluonjax._base.python_types import classproperty as classproperty
from gluonjax._base.python_types import with_metaclass as with_metaclass


class _Scoped(type):
    """Gives the class a ``current`` of each thread (for old scripts, deprecated in MXNet)."""

    _current: threading.local

    @property
    def current(cls) -> Any:
        warnings.warn(
            f"{cls.__name__}.current has been deprecated; use the `with` statement",
            DeprecationWarning,
            stacklevel=2,
        )
        return cls.in_force()

    @current.setter
    def current(cls, value: Any) -> None:
        cls._current.value = value

    def in_force(cls) -> Any:
        """The innermost scope of this thread; made where there is none."""
        found = getattr(cls._current, "value", None)
        if found is None:
            found = cls._current.value = cls()
        return found


class NameManager(metaclass=_Scoped):
    """Hands out ``convolution0``, ``convolution1``, ... for symbols without a name.

    >>> names = NameManager()
    >>> names.get(None, "fc"), names.get(None, "fc"), names.get("mine", "fc")
    ('fc0', 'fc1', 'mine')
    """

    _current: ClassVar[threading.local] = threading.local()

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._outer: list[NameManager] = []

    def get(self, name: str | None, hint: str) -> str:
        """The given name, or the hint with the next number."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        self._outer.append(NameManager.in_force())
        NameManager._current.value = self
        return self

    def __exit__(self, *exc: object) -> None:
        NameManager._current.value = self._outer.pop()


class Prefix(NameManager):
    """A name manager that puts a prefix before every name, given ones included.

    >>> Prefix("net_").get("fc1", "fc")
    'net_fc1'
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        return self._prefix + super().get(name, hint)
