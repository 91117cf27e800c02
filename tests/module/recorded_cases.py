"""What Modules do, as plain values, texts and errors: each case runs under gluonjax and under the real MXNet.

A case takes ``mx`` and returns what JSON can hold. Arrays become nested lists.
"""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

CASES: dict[str, Callable[[Any], Any]] = {}


def case(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    CASES[function.__name__] = function
    return function


def plain(value: Any) -> Any:
    """Arrays as lists, tuples as lists, types as their names."""
    if hasattr(value, "asnumpy"):
        value = value.asnumpy()
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()] if value.ndim else plain(value.item())
    if isinstance(value, (np.floating, float)):
        return float(f"{float(value):.6g}")
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in sorted(value)}
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def error(call: Callable[[], Any], *words: str) -> dict[str, Any]:
    """The classes of what a call raises, and whether its text has the words."""
    try:
        call()
    except Exception as problem:
        return {
            "raises": [one.__name__ for one in type(problem).__mro__], "says": [one in str(problem) for one in words]
        }  # fmt: skip
    return {"raises": [], "says": []}


class Messages(logging.Handler):
    """Collects what is logged, and Python's warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.logger = logging.Logger("case")
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def ramp(*shape: int, start: float = -1.0, stop: float = 1.0) -> np.ndarray:
    return np.linspace(start, stop, int(np.prod(shape))).reshape(shape).astype(np.float32)


def perceptron(mx: Any, prefix: str = "") -> Any:
    data = mx.sym.Variable("data")
    hidden = mx.sym.FullyConnected(data, num_hidden=4, name=f"{prefix}fc1")
    hidden = mx.sym.Activation(hidden, act_type="tanh", name=f"{prefix}act")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, name=f"{prefix}fc2"), name="softmax")


def values_for(mx: Any, symbol: Any, **shapes: tuple[int, ...]) -> dict[str, Any]:
    """A fixed value for every argument that is no input."""
    found, _, _ = symbol.infer_shape(**shapes)
    return {
        name: mx.nd.array(ramp(*shape, start=-0.5, stop=0.4))
        for name, shape in zip(symbol.list_arguments(), found)
        if name not in shapes and not name.endswith("label")
    }


def batch(mx: Any, size: int = 4, width: int = 5, **facts: Any) -> Any:
    label = mx.nd.array(np.arange(size) % 3)
    return mx.io.DataBatch([mx.nd.array(ramp(size, width))], [label], **facts)


def trained(mx: Any, steps: int = 3, size: int = 4, settings: dict[str, Any] | None = None, **options: Any) -> Any:
    """A module after some steps of SGD."""
    symbol = perceptron(mx)
    module = mx.mod.Module(symbol, **options)
    module.bind([("data", (size, 5))], [("softmax_label", (size,))])
    module.init_params(arg_params=values_for(mx, symbol, data=(size, 5)))
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01, **(settings or {})})
    for _ in range(steps):
        module.forward_backward(batch(mx, size))
        module.update()
    return module


def weights(module: Any) -> Any:
    return plain(module.get_params()[0])


# -- parameters that stay, states, input gradients -----------------------------------------------------------------


@case
def fixed_parameters(mx: Any) -> Any:
    module = trained(mx, fixed_param_names=["fc1_weight", "fc2_bias"])
    group = module._exec_group
    return [weights(module), [arrays is None or arrays[0] is None for arrays in group.grad_arrays]]


@case
def fixed_parameters_with_a_wrong_name(mx: Any) -> Any:
    return error(
        lambda: mx.mod.Module(perceptron(mx), fixed_param_names=["fc1_weight", "fc9_bias"]),
        "You created Module with Module(..., fixed_param_names=['fc1_weight', 'fc9_bias']) but input with name "
        "'fc9_bias' is not found in symbol.list_arguments(). Did you mean one of:\n\tdata\n\tsoftmax_label",
    )


@case
def states_are_kept_between_batches(mx: Any) -> Any:
    data, state = mx.sym.var("data"), mx.sym.var("state")
    following = mx.sym.elemwise_add(data, state * 0.5, name="next")
    module = mx.mod.Module(
        mx.sym.Group([following, mx.sym.BlockGrad(state, name="seen")]), data_names=["data"], label_names=None,
        state_names=["state"],
    )  # fmt: skip
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params()
    found = []
    module.set_states(value=1)
    for _ in range(3):
        module.forward(mx.io.DataBatch([mx.nd.array(ramp(2, 3))]))
        outputs = module.get_outputs(merge_multi_context=False)
        found.append([plain(piece) for piece in module.get_outputs()])
        module.set_states(states=[outputs[0]])
    found.append(plain(module.get_states(False)))
    found.append([len(module.get_states(False)), module._param_names, module.data_names, module.output_names])
    return found


@case
def states_wrong_calls(mx: Any) -> Any:
    module = mx.mod.Module(mx.sym.var("data") + mx.sym.var("state"), label_names=None, state_names=["state"])
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params()
    return [
        error(lambda: mx.mod.Module(mx.sym.var("data"), label_names=None, state_names=["stat"]), "state_names=["),
        error(lambda: module.set_states(states=[[mx.nd.ones((2, 3))]], value=1), "of states & value"),
        error(lambda: module.set_states(), "At least one of states & value must be specified"),
    ]


@case
def input_gradients(mx: Any) -> Any:
    symbol = perceptron(mx)
    module = mx.mod.Module(symbol)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))], inputs_need_grad=True)
    module.init_params(arg_params=values_for(mx, symbol, data=(4, 5)))
    module.forward_backward(batch(mx))
    refused = mx.mod.Module(symbol)
    refused.bind([("data", (4, 5))], [("softmax_label", (4,))])
    refused.init_params()
    return [plain(module.get_input_grads()), module.inputs_need_grad, error(refused.get_input_grads)]


@case
def requests_of_gradients(mx: Any) -> Any:
    found = []
    for request in ("write", "add", {"fc1_weight": "add", "fc1_bias": "null", "fc2_weight": "write"}):
        symbol = perceptron(mx)
        module = mx.mod.Module(symbol)
        wanted = request
        if isinstance(request, dict):
            wanted = {name: request.get(name, "null") for name in symbol.list_arguments()}
        module.bind([("data", (4, 5))], [("softmax_label", (4,))], grad_req=wanted)
        module.init_params(arg_params=values_for(mx, symbol, data=(4, 5)))
        for _ in range(2):
            module.forward(batch(mx), is_train=True)
            module.backward()
        arrays = module._exec_group.grad_arrays
        found.append([None if one is None or one[0] is None else plain(one[0]) for one in arrays])
    return found


# -- several modules -------------------------------------------------------------------------------------------------


@case
def shared_modules(mx: Any) -> Any:
    first = trained(mx, steps=1)
    second = mx.mod.Module(perceptron(mx))
    second.bind([("data", (2, 5))], [("softmax_label", (2,))], shared_module=first)
    second.borrow_optimizer(first)
    found = [second.params_initialized, second.optimizer_initialized]
    for size, module in ((2, second), (4, first), (2, second)):
        module.forward_backward(batch(mx, size))
        module.update()
    found += [weights(first), weights(second)]
    unbound = mx.mod.Module(perceptron(mx))
    third = mx.mod.Module(perceptron(mx))
    call = lambda: third.bind([("data", (2, 5))], [("softmax_label", (2,))], shared_module=unbound)  # noqa: E731
    found.append(error(call))
    return found


@case
def contexts_share_a_batch(mx: Any) -> Any:
    module = trained(mx, context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1, 1])
    pieces = [[list(piece.shape) for piece in output] for output in module.get_outputs(False)]
    return [weights(module), pieces, plain(module.get_outputs())]


@case
def modules_run_on_the_first_cpu_unless_told_otherwise(mx: Any) -> Any:
    with mx.cpu(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, model = mx.mod.Module(perceptron(mx)), mx.model.FeedForward(perceptron(mx))
        return [str(one) for one in (*module._context, *model.ctx)]


@case
def workloads(mx: Any) -> Any:
    found = []
    for load in ([1, 3], [2, 1], [1, 1]):
        module = mx.mod.Module(perceptron(mx), context=[mx.cpu(0), mx.cpu(1)], work_load_list=load)
        module.bind([("data", (8, 5))], [("softmax_label", (8,))])
        module.init_params(mx.init.One())
        module.forward(batch(mx, 8), is_train=False)
        found.append([[list(piece.shape) for piece in output] for output in module.get_outputs(False)])
    short = lambda: mx.mod.Module(perceptron(mx), context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1])  # noqa: E731
    found.append(error(short))
    return found


@case
def groups_of_contexts(mx: Any) -> Any:
    found = []
    for groups in ({"dev1": mx.cpu(1), "dev2": mx.cpu(2)}, {"dev1": [mx.cpu(1)], "dev2": [mx.cpu(2)]}, None):
        with mx.AttrScope(ctx_group="dev1"):
            hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
        with mx.AttrScope(ctx_group="dev2"):
            net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2"), name="softmax")
        module = mx.mod.Module(net, group2ctxs=groups)
        module.bind([("data", (4, 5))], [("softmax_label", (4,))])
        module.init_params(arg_params=values_for(mx, net, data=(4, 5)))
        module.init_optimizer(optimizer_params={"learning_rate": 0.1})
        for _ in range(2):
            module.forward_backward(batch(mx))
            module.update()
        found.append([weights(module), {n: str(a[0].context) for n, a in zip(
            module._exec_group.param_names, module._exec_group.param_arrays)}])  # fmt: skip
    return found


@case
def groups_for_each_context(mx: Any) -> Any:
    with mx.AttrScope(ctx_group="dev1"):
        hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
    with mx.AttrScope(ctx_group="dev2"):
        net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2"), name="softmax")
    contexts = [mx.cpu(0), mx.cpu(1)]
    groups = [{"dev1": mx.cpu(2), "dev2": mx.cpu(3)}, {"dev1": mx.cpu(4), "dev2": mx.cpu(5)}]
    module = mx.mod.Module(net, context=contexts, group2ctxs=groups)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(arg_params=values_for(mx, net, data=(4, 5)))
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    module.forward_backward(batch(mx))
    module.update()
    wrong = mx.mod.Module(net, context=contexts, group2ctxs=groups[:1] * 3)
    call = lambda: wrong.bind([("data", (4, 5))], [("softmax_label", (4,))])  # noqa: E731
    return [weights(module), error(call)]


# -- fit ---------------------------------------------------------------------------------------------------------------


def iterator(mx: Any, count: int = 8, size: int = 4, **options: Any) -> Any:
    return mx.io.NDArrayIter(ramp(count, 5), np.arange(count) % 3, batch_size=size, **options)


@case
def fit_resumes_from_an_epoch(mx: Any) -> Any:
    messages = Messages()
    symbol = perceptron(mx)
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "net")
        first = mx.mod.Module(symbol, logger=messages.logger)
        options = dict(optimizer="sgd", optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
        first.fit(iterator(mx), num_epoch=2, arg_params=values_for(mx, symbol, data=(4, 5)),
                  epoch_end_callback=mx.callback.module_checkpoint(first, prefix, 1, True), **options)  # fmt: skip
        second = mx.mod.Module.load(prefix, 2, True, logger=messages.logger)
        second.fit(iterator(mx), num_epoch=4, begin_epoch=2, **options)
        names = sorted(os.listdir(folder))
    first.fit(iterator(mx), num_epoch=4, begin_epoch=2, **options)
    lines = [line for line in messages.lines if "Time cost" not in line and "aved" not in line]
    return [weights(second), weights(first), names, lines]


@case
def fit_calls_back(mx: Any) -> Any:
    symbol, seen = perceptron(mx), []

    def batch_end(param: Any) -> None:
        local = param.locals
        names = sorted({"self", "data_batch", "eval_batch"} & set(local))
        seen.append([param.epoch, param.nbatch, param.eval_metric.get()[0], names])

    def epoch_end(epoch: int, sym: Any, args: Any, auxs: Any) -> None:
        seen.append([epoch, sym.list_outputs(), sorted(args), sorted(auxs)])

    def score_end(param: Any) -> None:
        seen.append(["score", param.epoch, param.nbatch])

    module = mx.mod.Module(symbol, logger=Messages().logger)
    module.fit(iterator(mx), iterator(mx), eval_metric=["acc", mx.metric.CrossEntropy()], num_epoch=2,
               batch_end_callback=[batch_end], epoch_end_callback=epoch_end, eval_end_callback=score_end,
               eval_batch_end_callback=batch_end, arg_params=values_for(mx, symbol, data=(4, 5)))  # fmt: skip
    return [seen, weights(module)]


@case
def fit_logs(mx: Any) -> Any:
    messages = Messages()
    symbol = perceptron(mx)
    module = mx.mod.Module(symbol, logger=messages.logger)
    module.fit(iterator(mx), iterator(mx), eval_metric="ce", num_epoch=2,
               arg_params=values_for(mx, symbol, data=(4, 5)))  # fmt: skip
    return [line if "Time" not in line else line.split("=")[0] for line in messages.lines]


@case
def fit_without_epochs(mx: Any) -> Any:
    return error(lambda: mx.mod.Module(perceptron(mx)).fit(iterator(mx)), "please specify number of epochs")


@case
def fit_with_a_monitor(mx: Any) -> Any:
    symbol = perceptron(mx)
    monitor = mx.mon.Monitor(1, lambda x: mx.nd.norm(x), pattern="fc2.*", sort=True)
    module = mx.mod.Module(symbol, logger=Messages().logger)
    seen: list[Any] = []
    monitor.toc_print = lambda: seen.extend([n, name, text] for n, name, text in monitor.toc())
    module.fit(iterator(mx), num_epoch=1, monitor=monitor, arg_params=values_for(mx, symbol, data=(4, 5)))
    return [[n, name, plain(float(text))] for n, name, text in seen]


@case
def initializers_of_fit(mx: Any) -> Any:
    symbol = perceptron(mx)
    given = values_for(mx, symbol, data=(4, 5))
    some = {name: given[name] for name in ("fc1_weight", "fc1_bias")}
    found = []
    module = mx.mod.Module(symbol, logger=Messages().logger)
    found.append(error(lambda: module.fit(iterator(mx), num_epoch=1, arg_params=some), "fc2_bias is not presented"))
    module = mx.mod.Module(symbol, logger=Messages().logger)
    module.fit(iterator(mx), num_epoch=1, arg_params=some, allow_missing=True, initializer=mx.init.One())
    found.append(weights(module))
    module.fit(iterator(mx), num_epoch=1, arg_params=given, force_init=True)
    found.append(weights(module))
    return found


# -- shapes and names ----------------------------------------------------------------------------------------------


@case
def batch_sizes_change(mx: Any) -> Any:
    module = trained(mx, steps=1)
    found = []
    for size in (2, 6, 4):
        module.forward_backward(batch(mx, size))
        module.update()
        found += [plain(module.get_outputs()), module.data_shapes[0].shape, module.label_shapes[0].shape]
    module.reshape([("data", (3, 5))], [("softmax_label", (3,))])
    module.forward(batch(mx, 3), is_train=False)
    return [plain(found), plain(module.get_outputs()), weights(module), [str(one) for one in module.data_shapes]]


@case
def other_widths(mx: Any) -> Any:
    data = mx.sym.var("data")
    symbol = mx.sym.mean(data, axis=(2, 3), name="pool")
    symbol = mx.sym.FullyConnected(symbol, num_hidden=2, name="fc")
    module = mx.mod.Module(symbol, label_names=None)
    module.bind([("data", (2, 3, 4, 4))], for_training=False)
    module.init_params(mx.init.One())
    found = []
    for shape in ((2, 3, 4, 4), (1, 3, 6, 2), (3, 3, 1, 1)):
        module.forward(mx.io.DataBatch([mx.nd.array(ramp(*shape))]))
        found.append(plain(module.get_outputs()))
    return found


@case
def names_that_do_not_match(mx: Any) -> Any:
    symbol = perceptron(mx)
    messages = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mx.mod.Module(symbol, label_names=["lable"])
        messages = [str(one.message) for one in caught]
    module = mx.mod.Module(symbol)
    return [
        error(
            lambda: mx.mod.Module(symbol, data_names=["date"]),
            "You created Module with Module(..., data_names=['date']) "
            "but input with name 'date' is not found in symbol.list_arguments(). Did you mean one of:",
        ),
        error(lambda: mx.mod.Module(symbol, data_names=["data", "more"]), "but input with name 'more' is not found"),
        [message.replace("\033[91m", "").replace("\033[0m", "") for message in messages],
        error(
            lambda: module.bind([("date", (4, 5))], [("softmax_label", (4,))]),
            "Data provided by data_shapes don't match names specified by data_names "
            "([DataDesc[date,(4, 5),<class 'numpy.float32'>,NCHW]] vs. ['data'])",
        ),
        error(lambda: module.bind([("data", (4, 5)), ("more", (4, 5))], [("softmax_label", (4,))]), "don't match"),
        error(lambda: module.bind([("data", (4, 5))], [("label", (4,))]), "label"),
    ]  # fmt: skip


@case
def without_labels(mx: Any) -> Any:
    symbol = perceptron(mx)
    module = mx.mod.Module(symbol)
    module.bind([("data", (4, 5))], for_training=False)
    module.init_params(arg_params=values_for(mx, symbol, data=(4, 5)))
    only = mx.io.NDArrayIter(ramp(10, 5), batch_size=4)
    found = [plain(module.predict(only)), [list(one.shape) for one in module.predict(only, merge_batches=False)[2]]]
    found.append([[n, list(outs[0].shape), one.pad] for outs, n, one in module.iter_predict(only, num_batch=2)])
    found.append([list(one.shape) for one in module.predict(only, num_batch=1, always_output_list=True)])
    found.append(module.label_shapes)
    found.append(plain(module.predict(ramp(4, 5))))
    return found


@case
def scores(mx: Any) -> Any:
    module = trained(mx, steps=1)
    data = iterator(mx, count=10)
    return [plain(module.score(data, "acc")), plain(module.score(data, ["acc", "ce"], num_batch=2)),
            plain(module.score(data, mx.metric.CrossEntropy(), reset=True, epoch=3))]  # fmt: skip


@case
def calls_in_a_wrong_order(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx))
    calls = [
        module.init_params, lambda: module.forward(batch(mx)), module.backward, module.update, module.get_outputs,
        module.get_params, module.init_optimizer, lambda: module.save_optimizer_states("x"), lambda: module.data_shapes,
        lambda: module.set_params({}, {}), lambda: module.score(iterator(mx), "acc"),
    ]  # fmt: skip
    return [error(call) for call in calls]


@case
def parameters_that_are_missing_or_too_many(mx: Any) -> Any:
    symbol = perceptron(mx)
    given = values_for(mx, symbol, data=(4, 5))
    module = mx.mod.Module(symbol)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    extra = dict(given, other=mx.nd.ones((1,)))
    fewer = {"fc1_weight": given["fc1_weight"]}
    shaped = dict(given, fc1_weight=mx.nd.ones((2, 2)))
    found = [
        error(lambda: module.set_params(extra, {}), "other"),
        error(lambda: module.set_params(fewer, {}), "not presented"),
        error(lambda: module.set_params(shaped, {})),
    ]  # fmt: skip
    module.set_params(extra, {}, allow_extra=True)
    found.append(weights(module))
    module.init_params(mx.init.One(), force_init=True)
    module.set_params(fewer, {}, allow_missing=True)
    found.append(weights(module))
    return found


# -- the other modules -------------------------------------------------------------------------------------------------


@case
def a_chain_of_modules(mx: Any) -> Any:
    first = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1"), act_type="tanh")
    second = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc2"), name="softmax")
    chain = mx.mod.SequentialModule(logger=Messages().logger)
    returned = chain.add(mx.mod.Module(first, label_names=[])).add(
        mx.mod.Module(second), take_labels=True, auto_wiring=True
    )
    given = {**values_for(mx, first, data=(4, 5)), **values_for(mx, second, data=(4, 4))}
    chain.fit(iterator(mx), num_epoch=2, arg_params=given, optimizer_params={"learning_rate": 0.1})
    return [returned is chain, weights(chain), chain.data_names, chain.output_names, plain(chain.predict(iterator(mx))),
            plain(chain.score(iterator(mx), "acc")), [str(one) for one in chain.data_shapes],
            [str(one) for one in chain.label_shapes], plain(chain.output_shapes)]  # fmt: skip


@case
def chains_that_do_not_fit(mx: Any) -> Any:
    one, two = perceptron(mx), perceptron(mx)
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(one), take_labels=True).add(mx.mod.Module(two), take_labels=True, auto_wiring=True)
    chain.bind([("data", (4, 5))], [("softmax_label", (4,))])
    empty = mx.mod.SequentialModule()
    return [
        error(chain.init_params, "Duplicated parameter names: ", '"fc1_weight"'),
        error(lambda: chain.add(mx.mod.Module(one), wiring=True), 'Unknown meta "wiring", a typo?'),
        error(lambda: empty.bind([("data", (4, 5))])),
    ]  # fmt: skip


@case
def a_loss_in_python(mx: Any) -> Any:
    first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    loss = mx.mod.PythonLossModule(
        name="square", data_names=["scores"], label_names=["softmax_label"],
        grad_func=lambda scores, labels: scores - mx.nd.one_hot(labels, 3),
    )  # fmt: skip
    chain = mx.mod.SequentialModule(logger=Messages().logger)
    chain.add(mx.mod.Module(first, label_names=None)).add(loss, take_labels=True, auto_wiring=True)
    given = values_for(mx, first, data=(4, 5))
    chain.fit(iterator(mx), num_epoch=3, arg_params=given, optimizer_params={"learning_rate": 0.1}, eval_metric="acc")
    return [weights(chain), plain(chain.score(iterator(mx), "acc")), loss.data_names, loss._label_names,
            loss.output_names, plain([tuple(one) for one in loss.output_shapes]), loss.get_params(),
            plain(chain.get_outputs())]  # fmt: skip


@case
def a_loss_in_python_without_a_gradient(mx: Any) -> Any:
    loss = mx.mod.PythonLossModule()
    loss.bind([("data", (4, 3))], [("softmax_label", (4,))], inputs_need_grad=True)
    loss.init_params()
    loss.forward(mx.io.DataBatch([mx.nd.array(ramp(4, 3))], [mx.nd.zeros((4,))]), is_train=True)
    found = [plain(loss.get_outputs()), error(loss.backward)]
    found.append(error(lambda: loss.backward([mx.nd.ones((4, 3))])))
    return found


@case
def a_module_in_python(mx: Any) -> Any:
    class Double(mx.mod.PythonModule):
        def _compute_output_shapes(self) -> Any:
            return [("double_output", self._data_shapes[0][1])]

        def forward(self, data_batch: Any, is_train: Any = None) -> None:
            self.found = data_batch.data[0] * 2

        def get_outputs(self, merge_multi_context: bool = True) -> Any:
            return [self.found]

    module = Double(["data"], None, ["double_output"], logger=Messages().logger)
    module.bind([mx.io.DataDesc("data", (2, 3))], for_training=False)
    module.init_params()
    module.init_optimizer()
    module.forward(mx.io.DataBatch([mx.nd.array(ramp(2, 3))]))
    module.update()
    return [plain(module.get_outputs()), module.data_names, module.output_names, plain(module.output_shapes),
            module.get_params(), module.label_shapes, module.for_training]  # fmt: skip


@case
def feed_forward(mx: Any) -> Any:
    symbol = perceptron(mx)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mx.model.FeedForward(
            symbol, num_epoch=2, optimizer="sgd", learning_rate=0.1, momentum=0.9, numpy_batch_size=4,
            arg_params=values_for(mx, symbol, data=(4, 5)), initializer=mx.init.Zero(),
        )  # fmt: skip
        model.fit(iterator(mx), eval_metric="acc", logger=Messages().logger)
        data = iterator(mx, count=10)
        found = [plain(model.arg_params), plain(model.predict(data)), plain(model.score(data))]
        outputs, given, labels = model.predict(data, return_data=True)
        found += [plain(outputs), plain(given), plain(labels)]
        found.append(plain(model.predict(ramp(3, 5))))
        with tempfile.TemporaryDirectory() as folder:
            model.save(os.path.join(folder, "m"))
            found.append(sorted(os.listdir(folder)))
            again = mx.model.FeedForward.load(os.path.join(folder, "m"), 2, ctx=mx.cpu())
        found += [again.begin_epoch, again.num_epoch, plain(again.arg_params), plain(again.predict(data))]
    return found


@case
def feed_forward_goes_on(mx: Any) -> Any:
    symbol, messages = perceptron(mx), Messages()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = values_for(mx, symbol, data=(4, 5))
        model = mx.model.FeedForward(symbol, num_epoch=3, begin_epoch=1, arg_params=given, learning_rate=0.1, wd=0.001)
        model.fit(iterator(mx), eval_data=iterator(mx), eval_metric="ce", logger=messages.logger)
        made = mx.model.FeedForward.create(
            symbol, iterator(mx), num_epoch=1, learning_rate=0.1, arg_params=given, logger=messages.logger
        )
    lines = [line for line in messages.lines if "Time cost" not in line]
    return [plain(model.arg_params), plain(made.arg_params), lines]


@case
def buckets(mx: Any) -> Any:
    def generate(length: int) -> Any:
        data = mx.sym.var("data")
        net = mx.sym.FullyConnected(mx.sym.sum(data, axis=1, name=f"sum{length}"), num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

    def one(length: int) -> Any:
        data = mx.nd.array(ramp(2, length, 4))
        return mx.io.DataBatch([data], [mx.nd.array([0, 2])], bucket_key=length,
                               provide_data=[mx.io.DataDesc("data", data.shape)],
                               provide_label=[mx.io.DataDesc("softmax_label", (2,))])  # fmt: skip

    module = mx.mod.BucketingModule(generate, 5, logger=Messages().logger)
    module.bind([("data", (2, 5, 4))], [("softmax_label", (2,))])
    module.init_params(arg_params={"fc_weight": mx.nd.array(ramp(3, 4)), "fc_bias": mx.nd.zeros((3,))})
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.1})
    found = []
    for length in (5, 3, 7, 3, 5):
        module.forward_backward(one(length))
        module.update()
        found.append([plain(module.get_outputs()), [str(d) for d in module.data_shapes], module.output_names])
    metric = mx.metric.create("ce")
    module.update_metric(metric, one(5).label)
    return [found, weights(module), plain(metric.get()), error(lambda: mx.mod.BucketingModule(generate)),
            module._curr_bucket_key, sorted(module._buckets)]  # fmt: skip


@case
def optimizers_of_modules(mx: Any) -> Any:
    found, messages = [], Messages()
    module = trained(mx, steps=1, logger=messages.logger)
    module.init_optimizer()
    module.init_optimizer(optimizer="adam", force_init=True)
    found.append(messages.lines)
    found.append(error(lambda: module.init_optimizer(optimizer="sdg", force_init=True)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.init_optimizer(optimizer=mx.optimizer.SGD(learning_rate=0.1), force_init=True)
        found.append([str(one.message) for one in caught])
    found.append([module._optimizer.rescale_grad, module._optimizer.idx2name])
    module.init_optimizer(kvstore="local", optimizer_params={"learning_rate": 0.5}, force_init=True)
    found.append([module._optimizer.rescale_grad, module._optimizer.lr, module._kvstore is None])
    module.init_optimizer(kvstore=None, optimizer_params=(("learning_rate", 0.25),), force_init=True)
    found.append([module._optimizer.lr, module._kvstore is None])
    return plain(found)
