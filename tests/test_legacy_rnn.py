"""mx.rnn: graphs equal to MXNet's, weights that pack and unpack, training, checkpoints, bucketing."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import gluonjax as mx
from tests import legacy_rnn_cases as cases

REFERENCES = json.loads((pathlib.Path(__file__).parent / "data" / "legacy_rnn.json").read_text())
pytestmark = pytest.mark.filterwarnings("ignore:NTC layout detected")


@pytest.mark.parametrize("case", cases.UNROLLS, ids=lambda case: "-".join(map(str, case)))
def test_graph_is_mxnets(case):
    assert cases.unroll(mx, *case) == REFERENCES[" ".join(map(str, case))]


def run(cell, values, length=3, width=5, batch=2):
    data = mx.sym.Variable("x")
    outputs, _ = cell.unroll(length, data, merge_outputs=True)
    x = mx.nd.array(np.random.RandomState(1).uniform(-1, 1, (batch, length, width)))
    executor = outputs.simple_bind(mx.cpu(), x=x.shape, grad_req="null")
    executor.copy_params_from(values, allow_extra_params=True)
    return executor.forward(x=x)[0].asnumpy()


def random_values(cell, length=3, width=5):
    outputs, _ = cell.unroll(length, mx.sym.Variable("x"), merge_outputs=True)
    shapes = dict(zip(outputs.list_arguments(), outputs.infer_shape(x=(2, length, width))[0]))
    random = np.random.RandomState(0)
    return {n: mx.nd.array(random.uniform(-1, 1, s)) for n, s in shapes.items() if n in cell.params._params}


@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_unfused_cells_compute_what_the_fused_one_does(mode, bidirectional):
    fused = mx.rnn.FusedRNNCell(4, 2, mode, bidirectional, prefix="p_")
    values = random_values(fused)
    unpacked = fused.unpack_weights(values)
    stack = fused.unfuse()
    np.testing.assert_allclose(run(fused, values), run(stack, stack.pack_weights(unpacked)), rtol=1e-5, atol=1e-6)
    repacked = fused.pack_weights(unpacked)
    np.testing.assert_array_equal(repacked["p_parameters"].asnumpy(), values["p_parameters"].asnumpy())
    suffix = "_f" if mode == "lstm" else "_z" if mode == "gru" else ""
    assert unpacked[f"p_l1_i2h{suffix}_weight"].shape == (4, 8 if bidirectional else 4)


def test_fused_cell_refuses_a_vector_of_another_size():
    cell = mx.rnn.FusedRNNCell(4, prefix="p_")
    with pytest.raises(mx.MXNetError, match="Invalid parameters size"):
        cell.unpack_weights({"p_parameters": mx.nd.zeros((7,))})


def test_initializer_of_a_fused_cell_sets_the_forget_bias():
    cell = mx.rnn.FusedRNNCell(3, 1, "lstm", forget_bias=2.5, prefix="p_")
    outputs, _ = cell.unroll(2, mx.sym.Variable("x"), merge_outputs=True)
    module = mx.mod.Module(outputs, ["x"], None)
    module.bind([("x", (2, 2, 5))], for_training=False)
    module.init_params(mx.init.Uniform(0.1))
    values = cell.unpack_weights(module.get_params()[0])
    assert (values["p_l0_i2h_f_bias"].asnumpy() == 2.5).all()
    assert 0 < np.abs(values["p_l0_i2h_i_weight"].asnumpy()).max() <= 0.1


def test_errors_say_what_to_do():
    with pytest.raises(NotImplementedError, match="use unroll"):
        mx.rnn.FusedRNNCell(3)(mx.sym.Variable("x"), [])
    both = mx.rnn.BidirectionalCell(mx.rnn.GRUCell(3, "a_"), mx.rnn.GRUCell(3, "b_"))
    with pytest.raises(mx.MXNetError, match="doesn't support zoneout"):
        mx.rnn.ZoneoutCell(cases.stack(mx, both))
    base = mx.rnn.GRUCell(3)
    mx.rnn.ResidualCell(base)
    with pytest.raises(mx.MXNetError, match="Call the modifier cell instead"):
        base.begin_state()
    with pytest.raises(mx.MXNetError, match="2 input symbols for 3 steps"):
        mx.rnn.GRUCell(3).unroll(3, [mx.sym.Variable("a"), mx.sym.Variable("b")])
    with pytest.raises(mx.MXNetError, match="unroll"):
        mx.rnn.GRUCell(3).unroll(3, None)


def test_begin_state_reaches_through_modifiers_and_stacks():
    cell = cases.stack(mx, mx.rnn.ResidualCell(mx.rnn.LSTMCell(3, prefix="a_")), mx.rnn.GRUCell(4, prefix="b_"))
    states = cell.begin_state(func=mx.sym.Variable)
    assert [state.name for state in states] == ["a_begin_state_0", "a_begin_state_1", "b_begin_state_0"]
    assert states[0].attr("__layout__") == "NC"


def test_shared_params_are_one_set_of_variables():
    params = mx.rnn.RNNParams("s_")
    first, second = mx.rnn.GRUCell(3, "a_", params), mx.rnn.GRUCell(3, "b_", params)
    assert first._iW is second._iW
    with pytest.raises(mx.MXNetError, match="not both"):
        mx.rnn.SequentialRNNCell(params=params).add(first)


def test_checkpoints_hold_unpacked_weights(tmp_path):
    cell = mx.rnn.FusedRNNCell(3, 1, "gru", prefix="p_")
    values = random_values(cell)
    outputs, _ = cell.unroll(3, mx.sym.Variable("x"), merge_outputs=True)
    callback = mx.rnn.do_rnn_checkpoint(cell, str(tmp_path / "net"), period=2)
    callback(0, outputs, values, {})
    assert not list(tmp_path.iterdir())
    callback(1, outputs, values, {})
    assert "p_l0_h2h_z_bias" in mx.model.load_checkpoint(str(tmp_path / "net"), 2)[1]
    symbol, args, aux = mx.rnn.load_rnn_checkpoint([cell], str(tmp_path / "net"), 2)
    assert symbol.tojson() == outputs.tojson() and aux == {}
    np.testing.assert_array_equal(args["p_parameters"].asnumpy(), values["p_parameters"].asnumpy())


def test_rnn_unroll_makes_inputs():
    with pytest.warns(UserWarning, match="deprecated"):
        outputs, _ = mx.rnn.rnn_unroll(mx.rnn.RNNCell(3, prefix="r_"), 2, input_prefix="in_")
    assert "in_t1_data" in outputs[1].list_arguments()


def test_encode_sentences():
    numbers, vocab = mx.rnn.encode_sentences([["a", "b"], ["b", "c"]], invalid_label=1, start_label=0)
    assert numbers == [[0, 2], [2, 3]] and vocab == {"\n": 1, "a": 0, "b": 2, "c": 3}
    known, _ = mx.rnn.encode_sentences([["a", "z"]], vocab=dict(vocab), unknown_token="c")
    assert known[0][0] == 0
    with pytest.raises(mx.MXNetError, match="Unknown token z"):
        mx.rnn.encode_sentences([["z"]], vocab=vocab)


@pytest.mark.parametrize("layout", ["NT", "TN"])
def test_bucket_iterator_labels_are_the_next_words(layout, capsys):
    sentences = [[1, 2, 3]] * 4 + [[4, 5]] * 5 + [[1] * 9]
    batches = mx.rnn.BucketSentenceIter(sentences, 2, buckets=[3, 2, 5], invalid_label=0, layout=layout)
    assert "discarded 1 sentences" in capsys.readouterr().out
    assert batches.buckets == [2, 3] and batches.default_bucket_key == 3
    assert batches.provide_data[0].shape == ((2, 3) if layout == "NT" else (3, 2))
    seen = list(batches)
    assert sorted(batch.bucket_key for batch in seen) == [2, 2, 3, 3]
    for batch in seen:
        data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
        if layout == "TN":
            data, label = data.T, label.T
        assert data.shape == (2, batch.bucket_key)
        np.testing.assert_array_equal(label[:, :-1], data[:, 1:])
        assert (label[:, -1] == 0).all()
    batches.reset()
    assert len(list(batches)) == 4


def test_bucketing_module_learns():
    random = np.random.RandomState(0)
    drawn = random.randint(0, 6, (40, 2)) % [6, 2] + [0, 4]
    sentences = [[(start + k) % 6 + 1 for k in range(length)] for start, length in drawn]
    batches = mx.rnn.BucketSentenceIter(sentences, 4, buckets=[4, 5], invalid_label=0)
    cell = cases.stack(mx, mx.rnn.LSTMCell(8, prefix="l_"))

    def symbol_of(length):
        data = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=7, output_dim=6, name="embed")
        cell.reset()
        outputs, _ = cell.unroll(length, data, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 8)), num_hidden=7, name="pred")
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(scores, label, name="softmax"), ("data",), ("softmax_label",)

    mx.random.seed(0)
    module = mx.mod.BucketingModule(symbol_of, batches.default_bucket_key)
    metric = mx.metric.Accuracy()
    module.fit(
        batches, eval_metric=metric, num_epoch=15, optimizer="adam", optimizer_params={"learning_rate": 0.05},
        initializer=mx.init.Xavier(),
    )  # fmt: skip
    # Where a sentence ends can hardly be known; all other words can.
    assert metric.get()[1] > 0.8
