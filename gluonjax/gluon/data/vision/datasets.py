"""Image data sets: MNIST and its kin from their files, folders of images, RecordIO files."""

from __future__ import annotations

import os
import tarfile
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gluonjax import ndarray as nd
from gluonjax._files.idx import read_idx_file
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.data.dataset import Dataset, RecordFileDataset, _DownloadedDataset
from gluonjax.gluon.utils import _get_repo_file_url, download

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png")


def _default_root(name: str) -> str:
    """``$MXNET_HOME/datasets/<name>``, below ``~/.mxnet`` where the variable is not set."""
    home = os.environ.get("MXNET_HOME", os.path.join("~", ".mxnet"))
    return os.path.join(os.path.expanduser(home), "datasets", name)


class MNIST(_DownloadedDataset):
    """Handwritten digits: images of shape (28, 28, 1), uint8, and int32 labels.

    Files that are below ``root`` already, gzip-compressed or not, are read; missing ones are downloaded.

    Args:
        root: folder of the files.
        train: the training images, or the test images.
        transform: ``transform(image, label)`` for every sample, or None.
    """

    _namespace: ClassVar[str] = "mnist"
    # (train, kind) -> file name and SHA-1 digest.
    _files: ClassVar[dict[tuple[bool, str], tuple[str, str]]] = {
        (True, "data"): ("train-images-idx3-ubyte.gz", "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d"),
        (True, "label"): ("train-labels-idx1-ubyte.gz", "2a80914081dc54586dbdf242f9805a6b8d2a15fc"),
        (False, "data"): ("t10k-images-idx3-ubyte.gz", "c3a25af1f52dad7f726cce8cacb138654b760d48"),
        (False, "label"): ("t10k-labels-idx1-ubyte.gz", "763e7fa3757d93b0cdec073cef058b2004252c17"),
    }

    def __init__(
        self,
        root: str = _default_root("mnist"),
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._train = train
        super().__init__(root, transform)

    def _path(self, kind: str) -> str:
        name, digest = self._files[self._train, kind]
        for candidate in (name, name.removesuffix(".gz")):
            path = os.path.join(self._root, candidate)
            if os.path.exists(path):
                return path
        url = _get_repo_file_url(f"gluon/dataset/{self._namespace}", name)
        return download(url, path=self._root, sha1_hash=digest)

    def _get_data(self) -> None:
        images = read_idx_file(self._path("data"))
        self._data = nd.array(images[..., None], dtype=images.dtype)
        self._label = read_idx_file(self._path("label")).astype(np.int32)


class FashionMNIST(MNIST):
    """Zalando's images of clothing, in the format of MNIST."""

    _namespace = "fashion-mnist"
    _files: ClassVar[dict[tuple[bool, str], tuple[str, str]]] = {
        (True, "data"): ("train-images-idx3-ubyte.gz", "0cf37b0d40ed5169c6b3aba31069a9770ac9043d"),
        (True, "label"): ("train-labels-idx1-ubyte.gz", "236021d52f1e40852b06a4c3008d8de8aef1e40b"),
        (False, "data"): ("t10k-images-idx3-ubyte.gz", "626ed6a7c06dd17c0eec72fa3be1740f146a2863"),
        (False, "label"): ("t10k-labels-idx1-ubyte.gz", "17f9ab60e7257a1620f4ad76bbbaf857c3920701"),
    }

    def __init__(
        self, root: str = _default_root("fashion-mnist"), train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(root, train, transform)


class CIFAR10(_DownloadedDataset):
    """Small colour images of 10 classes: shape (32, 32, 3), uint8, and int32 labels.

    Args:
        root: folder of the binary files; missing ones are downloaded.
        train: the training images, or the test images.
        transform: ``transform(image, label)`` for every sample, or None.
    """

    _namespace: ClassVar[str] = "cifar10"
    _archive: ClassVar[tuple[str, str]] = (
        "cifar-10-binary.tar.gz",
        "fab780a1e191a7eda0f345501ccd62d20f7ed891",
    )
    _files: ClassVar[dict[bool, tuple[str, ...]]] = {
        True: tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
        False: ("test_batch.bin",),
    }
    # Bytes in front of every image, and which of them is the label.
    _label_bytes: ClassVar[int] = 1
    _label_index: int = 0

    def __init__(
        self,
        root: str = _default_root("cifar10"),
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._train = train
        super().__init__(root, transform)

    def _find(self, name: str) -> str | None:
        # The official archive has its files in a folder of its own.
        for folder, _, files in os.walk(self._root):
            if name in files:
                return os.path.join(folder, name)
        return None

    def _get_data(self) -> None:
        names = self._files[self._train]
        if any(self._find(name) is None for name in names):
            name, digest = self._archive
            archive = download(
                _get_repo_file_url(f"gluon/dataset/{self._namespace}", name),
                path=self._root,
                sha1_hash=digest,
            )
            with tarfile.open(archive) as tar:
                tar.extractall(self._root, filter="data")
        parts = [self._read_batch(self._find(name) or name) for name in names]
        images = np.concatenate([image for image, _ in parts])
        self._data = nd.array(images, dtype=images.dtype)
        self._label = np.concatenate([label for _, label in parts])

    def _read_batch(self, filename: str) -> tuple[np.ndarray, np.ndarray]:
        rows = np.fromfile(filename, np.uint8).reshape(-1, 3 * 32 * 32 + self._label_bytes)
        images = rows[:, self._label_bytes :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return images, rows[:, self._label_index].astype(np.int32)


class CIFAR100(CIFAR10):
    """Small colour images of 100 classes in 20 groups; arguments as for CIFAR10.

    Args:
        fine_label: labels are the 100 classes, not the 20 groups.
    """

    _namespace = "cifar100"
    _archive = ("cifar-100-binary.tar.gz", "a0bb982c76b83111308126cc779a992fa506b90b")
    _files: ClassVar[dict[bool, tuple[str, ...]]] = {True: ("train.bin",), False: ("test.bin",)}
    _label_bytes = 2

    def __init__(
        self, root: str = _default_root("cifar100"), fine_label: bool = False, train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self._label_index = int(fine_label)
        super().__init__(root, train, transform)


class ImageRecordDataset(RecordFileDataset):
    """Images and labels of a RecordIO file.

    Args:
        filename: path of the .rec file.
        flag: 1 decodes to colour, 0 to grey.
        transform: ``transform(image, label)`` for every sample, or None.
    """

    def __init__(self, filename: str, flag: int = 1, transform: Callable[..., Any] | None = None) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: int) -> Any:
        from gluonjax import image, recordio

        header, data = recordio.unpack(super().__getitem__(idx))
        sample = (image.imdecode(data, self._flag), header.label)
        return sample if self._transform is None else self._transform(*sample)


class ImageFolderDataset(Dataset):
    """Images in folders, one folder for each class: ``root/cat/1.jpg``, ``root/dog/7.png``.

    Args:
        root: path of the folders.
        flag: 1 decodes to colour, 0 to grey.
        transform: ``transform(image, label)`` for every sample, or None.

    ``synsets`` lists the class names, ``items`` the pairs (file name, label).
    """

    def __init__(self, root: str, flag: int = 1, transform: Callable[..., Any] | None = None) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(os.scandir(self._root), key=lambda entry: entry.name):
            if folder.is_dir():
                self._add_class(folder.path, folder.name)
            else:
                warnings.warn(f"Ignoring {folder.path}, which is not a directory.", stacklevel=2)

    def _add_class(self, path: str, name: str) -> None:
        label = len(self.synsets)
        self.synsets.append(name)
        for file in sorted(os.listdir(path)):
            suffix = os.path.splitext(file)[1]
            full = os.path.join(path, file)
            if suffix.lower() in IMAGE_SUFFIXES:
                self.items.append((full, label))
            else:
                warnings.warn(
                    f"Ignoring {full} of type {suffix}. Only support {', '.join(IMAGE_SUFFIXES)}",
                    stacklevel=3,
                )

    def __getitem__(self, idx: int) -> Any:
        from gluonjax import image

        path, label = self.items[idx]
        sample = (image.imread(path, self._flag), label)
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self.items)


class ImageListDataset(Dataset):
    """Images named by a list, which says their labels (as in MXNet 2; ``im2rec`` writes such lists).

    Args:
        root: folder that the paths in the list start from.
        imglist: a .lst file with lines ``index <tab> label(s) <tab> path``, or entries ``[label(s)..., path]``.
        flag: 1 decodes to colour, 0 to grey.

    A sample is ``(image, label)``; several labels come as a float32 array.
    """

    def __init__(self, root: str = ".", imglist: Any = None, flag: int = 1) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        if isinstance(imglist, str):
            path = os.path.join(self._root, os.path.expanduser(imglist))
            if not os.path.exists(path):
                raise ArgumentError(f"ImageListDataset: there is no list {path}")
            with open(path, encoding="utf-8") as file:
                rows = [line.rstrip("\n").split("\t")[1:] for line in file if line.strip()]
        elif isinstance(imglist, (list, tuple)):
            rows = [list(entry) for entry in imglist]
        else:
            raise ArgumentError(f"ImageListDataset: imglist must be a path or a list, got {type(imglist).__name__}")
        self.items: list[tuple[str, Any]] = []
        for number, (*labels, name) in enumerate(rows):
            if not labels:
                raise ArgumentError(f"ImageListDataset: entry {number} has no label: {name!r}")
            flat = np.concatenate([np.ravel(np.asarray(label, np.float32)) for label in labels])
            self.items.append((os.path.join(self._root, name), float(flat[0]) if len(flat) == 1 else flat))

    def __getitem__(self, idx: int) -> Any:
        from gluonjax import image

        path, label = self.items[idx]
        return image.imread(path, self._flag), label

    def __len__(self) -> int:
        return len(self.items)
