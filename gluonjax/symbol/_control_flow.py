"""``foreach``, ``while_loop`` and ``cond`` on symbols: run the user's functions once, on variables, to get graphs.

Nodes that are made while a body is traced carry ``__subgraph_name__``. What a body reads from outside is cut off
there and becomes an input of the loop or branch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gluonjax._base.errors import MXNetError, OperatorError
from gluonjax._engine.graph import Entry, Graph, Node
from gluonjax._ops import registry
from gluonjax.attribute import AttrScope
from gluonjax.name import NameManager
from gluonjax.symbol.register import make_function
from gluonjax.symbol.symbol import Symbol

MARK = "__subgraph_name__"


class LoopError(MXNetError, AssertionError, ValueError):
    """A body, its data or its states do not have the form that a loop needs."""


def flatten(value: Any, what: str) -> tuple[list[Symbol], Any]:
    """The single outputs in nested lists of symbols, and the format to put them back.

    Formats: 0 a symbol, n > 1 a symbol with n outputs, a list for a list.
    """
    if isinstance(value, Symbol):
        count = len(value.list_outputs())
        return ([value], 0) if count == 1 else ([value[index] for index in range(count)], count)
    if not isinstance(value, (list, tuple)):
        raise LoopError(f"{what} must be (nested) list of Symbol, but got {value} of type {type(value)}")
    parts = [flatten(entry, what) for entry in value]
    return [leaf for leaves, _ in parts for leaf in leaves], [form for _, form in parts]


def regroup(leaves: Sequence[Symbol], form: Any) -> Any:
    """Undo ``flatten``; a symbol with several outputs becomes a list."""
    rest = iter(leaves)

    def build(part: Any) -> Any:
        if isinstance(part, int):
            return next(rest) if part == 0 else [next(rest) for _ in range(part)]
        return [build(entry) for entry in part]

    return build(form)


def _entry(symbol: Symbol) -> Entry:
    return symbol._graph.entries[0]


def _loop_name(symbol: Symbol) -> str:
    """What the body calls an array that it is given: the node's name and the number of its output."""
    node, index = _entry(symbol)
    return f"{node.name}-{index}"


def _unique(name: str) -> str:
    scope: AttrScope = AttrScope.in_force()
    outer = (scope.get(None) or {}).get(MARK, "")
    full = f"{outer}${name}" if outer else name
    number = AttrScope._subgraph_names[full]
    AttrScope._subgraph_names[full] = number + 1
    return f"{full}{number}"


def _identity(symbol: Symbol) -> Symbol:
    return make_function(registry.get("identity"), "identity", Symbol)(symbol)


