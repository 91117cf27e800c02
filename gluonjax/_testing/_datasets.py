"""Data sets and models that MXNet's tests and examples download."""

from __future__ import annotations

import bz2
import logging
import os
import shutil
import urllib.request
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._files.idx import read_idx_file
from gluonjax.io import MNISTIter

_SITE = "http://data.mxnet.io/"
_MODELS = _SITE + "models/"
# Model -> folder and name of its files, and the epoch that its parameters are of.
_KNOWN_MODELS = {
    "imagenet1k-inception-bn": ("imagenet/inception-bn/Inception-BN", 126),
    "imagenet1k-resnet-18": ("imagenet/resnet/18-layers/resnet-18", 0),
    "imagenet1k-resnet-34": ("imagenet/resnet/34-layers/resnet-34", 0),
    "imagenet1k-resnet-50": ("imagenet/resnet/50-layers/resnet-50", 0),
    "imagenet1k-resnet-101": ("imagenet/resnet/101-layers/resnet-101", 0),
    "imagenet1k-resnet-152": ("imagenet/resnet/152-layers/resnet-152", 0),
    "imagenet1k-resnext-50": ("imagenet/resnext/50-layers/resnext-50", 0),
    "imagenet1k-resnext-101": ("imagenet/resnext/101-layers/resnext-101", 0),
    "imagenet1k-resnext-101-64x4d": ("imagenet/resnext/101-layers/resnext-101-64x4d", 0),
    "imagenet11k-resnet-152": ("imagenet-11k/resnet-152/resnet-152", 0),
    "imagenet11k-place365ch-resnet-152": ("imagenet-11k-place365-ch/resnet-152", 0),
    "imagenet11k-place365ch-resnet-50": ("imagenet-11k-place365-ch/resnet-50", 0),
}


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """Download a file unless it is there.

    Args:
        url: where from.
        fname: the file's name; the last part of ``url`` where None.
        dirname: the folder to put it in.
        overwrite: download it even if it is there.
        retries: further tries after a failed one.

    Returns:
        The file's path.
    """
    if retries < 0:
        raise MXNetError(f"download: Number of retries should be at least 0, got {retries}")
    path = fname or url.split("/")[-1]
    if dirname is not None:
        path = os.path.join(dirname, path)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if os.path.exists(path) and not overwrite:
        logging.info("%s exists, skipping download", path)
        return path
    for left in range(retries, -1, -1):
        try:
            _fetch(url, path)
            break
        except OSError as error:
            if not left:
                raise MXNetError(
                    f"download: cannot get {url}: {error}. Put the file at {path!r} yourself"
                ) from error
            print(f"download failed, retrying, {left} attempt{'s' if left > 1 else ''} left")
    logging.info("downloaded %s into %s successfully", url, path)
    return path


def _fetch(url: str, path: str) -> None:
    part = path + ".part"
    with urllib.request.urlopen(url, timeout=60) as source, open(part, "wb") as target:
        shutil.copyfileobj(source, target)
    os.replace(part, path)


def download_model(
    model_name: str, dst_dir: str = "./", meta_info: Mapping[str, Any] | None = None
) -> tuple[str | None, int]:
    """Download a model's symbol and parameters.

    Args:
        model_name: one of MXNet's known models, or a key of ``meta_info``.
        dst_dir: the folder to put them in.
        meta_info: name -> ``{"symbol": url, "params": url}``.

    Returns:
        Prefix and epoch for ``load_checkpoint``; ``(None, 0)`` for an unknown name.
    """
    known: Mapping[str, Any] = meta_info if meta_info is not None else {
        name: {"symbol": f"{_MODELS}{path}-symbol.json", "params": f"{_MODELS}{path}-{epoch:04d}.params"}
        for name, (path, epoch) in _KNOWN_MODELS.items()
    }  # fmt: skip
    if model_name not in known:
        return None, 0
    prefix = os.path.join(dst_dir, model_name)
    for what, ending in (("symbol", "-symbol.json"), ("params", "-0000.params")):
        if what not in known[model_name]:
            raise MXNetError(f"download_model: meta_info of {model_name!r} has no {what!r} address")
        download(known[model_name][what], prefix + ending)
    return prefix, 0


def get_mnist() -> dict[str, np.ndarray]:
    """Return the MNIST digits: ``train_data``, ``train_label``, ``test_data``, ``test_label``.

    Images are float32 ``(n, 1, 28, 28)``, 0 to 1. Files in the current folder are used, missing ones
    downloaded.
    """
    found = {}
    for part, name in (("train", "train"), ("test", "t10k")):
        labels, images = (
            read_idx_file(download(f"{_SITE}data/mnist/{name}-{kind}-ubyte.gz"))
            for kind in ("labels-idx1", "images-idx3")
        )
        found[f"{part}_data"] = images.reshape(len(images), 1, 28, 28).astype(np.float32) / 255
        found[f"{part}_label"] = labels.astype(np.int8)
    return found


def _unpacked(address: str, wanted: tuple[str, ...]) -> None:
    if not all(os.path.exists(os.path.join("data", name)) for name in wanted):
        with zipfile.ZipFile(download(address, dirname="data")) as archive:
            archive.extractall("data")


def get_mnist_pkl() -> None:
    """Put the pickled MNIST digits into ``data/mnist.pkl.gz``."""
    download("http://deeplearning.net/data/mnist/mnist.pkl.gz", dirname="data")


def get_mnist_ubyte() -> None:
    """Put the four files of the MNIST digits into ``data/``."""
    _unpacked(
        _SITE + "mxnet/data/mnist.zip",
        tuple(
            f"{name}-ubyte"
            for part in ("train", "t10k")
            for name in (f"{part}-images-idx3", f"{part}-labels-idx1")
        ),
    )


def get_cifar10() -> None:
    """Put the CIFAR-10 record files into ``data/cifar/``."""
    _unpacked(
        _SITE + "mxnet/data/cifar10.zip",
        tuple(f"cifar/{part}.{ending}" for part in ("train", "test") for ending in ("rec", "lst")),
    )


def get_mnist_iterator(
    batch_size: int, input_shape: tuple[int, ...], num_parts: int = 1, part_index: int = 0
) -> tuple[Any, Any]:
    """Return iterators over the training and the test digits.

    Args:
        batch_size: digits of a batch.
        input_shape: three sizes for images, else vectors.
        num_parts: cut the digits into so many parts,
        part_index: and read this one.
    """
    get_mnist_ubyte()
    settings = {
        "batch_size": batch_size,
        "flat": len(input_shape) != 3,
        "num_parts": num_parts,
        "part_index": part_index,
    }
    train, test = (
        MNISTIter(image=f"data/{part}-images-idx3-ubyte", label=f"data/{part}-labels-idx1-ubyte", **settings)
        for part in ("train", "t10k")
    )
    return train, test


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Download and unpack a zip file into a folder, unless it is there."""
    path = os.path.join(data_dir, data_origin_name)
    if not os.path.exists(path):
        download(url, dirname=data_dir)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Download and unpack a bz2 file into a folder, unless it is there."""
    packed, path = os.path.join(data_dir, data_origin_name), os.path.join(data_dir, data_name)
    if not os.path.exists(path):
        download(url, fname=packed)
        with bz2.open(packed) as source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)
        os.remove(packed)
