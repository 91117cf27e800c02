"""The rest: contexts, environment, retries, optimizers, hybridized blocks."""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gluonjax import ndarray as nd
from gluonjax import random
from gluonjax._base.devices import device_count
from gluonjax._base.errors import ArgumentTypeError, MXNetError
from gluonjax._testing._arrays import TestDataError, rand_ndarray
from gluonjax._testing._compare import assert_almost_equal, compare_ndarray_tuple
from gluonjax.context import Context, current_context
from gluonjax.io import DataIter
from gluonjax.runtime import Features
from gluonjax.util import setenv, use_np


def default_context() -> Context:
    """Return the context that tests use."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Use another context from now on, in this thread; inside of ``with context`` until its end."""
    stack = Context._default_ctx.__dict__.setdefault("stack", [])
    stack[-1:] = [ctx]


def list_gpus() -> range:
    """Return the numbers of the GPUs that can be used."""
    return range(device_count("gpu"))


def get_cuda_compute_capability(ctx: Context) -> int:
    """Return a GPU's compute capability as a number: 80 for 8.0."""
    if getattr(ctx, "device_type", None) != "gpu":
        raise TestDataError(f"get_cuda_compute_capability: expected a gpu context, got {ctx}")
    found = getattr(ctx.jax_device, "compute_capability", None)
    if found is None:
        raise MXNetError(f"{ctx} does not say its compute capability")
    return int(str(found).replace(".", ""))


def is_cd_run() -> bool:
    """True in MXNet's deployment jobs."""
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """True on 64-bit ARM."""
    return platform.machine() == "aarch64"


def has_tvm_ops() -> bool:
    """True where operators were built with TVM: never, XLA compiles them all."""
    return Features().is_enabled("TVM_OP")


def is_op_runnable() -> bool:
    """True where every operator runs on the current context."""
    context = current_context()
    if not has_tvm_ops() or context.device_type != "gpu":
        return True
    return get_cuda_compute_capability(context) >= 53


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """Return the path of MXNet's ``tools/im2rec.py`` under the folder that an environment variable names."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = [os.environ[home_env]] if home_env in os.environ else [here, os.path.dirname(here)]
    for place in places:
        path = os.path.join(place, "tools", "im2rec.py")
        if os.path.isfile(path):
            return path
    raise OSError(f"Could not find path to tools/im2rec.py; set {home_env} to the folder above tools")


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Return a decorator that runs a test up to ``n`` times until it does not raise AssertionError."""
    if n < 1:
        raise TestDataError(f"retry: n must be positive, got {n}")

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            for left in range(n - 1, -1, -1):
                try:
                    test(*args, **kwargs)
                    return
                except AssertionError:
                    if not left:
                        raise
                    nd.waitall()

        return run

    return decorate


@contextlib.contextmanager
def discard_stderr() -> Iterator[None]:
    """Drop what is written to standard error, by C code too."""
    # C code writes to 2; Python's own stream may be another file, as in notebooks and under pytest.
    numbers = {2}
    with contextlib.suppress(AttributeError, OSError, ValueError):
        numbers.add(sys.stderr.fileno())
    with contextlib.ExitStack() as cleanup, open(os.devnull, "w") as nowhere:
        for number in numbers:
            kept = os.dup(number)
            cleanup.callback(os.close, kept)
            cleanup.callback(os.dup2, kept, number)
            os.dup2(nowhere.fileno(), number)
        yield


