"""HybridBlock: a block that runs on arrays, or on symbols to become a graph."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from gluonjax import ndarray as nd
from gluonjax import symbol as sym
from gluonjax._base.scopes import modes
from gluonjax._engine.joining import Joining
from gluonjax.gluon._errors import ArgumentError, BlockTypeError, DeferredInitializationError
from gluonjax.gluon._trace import (
    ARRAYS,
    WRONG_INPUTS,
    Trace,
    check_one_context,
    flatten,
    kind_of_inputs,
    mode_key,
    operators_on_values,
    tensors,
    trace_block,
    warn_not_compiled,
)
from gluonjax.gluon.block import Block, BlockForwardMissing
from gluonjax.gluon.utils import shape_is_known
from gluonjax.ndarray import NDArray
from gluonjax.ndarray._recompiling import Compilations
from gluonjax.symbol import Symbol


class HybridBlock(Block):
    """A block whose ``hybrid_forward(F, x, ...)`` works on arrays (``F`` is nd) and on symbols (``F`` is sym).

    ``hybridize()`` compiles it; ``export`` writes it to files that need no Python code to run.

    >>> class Scale(HybridBlock):
    ...     def hybrid_forward(self, F, x):
    ...         return F.relu(x) * 2
    >>> Scale()(nd.array([-1.0, 3.0])).asnumpy().tolist()
    [0.0, 6.0]
    """

    # False in processes that leave JAX alone (data workers): hybridized blocks run operator by operator there.
    _may_compile = True

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        # (input symbols, output symbol) of the last trace, or empty.
        self._cached_graph: Any = ()
        self._cached_op: Any = None
        self._traces: dict[Any, Trace] = {}
        self._joining = Joining()
        self._compilations = Compilations(self._name or type(self).__name__)
        self._in_format: Any = None
        self._out_format: Any = None
        self._active = False
        self._flags: list[tuple[str, Any]] = []
        self._callback: Callable[..., Any] | None = None
        self._monitor_all = False
        self._backend: str | None = None
        self._backend_opts: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cached_graph": (), "_cached_op": None, "_traces": {}, "_joining": Joining()}

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, HybridBlock):
            self._clear_cached_op()

    def register_child(self, block: Block, name: str | None = None) -> None:
        if not isinstance(block, HybridBlock):
            raise BlockTypeErrorOrValue(
                f"Children of HybridBlock must also be HybridBlock, but {block} has type {type(block)}. If you are "
                "using Sequential, please try HybridSequential instead."
            )
        super().register_child(block, name)
        self._clear_cached_op()

    # -- tracing -------------------------------------------------------------------------------------------------

    def _clear_cached_op(self) -> None:
        self._traces = {}
        self._joining = Joining()
        self._cached_graph = ()
        self._cached_op = None

    def _get_graph(self, *args: Any) -> tuple[list[Symbol], Symbol]:
        """The input variables and the outputs of this block as a graph; traced at the first call."""
        if not self._cached_graph:
            trace = trace_block(self, args, {}, shapes=False)
            self._cached_graph = (trace.inputs, trace.output)
        return self._cached_graph

    def _build_cache(self, *args: Any) -> None:
        """Trace, and finish the initialization that waits for shapes."""
        leaves, form = flatten((args, {}), "input")
        self._find_trace(leaves, form, args, {})

    def _find_trace(self, leaves: list[Any], form: Any, args: Any, kwargs: Any) -> Trace:
        key = (form, mode_key())
        trace = self._traces.get(key)
        if trace is not None and trace.by_shape:
            key = (*key, tuple(leaf.shape for leaf in leaves))
            trace = self._traces.get(key)
        if trace is None:
            trace = trace_block(self, args, kwargs)
            self._traces[form, mode_key()] = trace
            if trace.by_shape:
                self._traces[form, mode_key(), tuple(leaf.shape for leaf in leaves)] = trace
            self._cached_graph = (trace.inputs, trace.output)
            self._in_format, self._out_format = form[0], trace.out_format
            self._cached_op = trace
            try:
                trace.prepare(self)
            except BaseException:
                self._clear_cached_op()
                raise
            self._initialize_traced(trace, leaves)
            if trace.needs_values:
                warn_not_compiled(self, trace)
        return trace

    def _initialize_traced(self, trace: Trace, leaves: list[Any]) -> None:
        used = trace.parameters()
        try:
            for parameter in used:
                parameter.list_ctx() if parameter._data is not None else parameter.data()
        except DeferredInitializationError:
            self._infer_from(trace.inputs, trace.output, leaves, "shape", "infer_shape", "shape")
            for parameter in used:
                if not trace.needs_values or shape_is_known(parameter.shape):
                    parameter._finish_deferred_init()

    def _deferred_infer_shape(self, *args: Any) -> None:
        try:
            self.infer_shape(*args)
        except Exception as error:
            raise ArgumentError(
                f"Deferred initialization failed because shape cannot be inferred. {error}"
            ) from error

    def infer_shape(self, *args: Any) -> None:
        """Find the shapes of the parameters from those of the inputs."""
        self._infer("shape", "infer_shape", "shape", args)

    def infer_type(self, *args: Any) -> None:
        """Find the data types of the parameters from those of the inputs."""
        self._infer("dtype", "infer_type", "_dtype", args)

    def _infer(self, of_input: str, method: str, of_parameter: str, args: Any) -> None:
        leaves, _ = flatten((args, {}), "input")
        trace = trace_block(self, args, {}) if not self._cached_graph else None
        inputs, output = (trace.inputs, trace.output) if trace is not None else self._cached_graph
        self._infer_from(inputs, output, leaves, of_input, method, of_parameter)

    def _infer_from(
        self, inputs: list[Symbol], output: Symbol, leaves: list[Any], of_input: str, method: str, of_parameter: str
    ) -> None:
        used = set(output.list_inputs())
        known = {v.name: getattr(leaf, of_input) for v, leaf in zip(inputs, leaves) if v.name in used}
        if of_input == "shape" and operators_on_values(output):
            # What follows an operator whose output shape depends on values waits until it runs.
            method = "infer_shape_partial"
        arguments, _, auxiliary = getattr(output, method)(**known)
        if arguments is None:
            raise ArgumentError(f"the {of_input}s of {known} do not determine the parameters of {self.name}")
        found = dict(zip(output.list_arguments(), arguments))
        found.update(zip(output.list_auxiliary_states(), auxiliary))
        for name, parameter in self.collect_params().items():
            if name in found and found[name] is not None and found[name] != ():
                setattr(parameter, of_parameter, found[name])

    # -- running -------------------------------------------------------------------------------------------------

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Run ``hybrid_forward`` with this block's parameters: compiled, on arrays, or on symbols."""
        only_arrays = isinstance(x, NDArray) and not kwargs and len(args) < len(ARRAYS) - 1
        if only_arrays and args:
            only_arrays = all([isinstance(one, NDArray) for one in args])
        sample = x if only_arrays else kind_of_inputs((x, args, kwargs))
        if isinstance(sample, Symbol):
            return self._run_on_symbols(x, *args, **kwargs)
        context = sample.context
        # mx.np arrays run uncompiled: their functions have no symbols yet.
        if self._active and self._may_compile and not sample._np_semantics:
            if only_arrays:
                leaves = [x, *args]
                form = ARRAYS[len(leaves)]
            else:
                leaves, form = flatten(((x, *args), kwargs), "input")
            if len(leaves) > 1:
                check_one_context(leaves)
            trace = self._find_trace(leaves, form, (x, *args), kwargs)
            if not trace.needs_values:
                if self._callback is not None:
                    trace.show(leaves, context, self._callback, self._monitor_all)
                return trace(leaves, context)
        with context:
            parameters = self._parameters_on(context, x, *args)
            alone = not modes.recording and modes.joining is None and modes.tracer is None
            if alone and self._joining.open and self._may_compile:
                return self._joining.run(self.hybrid_forward, nd, x, *args, **kwargs, **parameters)
            return self.hybrid_forward(nd, x, *args, **kwargs, **parameters)

    def _parameters_on(self, context: Any, *args: Any) -> dict[str, NDArray]:
        try:
            return {name: parameter.data(context) for name, parameter in self._reg_params.items()}
        except DeferredInitializationError:
            self._deferred_infer_shape(*args)
            for parameter in self.params.values():
                parameter._finish_deferred_init()
            return {name: parameter.data(context) for name, parameter in self._reg_params.items()}

    def _run_on_symbols(self, *args: Any, **kwargs: Any) -> Any:
        params = {name: parameter.var() for name, parameter in self._reg_params.items()}
        with self.name_scope():
            return self.hybrid_forward(sym, *args, **kwargs, **params)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """What the block computes, in terms of ``F``; parameters arrive as keyword arguments."""
        raise BlockForwardMissing(
            f"{type(self).__name__} defines no hybrid_forward(); write `def hybrid_forward(self, F, x): ...`"
        )

    def hybridize(
        self, active: bool = True, backend: str | None = None, clear: bool = True, static_alloc: bool = False,
        static_shape: bool = False, inline_limit: int = 2, forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Compile this block and all below it (or stop doing so); the tuning arguments of MXNet are accepted."""
        if kwargs:
            self._backend_opts = kwargs
        self._backend = backend
        self._active = active
        self._flags = [("static_alloc", static_alloc), ("static_shape", static_shape), ("inline_limit", inline_limit)]
        sizes = (("forward_bulk_size", forward_bulk_size), ("backward_bulk_size", backward_bulk_size))
        self._flags += [(name, size) for name, size in sizes if size is not None]
        if clear:
            self._clear_cached_op()
        if active and (self._forward_hooks or self._forward_pre_hooks):
            warnings.warn(
                f'"{self}" is being hybridized while still having forward hook/pre-hook. If "{self}" is a child of '
                "HybridBlock, the hooks will not take effect.",
                stacklevel=2,
            )
        super().hybridize(
            active, static_alloc=static_alloc, static_shape=static_shape, inline_limit=inline_limit,
            forward_bulk_size=forward_bulk_size, backward_bulk_size=backward_bulk_size,
        )  # fmt: skip

    def cast(self, dtype: Any) -> None:
        self._clear_cached_op()
        super().cast(dtype)

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        self._callback = callback
        self._monitor_all = monitor_all
        super().register_op_hook(callback, monitor_all)

    def optimize_for(
        self, x: Any, *args: Any, backend: str | None = None, clear: bool = False, static_alloc: bool = False,
        static_shape: bool = False, inline_limit: int = 2, forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Hybridize for a backend and trace with the given inputs."""
        if not backend:
            raise ArgumentError('Must specify "backend" to optimize_for')
        self.hybridize(
            True, backend, clear, static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size,
            **kwargs,
        )  # fmt: skip
        if next(tensors((x, args)), None) is None:
            raise ArgumentError(WRONG_INPUTS)
        self._build_cache(x, *args)

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Write ``<path>-symbol.json`` and ``<path>-<epoch>.params``, for SymbolBlock, Module and other languages.

        Returns:
            The names of the two files.
        """
        if not self._cached_graph:
            raise MustRunFirst(
                "Please first call block.hybridize() and then run forward with this block at least once before "
                "calling export."
            )
        output = self._cached_graph[1]
        symbol_file, params_file = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
        output.save(symbol_file, remove_amp_cast=remove_amp_cast)
        params, auxiliary = dict(self.collect_params().items()), set(output.list_auxiliary_states())
        nd.save(
            params_file,
            {
                f"{'aux' if name in auxiliary else 'arg'}:{name}": params[name]._reduce()
                for name in output.list_inputs()
                if name in params
            },
        )
        return symbol_file, params_file


class MustRunFirst(ArgumentError):
    """``export`` needs a traced graph."""


class BlockTypeErrorOrValue(BlockTypeError, ArgumentError):
    """A child that is no HybridBlock; MXNet raises ValueError."""


class SymbolBlock(HybridBlock):
    """A block made from a symbol: run, train and fine-tune exported models.

    Args:
        outputs: the symbol, or a list of them.
        inputs: the variables that are inputs; all others become parameters.
        params: values or parameters to share.
    """

    def __init__(self, outputs: Any, inputs: Any, params: Any = None) -> None:
        # A name of its own, but names of parameters as they are in the graph.
        super().__init__(prefix=None, params=None)
        inputs = [inputs] if isinstance(inputs, Symbol) else flatten(inputs, "input")[0]
        outputs = outputs if isinstance(outputs, Symbol) else sym.Group(list(outputs))
        for variable in inputs:
            if len(variable.list_outputs()) != 1 or variable._graph.entries[0][0].op is not None:
                raise ArgumentError(f"Input symbols must be variable, but {variable} is an output of operators")
        self._prefix, self._empty_prefix = "", True
        self._params = type(self._params)("", params)
        names = {variable.name for variable in inputs}
        sparse = [
            node.name for node in outputs._graph.variables
            if node.name not in names and node.attrs.get("__storage_type__", "0") not in ("0", "-1")
        ]  # fmt: skip
        if sparse:
            raise ArgumentError(
                f"SymbolBlock doesn't support Parameter '{sparse[0]}' because its storage type is not 'default'. Only "
                "dense parameters are supported: leave stype out of its sym.var"
            )
        for kind, listed in (("write", outputs.list_arguments()), ("null", outputs.list_auxiliary_states())):
            for name in listed:
                if name not in names:
                    self._params.get(name, grad_req=kind, allow_deferred_init=True)
        self._cached_graph = (inputs, outputs)
        self._initialized = False
        # In files that hold this block the names lack what all of them begin with.
        common = len(os.path.commonprefix(list(self._params.keys())))  # noqa: RUF071 - by characters, as MXNet
        self._reg_params = {name[common:]: parameter for name, parameter in self._params.items()}

    def __repr__(self) -> str:
        inputs, output = self._cached_graph
        return f"{type(self).__name__}(\n{output} : {len(inputs)} -> {len(output.list_outputs())}\n)"

    @staticmethod
    def imports(
        symbol_file: str, input_names: Any, param_file: str | None = None, ctx: Any = None,
        allow_missing: bool = False, ignore_extra: bool = False,
    ) -> SymbolBlock:  # fmt: skip
        """Read a model that ``export`` or ``save_checkpoint`` wrote.

        Args:
            symbol_file: the JSON file.
            input_names: name or names of the inputs, e.g. ``['data']``.
            param_file: file of values; None leaves the parameters uninitialized.
            ctx: where to put the parameters.
            allow_missing, ignore_extra: see ``load_parameters``.
        """
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(sym.load(symbol_file), [sym.var(name) for name in names])
        if param_file is not None:
            block.collect_params().load(
                param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved"
            )
        return block

    def _find_trace(self, leaves: list[Any], form: Any, args: Any, kwargs: Any) -> Trace:
        trace = self._cached_op
        if trace is None:
            inputs, output = self._cached_graph
            count = len(output.list_outputs())
            trace = Trace(inputs, output, (0,) if count == 1 else ((0,) * count,), False)
            trace.prepare(self)
            self._cached_op = trace
        if len(leaves) != len(trace.inputs):
            raise ArgumentError(
                f"SymbolBlock: wants {len(trace.inputs)} inputs ({', '.join(str(v.name) for v in trace.inputs)}), "
                f"got {len(leaves)}"
            )
        if not self._initialized:
            self._initialize_traced(trace, leaves)
            self._initialized = True
        return trace

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the graph on arrays, or put it on top of symbols."""
        sample = kind_of_inputs((x, args, kwargs))
        leaves, form = flatten(((x, *args), kwargs), "input")
        if isinstance(sample, Symbol):
            inputs, output = self._cached_graph
            composed = output(**{variable.name: leaf for variable, leaf in zip(inputs, leaves)})
            return composed if len(output.list_outputs()) == 1 else list(composed)
        return self._find_trace(leaves, form, args, kwargs)(leaves, leaves[0].context)

    def reset_ctx(self, ctx: Any) -> None:
        """Move the parameters to other contexts.

        Args:
            ctx: a Context, or a list of them for one copy on each.
        """
        for parameter in self.collect_params().values():
            parameter.reset_ctx(ctx)

    def _clear_cached_op(self) -> None:
        # The graph is what this block is; only what was compiled from it can be dropped.
        self._initialized = False
        self._cached_op = None
        self._traces = {}
