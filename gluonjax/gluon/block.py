"""Block: the base of all layers and models. HybridBlock and SymbolBlock come from ``_hybrid``."""

from __future__ import annotations

import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from gluonjax import initializer
from gluonjax import name as naming
from gluonjax import ndarray as nd
from gluonjax.gluon import _saving
from gluonjax.gluon._debug import watching
from gluonjax.gluon._errors import ArgumentError, BlockTypeError, MXNetError
from gluonjax.gluon._jax_arrays import call_on_jax, holds_jax
from gluonjax.gluon._places import explain
from gluonjax.gluon.parameter import Parameter, ParameterDict
from gluonjax.gluon.utils import HookHandle, _indent

UNREGISTERED = (
    '"{name}" is an unregistered container with Blocks. Note that Blocks inside the list, tuple or '
    'dict will not be '
    "registered automatically. Make sure to register them using register_child() or switching to "
    "nn.Sequential/nn.HybridSequential instead. "
)


class _BlockScope:
    """The name space of one block: counts its children by kind, and gives out prefixes while it is entered."""

    _current = threading.local()

    def __init__(self, block: Block) -> None:
        self._block = block
        self._counter: dict[str, int] = {}
        # One entry for each time the scope is entered and not yet left.
        self._entered: list[tuple[_BlockScope | None, naming.Prefix]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_entered": []}

    @classmethod
    def active(cls) -> _BlockScope | None:
        """The innermost scope that this thread is in."""
        return getattr(cls._current, "value", None)

    def next_prefix(self, hint: str) -> str:
        """``dense0_``, ``dense1_``, ... within this block."""
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}_"

    @classmethod
    def create(cls, prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """The prefix and the parameter dictionary of a block under construction.

        Args:
            prefix: as given by the user; None asks for a counted one.
            params: the dictionary of a block to share parameters with.
            hint: the class name in lower case.
        """
        scope = cls.active()
        if prefix is not None:
            named = prefix
        elif scope is None:
            named = f"{naming.NameManager.in_force().get(None, hint)}_"
        else:
            named = scope.next_prefix(hint)
        if params is not None:
            own = ParameterDict(params.prefix, params)
        elif scope is None:
            own = ParameterDict(named)
        else:
            parent = scope._block.params
            own = ParameterDict(parent.prefix + named, parent._shared)
        return named if scope is None else scope._block.prefix + named, own

    def __enter__(self) -> _BlockScope:
        # A block with prefix='' is transparent: its children are named as if they were its parent's.
        if not self._block._empty_prefix:
            operators = naming.Prefix(self._block.prefix)
            self._entered.append((self.active(), operators))
            _BlockScope._current.value = self
            operators.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._entered:
            before, operators = self._entered.pop()
            operators.__exit__(*exc)
            _BlockScope._current.value = before


class Block:
    """Base class of layers and models; override ``forward``.

    Blocks and Parameters that are assigned to attributes are registered: they are initialized, saved and loaded
    with the block.

    Args:
        prefix: put in front of the names of parameters and children; None takes ``<class><number>_``.
        params: parameters of another block to share.

    >>> class Double(Block):
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double(prefix="twice_")(nd.ones((2,))).asnumpy().tolist()
    [2.0, 2.0]
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._empty_prefix = prefix == ""
        self._prefix, self._params = _BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = _BlockScope(self)
        self._children: OrderedDict[str, Block] = OrderedDict()
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._forward_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

    def __repr__(self) -> str:
        children = ((name, value) for name, value in self.__dict__.items() if isinstance(value, Block))
        lines = [f"  ({name}): {_indent(repr(child), 2)}" for name, child in children]
        return f"{type(self).__name__}(\n" + "\n".join(lines) + "\n)"

    def __setattr__(self, name: str, value: Any) -> None:
        existing = getattr(self, name, None)
        if isinstance(existing, (Parameter, Block)) and not isinstance(value, type(existing)):
            raise BlockTypeError(
                f"Changing attribute type for {name} from {type(existing)} to {type(value)}is not allowed."
            )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if name in self._reg_params:
                raise ArgumentError(
                    f"Overriding Parameter attribute {name} is not allowed. If you want to share "
                    f"parameters between "
                    "blocks, please set 'params' at Block construction instead."
                )
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def _alias(self) -> str:
        return type(self).__name__.lower()

    # -- names and parameters -------------------------------------------------------------------------------

    @property
    def prefix(self) -> str:
        """What is put in front of the names of this block's parameters and children."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its last underscore."""
        return self._name

    def name_scope(self) -> _BlockScope:
        """The scope to create children and operators in: ``with self.name_scope(): ...``."""
        return self._scope

    @property
    def params(self) -> ParameterDict:
        """This block's own parameters, without its children's."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """The parameters of this block and all blocks below it.

        Args:
            select: a regular expression that the start of a name must match, e.g. ``'.*weight|.*bias'``.
        """
        pattern = re.compile(select) if select else None
        found = ParameterDict(self._params.prefix)
        self._warn_of_unregistered()
        own = self.params.items()
        found.update({name: value for name, value in own if pattern is None or pattern.match(name)})
        for child in self._children.values():
            # Through the method: classes override it, to leave out frozen parts for example.
            found.update(child.collect_params(select=select))
        return found

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by structural name: the attributes that lead to them, joined by dots."""
        start = f"{prefix}." if prefix else ""
        found = {start + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(start + name))
        return found

    def _warn_of_unregistered(self) -> None:
        registered = {id(child) for child in self._children.values()}
        for name, value in self.__dict__.items():
            if name == "_children" or name.startswith("__") or not isinstance(value, (list, tuple, dict)):
                continue
            if any(id(block) not in registered for block in _blocks_within(value)):
                warnings.warn(UNREGISTERED.format(name=f"{type(self).__name__}.{name}"), stacklevel=3)

    # -- the tree -------------------------------------------------------------------------------------------

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a block part of this one; assigning it to an attribute does so too."""
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: Callable[[Block], Any]) -> Block:
        """Call ``fn`` with every block below, then with this one; return this one."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(
        self,
        init: Any = initializer.Uniform(),  # noqa: B008 - MXNet's signature
        ctx: Any = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialize all parameters; see ``ParameterDict.initialize``."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Compile the HybridBlocks below this block (or stop doing so)."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def cast(self, dtype: Any) -> None:
        """Change the data type of all parameters."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self.params.values():
            parameter.cast(dtype)

    def share_parameters(self, shared: dict[str, Parameter]) -> Block:
        """Use the parameters of another block, given by structural name; return this block."""
        for block_path, block in self._paths():
            for name in list(block._reg_params):
                wanted = shared.get(f"{block_path}.{name}" if block_path else name)
                if wanted is not None:
                    old = block._reg_params.pop(name)
                    setattr(block, name, wanted)
                    block._params._params.pop(old.name, None)
                    block._params._params[wanted.name] = wanted
        return self

    def _paths(self, path: str = "") -> Iterator[tuple[str, Block]]:
        yield path, self
        for name, child in self._children.items():
            yield from child._paths(f"{path}.{name}" if path else name)

    # -- running --------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the hooks and ``forward``; for JAX arrays (and tracers) the results are JAX arrays."""
        if args and type(args[0]) is not nd.NDArray and holds_jax(args[0]):
            return call_on_jax(self, args, kwargs)
        for hook in self._forward_pre_hooks.values():
            hook(self, args)
        try:
            out = self.forward(*args, **kwargs)
        except MXNetError as error:
            explain(error, self)
            raise
        for hook in self._forward_hooks.values():
            hook(self, args, out)
        return out

    def forward(self, *args: Any) -> Any:
        """What the block computes; every subclass defines it."""
        raise BlockForwardMissing(
            f"{type(self).__name__} defines no forward(); write `def forward(self, x): ...` in the class"
        )

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs)`` before every forward, until the returned handle is detached."""
        return _attach(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs, output)`` after every forward, until the returned handle is detached."""
        return _attach(self._forward_hooks, hook)

    def register_op_hook(
        self, callback: Callable[[str, str, nd.NDArray], Any], monitor_all: bool = False
    ) -> None:
        """Call ``callback(node output name, operator, array)`` for every operator of hybridized blocks below."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def debug(self, *inputs: Any, **kwargs: Any) -> Any:
        """Find the first NaN or infinity: which operator, in which layer, at which line of yours.

        With inputs, runs the block on them, operator by operator (also where it is hybridized), and returns its
        outputs. Without, ``with net.debug():`` does so for everything in the ``with``, backward passes included.

        Raises:
            NonFiniteError: at the first result (or gradient) that is not finite. It is an MXNetError and a
                FloatingPointError, with the attributes ``operator``, ``layer`` and ``line``.

        >>> class Log(Block):
        ...     def forward(self, x):
        ...         return nd.log(x)
        >>> try:
        ...     Log(prefix="log_").debug(nd.array([-1.0]))
        ... except FloatingPointError as error:
        ...     print(error.operator, error.layer)
        log log
        """
        if not inputs and not kwargs:
            return watching(self)
        with watching(self):
            return self(*inputs, **kwargs)

    def summary(self, *inputs: Any) -> None:
        """Run the block once and print a table of its layers, output shapes and parameter counts."""
        from gluonjax.gluon._summary import print_summary

        print_summary(self, inputs)

    # -- files ----------------------------------------------------------------------------------------------

    def save_parameters(self, filename: str, deduplicate: bool = False) -> None:
        """Write all values to a .params file under structural names, for ``load_parameters``.

        Args:
            filename: path.
            deduplicate: write shared parameters once, under the last of their names.
        """
        params = self._collect_params_with_prefix()
        if deduplicate:
            last_name = {id(parameter): name for name, parameter in params.items()}
            params = {name: params[name] for name in last_name.values()}
        nd.save(filename, {name: parameter._reduce() for name, parameter in params.items()})

    def save_params(self, filename: str) -> None:
        """Deprecated spelling of ``save_parameters``, with prefixed names in the file."""
        warnings.warn(
            "save_params is deprecated. Please use save_parameters. Note that if you want load from "
            "SymbolBlock "
            "later, please use export instead. For details, see "
            "https://mxnet.apache.org/tutorials/gluon/save_load_params.html",
            stacklevel=2,
        )
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_parameters(
        self, filename: str, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False,
        cast_dtype: bool = False, dtype_source: str = "current",
    ) -> None:  # fmt: skip
        """Read values from a .params file: of ``save_parameters``, of ``collect_params().save`` or of ``export``.

        Args:
            filename: path.
            ctx: where to put parameters that are not initialized yet (default: the CPU).
            allow_missing: leave parameters alone that the file does not have.
            ignore_extra: skip entries of the file that this block does not have.
            cast_dtype: convert where dtypes differ, to the dtype of ``dtype_source`` ('current' or 'saved').
            dtype_source: see ``cast_dtype``.
        """
        loaded = nd.load(filename)
        self.load_dict(
            loaded, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source, _where=f"file '{filename}'"
        )

    def load_dict(
        self, param_dict: Any, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False,
        cast_dtype: bool = False, dtype_source: str = "current", *, _where: str = "param_dict",
    ) -> None:  # fmt: skip
        """Read values from a dictionary of arrays; see ``load_parameters``."""
        _saving.load_into(
            self, param_dict, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source, _where
        )

    def load_params(
        self, filename: str, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False
    ) -> None:
        """Deprecated spelling of ``load_parameters``."""
        warnings.warn("load_params is deprecated. Please use load_parameters.", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Write ``<prefix>-model.json`` (names and traced graphs) and ``<prefix>-model.params``, for ``load``."""
        _saving.save_model(self, prefix)

    def load(self, prefix: str) -> None:
        """Read what ``save`` wrote into a block that was built by the same code."""
        _saving.load_model(self, prefix)


class BlockForwardMissing(NotImplementedError, ArgumentError):
    """A block is called that defines no computation."""


def _attach(hooks: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any]) -> HookHandle:
    handle = HookHandle()
    handle.attach(hooks, hook)
    return handle


def _blocks_within(value: Any) -> Iterator[Block]:
    if isinstance(value, Block):
        yield value
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _blocks_within(entry)
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _blocks_within(entry)


from gluonjax.gluon._hybrid import HybridBlock, SymbolBlock  # noqa: E402  (needs Block)

__all__ = ["Block", "HybridBlock", "SymbolBlock"]
