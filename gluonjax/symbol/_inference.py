"""Shapes and types of symbols: the public methods over the engine's inference."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from gluonjax._base.dtypes import to_dtype, user_type
from gluonjax._base.errors import ArgumentTypeError, ArgumentValueError, MXNetError
from gluonjax._base.scopes import modes
from gluonjax._engine import infer
from gluonjax._engine.graph import hints
from gluonjax.symbol._compose import SymbolBase


class Inference(SymbolBase):
    """``infer_shape``, ``infer_type`` and the shape of traced symbols."""

    __slots__ = ()

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any], what: str) -> dict[str, Any]:
        if args and kwargs:
            raise ArgumentValueError(f"Can only specify known argument {what} either by positional or kwargs way.")
        if not args:
            return {name: value for name, value in kwargs.items() if value is not None}
        names = [node.name for node in self._graph.arguments]
        if len(args) > len(names):
            raise MXNetError(f"infer: got {len(args)} {what} for {len(names)} arguments: {', '.join(names)}")
        return {name: value for name, value in zip(names, args) if value is not None}

    def _shape_table(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> infer.ShapeTable:
        given = self._named(args, kwargs, "shapes")
        shapes = {}
        for name, shape in given.items():
            if not isinstance(shape, tuple):
                raise ArgumentTypeError(f"Arguments need to be shapes (tuple), but '{name}' is {type(shape)}.")
            shapes[name] = infer.from_user([operator.index(dim) for dim in shape], modes.np_shape)
        infer.match_names(self._graph, shapes, "InferShape")
        try:
            return infer.infer_shapes(self._graph, shapes, modes.np_shape)
        except MXNetError as error:
            raise type(error)(f"{error}\ninfer_shape error. Arguments: {_listed(given)}") from None

    def _shape_lists(self, table: infer.ShapeTable) -> tuple[list[Any], list[Any], list[Any]]:
        rows = (
            table.of(self._graph.arguments),
            [table.get(e) for e in self._graph.entries],
            table.of(self._graph.auxiliary),
        )
        arguments, outputs, auxiliary = (
            [infer.to_user(shape, modes.np_shape) for shape in row] for row in rows
        )
        return arguments, outputs, auxiliary

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Shapes of arguments, outputs and auxiliary states, from the shapes of some arguments.

        Args:
            args: shapes in the order of ``list_arguments()``, None for unknown ones.
            kwargs: shapes by argument name. A 0 in a shape is an unknown dimension.

        Returns:
            Three lists of tuples, or ``(None, None, None)`` with a warning where the information does not
            suffice.

        >>> from gluonjax import sym
        >>> sym.FullyConnected(sym.var("x"), num_hidden=4, name="fc").infer_shape(x=(2, 3))[0]
        [(2, 3), (4, 3), (4,)]
        """
        table = self._shape_table(args, kwargs)
        if table.complete():
            return self._shape_lists(table)
        unknown = [
            f"\t{node.name}: {infer.to_user(shape, modes.np_shape)}"
            for node, shape in zip(self._graph.arguments, table.of(self._graph.arguments))
            if not infer.is_complete(shape)
        ]
        warnings.warn(
            "Cannot decide shape for the following arguments (0s in shape means unknown dimensions). "
            "Consider providing them as input:\n" + "\n".join(unknown),
            stacklevel=2,
        )
        return None, None, None

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """As ``infer_shape``, but returns what is known: 0 for unknown dimensions, () for unknown shapes."""
        return self._shape_lists(self._shape_table(args, kwargs))

    def _type_table(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> infer.DtypeTable:
        given = self._named(args, kwargs, "types")
        known = {name: to_dtype(dtype) for name, dtype in given.items()}
        infer.match_names(self._graph, known, "InferType")
        try:
            return infer.infer_dtypes(self._graph, known)
        except MXNetError as error:
            raise type(error)(f"{error}\ninfer_type error. Arguments: {_listed(given)}") from None

    def _type_lists(self, table: infer.DtypeTable) -> tuple[list[Any], list[Any], list[Any]]:
        rows = (
            table.of(self._graph.arguments),
            [table.get(e) for e in self._graph.entries],
            table.of(self._graph.auxiliary),
        )
        arguments, outputs, auxiliary = ([d if d is None else user_type(d) for d in row] for row in rows)
        return arguments, outputs, auxiliary

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Types of arguments, outputs and auxiliary states, from the types of some arguments.

        Returns:
            Three lists of NumPy types, or ``(None, None, None)`` with a warning where the information does
            not suffice.
        """
        table = self._type_table(args, kwargs)
        lists = self._type_lists(table)
        if all(dtype is not None for row in lists for dtype in row):
            return lists
        unknown = [f"\t{node.name}: None" for node, d in zip(self._graph.arguments, lists[0]) if d is None]
        warnings.warn(
            "Cannot decide type for the following arguments. Consider providing them as input:\n"
            + "\n".join(unknown),
            stacklevel=2,
        )
        return None, None, None

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """As ``infer_type``, but returns what can be inferred, None for the rest."""
        return self._type_lists(self._type_table(args, kwargs))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, where a traced block knows its inputs; else AttributeError, as in MXNet."""
        known = {node.name: node.hint for node in self._graph.variables if node.hint is not None}
        if known and len(self._graph.entries) == 1:
            shape = infer.infer_shapes(self._graph, known, modes.np_shape).get(self._graph.entries[0])
            if infer.is_complete(shape):
                hints.read = True  # what was traced holds for inputs of these shapes only
                return shape  # type: ignore[return-value]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'shape'")


def _listed(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in given.items()) or "none"
