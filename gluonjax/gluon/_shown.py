"""What else MXNet's Gluon modules show: names that they import, and that programs import from them."""

from __future__ import annotations

from gluonjax._base.shown import show_also

_NUMBERS = "base:numeric_types"
_MODES = "util:is_np_array util:is_np_shape"
_ZOO = "context:cpu gluon.block:HybridBlock"
_EVENTS = " ".join(
    f"gluon.contrib.estimator.event_handler:{moment}{point}"
    for moment in ("Train", "Epoch", "Batch") for point in ("Begin", "End")
)  # fmt: skip

SHOWN = {
    "block": "base:MXNetError ndarray:NDArray symbol:Symbol symbol:load_json util:is_np_array util:np_array "
    "util:np_shape gluon.parameter:DeferredInitializationError",
    "contrib.cnn.conv_layers": _NUMBERS,
    "contrib.estimator.estimator": f"{_EVENTS} gluon_loss=gluon.loss:Loss metric_loss=metric:Loss "
    "gluon.utils:split_and_load",
    "contrib.estimator.event_handler": "metric:CompositeEvalMetric metric:EvalMetric metric_loss=metric:Loss",
    "contrib.rnn.conv_rnn_cell": _NUMBERS,
    "contrib.rnn.rnn_cell": "gluon.rnn:SequentialRNNCell gluon.parameter:tensor_types",
    "contrib.data.text": "gluon.utils:check_sha1 gluon.utils:download",
    "data.dataloader": f"{_MODES} util:set_np",
    "data.vision.datasets": "gluon.utils:check_sha1 util:is_np_array",
    "data.vision.transforms": f"{_NUMBERS} util:is_np_array",
    "loss": f"{_NUMBERS} util:is_np_array",
    "nn.activations": "util:is_np_array",
    "nn.basic_layers": "util:is_np_array",
    "nn.conv_layers": f"{_NUMBERS} util:is_np_array",
    "parameter": f"base:MXNetError context:Context context:cpu {_MODES} gluon.utils:shape_is_known",
    "rnn.rnn_cell": f"{_NUMBERS} base:string_types gluon.parameter:tensor_types gluon.block:Block "
    "gluon.block:HybridBlock gluon.nn:LeakyReLU",
    "rnn.rnn_layer": "util:is_np_array",
    "trainer": "kvstore:KVStore",
    **{f"model_zoo.vision.{name}": _ZOO for name in ("alexnet", "densenet", "inception", "squeezenet", "vgg")},
    "model_zoo.vision.mobilenet": "context:cpu",
    "model_zoo.vision.resnet": "context:cpu util:is_np_array",
}

show_also("gluonjax.gluon", SHOWN)
