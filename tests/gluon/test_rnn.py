"""Recurrent layers against their cells."""

from __future__ import annotations

import numpy as np
import pytest

from gluonjax import nd
from gluonjax.gluon import rnn


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
