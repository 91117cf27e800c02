"""Heavy operators, forward and with gradient, on gluonjax and the real MXNet 1.9.1 in turn; prints ratios.

    python examples/benchmarks/heavy_ops.py --mxnet /path/to/python-with-mxnet [--only NAME ...] [--rounds 3]

MXNet runs with its defaults. Its OpenMP threads spin for a while after each burst of work, so processes pause
before they measure. A case counts where MXNet needs over 5 ms; none of those should be over 2.
"""

import argparse
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
RANDOM = np.random.RandomState(0)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def uniform(*shape):
    return RANDOM.uniform(size=shape).astype(np.float32)


def boxes(count, size):
    """Regions (image number, left, top, right, bottom) inside of a picture."""
    corner = RANDOM.uniform(0, size * 0.6, (count, 2))
    return np.concatenate(
        [np.zeros((count, 1)), corner, corner + RANDOM.uniform(size * 0.1, size * 0.4, (count, 2))], 1
    ).astype(np.float32)


def corners(*shape):
    """Boxes (left, top, right, bottom) in the unit square."""
    corner = RANDOM.uniform(0, 0.7, (*shape, 2))
    return np.concatenate([corner, corner + RANDOM.uniform(0.05, 0.3, (*shape, 2))], -1).astype(np.float32)


def detections(batch, count):
    """Rows (class, score, box) for box_nms."""
    kind = RANDOM.randint(0, 20, (batch, count, 1))
    return np.concatenate([kind, uniform(batch, count, 1), corners(batch, count)], -1).astype(np.float32)


def labels(batch, count):
    """Rows (class, box) for MultiBoxTarget."""
    return np.concatenate([RANDOM.randint(0, 20, (batch, count, 1)), corners(batch, count)], -1).astype(np.float32)


