"""A batch dealt out to several devices: inputs are sharded over a JAX mesh, parameters replicated.

Arrays that users see stay on the first device. The replicated form of a parameter is remembered for as long as the
array holds what the last step wrote, so that steps copy nothing but the batch.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from gluonjax._base.devices import Context, Device


def mesh_of(contexts: Sequence[Context]) -> DeviceMesh | None:
    """A mesh of the contexts' devices; None where they are one device, or the same one several times."""
    devices = [context.jax_device for context in contexts]
    if len(set(devices)) < 2 or len(set(devices)) < len(devices):
        return None
    return DeviceMesh(devices)


class DeviceMesh:
    """Places arrays on several devices and takes results home."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self.home = devices[0]
        self.count = len(devices)
        self.mesh = Mesh(np.array(devices), ("batch",))
        self.replicated = NamedSharding(self.mesh, PartitionSpec())
        self._copies: weakref.WeakKeyDictionary[Any, tuple[Any, Any]] = weakref.WeakKeyDictionary()

    def replicas(self, handles: Sequence[Any]) -> list[Any]:
        """The values of arrays on every device; replicas of the last step's results are taken as they are."""
        values = []
        for handle in handles:
            own = handle._value
            known = self._copies.get(handle._cell)
            unchanged = known is not None and known[0] is own
            values.append(known[1] if known is not None and unchanged else jax.device_put(own, self.replicated))
        return values

    def deal(self, value: Any, axis: int) -> Any:
        """The value cut along its batch axis; whole on every device where it has none."""
        if axis < 0 or axis >= value.ndim:
            return jax.device_put(value, self.replicated)
        spec = PartitionSpec(*[None] * axis, "batch")
        return jax.device_put(value, NamedSharding(self.mesh, spec))

    def keep(self, holder: Any, value: Any) -> Any:
        """The first device's part of a replicated result, remembering the whole for the next step."""
        own = self.home_part(value)
        self._copies[holder] = (own, value)
        return own

    def home_part(self, value: Any) -> Any:
        """The first device's part of a replicated result."""
        return next(shard.data for shard in value.addressable_shards if shard.device == self.home)

    def take_home(self, value: Any) -> Any:
        """A dealt-out result in one piece on the first device."""
        return jax.device_put(value, self.home)

    def fits(self, size: int) -> bool:
        """True where a batch of this size can be dealt out evenly."""
        return size % self.count == 0
