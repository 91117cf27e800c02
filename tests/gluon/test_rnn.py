"""Recurrent layers against their cells."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import nd
from gluonjax.gluon import rnn
from gluonjax.gluon.contrib.rnn import LSTMPCell


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", [rnn.RNN, rnn.LSTM, rnn.GRU])
def test_layer_equals_its_cells(kind: type, bidirectional: bool) -> None:
    layer = kind(3, 2, bidirectional=bidirectional)
    layer.initialize()
    x = nd.array(np.random.default_rng(0).normal(size=(4, 2, 5)))
    output = layer(x)
    expected, _ = layer._unfuse().unroll(4, x, layout="TNC", merge_outputs=True)
    np.testing.assert_allclose(output.asnumpy(), expected.asnumpy(), atol=1e-5)


def test_outputs_beyond_the_length_are_zero() -> None:
    cell = rnn.GRUCell(3, input_size=2)
    cell.initialize()
    outputs, states = cell.unroll(4, nd.ones((2, 4, 2)), merge_outputs=True, valid_length=nd.array([1, 4]))
    assert (outputs[0, 1:].asnumpy() == 0).all() and (outputs[1].asnumpy() != 0).all()
    np.testing.assert_allclose(states[0][0].asnumpy(), outputs[0, 0].asnumpy(), rtol=1e-6)


def test_files_name_parameters_after_cells() -> None:
    assert list(rnn.LSTM(3, prefix="a_")._collect_params_with_prefix()) == [
        "_unfused.0.i2h_weight", "_unfused.0.h2h_weight", "_unfused.0.i2h_bias", "_unfused.0.h2h_bias",
    ]  # fmt: skip


def test_bidirectional_cells_cannot_be_stepped() -> None:
    cell = rnn.BidirectionalCell(rnn.RNNCell(3), rnn.RNNCell(3))
    with pytest.raises(NotImplementedError, match="Please use unroll"):
        cell(nd.ones((2, 3)), [])


@pytest.mark.parametrize("kind", [rnn.LSTM, rnn.GRU, rnn.RNN])
@pytest.mark.parametrize("hybrid", [False, True])
def test_lengths_of_sequences_as_the_cells_take_them(kind: type, hybrid: bool) -> None:
    layer = kind(3, input_size=4, use_sequence_length=True)
    layer.initialize(mx.init.Uniform(0.5))
    x, lengths = nd.array(np.random.default_rng(1).normal(size=(5, 3, 4))), nd.array([2, 5, 1])
    expected, last = layer._unfuse().unroll(5, x, layout="TNC", merge_outputs=True, valid_length=lengths)
    if hybrid:
        layer.hybridize()
    output, states = layer(x, layer.begin_state(3), lengths)
    np.testing.assert_allclose(output.asnumpy(), expected.asnumpy(), atol=1e-5)
    states = states if isinstance(states, list) else [states]
    for one, other in zip(states, last):
        np.testing.assert_allclose(one.asnumpy()[0], other.asnumpy(), atol=1e-5)
    np.testing.assert_allclose(layer(x, sequence_length=lengths).asnumpy(), output.asnumpy(), atol=1e-6)


def test_both_directions_stop_at_the_length() -> None:
    layer = rnn.LSTM(2, input_size=3, bidirectional=True, use_sequence_length=True)
    layer.initialize(mx.init.Uniform(0.5))
    x = np.random.default_rng(1).normal(size=(4, 2, 3))
    whole = layer(nd.array(x), layer.begin_state(2), nd.array([3, 4]))[0].asnumpy()
    alone = layer(nd.array(x[:3, :1]), layer.begin_state(1), nd.array([3]))[0].asnumpy()
    np.testing.assert_allclose(whole[:3, :1], alone, atol=1e-6)
    assert (whole[3, 0] == 0).all()


def test_projection_is_that_of_the_cell() -> None:
    layer = rnn.LSTM(4, projection_size=2, input_size=3)
    cell = LSTMPCell(4, 2, input_size=3)
    for block in (layer, cell):
        block.initialize(mx.init.Uniform(0.5))
    mine = {name.partition("l0_")[2]: one for name, one in layer.collect_params().items()}
    for name, one in cell.params.items():
        one.set_data(mine[name.removeprefix(cell.prefix)].data())
    x = nd.array(np.random.default_rng(2).normal(size=(4, 2, 3)))
    expected, _ = cell.unroll(4, x, layout="TNC", merge_outputs=True)
    np.testing.assert_allclose(layer(x).asnumpy(), expected.asnumpy(), atol=1e-5)


@pytest.mark.parametrize("kind", [rnn.LSTM, rnn.GRU])
def test_states_come_back_where_they_were_given(kind: type) -> None:
    layer, x = kind(3, input_size=4), nd.ones((5, 2, 4))
    layer.initialize()
    layer.hybridize()
    for _ in range(2):
        assert layer(x).shape == (5, 2, 3)
        output, states = layer(x, layer.begin_state(2))
        assert output.shape == (5, 2, 3) and states[0].shape == (1, 2, 3)
