"""Symbol: an expression of operators on named variables, and the functions that make one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from gluonjax._base.devices import Context as Context
from gluonjax._base.devices import current_context as current_context
from gluonjax._base.dtypes import DTYPE_TO_CODE, to_dtype
from gluonjax._base.errors import ArgumentTypeError, ArgumentValueError, MXNetError, OutOfBoundsError
from gluonjax._base.python_types import integer_types as integer_types
from gluonjax._base.python_types import numeric_types as numeric_types
from gluonjax._base.python_types import string_types as string_types
from gluonjax._base.scopes import modes
from gluonjax._engine import graph_json
from gluonjax._engine.graph import HIDDEN_KEYS, Graph, Node, check_hidden_key
from gluonjax._files.atomic import atomic_write
from gluonjax.attribute import AttrScope
from gluonjax.base import NotImplementedForSymbol as NotImplementedForSymbol
from gluonjax.executor import Executor as Executor
from gluonjax.ndarray.ndarray import NDArray as NDArray
from gluonjax.symbol import _methods
from gluonjax.symbol._arithmetic import Arithmetic
from gluonjax.symbol._binding import Binding
from gluonjax.symbol._compose import SymbolBase, attr_text, group, remove_casts
from gluonjax.symbol._inference import Inference
from gluonjax.symbol._printing import debug_text
from gluonjax.symbol.register import make_function
from gluonjax.util import is_np_shape as is_np_shape

_STORAGE_CODES = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_HIDDEN_TEXTS = frozenset(f"__{key}__" for key in HIDDEN_KEYS)


class Symbol(Arithmetic, Inference, Binding):
    """One or more outputs of a graph of operators. Compose, inspect, save, and bind it to arrays.

    >>> x = var("x")
    >>> y = (x * 2).exp(name="y")
    >>> y.list_arguments(), y
    (['x'], <Symbol y>)
    """

    __slots__ = ()

    # NumPy scalars on the left leave the operation to the symbol.
    __array_priority__ = 1000.0
    __array_ufunc__ = None

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """The name of the node; None for a group."""
        head = self._head
        return None if head is None else head.name

    @property
    def _head(self) -> Node | None:
        nodes = {id(node): node for node, _ in self._graph.entries}
        return next(iter(nodes.values())) if len(nodes) == 1 else None

    def __repr__(self) -> str:
        if self.name is not None:
            return f"<{type(self).__name__} {self.name}>"
        return f"<{type(self).__name__} group [{', '.join(node.name for node, _ in self._graph.entries)}]>"

    def __len__(self) -> int:
        return len(self._graph.entries)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        """One output by position or name, or several by a slice.

        >>> var("x").exp(name="e").get_internals()["e_output"]
        <Symbol e>
        """
        count = len(self)
        if isinstance(index, slice):
            start, stop, step = index.start or 0, count if index.stop is None else index.stop, index.step or 1
            positions = range(start, stop, step)
            if any(not 0 <= position < count for position in positions):
                raise OutOfBoundsError(f"{self!r} has {count} outputs, the slice asks for {start}:{stop}:{step}")
            return Group([self[position] for position in positions], type(self))
        if isinstance(index, str):
            found = [i for i, name in enumerate(self.list_outputs()) if name == index]
            if len(found) > 1:
                raise ArgumentValueError(f'There are multiple outputs with name "{index}"')
            if not found:
                raise ArgumentValueError(f'Cannot find output that matches name "{index}"')
            index = found[0]
        if not isinstance(index, int):
            raise ArgumentTypeError(f"Symbol only support integer index to fetch i-th output, got {index!r}")
        if index >= count:
            raise OutOfBoundsError(f"{self!r} has {count} outputs, no output {index}")
        if index < 0:
            raise MXNetError(f"Symbol only accept nonnegative index, got {index} of {count} outputs")
        return self if count == 1 else type(self)(Graph([self._graph.entries[index]]))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A copy in which variables are replaced by other symbols: ``net(data=other)``."""
        name = kwargs.pop("name", None)
        copy = self.__copy__()
        copy._compose(*args, name=name, **kwargs)
        return copy

    def __copy__(self) -> Any:
        return self.__deepcopy__(None)

    def __deepcopy__(self, memo: Any) -> Any:
        return type(self)(self._graph.copy())

    def __reduce__(self) -> Any:
        return _from_json, (type(self), self.tojson(remove_amp_cast=False))

    # -- names and attributes --------------------------------------------------------------------------------

    def list_arguments(self) -> list[str]:
        """Names of the variables that are only read, in the order of use.

        >>> (var("a") + var("b")).list_arguments()
        ['a', 'b']
        """
        return [node.name for node in self._graph.arguments]

    def list_outputs(self) -> list[str]:
        """Names of the outputs: ``<node>_output`` and the like."""
        return self._graph.output_names

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators rewrite, such as moving statistics."""
        return [node.name for node in self._graph.auxiliary]

    def list_inputs(self) -> list[str]:
        """Names of arguments and auxiliary states together."""
        return [node.name for node in self._graph.variables]

    def attr(self, key: str) -> str | None:
        """An attribute's text, or None where there is none; only for symbols of one node.

        >>> var("x", lr_mult=2).attr("lr_mult")
        '2'
        """
        head = self._head
        if head is None:
            return None
        if key == "name":
            return head.name
        if key == "op_name" and head.op is not None:
            return head.op.name
        if key in HIDDEN_KEYS and key not in head.attrs:
            return head.attrs.get(f"__{key}__")
        return head.attrs.get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """All attributes of this symbol's node."""
        if recursive:
            raise DeprecationWarning(
                "Symbol.list_attr with recursive=True has been deprecated. Please use attr_dict instead."
            )
        head = self._head
        return {} if head is None else _with_short_names(head)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Attributes of every node that has some, by the node's name."""
        found: dict[str, dict[str, str]] = {}
        for node in self._graph.order:
            if node.attrs:
                found.setdefault(node.name, {}).update(_with_short_names(node))
        return found

    def _set_attr(self, **kwargs: str) -> None:
        """Set attributes of this symbol's nodes; every symbol that contains them sees it."""
        for key, text in kwargs.items():
            if not isinstance(text, str):
                raise ArgumentValueError(f"Set Attr only accepts string values, got {key}={text!r}")
            for node in {id(node): node for node, _ in self._graph.entries}.values():
                node.set_attr(check_hidden_key(key, text), text)

    # -- neighbours ------------------------------------------------------------------------------------------

    def get_internals(self) -> Any:
        """A group of the outputs of all nodes, inputs first."""
        return type(self)(self._graph.internals())

    def get_children(self) -> Any:
        """A group of the inputs of this symbol's node, or None for a variable."""
        children = self._graph.children()
        return None if children is None else type(self)(children)

    def _gen_atomic_symbol(self) -> Any:
        """The operator of this symbol's node, without inputs."""
        node, _ = self._graph.entries[0]
        atomic = Node(node.op, "", node.attrs)
        return type(self)(Graph((atomic, index) for index in range(node.visible_count)))

    # -- text ------------------------------------------------------------------------------------------------

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as JSON, as MXNet 1.9.1 writes it.

        Args:
            remove_amp_cast: leave out the casts that automatic mixed precision inserted.
        """
        graph = remove_casts(self._graph) if remove_amp_cast else self._graph
        return graph_json.write(graph, modes.np_shape)

    def save(self, fname: str, remove_amp_cast: bool = True) -> None:
        """Write the JSON to a file."""
        if not isinstance(fname, (str, os.PathLike)):
            raise ArgumentTypeError(f"fname need to be string, got {type(fname)}")
        atomic_write(fname, self.tojson(remove_amp_cast).encode())

    def debug_str(self) -> str:
        """Every node with its inputs and attributes, for people."""
        return debug_text(self._graph)

    # -- methods with an argument list of their own ----------------------------------------------------------

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Any:
        """``sym.flatten(self)``; ``inplace`` is for arrays and is ignored."""
        return self._operator("flatten", **kwargs)

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> Any:
        """``sym.expand_dims(self, axis)``; ``inplace`` is for arrays and is ignored."""
        return self._operator("expand_dims", axis=axis, **kwargs)

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Any:
        """``sym.squeeze(self, axis)``; ``inplace`` is for arrays and is ignored."""
        return self._operator("squeeze", axis=axis, **kwargs)

    def diag(self, k: int = 0, **kwargs: Any) -> Any:
        """``sym.diag(self, k)``."""
        return self._operator("diag", k=k, **kwargs)

    def split_v2(self, *args: Any, **kwargs: Any) -> Any:
        """``sym.split_v2(self, ...)``."""
        from gluonjax.symbol._creation import split_v2

        return split_v2(self, *args, **kwargs)

    def _operator(self, name: str, **kwargs: Any) -> Any:
        from gluonjax._ops import registry

        return make_function(registry.get(name), name, type(self))(self, **kwargs)

    # -- other forms -----------------------------------------------------------------------------------------

    def as_nd_ndarray(self) -> Symbol:
        """This symbol with the operators of ``mx.sym``."""
        return Symbol(self._graph)

    def as_np_ndarray(self) -> Any:
        """Raises MXNetError: there is no ``mx.sym.np``. Hybridized blocks take ``mx.np`` arrays as they are."""
        raise MXNetError(
            "Symbol.as_np_ndarray: mx.sym.np is not here; use mx.np arrays in a block and hybridize it, which needs "
            "no symbols, or stay with mx.sym"
        )

    def optimize_for(
        self, backend: str, args: Any = None, aux: Any = None, ctx: Any = None, shape_dict: Any = None,
        type_dict: Any = None, stype_dict: Any = None, skip_infer: bool = False, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """This symbol: XLA optimizes whatever is bound, there are no other backends."""
        return self

    def get_backend_symbol(self, backend: str) -> Any:
        """This symbol: XLA optimizes whatever is bound, there are no other backends."""
        return self

    def gradient(self, wrt: Any) -> Any:
        """Not offered by MXNet either: raises MXNetError. Bind and call ``backward``, or use ``autograd``."""
        raise MXNetError(
            "Symbol.gradient is not implemented; bind the symbol and call backward(), or use autograd.grad"
        )


_methods.install(Symbol)


def _with_short_names(node: Node) -> dict[str, str]:
    """Attributes, hidden keys also under the names without underscores."""
    found: dict[str, str] = {}
    for key, text in sorted(node.attrs.items()):
        found[key] = text
        if key in _HIDDEN_TEXTS:
            found[key[2:-2]] = text
    return found


def _from_json(cls: type[Any], text: str) -> Any:
    return cls(graph_json.read(text)[0])


def var(
    name: str,
    attr: dict[str, str] | None = None,
    shape: Any = None,
    lr_mult: Any = None,
    wd_mult: Any = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """A named variable.

    Args:
        name: the name that arrays are bound by.
        attr: attribute texts.
        shape: its shape, 0 for unknown dimensions; used by inference.
        lr_mult, wd_mult: multipliers of learning rate and weight decay.
        dtype: its type; inferred where not given.
        init: an initializer for this variable, or its text.
        stype: its storage type.
        kwargs: more attributes; their names begin and end with two underscores.

    >>> var("data", shape=(2, 3)).attr("__shape__")
    '(2, 3)'
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"Expect a string for variable `name`, got {name!r}")
    texts = dict(AttrScope.in_force().get(attr))
    for key, value in (("shape", shape), ("lr_mult", lr_mult), ("wd_mult", wd_mult)):
        if value is not None:
            texts[f"__{key}__"] = attr_text(value)
    if dtype is not None:
        texts["__dtype__"] = str(DTYPE_TO_CODE[to_dtype(dtype)])
    if init is not None:
        texts["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        if stype not in _STORAGE_CODES:
            raise ArgumentValueError(f"var: unknown storage type {stype!r}; use one of {sorted(_STORAGE_CODES)}")
        texts["__storage_type__"] = str(_STORAGE_CODES[stype])
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ArgumentValueError(
                f"Attribute name={key} is not supported. Additional attributes must start and end with "
                f"double "
                "underscores, e.g, __yourattr__"
            )
        texts[key] = str(value)
    stored = {}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise ArgumentValueError(f"Set Attr only accepts string values, got {key}={text!r}")
        stored[check_hidden_key(key, text)] = text
    return Symbol(Graph([(Node(None, name, stored), 0)]))


Variable = var


def Group(symbols: Sequence[Any], create_fn: Any = Symbol) -> Any:
    """All outputs of several symbols as one symbol.

    >>> Group([var("a"), var("b")]).list_outputs()
    ['a', 'b']
    """
    members = [] if isinstance(symbols, SymbolBase) else list(symbols)
    if not members or any(not isinstance(symbol, SymbolBase) for symbol in members):
        raise ArgumentTypeError("Expected a list of symbols as input")
    return group(members, create_fn)


def load(fname: str) -> Symbol:
    """Read a symbol from a JSON file of any MXNet version since 0.8."""
    if not isinstance(fname, (str, os.PathLike)):
        raise ArgumentTypeError(f"fname need to be string, got {type(fname)}")
    try:
        with open(fname, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise MXNetError(f'symbol.load: cannot open "{os.fspath(fname)}": {error.strerror}') from error
    return load_json(text)


def load_json(json_str: str) -> Symbol:
    """The symbol in a JSON text of any MXNet version since 0.8.

    >>> load_json(var("x").exp(name="e").tojson())
    <Symbol e>
    """
    if not isinstance(json_str, str):
        raise ArgumentTypeError(f"fname required to be string, got {type(json_str)}")
    graph, stated = graph_json.read(json_str)
    if modes.np_shape and not stated.get("is_np_shape"):
        _unknown_as_minus_one(graph)
    return Symbol(graph)


fromjson = load_json


def _unknown_as_minus_one(graph: Graph) -> None:
    """Rewrite shapes of legacy files for numpy mode, where 0 is a size and -1 is unknown."""
    from gluonjax._base.attrs import parse_shape

    for node in graph.variables:
        if "__shape__" in node.attrs:
            shape = parse_shape(node.attrs["__shape__"])
            node.attrs["__shape__"] = attr_text(
                tuple(-1 if dim == 0 else dim for dim in shape) if shape else "None"
            )
