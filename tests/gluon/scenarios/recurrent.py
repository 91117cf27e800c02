"""Recurrent layers and cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.gluon.scenarios.seen import numbers, raised, refused

Seen = list[Any]


def sequence(mx: Any, width: int = 4) -> Any:
    return mx.nd.array(np.random.RandomState(9).uniform(-1, 1, (3, 2, width)))


def fill(mx: Any, block: Any) -> None:
    for place, one in enumerate(block.collect_params().values()):
        one.set_data(mx.nd.array(np.random.RandomState(place).uniform(-0.6, 0.6, one.shape)))


def ready(mx: Any, cell: Any) -> Any:
    cell.initialize()
    cell.unroll(3, sequence(mx), layout="TNC")
    fill(mx, cell)
    return cell


def both_ways(mx: Any) -> Any:
    return mx.gluon.rnn.BidirectionalCell(mx.gluon.rnn.LSTMCell(2, prefix="l_"), mx.gluon.rnn.GRUCell(3, prefix="r_"))


def texts(mx: Any) -> Seen:
    rnn, contrib = mx.gluon.rnn, mx.gluon.contrib.rnn
    made = (
        rnn.RNNCell(3), rnn.RNNCell(3, input_size=4, activation="relu"), rnn.LSTMCell(3), rnn.GRUCell(3, input_size=2),
        rnn.DropoutCell(0.3), rnn.DropoutCell(0.3, axes=(1,)), rnn.ZoneoutCell(rnn.LSTMCell(3), 0.1, 0.2),
        rnn.ResidualCell(rnn.GRUCell(3)), both_ways(mx), rnn.SequentialRNNCell(), rnn.HybridSequentialRNNCell(),
        rnn.LSTM(3, 2), rnn.LSTM(3, 2, bidirectional=True, dropout=0.3, layout="NTC", input_size=5),
        rnn.RNN(2, activation="tanh"), rnn.GRU(4, input_size=3), rnn.LSTM(4, projection_size=2),
        contrib.LSTMPCell(3, 2), contrib.VariationalDropoutCell(rnn.LSTMCell(3), 0.1, 0.2, 0.3),
        contrib.Conv1DRNNCell((2, 5), 3, 3, 3), contrib.Conv2DLSTMCell((2, 5, 5), 3, 3, 3, i2h_pad=1),
        contrib.Conv3DGRUCell((2, 5, 5, 5), 3, (3, 3, 3), 1, activation="relu"),
    )  # fmt: skip
    return [[one, one.name, one.prefix, list(one.collect_params().keys())] for one in made]


def states(mx: Any) -> Seen:
    rnn, contrib = mx.gluon.rnn, mx.gluon.contrib.rnn
    made = (
        rnn.LSTMCell(3), rnn.RNNCell(3), rnn.GRUCell(2), contrib.LSTMPCell(3, 2),
        contrib.Conv2DLSTMCell((2, 5, 5), 3, 3, 3), rnn.ZoneoutCell(rnn.LSTMCell(3), 0.1, 0.2), rnn.LSTM(3, 2),
        rnn.GRU(2, bidirectional=True), rnn.LSTM(4, projection_size=2), both_ways(mx),
    )  # fmt: skip
    zeros = {"batch_size": 2, "func": mx.nd.zeros}
    return [[one.state_info(2), [state.shape for state in one.begin_state(**zeros)]] for one in made]


def states_of_layers(mx: Any) -> Seen:
    layer, x = mx.gluon.rnn.LSTM(3, 2), sequence(mx)
    layer.initialize()
    output, after = layer(x, layer.begin_state(2))
    seen = [layer(x).shape, output.shape, [one.shape for one in after], raised(layer, x, layer.begin_state(3))]
    gated = mx.gluon.rnn.GRU(3)
    gated.initialize()
    for hybrid in (False, True):
        gated.hybridize(hybrid)
        output, after = gated(x, mx.nd.zeros((1, 2, 3)))
        seen += [output.shape, type(after).__name__, len(after)]
    wrong = ({"layout": "CNT"}, {"foo": 1})
    return [*seen, *(refused(mx.gluon.rnn.LSTM, 3, **kwargs) for kwargs in wrong)]


def parameters_of_layers(mx: Any) -> Seen:
    rnn = mx.gluon.rnn
    made = (
        rnn.LSTM(3, 2, bidirectional=True, input_size=4, prefix="a_"), rnn.GRU(3, input_size=4, prefix="b_"),
        rnn.LSTM(4, projection_size=2, prefix="c_"),
    )  # fmt: skip
    return [[one.collect_params(), list(one._collect_params_with_prefix()), raised(one._unfuse)] for one in made]


def files_of_layers(mx: Any) -> Seen:
    layer = mx.gluon.rnn.LSTM(3, 2, prefix="a_")
    layer.initialize()
    layer(sequence(mx))
    fill(mx, layer)
    layer.save_parameters("f")
    layer.collect_params().save("g")
    other = mx.gluon.rnn.LSTM(3, 2)
    other.load_parameters("f")
    return [sorted(mx.nd.load("f")), sorted(mx.nd.load("g")), numbers(other(sequence(mx)))]


def cells_and_layers(mx: Any) -> Seen:
    rnn, width, seen = mx.gluon.rnn, {"input_size": 4}, []
    for layer in (rnn.LSTM(3, 2, bidirectional=True, **width), rnn.GRU(2, 2, **width), rnn.RNN(3, **width)):
        layer.initialize()
        fill(mx, layer)
        outputs, _ = layer._unfuse().unroll(3, sequence(mx), layout="TNC", merge_outputs=True)
        seen += [numbers(layer(sequence(mx))), numbers(outputs)]
    return seen


def lengths(mx: Any) -> Seen:
    rnn, seen = mx.gluon.rnn, []
    for cell in (rnn.LSTMCell(3), rnn.GRUCell(3), both_ways(mx), rnn.ResidualCell(rnn.RNNCell(4))):
        ready(mx, cell)
        for merge in (True, False):
            outputs, after = cell.unroll(
                3, sequence(mx), layout="TNC", merge_outputs=merge, valid_length=mx.nd.array([2, 3])
            )
            seen.append(numbers(outputs) if merge else [numbers(one) for one in outputs])
            seen.append([numbers(one) for one in after])
    return seen


def forms(mx: Any) -> Seen:
    cell, x, seen = ready(mx, mx.gluon.rnn.GRUCell(3)), sequence(mx), []
    for inputs, layout in ((x, "TNC"), ([x[step] for step in range(3)], "TNC"), (x.swapaxes(0, 1), "NTC")):
        for merge in (None, True, False):
            outputs, _ = cell.unroll(3, inputs, layout=layout, merge_outputs=merge)
            merged = not isinstance(outputs, list)
            seen.append(["one", outputs.shape] if merged else [one.shape for one in outputs])
    return seen


def stacks(mx: Any) -> Seen:
    rnn = mx.gluon.rnn
    whole = rnn.SequentialRNNCell(prefix="s_")
    with whole.name_scope():
        for cell in (rnn.LSTMCell(3), rnn.DropoutCell(0.2), rnn.GRUCell(2)):
            whole.add(cell)
    seen = [whole, len(whole), whole[0], whole[2], whole.state_info(2), list(whole.collect_params())]
    ready(mx, whole)
    output, after = whole(mx.nd.ones((2, 4)), whole.begin_state(batch_size=2, func=mx.nd.zeros))
    return [*seen, numbers(output), [one.shape for one in after]]


def what_cannot_be_stepped(mx: Any) -> Seen:
    rnn, contrib = mx.gluon.rnn, mx.gluon.contrib.rnn
    cell = both_ways(mx)
    whole = rnn.SequentialRNNCell()
    whole.add(cell)
    inner = rnn.LSTMCell(3)
    rnn.ResidualCell(inner)
    return [
        raised(cell, mx.nd.ones((2, 4)), []), raised(inner.begin_state, 2), raised(rnn.ZoneoutCell, both_ways(mx)),
        raised(contrib.VariationalDropoutCell, both_ways(mx), drop_states=0.2),
        refused(contrib.Conv2DLSTMCell, (2, 5, 5), 3, 3, 2),
    ]  # fmt: skip


def counters(mx: Any) -> Seen:
    cell = mx.gluon.rnn.LSTMCell(3)
    cell.initialize()
    for _ in range(2):
        cell(mx.nd.ones((1, 2)), cell.begin_state(1))
    seen = [cell._counter, cell._init_counter]
    cell.reset()
    return [*seen, cell._counter, cell._init_counter]
