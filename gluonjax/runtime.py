"""``mx.runtime``: what this build can do, under MXNet's feature names."""

from __future__ import annotations

import collections
from typing import NamedTuple

from gluonjax._base.devices import device_count
from gluonjax._base.errors import MXNetError, did_you_mean


class Feature(NamedTuple):
    """One feature: its name, and whether it is there."""

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def _known() -> list[Feature]:
    gpu = device_count("gpu") > 0
    values = {
        "CUDA": gpu, "CUDNN": gpu, "NCCL": gpu, "CUDA_RTC": False, "TENSORRT": False, "CPU_SSE": True,
        "CPU_SSE2": True, "CPU_SSE3": True, "CPU_SSE4_1": True, "CPU_SSE4_2": True, "CPU_SSE4A": False,
        "CPU_AVX": True, "CPU_AVX2": True, "OPENMP": True, "SSE": True, "F16C": True, "JEMALLOC": False,
        "BLAS_OPEN": False, "BLAS_ATLAS": False, "BLAS_MKL": False, "BLAS_APPLE": False, "LAPACK": True,
        "MKLDNN": False, "OPENCV": False, "CAFFE": False, "PROFILER": True, "DIST_KVSTORE": False, "CXX14": False,
        "INT64_TENSOR_SIZE": True, "SIGNAL_HANDLER": False, "DEBUG": False, "TVM_OP": False, "XLA": True,
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

    def __init__(self) -> None:
        super().__init__((feature.name, feature) for feature in _known())

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
