"""Text data sets for language models, read from local files or downloaded."""

from __future__ import annotations

import os
import zipfile
from typing import Any, ClassVar

import numpy as np

from gluonjax import ndarray as nd
from gluonjax.gluon._errors import ArgumentError
from gluonjax.gluon.contrib.data._constants import EOS_TOKEN
from gluonjax.gluon.data.dataset import _DownloadedDataset
from gluonjax.gluon.data.vision.datasets import _default_root
from gluonjax.gluon.utils import _get_repo_file_url, check_sha1, download


class _WikiText(_DownloadedDataset):
    """Wikipedia articles as word indices: one sample is ``seq_len`` words and the words that follow each of them."""

    _namespace: ClassVar[str]
    _archive: ClassVar[tuple[str, str]]
    # segment -> file name and SHA-1 digest
    _files: ClassVar[dict[str, tuple[str, str]]]

    def __init__(self, root: str, segment: str, vocab: Any, seq_len: int) -> None:
        if segment not in self._files:
            raise ArgumentError(
                f"{type(self).__name__}: segment must be one of {', '.join(self._files)}, got {segment!r}"
            )
        self._segment, self._seq_len = segment, seq_len
        self._vocab, self._counter = vocab, None
        super().__init__(root, None)

    @property
    def vocabulary(self) -> Any:
        """The ``contrib.text.vocab.Vocabulary`` that gave the words their indices."""
        return self._vocab

    @property
    def frequencies(self) -> Any:
        """How often each word occurs (a ``collections.Counter``)."""
        return self._counter

    def _path(self) -> str:
        """The segment's text file. One that is there already is taken as it is, whatever its digest."""
        name, _ = self._files[self._segment]
        path = os.path.join(self._root, name)
        if os.path.exists(path):
            return path
        archive, digest = self._archive
        local = os.path.join(self._root, archive)
        if not (os.path.exists(local) and check_sha1(local, digest)):
            url = _get_repo_file_url(f"gluon/dataset/{self._namespace}", archive)
            local = download(url, path=self._root, sha1_hash=digest)
        with zipfile.ZipFile(local) as packed:
            for member in packed.namelist():
                plain = os.path.basename(member)
                if plain:
                    with open(os.path.join(self._root, plain), "wb") as file:
                        file.write(packed.read(member))
        return path

    def _get_data(self) -> None:
        from gluonjax.contrib import text  # vocabularies; only where a data set is made

        with open(self._path(), encoding="utf-8") as file:
            content = file.read()
        self._counter = text.utils.count_tokens_from_str(content)
        if self._vocab is None:
            self._vocab = text.vocab.Vocabulary(counter=self._counter, reserved_tokens=[EOS_TOKEN])
        words = [word for line in content.splitlines() if line.strip() for word in (*line.split(), EOS_TOKEN)]
        indices = np.array(self._vocab.to_indices(words), dtype=np.int32)
        whole = (len(indices) - 1) // self._seq_len * self._seq_len
        self._data = nd.array(indices[:whole], dtype=np.int32).reshape((-1, self._seq_len))
        self._label = nd.array(indices[1 : whole + 1], dtype=np.int32).reshape((-1, self._seq_len))

    def __getitem__(self, idx: Any) -> Any:
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)


class WikiText2(_WikiText):
    """WikiText-2: two million words of Wikipedia, of Salesforce research (CC BY-SA).

    Args:
        root: folder of ``wiki.train.tokens`` and so on; what is missing is downloaded.
        segment: ``'train'``, ``'validation'`` or ``'test'``.
        vocab: a Vocabulary to use; None makes one of this segment.
        seq_len: words in a sample.
    """

    _namespace = "wikitext-2"
    _archive = ("wikitext-2-v1.zip", "3c914d17d80b1459be871a5039ac23e752a53cbe")
    _files: ClassVar[dict[str, tuple[str, str]]] = {
        "train": ("wiki.train.tokens", "863f29c46ef9d167fff4940ec821195882fe29d1"),
        "validation": ("wiki.valid.tokens", "0418625c8b4da6e4b5c7a0b9e78d4ae8f7ee5422"),
        "test": ("wiki.test.tokens", "c7b8ce0aa086fb34dab808c5c49224211eb2b172"),
    }

    def __init__(
        self, root: str = _default_root("wikitext-2"), segment: str = "train", vocab: Any = None, seq_len: int = 35
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)


class WikiText103(_WikiText):
    """WikiText-103: a hundred million words of Wikipedia; arguments as for ``WikiText2``."""

    _namespace = "wikitext-103"
    _archive = ("wikitext-103-v1.zip", "0aec09a7537b58d4bb65362fee27650eeaba625a")
    _files: ClassVar[dict[str, tuple[str, str]]] = {
        "train": ("wiki.train.tokens", "b7497e2dfe77e72cfef5e3dbc61b7b53712ac211"),
        "validation": ("wiki.valid.tokens", "c326ac59dc587676d58c422eb8a03e119582f92b"),
        "test": ("wiki.test.tokens", "8a5befc548865cec54ed4273cf87dbbad60d1e47"),
    }

    def __init__(
        self, root: str = _default_root("wikitext-103"), segment: str = "train", vocab: Any = None, seq_len: int = 35
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)


__all__ = ["WikiText2", "WikiText103"]
