"""Data sets that worker processes can import."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import jax
import numpy as np

import gluonjax as mx
from gluonjax.gluon import data


class Squares(data.Dataset):
    """``n -> (n, n * n)`` as arrays."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, idx: int) -> Any:
        return mx.nd.array([idx, idx * idx]) + 0, np.float32(idx)


class Draws(data.Dataset):
    """Random numbers of three generators, and the process that drew them."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, idx: int) -> Any:
        drawn = float(mx.nd.random.uniform(shape=(1,)).asscalar())
        return np.array([os.getpid(), drawn, np.random.rand(), random.random()])


class Fails(data.Dataset):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, idx: int) -> Any:
        if idx == 1:
            raise KeyError(f"sample {idx} is broken")
        return float(idx)


class Slow(data.Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, idx: int) -> Any:
        time.sleep(5.0)
        return float(idx)


class Dies(data.Dataset):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, idx: int) -> Any:
        os._exit(3)


class Untouched(data.Dataset):
    """1 where JAX has not been asked for a device in this process: its number of devices can still be set."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, idx: int) -> Any:
        transform = data.vision.transforms.Compose(
            [data.vision.transforms.ToTensor(), data.vision.transforms.Normalize(0.5, 0.5)]
        )
        image = transform(mx.nd.array(np.full((4, 4, 3), 255), dtype="uint8"))
        assert abs(float(image.mean().asscalar()) - 1.0) < 1e-5
        try:
            jax.config.update("jax_num_cpu_devices", 2)
        except RuntimeError:
            return 0.0
        return 1.0


class OnlyHere(data.Dataset):
    """Cannot be made in a worker, which has not imported the test."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, idx: int) -> Any:
        return float(idx)

    def __setstate__(self, state: Any) -> None:
        raise ModuleNotFoundError("only in the parent")

    def __getstate__(self) -> Any:
        return {"some": "state"}
