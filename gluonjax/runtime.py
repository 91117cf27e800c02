"""``mx.runtime``: what this build can do, under MXNet's feature names."""

from __future__ import annotations

import collections
import importlib.util
import pathlib
from typing import ClassVar, NamedTuple

from gluonjax._base.devices import device_count
from gluonjax._base.errors import MXNetError, did_you_mean


class Feature(NamedTuple):
    """One feature: its name, and whether it is there."""

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


# Feature -> the flag of /proc/cpuinfo that says whether this processor has it.
_CPU_FLAGS = {
    "CPU_SSE": "sse", "CPU_SSE2": "sse2", "CPU_SSE3": "pni", "CPU_SSE4_1": "sse4_1", "CPU_SSE4_2": "sse4_2",
    "CPU_SSE4A": "sse4a", "CPU_AVX": "avx", "CPU_AVX2": "avx2", "SSE": "sse", "F16C": "f16c",
}  # fmt: skip


def _cpu_flags() -> set[str]:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()  # not Linux: XLA still uses what there is, but nobody tells us
    line = next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "")
    return set(line.partition(":")[2].split())


def _known() -> list[Feature]:
    gpu = device_count("gpu") > 0
    flags = _cpu_flags()
    has_opencv = importlib.util.find_spec("cv2") is not None
    values = {
        "CUDA": gpu, "CUDNN": gpu, "NCCL": gpu, "CUDA_RTC": False, "TENSORRT": False,
        **{name: flag in flags for name, flag in _CPU_FLAGS.items()},
        # XLA brings its own threads; pictures are decoded by OpenCV where it is installed.
        "OPENMP": False, "JEMALLOC": False, "BLAS_OPEN": False, "BLAS_ATLAS": False, "BLAS_MKL": False,
        "BLAS_APPLE": False, "LAPACK": True, "MKLDNN": False, "OPENCV": has_opencv, "CAFFE": False, "PROFILER": True,
        "DIST_KVSTORE": False, "CXX14": False, "INT64_TENSOR_SIZE": True, "SIGNAL_HANDLER": False, "DEBUG": False,
        "TVM_OP": False, "XLA": True,
    }  # fmt: skip
    return [Feature(name, enabled) for name, enabled in values.items()]


def feature_list() -> list[Feature]:
    """All features."""
    return _known()


class Features(collections.OrderedDict):  # type: ignore[type-arg]
    """Features by name.

    >>> Features().is_enabled("XLA")
    True
    """

    _instance: ClassVar[Features | None] = None

    def __new__(cls) -> Features:
        """The one table; made at the first call."""
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance.update((feature.name, feature) for feature in _known())
        return cls._instance

    def __init__(self) -> None:
        """Nothing: the table is there already."""

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is there. Raises RuntimeError for an unknown name."""
        name = feature_name.upper()
        if name not in self:
            raise _UnknownFeature(f"Feature '{name}' is unknown, known features are: {list(self)}"
                                  f"{did_you_mean(name, self)}")  # fmt: skip
        return self[name].enabled


class _UnknownFeature(MXNetError):
    """A feature name that does not exist."""
