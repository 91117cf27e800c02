"""Attributes for every symbol that is created in a ``with`` block."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import ClassVar

from gluonjax._base.errors import ArgumentValueError
from gluonjax._base.python_types import classproperty as classproperty
from gluonjax._base.python_types import string_types as string_types
from gluonjax._base.python_types import with_metaclass as with_metaclass
from gluonjax.name import _Scoped


class AttrScope(metaclass=_Scoped):
    """Attributes that symbols created in the block carry, on top of those of outer blocks.

    Args:
        kwargs: attribute texts; ``ctx_group='dev1'`` for example.

    >>> with AttrScope(mood="angry"):
    ...     AttrScope.in_force().get({"group": "4"})
    {'mood': 'angry', 'group': '4'}
    """

    _current: ClassVar[threading.local] = threading.local()
    # How often each name was given to the body of a loop or branch (symbol/_control_flow.py).
    _subgraph_names: ClassVar[dict[str, int]] = defaultdict(int)

    def __init__(self, **kwargs: str) -> None:
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ArgumentValueError(f"Attributes need to be string, got {key}={value!r}")
        self._attr = kwargs
        self._outer: list[AttrScope] = []

    def get(self, attr: dict[str, str] | None) -> dict[str, str]:
        """The scope's attributes with the given ones on top."""
        if not self._attr:
            return attr if attr else {}
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> AttrScope:
        outer = AttrScope.in_force()
        self._outer.append(outer)
        self._attr = {**outer._attr, **self._attr}
        AttrScope._current.value = self
        return self

    def __exit__(self, *exc: object) -> None:
        AttrScope._current.value = self._outer.pop()
