"""Modules written in Python: PythonModule to derive from, PythonLossModule for a loss with its own gradient."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from gluonjax import ndarray as nd
from gluonjax.initializer import Uniform
from gluonjax.module._errors import MissingMethod, ModuleArgumentError, NameMismatchError, require
from gluonjax.module.base_module import BaseModule
from gluonjax.ndarray import NDArray


class PythonModule(BaseModule):
    """A module without parameters. Derive from it and define ``forward``, ``backward``, ``get_outputs``,
    ``get_input_grads`` and ``_compute_output_shapes``.

    Args:
        data_names, label_names, output_names: names of inputs and outputs.
    """

    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str] | None,
        output_names: Sequence[str],
        logger: Any = logging,
    ) -> None:
        super().__init__(logger=logger)
        self._data_names = list(data_names)
        self._label_names = None if label_names is None else list(label_names)
        self._output_names = list(output_names)
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    @property
    def data_names(self) -> list[str]:
        """Names of the data inputs."""
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data inputs."""
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the label inputs."""
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        """Names and shapes of the outputs."""
        return self._output_shapes

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Two empty dicts: there are no parameters."""
        return {}, {}

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's signature
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Nothing is to be done: there are no parameters."""
        self.params_initialized = True

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Take the input shapes and compute the output shapes."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise ModuleArgumentError(f"Python module only support write gradient, got grad_req={grad_req!r}")
        for kind, names, shapes in (
            ("data", self._data_names, data_shapes),
            ("label", self._label_names or [], label_shapes),
        ):
            if shapes is not None and [one[0] for one in shapes] != names:
                raise NameMismatchError(
                    f"bind: {kind}_shapes {list(shapes)} do not have the names {names}, in this order"
                )
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._data_shapes, self._label_shapes = data_shapes, label_shapes
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        raise MissingMethod(f"{type(self).__name__} does not define _compute_output_shapes(), which bind() calls")

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Nothing is to be done: there are no parameters."""
        self.optimizer_initialized = True

    def update(self) -> None:
        """Nothing is to be done: there are no parameters."""

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Let a metric see labels and outputs, where the module has labels."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise ModuleArgumentError("PythonModule does not support pre-sliced labels: it runs on one context")
        eval_metric.update(labels, self.get_outputs())

    def install_monitor(self, mon: Any) -> None:
        """Nothing is to be done: there is no executor to watch."""


class PythonLossModule(PythonModule):
    """A loss whose gradient is a Python function; its output are the scores that it gets.

    Args:
        name: the output is called ``<name>_output``.
        data_names, label_names: one name each.
        grad_func: ``grad_func(scores, labels)`` returns the gradient of the scores, an NDArray or NumPy array.
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Any = logging,
        grad_func: Callable[[NDArray, NDArray], Any] | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger=logger)
        if len(data_names) != 1 or len(label_names) != 1:
            raise ModuleArgumentError(
                f"PythonLossModule has one data input and one label, got {list(data_names)} and {list(label_names)}"
            )
        if grad_func is not None and not callable(grad_func):
            raise ModuleArgumentError(f"PythonLossModule: grad_func must be a function, got {grad_func!r}")
        self._name = name
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None
        self._grad_func = grad_func

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(f"{self._name}_output", self._data_shapes[0][1])]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Keep scores and, in training, labels."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The scores."""
        _refuse_pieces(merge_multi_context)
        return [self._scores]

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradient of the scores."""
        if out_grads is not None:
            raise ModuleArgumentError("For a loss module, out_grads should be None")
        require(self.for_training, "backward", "bind(for_training=True)")
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise MissingMethod(
                f"{type(self).__name__}.backward: give grad_func to the constructor, or define _backward_impl()"
            )
        gradient = self._grad_func(self._scores, self._labels)
        self._scores_grad = gradient if isinstance(gradient, NDArray) else nd.array(gradient)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradient of the scores."""
        _refuse_pieces(merge_multi_context)
        return [self._scores_grad]

    def install_monitor(self, mon: Any) -> None:
        """A loss module has no executor, so it cannot be watched."""
        raise MissingMethod(f"{type(self).__name__} has no executor to install a monitor on")


def _refuse_pieces(merge_multi_context: bool) -> None:
    if merge_multi_context is not True:
        raise ModuleArgumentError("PythonLossModule runs on one context; merge_multi_context must be True")
