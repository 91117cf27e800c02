"""``mx.context``: devices by MXNet's names."""

from __future__ import annotations

from gluonjax._base.devices import Context, current_context, device_count
from gluonjax._base.errors import MXNetError
from gluonjax._base.python_types import classproperty as classproperty
from gluonjax._base.python_types import with_metaclass as with_metaclass


def cpu(device_id: int = 0) -> Context:
    """The CPU; ``cpu(1)`` and up are labels unless JAX has several CPU devices.

    >>> cpu(), cpu(1)
    (cpu(0), cpu(1))
    """
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Host memory for transfers; the same as the CPU here."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """A GPU. Raises MXNetError at once where JAX has none, and says what to install."""
    context = Context("gpu", device_id)
    context.jax_device
    return context


def tpu(device_id: int = 0) -> Context:
    """A TPU core. Raises MXNetError at once where JAX has none."""
    context = Context("tpu", device_id)
    context.jax_device
    return context


def num_gpus() -> int:
    """How many GPUs JAX sees."""
    return device_count("gpu")


def num_tpus() -> int:
    """How many TPU cores JAX sees."""
    return device_count("tpu")


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total bytes of a GPU's memory, as XLA's allocator sees them."""
    stats = gpu(device_id).jax_device.memory_stats() or {}
    total = stats.get("bytes_limit")
    if total is None:
        raise MXNetError(f"gpu_memory_info: gpu({device_id}) reports no memory statistics")
    return total - stats.get("bytes_in_use", 0), total


__all__ = [
    "Context", "cpu", "cpu_pinned", "current_context", "gpu", "gpu_memory_info", "num_gpus", "num_tpus", "tpu",
]  # fmt: skip