@contextlib.contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Set environment variables for a block.

    Args:
        *args: a name and a value, or one dictionary; None removes a variable.
    """
    if len(args) == 1 and isinstance(args[0], dict):
        changes = args[0]
    elif len(args) == 2:
        changes = {args[0]: args[1]}
    else:
        raise ArgumentTypeError(
            f"environment: expecting one dict or a name and a value, got {len(args)} arguments"
        )
    before = {name: os.environ.get(name) for name in changes}
    try:
        for name, value in changes.items():
            setenv(name, value)
        yield
    finally:
        nd.waitall()
        for name, value in before.items():
            setenv(name, value)


class DummyIter(DataIter):
    """Returns the first batch of another iterator for ever: for timing everything but the loading."""

    def __init__(self, real_iter: Any) -> None:
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.the_batch = next(real_iter)

    def next(self) -> Any:
        return self.the_batch


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Raise AssertionError where two optimizers do not make the same first step.

    Args:
        opt1: the first; always gets dense arrays.
        opt2: the second; gets a list of arrays at once where ``shape`` is a list.
        shape: of the weight, or a list of shapes.
        dtype: of weight and gradient.
        w_stype: storage type of the second's weight.
        g_stype: storage type of the second's gradient.
        rtol: relative tolerance.
        atol: absolute tolerance.
        compare_states: states must agree, too.
        ntensors: how many shapes there are.
    """
    tolerances: dict[str, Any] = {"rtol": rtol, "atol": atol}
    if isinstance(shape, list):
        first_weights, first_grads = ([_random_dense(one, dtype) for one in shape] for _ in range(2))
        second_weights, second_grads = copy.deepcopy((first_weights, first_grads))
        numbers = list(range(ntensors))
        second_states = [opt2.create_state_multi_precision(0, weight) for weight in second_weights]
        opt2.update_multi_precision(numbers, tuple(second_weights), tuple(second_grads), second_states)
        for number in numbers:
            state = opt1.create_state_multi_precision(number, first_weights[number])
            opt1.update_multi_precision(number, first_weights[number], first_grads[number], state)
            if compare_states:
                compare_ndarray_tuple(state, second_states[number], **tolerances)
            assert_almost_equal(first_weights[number], second_weights[number], **tolerances)
        return
    weight2, grad2 = _random_of(w_stype, shape, dtype, 1), _random_of(g_stype, shape, dtype, None)
    weight1, grad1 = (array.copyto(default_context()).tostype("default") for array in (weight2, grad2))
    state1, state2 = (
        opt1.create_state_multi_precision(0, weight1),
        opt2.create_state_multi_precision(0, weight2),
    )
    if compare_states:
        compare_ndarray_tuple(state1, state2)
    opt1.update_multi_precision(0, weight1, grad1, state1)
    opt2.update_multi_precision(0, weight2, grad2, state2)
    if compare_states:
        compare_ndarray_tuple(state1, state2, **tolerances)
    assert_almost_equal(weight1, weight2, **tolerances)


def _random_dense(shape: Any, dtype: Any) -> Any:
    return random.uniform(shape=shape, ctx=default_context(), dtype=dtype)


def _random_of(stype: str, shape: Any, dtype: Any, density: float | None) -> Any:
    if stype == "default":
        return _random_dense(shape, dtype)
    return rand_ndarray(shape, stype, density=density, dtype=dtype)


@use_np
def check_gluon_hybridize_consistency(
    net_builder: Callable[..., Any],
    data_l: list[Any],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Raise AssertionError where a block gives other results hybridized, or while recording.

    Args:
        net_builder: makes the block; takes ``prefix``.
        data_l: its inputs, ``mx.np`` arrays.
        numpy_func: the same on NumPy arrays.
        test_grad: compare gradients, too.
        rtol: relative tolerance.
        atol: absolute tolerance.
    """
    weights: dict[str, np.ndarray] = {}
    outputs: list[np.ndarray] = []
    gradients: list[list[np.ndarray]] = []
    for hybrid in (False, True):
        for recording in (False, True) if test_grad else (False,):
            net = net_builder(prefix="net_")
            net.initialize()
            if hybrid:
                net.hybridize()
            inputs = [value.copy() for value in data_l]
            output, grads = _run_block(net, inputs, weights, recording)
            outputs.append(output)
            gradients += [grads] if recording else []
    for output in outputs[1:]:
        assert_almost_equal(output, outputs[0], rtol, atol)
    for grads in gradients[1:]:
        for found, first in zip(grads, gradients[0]):
            assert_almost_equal(found, first, rtol, atol)
    if numpy_func is not None:
        assert_almost_equal(outputs[0], numpy_func(*[value.asnumpy() for value in data_l]), rtol, atol)


def _run_block(
    net: Any, inputs: list[Any], weights: dict[str, np.ndarray], recording: bool
) -> tuple[np.ndarray, list[np.ndarray]]:
    from gluonjax import autograd

    # The first block's weights are everybody's; a run fills in shapes that are not known before.
    net(*inputs)
    for name, parameter in net.collect_params().items():
        if name in weights:
            parameter.set_data(nd.array(weights[name]).as_np_ndarray())
        else:
            weights[name] = parameter.data().asnumpy()
    if not recording:
        return net(*inputs).asnumpy(), []
    for value in inputs:
        value.attach_grad()
    with autograd.record():
        output = net(*inputs)
    output.backward(output)
    return output.asnumpy(), [value.grad.asnumpy() for value in inputs]
