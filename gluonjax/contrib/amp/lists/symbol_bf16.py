"""Which operators run in bfloat16: fewer than in float16; nearly all others run in float32."""

from __future__ import annotations

from gluonjax.contrib.amp.lists import symbol_fp16 as _half

# Run in bfloat16.
BF16_FUNCS: list[str] = ["Convolution", "FullyConnected"]

# Run in the type their inputs have.
BF16_FP32_FUNCS: list[str] = [
    *"""
    BatchNorm BatchNormWithReLU Concat LRN Pooling _add _shuffle abs clip concat relu shuffle sqrt square tanh
""".split()
]

# Operators whose other inputs stay float32 where the first is bfloat16; '' stands for the first.
_STATISTICS = ["", "gamma", "beta", "moving_mean", "moving_var"]
BF16_USE_FP32_PARAMS: dict[str, list[str]] = {"BatchNormWithReLU": _STATISTICS, "BatchNorm": _STATISTICS}

CONDITIONAL_FP32_FUNCS: list[tuple[str, str, list[str]]] = list(_half.CONDITIONAL_FP32_FUNCS)
LOSS_OUTPUT_FUNCTIONS: list[str] = list(_half.LOSS_OUTPUT_FUNCTIONS)

# Run in the widest type in float16, but not here; broadcast_mul runs in float32.
_NOT_WIDEST = [
    *"""
    Concat concat broadcast_mul _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt
    """.split()
]
WIDEST_TYPE_CASTS: list[str] = sorted(
    {*_half.WIDEST_TYPE_CASTS, "_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior", "_contrib_MultiBoxTarget"}
    - {*_NOT_WIDEST}
)

# Everything else that the float16 lists know, but for what is a cast itself or belongs to other backends.
_NOWHERE = {"CuDNNBatchNorm", "_TensorRT", "amp_cast", "amp_multicast"}
FP32_FUNCS: list[str] = sorted(
    {*_half.FP16_FUNCS, *_half.FP16_FP32_FUNCS, *_half.FP32_FUNCS, "broadcast_mul"}
    - {*BF16_FUNCS, *BF16_FP32_FUNCS, *WIDEST_TYPE_CASTS, *_NOWHERE}
)