def convolution(data, filters, kernel, **attrs):
    weight = normal(filters, data[1] // attrs.get("num_group", 1), *kernel) * 0.1
    return "Convolution", [normal(*data), weight], {
        "kernel": kernel, "num_filter": filters, "no_bias": True, **attrs
    }, 2  # fmt: skip


def deconvolution(data, filters, kernel, **attrs):
    weight = normal(data[1], filters // attrs.get("num_group", 1), *kernel) * 0.1
    return "Deconvolution", [normal(*data), weight], {
        "kernel": kernel, "num_filter": filters, "no_bias": True, **attrs
    }, 2  # fmt: skip


def recurrent(mode, steps, batch, size, layers=1, bidirectional=False):
    gates = {"lstm": 4, "gru": 3, "rnn_tanh": 1}[mode]
    ways = 2 if bidirectional else 1
    count, width = 0, size
    for _ in range(layers):
        count += ways * gates * size * (width + size + 2)
        width = ways * size
    states = [np.zeros((layers * ways, batch, size), np.float32)] * (2 if mode == "lstm" else 1)
    attrs = {"state_size": size, "num_layers": layers, "mode": mode, "bidirectional": bidirectional}
    return "RNN", [normal(steps, batch, size), normal(count) * 0.1, *states], attrs, 2


# name -> (operator, inputs, attributes, how many of the inputs get gradients)
CASES = {
    "convolution 3x3": lambda: convolution((8, 64, 56, 56), 64, (3, 3), pad=(1, 1)),
    "convolution 3x3, stride 2": lambda: convolution((8, 64, 56, 56), 128, (3, 3), pad=(1, 1), stride=(2, 2)),
    "convolution 1x1": lambda: convolution((8, 256, 28, 28), 128, (1, 1)),
    "convolution 1x1, stride 2": lambda: convolution((8, 256, 56, 56), 128, (1, 1), stride=(2, 2)),
    "convolution 7x7 stem": lambda: convolution((4, 3, 224, 224), 64, (7, 7), pad=(3, 3), stride=(2, 2)),
    "convolution 3x3, 32 groups": lambda: convolution((8, 128, 28, 28), 128, (3, 3), pad=(1, 1), num_group=32),
    "convolution 3x3, depthwise": lambda: convolution((8, 128, 56, 56), 128, (3, 3), pad=(1, 1), num_group=128),
    "convolution 3x3, dilated": lambda: convolution((8, 64, 28, 28), 64, (3, 3), pad=(2, 2), dilate=(2, 2)),
    "convolution 3-d": lambda: convolution((2, 16, 16, 28, 28), 32, (3, 3, 3), pad=(1, 1, 1)),
    "convolution 1-d": lambda: convolution((16, 64, 512), 64, (5,), pad=(2,)),
    "deconvolution 4x4, stride 2": lambda: deconvolution((8, 64, 28, 28), 32, (4, 4), stride=(2, 2), pad=(1, 1)),
    "deconvolution 3x3": lambda: deconvolution((8, 64, 28, 28), 64, (3, 3), pad=(1, 1)),
    "deconvolution, depthwise": lambda: deconvolution(
        (8, 64, 28, 28), 64, (4, 4), stride=(2, 2), pad=(1, 1), num_group=64
    ),
    "max pooling 3x3": lambda: ("Pooling", [normal(8, 64, 112, 112)], {
        "kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "max"}, 1),
    "average pooling 2x2": lambda: ("Pooling", [normal(8, 64, 112, 112)], {
        "kernel": (2, 2), "stride": (2, 2), "pool_type": "avg"}, 1),
    "global average pooling": lambda: ("Pooling", [normal(16, 512, 28, 28)], {
        "kernel": (1, 1), "global_pool": True, "pool_type": "avg"}, 1),
    "batch norm": lambda: ("BatchNorm", [
        normal(16, 64, 56, 56), np.ones(64, "f"), np.zeros(64, "f"), np.zeros(64, "f"), np.ones(64, "f")],
        {"fix_gamma": False}, 3),
    "layer norm": lambda: ("LayerNorm", [normal(64, 128, 256), np.ones(256, "f"), np.zeros(256, "f")], {}, 3),
    "instance norm": lambda: ("InstanceNorm", [normal(8, 64, 56, 56), np.ones(64, "f"), np.zeros(64, "f")], {}, 3),
    "group norm": lambda: ("GroupNorm", [normal(8, 64, 56, 56), np.ones(8, "f"), np.zeros(8, "f")], {
        "num_groups": 8}, 3),
    "L2 normalization": lambda: ("L2Normalization", [normal(8, 64, 56, 56)], {"mode": "channel"}, 1),
    "LRN": lambda: ("LRN", [normal(8, 64, 56, 56)], {"nsize": 5}, 1),
    "fully connected": lambda: ("FullyConnected", [normal(128, 2048), normal(1024, 2048) * 0.1], {
        "num_hidden": 1024, "no_bias": True}, 2),
    "dot": lambda: ("dot", [normal(512, 1024), normal(1024, 512)], {}, 2),
    "batch dot": lambda: ("batch_dot", [normal(64, 128, 64), normal(64, 128, 64)], {"transpose_b": True}, 2),
    "softmax": lambda: ("softmax", [normal(256, 4096)], {}, 1),
    "log softmax": lambda: ("log_softmax", [normal(256, 4096)], {}, 1),
    "SoftmaxOutput": lambda: ("SoftmaxOutput", [normal(1024, 1000), RANDOM.randint(0, 1000, 1024).astype("f")], {}, 1),
    "relu": lambda: ("Activation", [normal(16, 64, 112, 112)], {"act_type": "relu"}, 1),
    "tanh": lambda: ("tanh", [normal(16, 64, 56, 56)], {}, 1),
    "leaky relu (gelu)": lambda: ("LeakyReLU", [normal(16, 64, 56, 56)], {"act_type": "gelu"}, 1),
    "prelu": lambda: ("LeakyReLU", [normal(16, 64, 56, 56), uniform(64)], {"act_type": "prelu"}, 2),
    "dropout": lambda: ("Dropout", [normal(16, 64, 56, 56)], {"p": 0.5}, 1),
    "embedding": lambda: ("Embedding", [RANDOM.randint(0, 20000, (64, 128)).astype("f"), normal(20000, 256)], {
        "input_dim": 20000, "output_dim": 256}, None),
    "take": lambda: ("take", [normal(20000, 256), RANDOM.randint(0, 20000, 8192).astype("f")], {}, 1),
    "gather_nd": lambda: ("gather_nd", [normal(512, 512, 16), RANDOM.randint(0, 512, (2, 20000)).astype("f")], {}, 1),
    "pick": lambda: ("pick", [normal(8192, 1000), RANDOM.randint(0, 1000, 8192).astype("f")], {}, 1),
    "one hot": lambda: ("one_hot", [RANDOM.randint(0, 1000, 8192).astype("f")], {"depth": 1000}, 0),
    "topk": lambda: ("topk", [normal(256, 10000)], {"k": 10, "ret_typ": "value"}, 1),
    "topk, mask": lambda: ("topk", [normal(256, 10000)], {"k": 10, "ret_typ": "mask"}, 0),
    "sort": lambda: ("sort", [normal(256, 10000)], {"axis": -1}, 1),
    "argsort": lambda: ("argsort", [normal(256, 10000)], {}, 0),
    "argmax": lambda: ("argmax", [normal(256, 20000)], {"axis": 1}, 0),
    "sum over the last axis": lambda: ("sum", [normal(2048, 2048)], {"axis": 1}, 1),
    "sum over the first axis": lambda: ("sum", [normal(2048, 2048)], {"axis": 0}, 1),
    "max over an axis": lambda: ("max", [normal(2048, 2048)], {"axis": 1}, 1),
    "norm": lambda: ("norm", [normal(2048, 2048)], {"axis": 1}, 1),
    "broadcast add": lambda: ("broadcast_add", [normal(64, 256, 256), normal(1, 256, 1)], {}, 2),
    "transpose": lambda: ("transpose", [normal(32, 64, 56, 56)], {"axes": (0, 2, 3, 1)}, 1),
    "concat": lambda: ("Concat", [normal(8, 128, 56, 56), normal(8, 128, 56, 56)], {"dim": 1}, 2),
    "pad": lambda: ("Pad", [normal(8, 64, 56, 56)], {"mode": "reflect", "pad_width": (0, 0, 0, 0, 2, 2, 2, 2)}, 1),
    "upsampling": lambda: ("UpSampling", [normal(4, 64, 56, 56)], {"scale": 2, "sample_type": "nearest"}, 1),
    "bilinear resize": lambda: ("_contrib_BilinearResize2D", [normal(4, 32, 56, 56)], {
        "height": 112, "width": 112}, 1),
    "adaptive average pooling": lambda: ("_contrib_AdaptiveAvgPooling2D", [normal(8, 256, 28, 28)], {
        "output_size": (7, 7)}, 1),
    "bilinear sampler": lambda: ("BilinearSampler", [normal(4, 32, 56, 56), RANDOM.uniform(-1, 1, (
        4, 2, 56, 56)).astype("f")], {}, 2),
    "spatial transformer": lambda: ("SpatialTransformer", [normal(4, 32, 56, 56), normal(4, 6) * 0.3], {
        "target_shape": (56, 56), "transform_type": "affine", "sampler_type": "bilinear"}, 2),
    "grid generator": lambda: ("GridGenerator", [normal(8, 2, 224, 224)], {"transform_type": "warp"}, 1),
    "ROIPooling": lambda: ("ROIPooling", [normal(1, 256, 50, 50), boxes(64, 800)], {
        "pooled_size": (7, 7), "spatial_scale": 1 / 16}, 1),
    "ROIAlign": lambda: ("_contrib_ROIAlign", [normal(1, 256, 50, 50), boxes(64, 800)], {
        "pooled_size": (7, 7), "spatial_scale": 1 / 16, "sample_ratio": 2}, 1),
    "ROIAlign, adaptive": lambda: ("_contrib_ROIAlign", [normal(1, 64, 50, 50), boxes(32, 800)], {
        "pooled_size": (7, 7), "spatial_scale": 1 / 16}, 1),
    "RROIAlign": lambda: ("_contrib_RROIAlign", [normal(1, 64, 50, 50), np.concatenate(
        [boxes(32, 800), uniform(32, 1) * 90], 1)], {
        "pooled_size": (7, 7), "spatial_scale": 1 / 16, "sampling_ratio": 2}, 0),
    "PSROIPooling": lambda: ("_contrib_PSROIPooling", [normal(1, 21 * 49, 40, 40), boxes(64, 640)], {
        "spatial_scale": 1 / 16, "output_dim": 21, "pooled_size": 7, "group_size": 7}, 1),
    "deformable convolution": lambda: ("_contrib_DeformableConvolution", [
        normal(2, 64, 28, 28), normal(2, 18, 28, 28), normal(64, 64, 3, 3) * 0.1], {
        "kernel": (3, 3), "pad": (1, 1), "num_filter": 64, "no_bias": True}, 3),
    "correlation": lambda: ("Correlation", [normal(1, 32, 48, 64), normal(1, 32, 48, 64)], {
        "kernel_size": 1, "max_displacement": 4, "stride1": 1, "stride2": 1, "pad_size": 4}, 2),
    "box_nms": lambda: ("_contrib_box_nms", [detections(4, 3000)], {
        "overlap_thresh": 0.5, "valid_thresh": 0.1, "topk": 400, "id_index": 0}, 0),
    "box_iou": lambda: ("_contrib_box_iou", [corners(1000), corners(2000)], {}, 0),
    "bipartite matching": lambda: ("_contrib_bipartite_matching", [uniform(4, 300, 100)], {"threshold": 0.01}, 0),
    "MultiBoxPrior": lambda: ("_contrib_MultiBoxPrior", [normal(1, 3, 128, 128)], {
        "sizes": (0.2, 0.3, 0.4), "ratios": (1, 2, 0.5)}, 0),
    "MultiBoxTarget": lambda: ("_contrib_MultiBoxTarget", [
        corners(1, 6000), labels(8, 10), normal(8, 21, 6000)], {"negative_mining_ratio": 3.0}, 0),
    "MultiBoxDetection": lambda: ("_contrib_MultiBoxDetection", [
        uniform(4, 21, 6000), normal(4, 24000) * 0.1, corners(1, 6000)], {"nms_topk": 400}, 0),
    "Proposal": lambda: ("_contrib_Proposal", [
        uniform(1, 24, 38, 50), normal(1, 48, 38, 50) * 0.1, np.array([[600, 800, 1]], "f")], {
        "rpn_pre_nms_top_n": 3000, "rpn_post_nms_top_n": 300}, 0),
    "LSTM": lambda: recurrent("lstm", 35, 32, 200, 2),
    "LSTM, bidirectional": lambda: recurrent("lstm", 35, 32, 128, 1, True),
    "GRU": lambda: recurrent("gru", 35, 32, 200),
    "CTCLoss": lambda: ("CTCLoss", [normal(100, 32, 60), RANDOM.randint(1, 60, (32, 20)).astype("f")], {}, 1),
    "self attention scores": lambda: ("_contrib_interleaved_matmul_selfatt_qk", [normal(128, 16, 3 * 512)], {
        "heads": 8}, 1),
    "sequence mask": lambda: ("SequenceMask", [normal(128, 64, 512), RANDOM.randint(1, 128, 64).astype("f")], {
        "use_sequence_length": True}, 1),
    "im2col": lambda: ("im2col", [normal(4, 32, 56, 56)], {"kernel": (3, 3), "pad": (1, 1)}, 1),
    "linalg potrf": lambda: ("_linalg_potrf", [np.broadcast_to(np.eye(256, dtype="f") * 3, (8, 256, 256)).copy()], {},
                            1),
    "linalg gemm2": lambda: ("_linalg_gemm2", [normal(16, 128, 256), normal(16, 256, 128)], {}, 2),
    "random normal": lambda: ("_random_normal", [], {"shape": (1000, 1000)}, 0),
    "random uniform": lambda: ("_random_uniform", [], {"shape": (1000, 1000)}, 0),
    "adam update": lambda: ("adam_update", [normal(1000, 1000), normal(1000, 1000), np.zeros((1000, 1000), "f"),
                                            np.zeros((1000, 1000), "f")], {"lr": 0.001}, 0),
}  # fmt: skip


def function_of(mx, op):
    """The nd function of a registered name."""
    prefixes = {"_contrib_": "contrib", "_linalg_": "linalg"}
    for prefix, space in prefixes.items():
        if op.startswith(prefix):
            return getattr(getattr(mx.nd, space), op[len(prefix) :])
    return getattr(mx.nd._internal if op.startswith("_") else mx.nd, op)


def seconds(function, wait, least=5, budget=0.25):
    """The median of several calls, each waited for, after the first ones."""
    started = time.perf_counter()
    for _ in range(2):
        function()
        wait()
    while time.perf_counter() - started < 0.15:
        function()
        wait()
    found = []
    while len(found) < least or (sum(found) < budget and len(found) < 50):
        start = time.perf_counter()
        function()
        wait()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def measure_case(mx, name):
    """[forward, forward and backward or None] in seconds."""
    op, inputs, attrs, differentiated = CASES[name]()
    arrays = [mx.nd.array(value) for value in inputs]
    wanted = [1] if differentiated is None else range(differentiated)
    for index in wanted:
        arrays[index].attach_grad()
    function = function_of(mx, op)

    def forward():
        return function(*arrays, **attrs)

    def both():
        with mx.autograd.record():
            result = function(*arrays, **attrs)
        (result[0] if isinstance(result, list) else result).backward()

    mx.nd.waitall()
    time.sleep(0.4)
    return [seconds(forward, mx.nd.waitall), seconds(both, mx.nd.waitall) if wanted else None]


def measure(implementation, names):
    """{name: what ``measure_case`` finds}"""
    mx = importlib.import_module(implementation)
    found = {}
    for name in names:
        try:
            found[name] = measure_case(mx, name)
        except mx.base.MXNetError as error:
            print(f"{name}: {str(error).splitlines()[-1]}", file=sys.stderr)
    return found


def run(python, implementation, names):
    """What ``measure`` finds in a process of its own."""
    environment = dict(os.environ, PYTHONPATH=str(HERE.parent.parent), MXNET_STORAGE_FALLBACK_LOG_VERBOSE="0")
    done = subprocess.run(
        [python, str(HERE / "heavy_ops.py"), "--worker", implementation, "--only", *names],
        env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{implementation} failed for {names}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mxnet", default=os.environ.get("MXNET_PYTHON"), help="an interpreter that has mxnet 1.9.1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="cases")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = [name for name in CASES if not options.only or name in options.only]
    if options.worker:
        print(json.dumps(measure(options.worker, names)))
        return
    times = {name: {"gluonjax": [], "mxnet": []} for name in names}
    for _ in range(options.rounds):
        for who, python in (("gluonjax", sys.executable), ("mxnet", options.mxnet)):
            if python:
                for name, pair in run(python, who, names).items():
                    times[name][who].append(pair)
    print(f"{'ms':32}{'gluonjax':>10}{'mxnet':>10}{'ratio':>7}   {'gluonjax':>10}{'mxnet':>10}{'ratio':>7}")
    slow = []
    for name, both in times.items():
        line = f"{name:32}"
        for part in (0, 1):
            middle = {
                who: statistics.median([pair[part] for pair in pairs]) * 1e3
                for who, pairs in both.items()
                if pairs and pairs[0][part] is not None
            }
            ours, theirs = middle.get("gluonjax"), middle.get("mxnet")
            ratio = ours / theirs if ours is not None and theirs else None
            if ratio is not None and ratio > 2 and theirs > 5:
                slow.append(f"{name} {'with gradient' if part else 'forward'}: {ratio:.1f}")
            line += "".join(f"{value:>10.2f}" if value is not None else " " * 10 for value in (ours, theirs))
            line += f"{ratio:>7.2f}   " if ratio is not None else " " * 10
        print(line.rstrip())
    print("more than 2 times slower where MXNet needs over 5 ms: " + ("; ".join(slow) or "none"))


if __name__ == "__main__":
    main()