class _Body:
    """A traced body: its graph, cut off from the outside, and where its variables come from.

    Args:
        outputs: symbols with one output each, made inside of the scope ``mark``.
        mark: the body's name.
        given: what the variables that the body was called with stand for, by name.
        apart: outputs from this number on are copied if they repeat an earlier one (states of ``foreach``).
    """

    def __init__(self, outputs: Sequence[Symbol], mark: str, given: Mapping[str, Entry], apart: int | None) -> None:
        variables = {node.name for symbol in outputs for node in symbol._graph.variables}
        early = {_entry(symbol)[0].name for symbol in outputs[:apart]} if apart is not None else set()
        heads = []
        for number, symbol in enumerate(outputs):
            node = _entry(symbol)[0]
            repeated = apart is not None and number >= apart and node.name in early
            # Outputs have to be nodes of the body: inputs and outer nodes are copied into it.
            outside = node.name in variables or node.attrs.get(MARK) != mark
            heads.append(_entry(_identity(symbol) if outside or repeated else symbol))
        self._mark = mark
        self.sources: dict[str, Entry] = {}
        self.graph = self._cut(heads)
        names = self.names = [node.name for node in self.graph.variables]
        if len(set(names)) != len(names):
            raise LoopError(f"The inputs of the subgraph don't have unique names: {names}")
        self.given = frozenset(given)
        self.sources.update(given)

    def _cut(self, heads: Sequence[Entry]) -> Graph:
        """Copies of the body's nodes; entries of outer nodes become variables named after them."""
        copies: dict[int, Node] = {}
        cuts: dict[tuple[int, int], Node] = {}

        def moved(entry: Entry) -> Entry:
            source, index = entry
            if source.op is None or source.attrs.get(MARK) == self._mark:
                return copies[id(source)], index
            key = (id(source), index)
            if key not in cuts:
                cuts[key] = Node(None, source.output_name(index))
                self.sources[cuts[key].name] = entry
            return cuts[key], 0

        for node in self._inside(heads):
            if node.op is None:
                self.sources.setdefault(node.name, (node, 0))
            if node.op is None and node.attrs.get(MARK, self._mark) != self._mark:
                copies[id(node)] = Node(None, node.name)  # made in another body: cut off, too
                continue
            copies[id(node)] = node.with_inputs([moved(entry) for entry in node.inputs])
        return Graph([moved(entry) for entry in heads])

    def _inside(self, heads: Sequence[Entry]) -> list[Node]:
        """The body's nodes and the variables they read, inputs first."""
        order: list[Node] = []
        seen: set[int] = set()
        stack: list[tuple[Node, bool]] = [(node, False) for node, _ in reversed(heads)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif id(node) not in seen and (node.op is None or node.attrs.get(MARK) == self._mark):
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((source, False) for source, _ in reversed(node.inputs))
        return order


def _trace(
    function: Callable[..., Any], name: str, leaves: Sequence[Symbol], split: Callable[[Any], tuple[list[Symbol], int]],
    separate: bool = False,
) -> tuple[_Body, int]:  # fmt: skip
    """Call a function on variables that stand for ``leaves``.

    Args:
        function: takes the variables; what it returns goes to ``split``.
        split: result -> outputs, and how many of them are no states.
        separate: states must not be the same nodes as other outputs.

    Returns:
        The body and the number of outputs that are no states.
    """
    mark = _unique(name)
    make_variable = _variable_maker()
    with AttrScope(**{MARK: mark}):
        outputs, count = split(function([make_variable(_loop_name(leaf)) for leaf in leaves]))
        given = {_loop_name(leaf): _entry(leaf) for leaf in leaves}
        return _Body(outputs, mark, given, count if separate else None), count


def _variable_maker() -> Callable[[str], Symbol]:
    from gluonjax.symbol import var  # the package imports this module

    return var


def _node(operator: str, inputs: Sequence[Entry], bodies: Sequence[_Body], attrs: Mapping[str, Any]) -> list[Symbol]:
    """A control-flow node's outputs."""
    names: NameManager = NameManager.in_force()
    name = names.get(None, operator)
    texts = {key: str(list(value) if isinstance(value, (list, tuple)) else value) for key, value in attrs.items()}
    texts["num_args"] = str(len(inputs) + len(bodies))
    scope: AttrScope = AttrScope.in_force()
    texts.update(scope.get(None))
    node = Node(registry.get(operator), name, texts, inputs, tuple(body.graph for body in bodies))
    return [Symbol(Graph([(node, index)])) for index in range(int(attrs["num_outputs"]))]


class _Union:
    """The inputs of several bodies in MXNet's order: what may be shared comes once, all else once for each body.

    A loop's state and the same array read from outside are two inputs: the state changes.

    Args:
        share_variables: variables with one name are one input (``cond``); else only the loop's states are.
    """

    def __init__(self, share_variables: bool) -> None:
        self.entries: list[Entry] = []
        self._share_variables = share_variables
        self._places: dict[str, int] = {}

    def add(self, body: _Body) -> list[int]:
        """Where the body's variables are among the inputs."""
        places = []
        for name in body.names:
            entry = body.sources[name]
            shared = name in body.given or (self._share_variables and entry[0].op is None)
            if shared and name in self._places:
                places.append(self._places[name])
                continue
            if shared:
                self._places[name] = len(self.entries)
            places.append(len(self.entries))
            self.entries.append(entry)
        return places


def foreach(body: Callable[..., Any], data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """Run a function for every row of some symbols, with states that each step hands to the next.

    Args:
        body: ``(rows, states) -> (outputs, new states)``; it is called once, on variables.
        data: a symbol or a list of symbols of one length.
        init_states: a symbol or nested lists of symbols.
        name: begins the names of the body.

    Returns:
        Outputs of all steps, stacked, and the last states, in the forms that ``body`` returned.

    >>> from gluonjax import sym
    >>> outputs, states = foreach(lambda row, s: (row + s, row + s), sym.var("data"), sym.var("start"))
    >>> outputs.infer_shape(data=(3, 2), start=(2,))[1]
    [(3, 2)]
    """
    rows, row_form = flatten(data, "foreach input")
    starts, state_form = flatten(init_states, "foreach states")
    forms: list[Any] = []

    def split(result: Any) -> tuple[list[Symbol], int]:
        outputs, output_form = flatten(result[0], "foreach output")
        states, new_form = flatten(result[1], "foreach loop_vars")
        if new_form != state_form:
            raise LoopError(
                f"foreach: The input and output loop_vars have different format: {state_form} and {new_form}"
            )
        forms.append(output_form)
        return [*outputs, *states], len(outputs)

    def call(variables: list[Symbol]) -> Any:
        given, states = variables[: len(rows)], variables[len(rows) :]
        return body(regroup(given, row_form), regroup(states, state_form))

    traced, count = _trace(call, name, [*rows, *starts], split, separate=True)
    data_names, state_names = [_loop_name(row) for row in rows], [_loop_name(start) for start in starts]
    for what, names in (("data", data_names), ("state", state_names)):
        for each in names:
            if each not in traced.names:
                raise LoopError(f"foreach: the {what} arrays have to be used in the loop body; '{each}' is not")
    others = [each for each in traced.names if each not in {*data_names, *state_names}]
    inputs = [traced.sources[each] for each in (*data_names, *state_names, *others)]
    results = _node(
        "_foreach", inputs, [traced],
        {
            "num_outputs": count + len(starts), "num_out_data": count,
            "in_state_locs": [traced.names.index(each) for each in state_names],
            "in_data_locs": [traced.names.index(each) for each in data_names],
            "remain_locs": [traced.names.index(each) for each in others],
        },
    )  # fmt: skip
    return regroup(results[:count], forms[0]), regroup(results[count:], state_form)


def _as_list(value: Any) -> Any:
    return [] if value is None else list(value) if isinstance(value, tuple) else value


def whole_number(value: Any) -> int:
    """``max_iterations`` as a Python integer."""
    if value is None:
        raise OperatorError("while_loop: max_iterations should be specified")
    if hasattr(value, "asscalar"):
        value = value.asscalar()
    try:
        return int(value)
    except (TypeError, ValueError):
        raise OperatorError(f"while_loop: Cannot convert max_iteration to python int: {value!r}") from None


def while_loop(
    cond: Callable[..., Any], func: Callable[..., Any], loop_vars: Any, max_iterations: Any = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:  # fmt: skip
    """Run a function while a condition holds.

    Args:
        cond: ``(*loop_vars) -> symbol`` of one number; 0 ends the loop.
        func: ``(*loop_vars) -> (outputs, new loop_vars)``.
        loop_vars: a symbol or nested lists of symbols.
        max_iterations: the most steps.
        name: begins the names of the bodies.

    Returns:
        Outputs of all steps, stacked to ``max_iterations`` rows (0 beyond the last step), and the last loop_vars.
    """
    limit = whole_number(max_iterations)
    if isinstance(loop_vars, (list, tuple)) and not loop_vars:
        raise OperatorError("while_loop: loop_vars should contain at least one element")
    leaves, form = flatten(loop_vars, "while loop_vars")
    forms: list[Any] = []

    def spread(variables: list[Symbol]) -> Any:
        grouped = regroup(variables, form)
        return grouped if isinstance(grouped, list) else [grouped]

    def split_condition(result: Any) -> tuple[list[Symbol], int]:
        if not isinstance(result, Symbol) or len(result.list_outputs()) != 1:
            raise LoopError(f"while_loop: cond must return a Symbol with one output, got {result!r}")
        return [result], 0

    def split(result: Any) -> tuple[list[Symbol], int]:
        outputs, output_form = flatten(_as_list(result[0]), "while output")
        states, _ = flatten(_as_list(result[1]), "while loop_vars")
        if len(states) != len(leaves):
            raise LoopError(
                f"while_loop: The number of loop_vars should be consistent during the loop: {len(leaves)} went in, "
                f"{len(states)} came out"
            )
        forms.append(output_form)
        return [*outputs, *states], len(outputs)

    condition, _ = _trace(lambda given: cond(*spread(given)), f"{name}_cond", leaves, split_condition)
    body, count = _trace(lambda given: func(*spread(given)), f"{name}_func", leaves, split)
    union = _Union(share_variables=False)
    cond_places, func_places = union.add(condition), union.add(body)
    names = [_loop_name(leaf) for leaf in leaves]
    for number, each in enumerate(names, 1):
        if each not in body.names:
            raise LoopError(f"while_loop: The {number}-th loop_var doesn't involve into the computation")
    results = _node(
        "_while_loop", union.entries, [condition, body],
        {
            "max_iterations": limit, "cond_input_locs": cond_places, "func_input_locs": func_places,
            "func_var_locs": [body.names.index(each) for each in names], "num_out_data": count,
            "num_outputs": count + len(leaves),
        },
    )  # fmt: skip
    return regroup(results[:count], forms[0]), regroup(results[count:], form)


def cond(pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond") -> Any:
    """Run one of two functions.

    Args:
        pred: a symbol of one number.
        then_func: ``() -> outputs``, where ``pred`` is not 0.
        else_func: ``() -> outputs``, where it is; as many, of the same shapes.
        name: begins the names of the bodies.

    Returns:
        The outputs of the function that ran, in the form that ``then_func`` returned.
    """
    forms: list[Any] = []

    def split(result: Any) -> tuple[list[Symbol], int]:
        outputs, form = flatten(result, "cond outputs")
        forms.append(form)
        return outputs, len(outputs)

    condition, count = _trace(lambda _: pred, f"{name}_pred", (), split)
    if count != 1:
        raise LoopError(f"cond: pred should always be a single output, got {count}")
    then_body, then_count = _trace(lambda _: then_func(), f"{name}_then", (), split)
    else_body, else_count = _trace(lambda _: else_func(), f"{name}_else", (), split)
    if then_count != else_count:
        raise LoopError(
            f"cond: Number of outputs differs between then-branch and else-branch: {then_count} and {else_count}"
        )
    union = _Union(share_variables=True)
    places = [union.add(body) for body in (condition, then_body, else_body)]
    results = _node(
        "_cond", union.entries, [condition, then_body, else_body],
        {
            "cond_input_locs": places[0], "then_input_locs": places[1], "else_input_locs": places[2],
            "num_outputs": then_count,
        },
    )  # fmt: skip
    return regroup(results, forms[1])


__all__ = ["LoopError", "cond", "flatten", "foreach", "regroup", "while_loop", "whole_number"]
