"""Cells to unroll and graphs to convert, for either package; the recorder and the tests share them."""

from __future__ import annotations

import hashlib
import json

LENGTH, BATCH, WIDTH = 3, 2, 5


def stack(mx, *cells):
    """The cells on top of each other."""
    whole = mx.rnn.SequentialRNNCell()
    for cell in cells:
        whole.add(cell)
    return whole


def conv(mx, kind, **kwargs):
    """A convolutional cell for images of 8 x 6."""
    make = getattr(mx.rnn, f"Conv{kind}Cell")
    shapes = {"input_shape": (1, 3, 8, 6), "h2h_kernel": (3, 5), "h2h_dilate": (1, 2), "i2h_stride": (2, 1)}
    return make(num_hidden=4, **shapes, **kwargs)


CELLS = {
    "rnn": lambda mx: mx.rnn.RNNCell(3, activation="relu", prefix="r_"),
    "lstm": lambda mx: mx.rnn.LSTMCell(3, forget_bias=2.0),
    "gru": lambda mx: mx.rnn.GRUCell(3),
    "fused_lstm": lambda mx: mx.rnn.FusedRNNCell(3, 2, "lstm", get_next_state=True, prefix="f_"),
    "fused_gru": lambda mx: mx.rnn.FusedRNNCell(3, 2, "gru", bidirectional=True, dropout=0.3),
    "unfused_gru": lambda mx: mx.rnn.FusedRNNCell(3, 3, "gru", bidirectional=True, dropout=0.3, prefix="x_").unfuse(),
    "unfused_rnn": lambda mx: mx.rnn.FusedRNNCell(3, 2, "rnn_relu", prefix="x_").unfuse(),
    "stack": lambda mx: stack(
        mx, mx.rnn.LSTMCell(3, prefix="a_"), mx.rnn.DropoutCell(0.2), mx.rnn.GRUCell(4, prefix="b_")
    ),
    "both_ways": lambda mx: mx.rnn.BidirectionalCell(
        mx.rnn.FusedRNNCell(3, mode="gru", prefix="a_"), mx.rnn.GRUCell(4, prefix="b_"), output_prefix="o_"
    ),
    "zoneout": lambda mx: mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(5, prefix="z_"), 0.2, 0.3),
    "residual": lambda mx: mx.rnn.ResidualCell(mx.rnn.GRUCell(5, prefix="g_")),
    "residual_fused": lambda mx: mx.rnn.ResidualCell(mx.rnn.FusedRNNCell(5, mode="rnn_tanh", prefix="g_")),
    "conv_rnn": lambda mx: conv(mx, "RNN", activation="tanh"),
    "conv_lstm": lambda mx: conv(mx, "LSTM"),
    "conv_gru": lambda mx: conv(mx, "GRU", i2h_weight_initializer=mx.init.Normal(0.1)),
}
FORMS = [
    ("list", "NTC", None), ("list", "TNC", True), ("one", "NTC", False), ("one", "TNC", None), ("one", "NTC", True),
]  # fmt: skip
UNROLLS = [(name, *form) for name in CELLS for form in FORMS if not (name.startswith("conv") and form[1] == "TNC")]


def flat(value):
    """The symbols in nested lists."""
    return [one for entry in value for one in flat(entry)] if isinstance(value, (list, tuple)) else [value]


def unroll(mx, name, inputs, layout, merge):
    """What is to be equal of an unrolled cell: the JSON as a digest, and what helps to see a difference."""
    with mx.name.NameManager():
        cell = CELLS[name](mx)
        step = (BATCH, 3, 8, 6) if name.startswith("conv") else (BATCH, WIDTH)
        if inputs == "one":
            data = mx.sym.Variable("x")
            shapes = {"x": (LENGTH, *step) if layout == "TNC" else (BATCH, LENGTH, *step[1:])}
        else:
            data = [mx.sym.Variable(f"x{index}") for index in range(LENGTH)]
            shapes = {f"x{index}": step for index in range(LENGTH)}
        outputs, states = cell.unroll(LENGTH, data, layout=layout, merge_outputs=merge)
        symbol = mx.sym.Group(flat([outputs, states]))
    return {
        "json": hashlib.sha256(symbol.tojson().encode()).hexdigest(),
        "nodes": " ".join(node["name"] for node in json.loads(symbol.tojson())["nodes"]),
        "shapes": str(symbol.infer_shape(**shapes)[:2]),
        "states": str(cell.state_info),
        "params": sorted(cell.params._params),
    }


