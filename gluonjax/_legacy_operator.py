"""Operators in Python as they were written before ``CustomOp``: an object that is called with symbols."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

_numbers = itertools.count()


class PythonOp:
    """Base of operators that are objects; deprecated in favour of ``CustomOp``.

    Args:
        need_top_grad: False for losses, whose gradient does not depend on a head gradient.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        warnings.warn(f"{type(self).__name__} has been deprecated. Please use CustomOp", stacklevel=2)
        self.need_top_grad_ = need_top_grad
        self._op_type = ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """A symbol that runs this object on the given symbols."""
        raise NotImplementedError("Must override this: derive from NumpyOp or NDArrayOp")

    def forward(self, in_data: list, out_data: list) -> None:
        """Compute the outputs; the default passes the first input on."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: list, in_data: list, out_data: list, in_grad: list) -> None:
        """Compute the gradients of the inputs; the default is that of a loss without gradient: ones."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list) -> tuple[list, list]:
        """Shapes of inputs and outputs; the default is one output like the first input."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether backward looks at the gradients of the outputs."""
        return self.need_top_grad_


def _symbol_of(owner: PythonOp, as_numpy: bool, args: Any, kwargs: Any) -> Any:
    """Register the object itself as a custom operator, once, and make a node of it."""
    from gluonjax import operator, symbol

    def convert(arrays: list) -> list:
        return [array.asnumpy() for array in arrays] if as_numpy else list(arrays)

    def write_back(targets: list, req: list[str], values: list) -> None:
        for target, request, value in zip(targets, req, values):
            if request != "null" and target is not value:
                target[:] = value

    class Operator(operator.CustomOp):
        def forward(self, is_train: bool, req: list[str], in_data: list, out_data: list, aux: list) -> None:
            results = convert(out_data)
            owner.forward(in_data=convert(in_data), out_data=results)
            write_back(out_data, req, results)

        def backward(
            self, req: list[str], out_grad: list, in_data: list, out_data: list, in_grad: list, aux: list
        ) -> None:
            results = convert(in_grad)
            owner.backward(
                out_grad=convert(out_grad),
                in_data=convert(in_data),
                out_data=convert(out_data),
                in_grad=results,
            )
            write_back(in_grad, req, results)

    class Properties(operator.CustomOpProp):
        def __init__(self) -> None:
            super().__init__(need_top_grad=owner.need_top_grad())

        def list_arguments(self) -> list[str]:
            return owner.list_arguments()

        def list_outputs(self) -> list[str]:
            return owner.list_outputs()

        def infer_shape(self, in_shape: list) -> tuple:
            inputs, outputs = owner.infer_shape(in_shape)
            return inputs, outputs, []

        def create_operator(self, ctx: Any, in_shapes: list, in_dtypes: list) -> operator.CustomOp:
            return Operator()

    if not owner._op_type:
        owner._op_type = f"_{type(owner).__name__.lower()}{next(_numbers)}"
        operator.register(owner._op_type)(Properties)
    return symbol.Custom(*args, op_type=owner._op_type, **kwargs)


class NumpyOp(PythonOp):
    """An operator whose ``forward`` and ``backward`` get NumPy arrays; deprecated."""

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """A symbol that runs this object on the given symbols."""
        return _symbol_of(self, True, args, kwargs)


class NDArrayOp(PythonOp):
    """An operator whose ``forward`` and ``backward`` get NDArrays; deprecated."""

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """A symbol that runs this object on the given symbols."""
        return _symbol_of(self, False, args, kwargs)

    def declare_backward_dependency(self, out_grad: list, in_data: list, out_data: list) -> list:
        """Which of the given arrays the backward looks at."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]
