"""The arrays and the executor of a module, and what of a training step has been asked for so far.

A batch is taken in at once; running is put off until a result is wanted, so that forward, backward and update can be
one program. Contexts that are one device (or labels of it) share a single executor over the whole batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gluonjax import ndarray as nd
from gluonjax._base.devices import Context
from gluonjax._base.errors import MXNetError
from gluonjax.io import DataDesc
from gluonjax.ndarray import NDArray


class ExecutorGroup:
    """One bound executor with bookkeeping; ``execs`` lists it as MXNet's data-parallel group does."""

    def __init__(
        self, symbol: Any, contexts: Sequence[Context], data_shapes: Sequence[DataDesc],
        label_shapes: Sequence[DataDesc] | None, param_names: Sequence[str], state_names: Sequence[str],
        fixed_param_names: Sequence[str], for_training: bool, inputs_need_grad: bool, grad_req: Any,
        shared: ExecutorGroup | None,
    ) -> None:  # fmt: skip
        self.symbol = symbol
        self.contexts = list(contexts)
        self.param_names = list(param_names)
        self.state_names = list(state_names)
        self.fixed_param_names = set(fixed_param_names)
        self.for_training = for_training
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.grad_req = self._requests(grad_req, data_shapes, for_training, inputs_need_grad)
        self.monitored = False
        self.gradients_wanted = False
        self._bind(data_shapes, label_shapes, shared)

    def _requests(self, grad_req: Any, data_shapes: Sequence[DataDesc], training: bool, inputs: bool) -> dict[str, str]:
        data = {one.name for one in data_shapes}
        requests = {}
        for index, name in enumerate(self.arg_names):
            trained = name in self.param_names and name not in self.fixed_param_names
            wanted = training and (trained or (inputs and name in data))
            if isinstance(grad_req, Mapping):
                given = grad_req.get(name, "write" if trained else "null" if name not in data else "write")
            elif isinstance(grad_req, (list, tuple)):
                given = grad_req[index]
            else:
                given = grad_req
            requests[name] = given if wanted else "null"
        return requests

    def _bind(
        self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc] | None, shared: ExecutorGroup | None
    ) -> None:
        self.data_shapes, self.label_shapes = list(data_shapes), list(label_shapes or ())
        self.data_names = [one.name for one in self.data_shapes]
        self.label_names = [one.name for one in self.label_shapes]
        self.shapes_of_data = [tuple(one.shape) for one in self.data_shapes]
        self.batch_size = self.data_shapes[0].shape[DataDesc.get_batch_axis(self.data_shapes[0].layout)]
        descriptions = [*self.data_shapes, *self.label_shapes]
        known = {one.name: tuple(one.shape) for one in descriptions if one.name in self.arg_names}
        types = {one.name: one.dtype for one in descriptions if one.name in self.arg_names}
        arg_shapes, _, aux_shapes = self.symbol.infer_shape(**known)
        if arg_shapes is None:
            raise MXNetError(f"bind: the shapes {known} do not determine all parameters")
        arg_types, _, aux_types = self.symbol.infer_type(**types)
        context = self.contexts[0]
        before = shared.executor if shared is not None else getattr(self, "executor", None)
        args, grads, auxs = {}, {}, {}
        for name, shape, dtype in zip(self.arg_names, arg_shapes, arg_types):
            old = before.arg_dict.get(name) if before is not None else None
            if old is not None and name in self.param_names:
                if old.shape != shape:
                    raise MXNetError(
                        f"bind: with these inputs parameter '{name}' would have shape {shape}; it has {old.shape}"
                    )
                args[name] = old
            elif old is not None and shared is None and name in self.state_names and old.shape == shape:
                args[name] = old
            else:
                args[name] = nd.zeros(shape, context, dtype)
            if self.grad_req[name] != "null":
                old = before.grad_dict.get(name) if before is not None else None
                fits = old is not None and old.shape == shape
                grads[name] = old if fits else nd.zeros(shape, context, dtype)
        for name, shape, dtype in zip(self.aux_names, aux_shapes, aux_types):
            old = before.aux_dict.get(name) if before is not None else None
            auxs[name] = old if old is not None else nd.zeros(shape, context, dtype)
        self.executor = self.symbol.bind(context, args, grads, self.grad_req, auxs)
        self.is_train = False
        self.pending: str | None = None
        self._out_grads: Any = None
        self._outputs: list[NDArray] | None = None

    def reshape(self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc] | None) -> None:
        """Bind for other input shapes; parameters, gradients and states are kept."""
        monitor = self.executor if self.monitored else None
        self._bind(data_shapes, label_shapes, None)
        if monitor is not None and monitor._monitor_callback is not None:
            self.executor.set_monitor_callback(monitor._monitor_callback, monitor._monitor_all)

    # -- MXNet's view ---------------------------------------------------------------------------------------

    @property
    def execs(self) -> list[Any]:
        """The executors; what they hold is up to date when someone looks."""
        self.gradients_wanted = True
        self.flush()
        return [self.executor]

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """The parameters, each as a list with one array."""
        return [[self.executor.arg_dict[name]] for name in self.param_names]

    @property
    def grad_arrays(self) -> list[list[NDArray | None]]:
        """The gradients of the parameters, each as a list with one array."""
        self.gradients_wanted = True
        self.flush()
        return [[self.executor.grad_dict.get(name)] for name in self.param_names]

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """The auxiliary states, each as a list with one array."""
        return [[self.executor.aux_dict[name]] for name in self.aux_names]

    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs."""
        known = {one.name: tuple(one.shape) for one in [*self.data_shapes, *self.label_shapes]}
        known = {name: shape for name, shape in known.items() if name in self.arg_names}
        return list(zip(self.symbol.list_outputs(), self.symbol.infer_shape(**known)[1]))

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copy values in."""
        self.executor.copy_params_from(arg_params, aux_params, allow_extra_params=True)

    # -- a step in parts ------------------------------------------------------------------------------------

    def load(self, batch: Any) -> None:
        """Put a batch into the input arrays."""
        self.flush()
        arrays = self.executor.arg_dict
        labels = batch.label if batch.label is not None else ()
        for names, values in ((self.data_names, batch.data), (self.label_names, labels)):
            for name, value in zip(names, values):
                target = arrays.get(name)
                if target is None:
                    continue
                if isinstance(value, NDArray) and value.shape == target.shape and value.dtype == target.dtype and (
                    value.context is target.context
                ):
                    target._write(value._value)  # no copy: contents are never changed in place
                else:
                    target[:] = value

    def forward(self, is_train: bool) -> None:
        """Ask for a forward; it runs when something of it is needed."""
        self.is_train = is_train
        self.pending = "forward"
        self._outputs = None
        if self.monitored:
            self.flush()

    def backward(self, out_grads: Any) -> None:
        """Ask for a backward of the last forward."""
        if not self.for_training:
            raise MXNetError("backward: re-bind with for_training=True to run backward")
        if self.pending == "forward" and out_grads is None and not self.monitored:
            self.pending = "forward_backward"
            return
        self.flush()
        grads = None
        if out_grads is not None:
            grads = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads)
            grads = [nd.concatenate(list(one)) if isinstance(one, (list, tuple)) else one for one in grads]
        self.executor.backward(grads)
        self.pending = None

    def flush(self) -> None:
        """Run what has been asked for."""
        pending, self.pending = self.pending, None
        if pending is None:
            return
        self._outputs = self.executor.forward(is_train=self.is_train)
        if pending == "forward_backward":
            self.executor.backward()

    def outputs(self) -> list[NDArray]:
        """Outputs of the last forward."""
        if self._outputs is None or self.pending is not None:
            self.flush()
        if self._outputs is None:
            self._outputs = list(self.executor.outputs)
        return self._outputs

    def finish_step(self, outputs: list[NDArray]) -> None:
        """A fused step has run everything; these are its outputs."""
        self.pending = None
        self._outputs = outputs

    def input_grads(self, names: Sequence[str]) -> list[NDArray]:
        """Gradients of the data inputs."""
        self.gradients_wanted = True
        self.flush()
        return [self.executor.grad_dict[name] for name in names]

    def split(self, arrays: list[NDArray], merged: bool) -> list[Any]:
        """Arrays as they are, or each cut into one piece per context."""
        if merged:
            return arrays
        count = len(self.contexts)
        pieces = []
        for array in arrays:
            rows = array.shape[0]
            bounds = [round(i * rows / count) for i in range(count + 1)]
            pieces.append([array[a:b].as_in_context(c) for a, b, c in zip(bounds, bounds[1:], self.contexts)])
        return pieces

    def update_metric(self, metric: Any, labels: Any) -> None:
        """Let a metric see labels and outputs by name."""
        named_labels = dict(zip(self.label_names, labels or ()))
        metric.update_dict(named_labels, dict(zip(self.symbol.list_outputs(), self.outputs())))

    def install_monitor(self, monitor: Any) -> None:
        """Watch the executor."""
        self.monitored = True
        monitor.install(self.executor)
