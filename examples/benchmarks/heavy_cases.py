"""The operators that ``heavy_ops.py`` measures, at sizes that keep a CPU busy for milliseconds.

Each case is a function without arguments that gives (operator, inputs, attributes, how many of the inputs get
gradients); ``LAST`` instead of a number means that only the last input gets one.
"""

import numpy as np

RANDOM = np.random.RandomState(0)
LAST = "last"


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def uniform(*shape):
    return RANDOM.uniform(0.1, 1, size=shape).astype(np.float32)


def integers(high, *shape):
    return RANDOM.randint(0, high, shape).astype(np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def ones(*shape):
    return np.ones(shape, np.float32)


def regions(count, size):
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
    return np.concatenate([integers(20, batch, count, 1), uniform(batch, count, 1), corners(batch, count)], -1)


def labels(batch, count):
    """Rows (class, box) for MultiBoxTarget."""
    return np.concatenate([integers(20, batch, count, 1), corners(batch, count)], -1)


def positive(batch, size):
    """Matrices that are symmetric and positive definite."""
    some = normal(batch, size, size)
    return some @ some.transpose(0, 2, 1) / size + np.eye(size, dtype=np.float32)


def convolution(data, filters, kernel, **attrs):
    weight = normal(filters, data[1] // attrs.get("num_group", 1), *kernel) * 0.1
    return lambda: (
        "Convolution",
        [normal(*data), weight],
        {"kernel": kernel, "num_filter": filters, "no_bias": True, **attrs},
        2,
    )


def deconvolution(data, filters, kernel, **attrs):
    weight = normal(data[1], filters // attrs.get("num_group", 1), *kernel) * 0.1
    return lambda: (
        "Deconvolution",
        [normal(*data), weight],
        {"kernel": kernel, "num_filter": filters, "no_bias": True, **attrs},
        2,
    )


def pooling(data, **attrs):
    return lambda: ("Pooling", [normal(*data)], attrs, 1)


def recurrent(mode, steps, batch, size, layers=1, bidirectional=False):
    gates = {"lstm": 4, "gru": 3, "rnn_tanh": 1}[mode]
    ways = 2 if bidirectional else 1
    count, width = 0, size
    for _ in range(layers):
        count += ways * gates * size * (width + size + 2)
        width = ways * size
    states = [zeros(layers * ways, batch, size)] * (2 if mode == "lstm" else 1)
    attrs = {"state_size": size, "num_layers": layers, "mode": mode, "bidirectional": bidirectional}
    return lambda: ("RNN", [normal(steps, batch, size), normal(count) * 0.1, *states], attrs, 2)


def over(op, make, shape, differentiated=1, /, **attrs):
    """A case of one array."""
    return lambda: (op, [make(*shape)], attrs, differentiated)


def between(op, make, first, second, differentiated=2, /, **attrs):
    """A case of two arrays."""
    return lambda: (op, [make(*first), make(*second)], attrs, differentiated)


def deformable(channels, size):
    inputs = [(2, channels, size, size), (2, 18, size, size), (channels, channels, 3, 3)]
    attrs = {"kernel": (3, 3), "pad": (1, 1), "num_filter": channels, "no_bias": True}
    return lambda: ("_contrib_DeformableConvolution", [normal(*shape) * 0.1 for shape in inputs], attrs, len(inputs))


def update(op, states, /, **attrs):
    shape = (2000, 1000)
    return lambda: (op, [normal(*shape), normal(*shape), *(uniform(*shape) for _ in range(states))], attrs, 0)


IMAGES = (16, 64, 56, 56)
LARGE = (16, 64, 112, 112)
MATRIX = (2048, 2048)

CONVOLUTIONS = {
    "convolution 3x3": convolution((8, 64, 56, 56), 64, (3, 3), pad=(1, 1)),
    "convolution 3x3, 256 at 14": convolution((16, 256, 14, 14), 256, (3, 3), pad=(1, 1)),
    "convolution 3x3, 512 at 7": convolution((16, 512, 7, 7), 512, (3, 3), pad=(1, 1)),
    "convolution 3x3, one image": convolution((1, 128, 112, 112), 128, (3, 3), pad=(1, 1)),
    "convolution 3x3, stride 2": convolution((8, 64, 56, 56), 128, (3, 3), pad=(1, 1), stride=(2, 2)),
    "convolution 3x3 of colours": convolution((8, 3, 224, 224), 64, (3, 3), pad=(1, 1)),
    "convolution 3x3 of colours, stride 2": convolution((8, 3, 224, 224), 32, (3, 3), pad=(1, 1), stride=(2, 2)),
    "convolution 5x5": convolution((8, 48, 28, 28), 64, (5, 5), pad=(2, 2)),
    "convolution 5x5 of one channel": convolution((128, 1, 28, 28), 20, (5, 5)),
    "convolution 1x7": convolution((8, 192, 17, 17), 192, (1, 7), pad=(0, 3)),
    "convolution 7x1": convolution((8, 192, 17, 17), 192, (7, 1), pad=(3, 0)),
    "convolution 1x1": convolution((8, 256, 28, 28), 128, (1, 1)),
    "convolution 1x1, large": convolution((8, 64, 112, 112), 64, (1, 1)),
    "convolution 1x1, small": convolution((16, 1024, 7, 7), 1024, (1, 1)),
    "convolution 1x1, stride 2": convolution((8, 256, 56, 56), 512, (1, 1), stride=(2, 2)),
    "convolution 7x7 stem": convolution((8, 3, 224, 224), 64, (7, 7), pad=(3, 3), stride=(2, 2)),
    "convolution 11x11 stem": convolution((8, 3, 224, 224), 64, (11, 11), pad=(2, 2), stride=(4, 4)),
    "convolution 3x3, 2 groups": convolution((8, 96, 27, 27), 256, (3, 3), pad=(1, 1), num_group=2),
    "convolution 3x3, 32 groups": convolution((8, 256, 56, 56), 256, (3, 3), pad=(1, 1), num_group=32),
    "convolution 3x3, 32 groups, stride 2": convolution(
        (8, 512, 56, 56), 512, (3, 3), pad=(1, 1), stride=(2, 2), num_group=32
    ),
    "convolution 1x1, 4 groups": convolution((8, 240, 28, 28), 240, (1, 1), num_group=4),
    "convolution 3x3, depthwise": convolution((8, 128, 56, 56), 128, (3, 3), pad=(1, 1), num_group=128),
    "convolution 3x3, depthwise, large": convolution((8, 64, 112, 112), 64, (3, 3), pad=(1, 1), num_group=64),
    "convolution 3x3, depthwise, stride 2": convolution(
        (8, 64, 112, 112), 64, (3, 3), pad=(1, 1), stride=(2, 2), num_group=64
    ),
    "convolution 5x5, depthwise": convolution((16, 240, 28, 28), 240, (5, 5), pad=(2, 2), num_group=240),
    "convolution 3x3, depthwise, 2 filters": convolution((8, 64, 56, 56), 128, (3, 3), pad=(1, 1), num_group=64),
    "convolution 3x3, dilated": convolution((8, 64, 56, 56), 64, (3, 3), pad=(2, 2), dilate=(2, 2)),
    "convolution 3x3, dilated by 4": convolution((4, 128, 56, 56), 128, (3, 3), pad=(4, 4), dilate=(4, 4)),
    "convolution 3-d": convolution((2, 16, 16, 28, 28), 32, (3, 3, 3), pad=(1, 1, 1)),
    "convolution 3-d, stride 2": convolution((2, 32, 16, 56, 56), 64, (3, 3, 3), pad=(1, 1, 1), stride=(2, 2, 2)),
    "convolution 3-d, 1x3x3": convolution((2, 64, 8, 28, 28), 64, (1, 3, 3), pad=(0, 1, 1)),
    "convolution 3-d of colours": convolution((2, 3, 16, 56, 56), 32, (3, 3, 3), pad=(1, 1, 1)),
    "convolution 3-d, 1x1x1": convolution((2, 64, 16, 28, 28), 128, (1, 1, 1)),
    "convolution 1-d": convolution((16, 64, 1024), 64, (5,), pad=(2,)),
    "convolution 1-d, dilated": convolution((8, 64, 4096), 64, (2,), pad=(4,), dilate=(8,)),
    "convolution 1-d of one channel": convolution((32, 1, 8000), 64, (80,), stride=(4,)),
    "deconvolution 4x4, stride 2": deconvolution((8, 64, 28, 28), 64, (4, 4), stride=(2, 2), pad=(1, 1)),
    "deconvolution 2x2, stride 2": deconvolution((4, 128, 56, 56), 64, (2, 2), stride=(2, 2)),
    "deconvolution 3x3": deconvolution((8, 64, 28, 28), 64, (3, 3), pad=(1, 1)),
    "deconvolution 5x5, stride 2": deconvolution(
        (16, 128, 14, 14), 64, (5, 5), stride=(2, 2), pad=(2, 2), adj=(1, 1)
    ),
    "deconvolution to colours": deconvolution((16, 64, 32, 32), 3, (4, 4), stride=(2, 2), pad=(1, 1)),
    "deconvolution, depthwise": deconvolution(
        (16, 64, 56, 56), 64, (4, 4), stride=(2, 2), pad=(1, 1), num_group=64
    ),
    "deconvolution, 4 groups": deconvolution((8, 64, 28, 28), 64, (4, 4), stride=(2, 2), pad=(1, 1), num_group=4),
    "deconvolution 16x16, stride 8": deconvolution((2, 21, 28, 28), 21, (16, 16), stride=(8, 8), pad=(4, 4)),
    "deconvolution 3-d": deconvolution((2, 32, 8, 14, 14), 32, (4, 4, 4), stride=(2, 2, 2), pad=(1, 1, 1)),
    "deconvolution 1-d": deconvolution((8, 128, 512), 64, (16,), stride=(8,), pad=(4,)),
    "deformable convolution": deformable(64, 28),
}

POOLING = {
    "max pooling 3x3": pooling(LARGE, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max"),
    "max pooling 2x2": pooling(LARGE, kernel=(2, 2), stride=(2, 2), pool_type="max"),
    "max pooling 3x3, stride 1": pooling(IMAGES, kernel=(3, 3), pad=(1, 1), pool_type="max"),
    "max pooling 5x5, stride 1": pooling((4, 512, 20, 20), kernel=(5, 5), pad=(2, 2), pool_type="max"),
    "max pooling 13x13, stride 1": pooling((4, 512, 20, 20), kernel=(13, 13), pad=(6, 6), pool_type="max"),
    "average pooling 2x2": pooling(LARGE, kernel=(2, 2), stride=(2, 2), pool_type="avg"),
    "average pooling 3x3": pooling(IMAGES, kernel=(3, 3), pad=(1, 1), pool_type="avg"),
    "average pooling 3x3, padding not counted": pooling(
        IMAGES, kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False
    ),
    "average pooling 7x7": pooling((32, 1024, 14, 14), kernel=(7, 7), stride=(7, 7), pool_type="avg"),
    "average pooling 9x9": pooling((8, 64, 56, 56), kernel=(9, 9), pad=(4, 4), pool_type="avg"),
    "sum pooling 3x3": pooling(IMAGES, kernel=(3, 3), pad=(1, 1), pool_type="sum"),
    "2-norm pooling 3x3": pooling(IMAGES, kernel=(3, 3), pad=(1, 1), pool_type="lp", p_value=2),
    "max pooling 3-d": pooling((2, 32, 16, 56, 56), kernel=(2, 2, 2), stride=(2, 2, 2), pool_type="max"),
    "average pooling 3-d": pooling((2, 32, 16, 56, 56), kernel=(2, 2, 2), stride=(2, 2, 2), pool_type="avg"),
    "max pooling 1-d": pooling((32, 64, 4096), kernel=(3,), stride=(2,), pad=(1,), pool_type="max"),
    "global average pooling": pooling((32, 1024, 14, 14), kernel=(1, 1), global_pool=True, pool_type="avg"),
    "global max pooling": pooling((32, 1024, 14, 14), kernel=(1, 1), global_pool=True, pool_type="max"),
    "adaptive average pooling": over("_contrib_AdaptiveAvgPooling2D", normal, (32, 512, 28, 28), output_size=(7, 7)),
}

NORMALIZATION = {
    "batch norm": lambda: ("BatchNorm", [normal(*IMAGES), ones(64), *[zeros(64)] * 2, ones(64)], {
        "fix_gamma": False}, 3),
    "batch norm of vectors": lambda: ("BatchNorm", [normal(8192, 256), ones(256), *[zeros(256)] * 2, ones(256)], {
        "fix_gamma": False}, 3),
    "batch norm, channels last": lambda: ("BatchNorm", [
        normal(16, 56, 56, 64), ones(64), *[zeros(64)] * 2, ones(64)], {"fix_gamma": False, "axis": -1}, 3),
    "layer norm": lambda: ("LayerNorm", [normal(64, 128, 256), ones(256), zeros(256)], {}, 3),
    "layer norm, axis 1": lambda: ("LayerNorm", [normal(64, 256, 128), ones(256), zeros(256)], {"axis": 1}, 3),
    "instance norm": lambda: ("InstanceNorm", [normal(8, 64, 56, 56), ones(64), zeros(64)], {}, 3),
    "group norm": lambda: ("GroupNorm", [normal(8, 64, 56, 56), ones(8), zeros(8)], {"num_groups": 8}, 3),
    "L2 normalization, instance": over("L2Normalization", normal, IMAGES, mode="instance"),
    "L2 normalization, channel": over("L2Normalization", normal, IMAGES, mode="channel"),
    "L2 normalization, spatial": over("L2Normalization", normal, IMAGES, mode="spatial"),
    "LRN": over("LRN", normal, IMAGES, nsize=5),
    "moments": over("moments", normal, IMAGES, axes=(0, 2, 3)),
}  # fmt: skip

PRODUCTS = {
    "fully connected": lambda: ("FullyConnected", [normal(128, 2048), normal(1024, 2048) * 0.1], {
        "num_hidden": 1024, "no_bias": True}, 2),
    "fully connected, 8 rows": lambda: ("FullyConnected", [normal(8, 4096), normal(4096, 4096) * 0.1], {
        "num_hidden": 4096, "no_bias": True}, 2),
    "fully connected, bias": lambda: ("FullyConnected", [
        normal(32, 64, 512), normal(512, 512) * 0.1, zeros(512)], {"num_hidden": 512, "flatten": False}, 3),
    "dot": between("dot", normal, (512, 1024), (1024, 512)),
    "dot, first transposed": between("dot", normal, (1024, 512), (1024, 512), transpose_a=True),
    "dot, second transposed": between("dot", normal, (512, 1024), (512, 1024), transpose_b=True),
    "dot, both transposed": between("dot", normal, (1024, 512), (512, 1024), transpose_a=True, transpose_b=True),
    "dot with a vector": between("dot", normal, (4096, 4096), (4096,)),
    "dot, three axes": between("dot", normal, (64, 128, 256), (256, 256)),
    "batch dot": between("batch_dot", normal, (64, 128, 64), (64, 64, 128)),
    "batch dot, large": between("batch_dot", normal, (16, 256, 256), (16, 256, 256)),
    "batch dot, first transposed": between("batch_dot", normal, (128, 64, 128), (128, 64, 128), transpose_a=True),
    "batch dot, second transposed": between("batch_dot", normal, (128, 128, 64), (128, 128, 64), transpose_b=True),
    "batch dot, vectors": between("batch_dot", normal, (2048, 1, 256), (2048, 256, 16)),
    "khatri rao": between("khatri_rao", normal, (128, 512), (64, 512), 0),
    "linalg gemm": lambda: ("_linalg_gemm", [normal(16, 128, 256), normal(16, 256, 128), normal(16, 128, 128)], {}, 3),
    "linalg gemm2": between("_linalg_gemm2", normal, (32, 128, 256), (32, 256, 128)),
    "linalg syrk": over("_linalg_syrk", normal, (32, 128, 256)),
    "linalg trmm": lambda: ("_linalg_trmm", [np.tril(normal(16, 256, 256)), normal(16, 256, 256)], {}, 2),
    "linalg trsm": lambda: ("_linalg_trsm", [np.tril(positive(16, 256)), normal(16, 256, 256)], {}, 2),
    "linalg potrf": over("_linalg_potrf", positive, (8, 256)),
    "linalg potrf, small": over("_linalg_potrf", positive, (512, 32)),
    "linalg potri": over("_linalg_potri", lambda *shape: np.linalg.cholesky(positive(*shape)), (8, 256)),
    "linalg gelqf": over("_linalg_gelqf", normal, (8, 128, 256)),
    "linalg syevd": over("_linalg_syevd", positive, (4, 128)),
    "linalg inverse": over("_linalg_inverse", positive, (8, 256)),
    "linalg det": over("_linalg_det", positive, (8, 256)),
    "linalg slogdet": over("_linalg_slogdet", positive, (8, 256)),
    "linalg extracttrian": over("_linalg_extracttrian", normal, (64, 256, 256)),
    "self attention scores": over("_contrib_interleaved_matmul_selfatt_qk", normal, (128, 32, 3 * 512), heads=8),
    "self attention values": lambda: ("_contrib_interleaved_matmul_selfatt_valatt", [
        normal(128, 32, 3 * 512), uniform(256, 128, 128)], {"heads": 8}, 2),
    "attention scores": between("_contrib_interleaved_matmul_encdec_qk", normal, (128, 32, 512), (128, 32, 1024),
                                heads=8),
    "attention values": lambda: ("_contrib_interleaved_matmul_encdec_valatt", [
        normal(128, 32, 1024), uniform(256, 128, 128)], {"heads": 8}, 2),
}  # fmt: skip

SOFTMAX = {
    "softmax": over("softmax", normal, (2048, 4096)),
    "softmax, 1000 classes": over("softmax", normal, (4096, 1000)),
    "softmax over channels": over("softmax", normal, (8, 21, 224, 224), axis=1),
    "softmax with lengths": lambda: ("softmax", [normal(256, 128, 128), 1 + integers(127, 256, 128).astype("int32")], {
        "use_length": True, "axis": -1}, 1),
    "log softmax": over("log_softmax", normal, (2048, 4096)),
    "log softmax over channels": over("log_softmax", normal, (8, 21, 224, 224), axis=1),
    "softmin": over("softmin", normal, (2048, 4096)),
    "SoftmaxActivation": over("SoftmaxActivation", normal, (8, 21, 224, 224), mode="channel"),
    "SoftmaxOutput": lambda: ("SoftmaxOutput", [normal(4096, 1000), integers(1000, 4096)], {}, 1),
    "SoftmaxOutput of pictures": lambda: ("SoftmaxOutput", [
        normal(4, 21, 224, 224), integers(21, 4, 224, 224)], {
        "multi_output": True, "use_ignore": True, "ignore_label": 0}, 1),
    "softmax cross entropy": lambda: ("softmax_cross_entropy", [normal(4096, 1000), integers(1000, 4096)], {}, 1),
    "SVMOutput": lambda: ("SVMOutput", [normal(4096, 1000), integers(1000, 4096)], {}, 1),
    "LinearRegressionOutput": between("LinearRegressionOutput", normal, MATRIX, MATRIX, 1),
    "LogisticRegressionOutput": between("LogisticRegressionOutput", uniform, MATRIX, MATRIX, 1),
    "CTCLoss": lambda: ("CTCLoss", [normal(100, 32, 60), 1 + integers(59, 32, 20)], {}, 1),
    "CTCLoss, many classes": lambda: ("CTCLoss", [normal(60, 16, 4000), 1 + integers(3999, 16, 20)], {}, 1),
    "smooth L1": over("smooth_l1", normal, MATRIX, scalar=1.0),
}  # fmt: skip

ELEMENTWISE = {
    "relu": over("Activation", normal, LARGE, act_type="relu"),
    **{f"{kind} activation": over("Activation", normal, IMAGES, act_type=kind)
       for kind in ("sigmoid", "tanh", "softrelu", "softsign")},
    **{f"leaky relu ({kind})": over("LeakyReLU", normal, IMAGES, act_type=kind)
       for kind in ("leaky", "elu", "selu", "gelu")},
    "leaky relu (prelu)": lambda: ("LeakyReLU", [normal(*IMAGES), uniform(64)], {"act_type": "prelu"}, 2),
    **{op: over(op, uniform, IMAGES) for op in (
        "exp", "log", "sqrt", "cbrt", "erf", "erfinv", "gamma", "gammaln", "sin", "arcsin", "sinh", "square",
        "abs", "sign", "round", "hard_sigmoid")},
    **{op: between(op, uniform, IMAGES, IMAGES) for op in ("elemwise_add", "elemwise_mul", "elemwise_div")},
    "power of arrays": between("broadcast_power", uniform, IMAGES, IMAGES),
    "power of a scalar": over("_power_scalar", uniform, IMAGES, scalar=2.5),
    "maximum of arrays": between("broadcast_maximum", normal, IMAGES, IMAGES),
    "modulo of arrays": between("broadcast_mod", uniform, IMAGES, IMAGES),
    "compare arrays": between("broadcast_greater", normal, IMAGES, IMAGES, 0),
    "add of four": lambda: ("add_n", [normal(*IMAGES) for _ in range(4)], {}, 4),
    "clip": over("clip", normal, IMAGES, a_min=-0.5, a_max=0.5),
    "where": lambda: ("where", [integers(2, *IMAGES), normal(*IMAGES), normal(*IMAGES)], {}, 0),
    "cast": over("Cast", normal, LARGE, dtype="float16"),
    "broadcast add, middle": between("broadcast_add", normal, (64, 256, 256), (1, 256, 1)),
    "broadcast multiply, channels": between("broadcast_mul", normal, IMAGES, (1, 64, 1, 1)),
    "broadcast multiply, last": between("broadcast_mul", normal, (4096, 1024), (1, 1024)),
    "broadcast divide, first": between("broadcast_div", uniform, (4096, 1024), (4096, 1)),
    "broadcast of two": between("broadcast_sub", normal, (1024, 1, 64), (1, 256, 64)),
    "dropout": over("Dropout", normal, IMAGES, p=0.5),
    "dropout of axes": over("Dropout", normal, IMAGES, p=0.5, axes=(2, 3)),
}  # fmt: skip

REDUCTIONS = {
    **{f"{op}, axis {axis}": over(op, uniform, MATRIX, axis=axis)
       for op in ("sum", "mean", "max", "min", "prod", "norm") for axis in (0, 1)},
    **{f"{op} of all": over(op, uniform, MATRIX) for op in ("sum", "max", "norm")},
    "sum of channels": over("sum", normal, IMAGES, axis=(0, 2, 3)),
    "sum of the middle": over("sum", normal, (64, 256, 256), axis=1),
    "nansum": over("nansum", normal, MATRIX, axis=1),
    "argmax, axis 0": over("argmax", normal, MATRIX, 0, axis=0),
    "argmax, axis 1": over("argmax", normal, MATRIX, 0, axis=1),
    "argmax of channels": over("argmax", normal, (8, 21, 224, 224), 0, axis=1),
    "argmin": over("argmin", normal, MATRIX, 0, axis=1),
    "cumsum, axis 0": over("cumsum", normal, MATRIX, axis=0),
    "cumsum, axis 1": over("cumsum", normal, MATRIX, axis=1),
    "histogram": over("_histogram", uniform, (3000000,), 0, bin_cnt=100, range=(0.0, 1.0)),
    "square sum of many": lambda: ("multi_sum_sq", [normal(1000, 1000) for _ in range(4)], {"num_arrays": 4}, 0),
}  # fmt: skip

SHAPES = {
    "transpose to channels last": over("transpose", normal, LARGE, axes=(0, 2, 3, 1)),
    "transpose to channels first": over("transpose", normal, (16, 112, 112, 64), axes=(0, 3, 1, 2)),
    "transpose of a matrix": over("transpose", normal, (4096, 4096)),
    "transpose of heads": over("transpose", normal, (32, 128, 8, 64), axes=(0, 2, 1, 3)),
    "swap axes": over("SwapAxis", normal, (128, 128, 512), dim1=0, dim2=1),
    "concat": between("Concat", normal, IMAGES, IMAGES, dim=1),
    "concat, last axis": between("Concat", normal, (4096, 512), (4096, 512), dim=1),
    "stack": lambda: ("stack", [normal(1024, 1024) for _ in range(4)], {"num_args": 4, "axis": 1}, 4),
    "split": over("SliceChannel", normal, IMAGES, num_outputs=4, axis=1),
    "slice": over("slice", normal, LARGE, begin=(0, 16, 8, 8), end=(16, 48, 104, 104)),
    "slice with steps": over("slice", normal, LARGE, begin=(None,) * 4, end=(None,) * 4, step=(1, 1, 2, 2)),
    "slice axis": over("slice_axis", normal, LARGE, axis=1, begin=0, end=32),
    "reverse": over("reverse", normal, IMAGES, axis=3),
    "tile": over("tile", normal, (256, 64, 64), reps=(1, 2, 2)),
    "repeat": over("repeat", normal, (256, 64, 64), repeats=4, axis=1),
    "broadcast to": over("broadcast_to", normal, (64, 1, 256), shape=(64, 256, 256)),
    "pad, constant": over("Pad", normal, IMAGES, mode="constant", pad_width=(0, 0, 0, 0, 2, 2, 2, 2)),
    "pad, edge": over("Pad", normal, IMAGES, mode="edge", pad_width=(0, 0, 0, 0, 2, 2, 2, 2)),
    "pad, reflect": over("Pad", normal, IMAGES, mode="reflect", pad_width=(0, 0, 0, 0, 2, 2, 2, 2)),
    "space to depth": over("space_to_depth", normal, LARGE, block_size=2),
    "depth to space": over("depth_to_space", normal, LARGE, block_size=2),
    "diagonal": over("diag", normal, (256, 128, 128), axis1=1, axis2=2),
    "im2col": over("im2col", normal, (8, 32, 56, 56), kernel=(3, 3), pad=(1, 1)),
    "col2im": over("col2im", normal, (8, 32 * 9, 56 * 56), kernel=(3, 3), pad=(1, 1), output_size=(56, 56)),
    "upsampling": over("UpSampling", normal, (8, 64, 56, 56), scale=2, sample_type="nearest"),
    "bilinear resize": over("_contrib_BilinearResize2D", normal, (8, 32, 56, 56), height=112, width=112),
    "bilinear resize, down": over("_contrib_BilinearResize2D", normal, (8, 32, 224, 224), height=100, width=100),
    "crop": over("Crop", normal, LARGE, offset=(8, 8), h_w=(96, 96), num_args=1),
    "eye": lambda: ("_eye", [], {"N": 4000}, 0),
    "arange": lambda: ("_arange", [], {"start": 0, "stop": 8000000}, 0),
}

INDEXING = {
    "embedding": lambda: ("Embedding", [integers(20000, 64, 256), normal(20000, 256)], {
        "input_dim": 20000, "output_dim": 256}, LAST),
    "take": lambda: ("take", [normal(20000, 256), integers(20000, 16384)], {}, 1),
    "take, axis 1": lambda: ("take", [normal(512, 4096), integers(4096, 2048)], {"axis": 1}, 1),
    "gather_nd": lambda: ("gather_nd", [normal(512, 512, 16), integers(512, 2, 100000)], {}, 1),
    "gather_nd of numbers": lambda: ("gather_nd", [normal(1024, 1024), integers(1024, 2, 500000)], {}, 1),
    "scatter_nd": lambda: ("scatter_nd", [normal(100000, 16), integers(512, 2, 100000)], {"shape": (512, 512, 16)}, 1),
    "pick": lambda: ("pick", [normal(65536, 100), integers(100, 65536)], {}, 1),
    "pick, axis 1 of pictures": lambda: ("pick", [normal(8, 21, 224, 224), integers(21, 8, 224, 224)], {"axis": 1}, 1),
    "one hot": lambda: ("one_hot", [integers(1000, 8192)], {"depth": 1000}, 0),
    "boolean mask": lambda: ("_contrib_boolean_mask", [normal(65536, 128), integers(2, 65536)], {}, 1),
    "index copy": lambda: ("_contrib_index_copy", [
        normal(20000, 256), RANDOM.permutation(20000)[:8192].astype("f"), normal(8192, 256)], {}, 0),
    "sequence mask": lambda: ("SequenceMask", [normal(128, 64, 512), 1 + integers(127, 64)], {
        "use_sequence_length": True}, 1),
    "sequence reverse": lambda: ("SequenceReverse", [normal(128, 64, 512), 1 + integers(127, 64)], {
        "use_sequence_length": True}, 1),
    "sequence last": lambda: ("SequenceLast", [normal(128, 64, 512), 1 + integers(127, 64)], {
        "use_sequence_length": True}, 1),
    "topk": over("topk", normal, (256, 10000), k=10, ret_typ="value"),
    "topk, one": over("topk", normal, (2048, 1000), k=1, ret_typ="value"),
    "topk, indices": over("topk", normal, (256, 10000), 0, k=5),
    "topk, both": over("topk", normal, (256, 10000), k=100, ret_typ="both"),
    "topk, mask": over("topk", normal, (256, 10000), 0, k=10, ret_typ="mask"),
    "topk, first axis": over("topk", normal, (10000, 128), k=10, ret_typ="value", axis=0),
    "sort": over("sort", normal, (256, 4096), axis=-1),
    "sort, first axis": over("sort", normal, (4096, 256), axis=0),
    "sort of all": over("sort", normal, (500000,), 0, axis=None),
    "argsort": over("argsort", normal, (256, 4096), 0),
    "argsort, short rows": over("argsort", normal, (65536, 10), 0),
    "shuffle": over("_shuffle", normal, (100000, 128), 0),
    "unravel": lambda: ("_unravel_index", [integers(1000000, 1000000)], {"shape": (1000, 1000)}, 0),
}  # fmt: skip

SPATIAL = {
    "bilinear sampler": lambda: ("BilinearSampler", [
        normal(4, 32, 56, 56), 2 * uniform(4, 2, 56, 56) - 1], {}, 2),
    "spatial transformer": lambda: ("SpatialTransformer", [normal(4, 32, 56, 56), normal(4, 6) * 0.3], {
        "target_shape": (56, 56), "transform_type": "affine", "sampler_type": "bilinear"}, 2),
    "grid generator": over("GridGenerator", normal, (8, 2, 224, 224), transform_type="warp"),
    "grid generator, affine": over("GridGenerator", normal, (64, 6), transform_type="affine", target_shape=(128, 128)),
    "ROIPooling": lambda: ("ROIPooling", [normal(1, 256, 50, 50), regions(64, 800)], {
        "pooled_size": (7, 7), "spatial_scale": 1 / 16}, 1),
    "ROIAlign": lambda: ("_contrib_ROIAlign", [normal(1, 256, 50, 50), regions(64, 800)], {
        "pooled_size": (7, 7), "spatial_scale": 1 / 16, "sample_ratio": 2}, 1),
    "ROIAlign, adaptive": lambda: ("_contrib_ROIAlign", [normal(1, 256, 50, 50), regions(64, 800)], {
        "pooled_size": (7, 7), "spatial_scale": 1 / 16}, 1),
    "RROIAlign": lambda: ("_contrib_RROIAlign", [
        normal(1, 256, 50, 50), np.concatenate([regions(128, 800), uniform(128, 1) * 90], 1)], {
        "pooled_size": (7, 7), "spatial_scale": 1 / 16, "sampling_ratio": 2}, 0),
    "PSROIPooling": lambda: ("_contrib_PSROIPooling", [normal(1, 21 * 49, 40, 40), regions(64, 640)], {
        "spatial_scale": 1 / 16, "output_dim": 21, "pooled_size": 7, "group_size": 7}, 1),
    "deformable PSROIPooling": lambda: ("_contrib_DeformablePSROIPooling", [
        normal(1, 21 * 49, 40, 40), regions(64, 640), normal(64, 2, 7, 7) * 0.1], {
        "spatial_scale": 1 / 16, "output_dim": 21, "pooled_size": 7, "group_size": 7, "part_size": 7,
        "sample_per_part": 4, "trans_std": 0.1}, 1),
    "correlation": lambda: ("Correlation", [normal(1, 32, 48, 64), normal(1, 32, 48, 64)], {
        "kernel_size": 1, "max_displacement": 4, "stride1": 1, "stride2": 1, "pad_size": 4}, 2),
    "box_nms": lambda: ("_contrib_box_nms", [detections(4, 6000)], {
        "overlap_thresh": 0.5, "valid_thresh": 0.1, "topk": 400, "id_index": 0}, 0),
    "box_nms of all": lambda: ("_contrib_box_nms", [detections(1, 2000)], {
        "overlap_thresh": 0.5, "valid_thresh": 0.1, "id_index": 0}, 0),
    "box_iou": lambda: ("_contrib_box_iou", [corners(1000), corners(2000)], {}, 0),
    "bipartite matching": lambda: ("_contrib_bipartite_matching", [uniform(4, 300, 100)], {"threshold": 0.01}, 0),
    "MultiBoxPrior": lambda: ("_contrib_MultiBoxPrior", [normal(1, 3, 512, 512)], {
        "sizes": (0.2, 0.3, 0.4), "ratios": (1, 2, 0.5)}, 0),
    "MultiBoxTarget": lambda: ("_contrib_MultiBoxTarget", [
        corners(1, 6000), labels(8, 10), normal(8, 21, 6000)], {"negative_mining_ratio": 3.0}, 0),
    "MultiBoxDetection": lambda: ("_contrib_MultiBoxDetection", [
        uniform(8, 21, 8000), normal(8, 32000) * 0.1, corners(1, 8000)], {"nms_topk": 400}, 0),
    "Proposal": lambda: ("_contrib_Proposal", [
        uniform(1, 24, 38, 50), normal(1, 48, 38, 50) * 0.1, np.array([[600, 800, 1]], "f")], {
        "rpn_pre_nms_top_n": 3000, "rpn_post_nms_top_n": 300}, 0),
}  # fmt: skip

RECURRENT = {
    "LSTM": recurrent("lstm", 35, 32, 200, 2),
    "LSTM, large": recurrent("lstm", 50, 16, 512),
    "LSTM, bidirectional": recurrent("lstm", 35, 32, 128, 1, True),
    "GRU": recurrent("gru", 35, 32, 200),
    "GRU, bidirectional": recurrent("gru", 35, 32, 128, 2, True),
    "RNN, tanh": recurrent("rnn_tanh", 100, 64, 256),
}

RANDOM_NUMBERS = {
    **{f"random {kind}": over(f"_random_{kind}", lambda: None, (), 0, shape=(1000, 1000), **attrs)
       for kind, attrs in {
           "normal": {}, "uniform": {}, "gamma": {"alpha": 2.0, "beta": 1.0}, "exponential": {"lam": 2.0},
           "poisson": {"lam": 4.0}, "negative_binomial": {"k": 4, "p": 0.5}, "randint": {"low": 0, "high": 100},
       }.items()},
    "sample normal": lambda: ("_sample_normal", [normal(1000), uniform(1000)], {"shape": (1000,)}, 0),
    "sample gamma": lambda: ("_sample_gamma", [uniform(1000), uniform(1000)], {"shape": (500,)}, 0),
    "sample multinomial": lambda: ("_sample_multinomial", [uniform(256, 1000) / 550], {"shape": (100,)}, 0),
}  # fmt: skip

UPDATES = {
    "sgd update": update("sgd_update", 0, lr=0.1, wd=1e-4),
    "momentum update": update("sgd_mom_update", 1, lr=0.1, momentum=0.9, wd=1e-4),
    "nag update": update("nag_mom_update", 1, lr=0.1, momentum=0.9),
    "adam update": update("adam_update", 2, lr=0.001),
    "rmsprop update": update("rmsprop_update", 1, lr=0.001),
    "ftrl update": update("ftrl_update", 2, lr=0.1),
    "ftml update": update("ftml_update", 3, lr=0.1, t=2),
    "signum update": update("signum_update", 1, lr=0.1, momentum=0.9),
    "lamb update, first part": update("lamb_update_phase1", 2, t=2, wd=0.01),
}  # fmt: skip

FAMILIES = {
    "convolutions": CONVOLUTIONS, "pooling": POOLING, "normalization": NORMALIZATION, "products": PRODUCTS,
    "softmax": SOFTMAX, "elementwise": ELEMENTWISE, "reductions": REDUCTIONS, "shapes": SHAPES,
    "indexing": INDEXING, "spatial": SPATIAL, "recurrent": RECURRENT, "random": RANDOM_NUMBERS, "updates": UPDATES,
}  # fmt: skip
CASES = {name: case for family in FAMILIES.values() for name, case in family.items()}