def image_net(mx):
    """Convolution, normalization, sums, exponentials, matrix products, a loss."""
    pooled = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=4, kernel=(3, 3), name="c1")
    pooled = mx.sym.Activation(mx.sym.BatchNorm(pooled, name="bn"), act_type="softrelu", name="act")
    pooled = mx.sym.Pooling(pooled, kernel=(2, 2), name="pool")
    total = mx.sym.elemwise_add(mx.sym.Convolution(pooled, num_filter=4, kernel=(1, 1), name="c2"), pooled, name="plus")
    grown = mx.sym.flatten(mx.sym.exp(total, name="e") + total, name="fl")
    dense = mx.sym.FullyConnected(grown, num_hidden=5, name="fc")
    product = mx.sym.dot(dense, mx.sym.Variable("w2"), name="dd")
    return mx.sym.SoftmaxOutput(mx.sym.concat(dense, product, dim=1, name="cc"), name="softmax")


def branches(mx):
    """Several outputs, some of them conditional, and a variable with a type of its own."""
    dense = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    left, right = mx.sym.split(dense, num_outputs=2, axis=1, name="sp")
    total = mx.sym.broadcast_add(left, right, name="z")
    log = mx.sym.log(left, name="q")
    choice = mx.sym.where(total > 0, total, log, name="wh")
    last = mx.sym.FullyConnected(choice, mx.sym.Variable("w", dtype="float32"), num_hidden=4, name="fc2")
    bent = [mx.sym.LeakyReLU(last, act_type=kind, name=kind) for kind in ("elu", "leaky")]
    return mx.sym.Group([last, total, log, dense, *bent])


def words(mx):
    """Numbers of words as input, and a sum with a variable."""
    table = mx.sym.Embedding(mx.sym.Variable("ids"), input_dim=5, output_dim=3, name="emb")
    return mx.sym.LayerNorm(mx.sym.FullyConnected(table, num_hidden=3, name="fc") + mx.sym.Variable("k"), name="ln")


NETS = {"image": image_net, "branches": branches, "words": words}
INPUTS = ("data", "ids", "softmax_label")
CONVERSIONS = [
    (net, dtype, form)
    for net in NETS
    for dtype in ("float16", "bfloat16")
    for form in ("plain", "stored", "excluded", "lists")
    if not (form == "lists" and dtype == "bfloat16")
]


def convert(mx, amp, net, dtype, form):
    """The JSON of a converted graph."""
    with mx.name.NameManager():
        symbol = NETS[net](mx)
    kwargs = {"data_names": [name for name in symbol.list_inputs() if name in INPUTS]}
    if form == "stored":
        kwargs["cast_optional_params"] = True
    elif form == "excluded":
        kwargs["excluded_sym_names"] = ["fc", "c2"]
    elif form == "lists":
        kwargs.update(target_dtype_ops=["FullyConnected", "log"], fp32_ops=["Convolution", "SoftmaxOutput"])
        kwargs["conditional_fp32_ops"] = [("LeakyReLU", "act_type", ["leaky"])]
    converted = amp.convert_symbol(symbol, dtype, **kwargs)
    graph = json.loads(converted.tojson(remove_amp_cast=False))
    names = [node["name"] for node in graph["nodes"]]
    lines = [
        f"{node['op']} {node['name']} {sorted(node.get('attrs', {}).items())} "
        f"<- {[(names[source], index) for source, index, _ in node['inputs']]}"
        for node in graph["nodes"]
    ]
    return [*lines, str(graph["heads"])]
