"""Token embeddings: vectors for tokens, read from text files."""

from __future__ import annotations

import logging
import os
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from gluonjax import ndarray as nd
from gluonjax import numpy as mx_np
from gluonjax import registry
from gluonjax._base.errors import MXNetError
from gluonjax.contrib.text import _constants, vocab
from gluonjax.contrib.text._constants import UNKNOWN_IDX
from gluonjax.contrib.text._errors import TextArgumentError, require
from gluonjax.gluon.utils import check_sha1, download
from gluonjax.util import is_np_array

_ROOT = os.path.join(os.environ.get("MXNET_HOME", os.path.join(os.path.expanduser("~"), ".mxnet")), "embeddings")


def _array(values: Any) -> Any:
    return mx_np.array(values, dtype="float32") if is_np_array() else nd.array(values)


class _UnknownEmbeddingError(TextArgumentError, KeyError):
    """A name of an embedding or of its file that does not exist."""

    __str__ = Exception.__str__


def _read_vectors(path: str, delimiter: str, encoding: str) -> Iterator[tuple[int, str, list[float]]]:
    """Line number, token and vector for every line of an embedding file."""
    with open(path, encoding=encoding) as file:
        for number, line in enumerate(file, 1):
            token, *texts = line.rstrip().split(delimiter)
            require(
                bool(texts),
                f"At line {number} of the pre-trained text embedding file: the data format of {path} is unexpected: "
                f"wanted a token and its vector, separated by {delimiter!r}",
            )
            yield number, token, [float(text) for text in texts]


class _TokenEmbedding(vocab.Vocabulary):
    """A vocabulary with a vector for every token; number 0 is the vector of unknown tokens.

    Subclasses that are registered are created by name, and set ``pretrained_file_name_sha1``.
    """

    pretrained_file_name_sha1: ClassVar[dict[str, str]] = {}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._vec_len: int = 0
        self._idx_to_vec: Any = None

    # -- files -----------------------------------------------------------------------------------------------

    @classmethod
    def _check_pretrained_file_names(cls, pretrained_file_name: str) -> None:
        known = cls.pretrained_file_name_sha1
        if pretrained_file_name not in known:
            kind = cls.__name__.lower()
            raise _UnknownEmbeddingError(
                f"Cannot find pretrained file {pretrained_file_name} for token embedding {kind}. Valid pretrained "
                f"files for embedding {kind}: {', '.join(known)}"
            )

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        return pretrained_file_name

    @classmethod
    def _get_pretrained_file_url(cls, pretrained_file_name: str) -> str:
        server = os.environ.get("MXNET_GLUON_REPO", _constants.APACHE_REPO_URL)
        name = cls._get_download_file_name(pretrained_file_name)
        return f"{server}gluon/embeddings/{cls.__name__.lower()}/{name}"

    @classmethod
    def _get_pretrained_file(cls, embedding_root: str, pretrained_file_name: str) -> str:
        """The path of the file, downloaded and unpacked where it is not there yet."""
        folder = os.path.join(os.path.expanduser(embedding_root), cls.__name__.lower())
        path = os.path.join(folder, pretrained_file_name)
        wanted = cls.pretrained_file_name_sha1[pretrained_file_name]
        if os.path.exists(path) and check_sha1(path, wanted):
            return path
        url = cls._get_pretrained_file_url(pretrained_file_name)
        packed = os.path.join(folder, os.path.basename(url))
        archives = getattr(cls, "pretrained_archive_name_sha1", None)
        digest = wanted if archives is None else archives[os.path.basename(url)]
        try:
            download(url, packed, sha1_hash=digest)
        except OSError as error:
            raise MXNetError(
                f"{cls.__name__}: cannot download {url} ({error}). Without a network, put the file at {path}, or read "
                "a file of your own with CustomEmbedding"
            ) from error
        if packed.endswith(".zip"):
            with zipfile.ZipFile(packed) as archive:
                archive.extractall(folder)
        elif packed.endswith(".gz"):
            with tarfile.open(packed, "r:gz") as tar:
                tar.extractall(folder, filter="data")
        return path

    def _load_embedding(
        self, pretrained_file_path: str, elem_delim: str, init_unknown_vec: Callable[..., Any], encoding: str = "utf8"
    ) -> None:
        """Number the tokens of a file and keep their vectors; of a token that comes twice, the first."""
        path = os.path.expanduser(pretrained_file_path)
        if not os.path.isfile(path):
            raise TextArgumentError(
                f"`pretrained_file_path` must be a valid path to the pre-trained token embedding file, got {path!r}"
            )
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        unknown: list[float] | None = None
        seen: set[Any] = set()
        vectors: list[list[float]] = []
        for number, token, vector in _read_vectors(path, elem_delim, encoding):
            where = f"At line {number} of the pre-trained token embedding file:"
            if token == self._unknown_token and unknown is None:
                unknown = vector
            elif token in seen:
                warnings.warn(f"{where} another vector for token {token} is skipped", stacklevel=4)
            elif len(vector) == 1:
                warnings.warn(
                    f"{where} token {token} with 1-dimensional vector {vector} is likely a header and is skipped",
                    stacklevel=4,
                )
                continue
            else:
                length = len(vectors[0]) if vectors else len(vector)
                require(
                    len(vector) == length,
                    f"{where} the dimension of token {token} is {len(vector)} but the dimension of previous tokens is "
                    f"{length}. Dimensions of all the tokens must be the same.",
                )
                vectors.append(vector)
                self._token_to_idx[token] = len(self._idx_to_token)
                self._idx_to_token.append(token)
            seen.add(token)
        require(bool(vectors), f"{path} contains no token with a vector of two or more numbers")
        self._vec_len = len(vectors[0])
        first = init_unknown_vec(shape=self._vec_len).asnumpy() if unknown is None else unknown
        self._idx_to_vec = _array(np.asarray([first, *vectors], np.float32))

    # -- other vocabularies ----------------------------------------------------------------------------------

    def _index_tokens_from_vocabulary(self, vocabulary: vocab.Vocabulary) -> None:
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = None if vocabulary.reserved_tokens is None else list(vocabulary.reserved_tokens)

    def _set_idx_to_vec_by_embeddings(
        self, token_embeddings: Sequence[_TokenEmbedding], vocab_len: int, vocab_idx_to_token: list[Any]
    ) -> None:
        """Join the vectors that some embeddings have for the tokens of a vocabulary."""
        tables = [one.get_vecs_by_tokens(vocab_idx_to_token).asnumpy() for one in token_embeddings]
        for one, table in zip(token_embeddings, tables):
            table[UNKNOWN_IDX] = one.idx_to_vec[UNKNOWN_IDX].asnumpy()
        joined = np.concatenate(tables, axis=1)[:vocab_len]
        self._vec_len = joined.shape[1]
        self._idx_to_vec = _array(joined)

    def _load_pretrained(
        self, root: str, name: str, init_unknown_vec: Callable[..., Any], vocabulary: vocab.Vocabulary | None
    ) -> None:  # fmt: skip
        """Take the vectors of a published file, for all its tokens or for a vocabulary's."""
        self._load_embedding(self._get_pretrained_file(root, name), " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)

    def _build_embedding_for_vocabulary(self, vocabulary: vocab.Vocabulary | None) -> None:
        if vocabulary is None:
            return
        require(
            isinstance(vocabulary, vocab.Vocabulary),
            f"The argument `vocabulary` must be an instance of Vocabulary, got {type(vocabulary).__name__}",
        )
        self._set_idx_to_vec_by_embeddings([self], len(vocabulary), vocabulary.idx_to_token)
        self._index_tokens_from_vocabulary(vocabulary)

    # -- vectors ---------------------------------------------------------------------------------------------

    @property
    def vec_len(self) -> int:
        """The length of a vector."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> Any:
        """The vectors, as an array of shape (number of tokens, length)."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: Any, lower_case_backup: bool = False) -> Any:
        """Vectors of tokens.

        Args:
            tokens: a token, or a list of them.
            lower_case_backup: look for the lower-case token where the token is unknown.

        Returns:
            An array of shape (length,), or (number of tokens, length) for a list.
        """
        table = self._token_to_idx
        indices = []
        for token in tokens if isinstance(tokens, list) else [tokens]:
            index = table.get(token)
            if index is None and lower_case_backup:
                index = table.get(token.lower())
            indices.append(UNKNOWN_IDX if index is None else index)
        vectors = self._idx_to_vec.take(_array(indices))
        return vectors if isinstance(tokens, list) else vectors[0]

    def update_token_vectors(self, tokens: Any, new_vectors: Any) -> None:
        """Replace vectors.

        Args:
            tokens: a token, or a list of them; unknown ones are an error, except for the unknown token itself.
            new_vectors: shape (number of tokens, length); a single token's may be (length,).
        """
        require(self._idx_to_vec is not None, "The property `idx_to_vec` has not been properly set.")
        names = tokens if isinstance(tokens, list) else [tokens]
        ranks = (1, 2) if len(names) == 1 else (2,)
        require(
            isinstance(new_vectors, nd.NDArray) and new_vectors.ndim in ranks,
            f"`new_vectors` must be an NDArray of {' or '.join(map(str, ranks))} dimensions for {len(names)} token(s)",
        )
        rows = new_vectors.asnumpy().reshape((-1, new_vectors.shape[-1]))
        require(
            rows.shape == (len(names), self._vec_len),
            f"`new_vectors` must have shape {(len(names), self._vec_len)} for {len(names)} token(s), got "
            f"{new_vectors.shape}",
        )
        for name in names:
            if name not in self._token_to_idx:
                raise TextArgumentError(
                    f"Token {name} is unknown. To update the embedding vector for an unknown token, please specify it "
                    f"explicitly as the `unknown_token` {self._idx_to_token[UNKNOWN_IDX]} in `tokens`."
                )
        self._idx_to_vec[_array([self._token_to_idx[name] for name in names])] = _array(rows)


_register = registry.get_register_func(_TokenEmbedding, "token embedding")
_create = registry.get_create_func(_TokenEmbedding, "token embedding")


def register(embedding_cls: type) -> type:
    """Register a class of embeddings under its name; a decorator."""
    return _register(embedding_cls)


def create(embedding_name: str, **kwargs: Any) -> Any:
    """An embedding by the (case-insensitive) name of its class.

    Args:
        embedding_name: 'glove', 'fasttext' or a registered class.
        kwargs: for the class, such as ``pretrained_file_name``.
    """
    return _create(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Names of the files of an embedding; a dict of all where no name is given."""
    known = registry.get_registry(_TokenEmbedding)
    if embedding_name is None:
        return {name: list(kind.pretrained_file_name_sha1) for name, kind in known.items()}
    if embedding_name not in known:
        raise _UnknownEmbeddingError(
            f"Cannot find `embedding_name` {embedding_name}; valid names (get_pretrained_file_names(None).keys()) are "
            f"{', '.join(known)}"
        )
    return list(known[embedding_name].pretrained_file_name_sha1)


@register
class GloVe(_TokenEmbedding):
    """GloVe vectors, from a file in ``embedding_root`` or from the net.

    Args:
        pretrained_file_name: see ``get_pretrained_file_names('glove')``.
        embedding_root: the folder of files.
        init_unknown_vec: makes the vector of unknown tokens.
        vocabulary: whose tokens get vectors; all tokens of the file where None.
    """

    pretrained_archive_name_sha1 = _constants.GLOVE_PRETRAINED_FILE_SHA1
    pretrained_file_name_sha1 = _constants.GLOVE_PRETRAINED_ARCHIVE_SHA1

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        corpus = pretrained_file_name.split(".")[1]
        return next(name for name in cls.pretrained_archive_name_sha1 if name.split(".")[1] == corpus)

    def __init__(
        self,
        pretrained_file_name: str = "glove.840B.300d.txt",
        embedding_root: str = _ROOT,
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        self._load_pretrained(embedding_root, pretrained_file_name, init_unknown_vec, vocabulary)


@register
class FastText(_TokenEmbedding):
    """fastText vectors, from a file in ``embedding_root`` or from the net; arguments as for ``GloVe``."""

    pretrained_archive_name_sha1 = _constants.FAST_TEXT_ARCHIVE_SHA1
    pretrained_file_name_sha1 = _constants.FAST_TEXT_FILE_SHA1

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        return f"{os.path.splitext(pretrained_file_name)[0]}.zip"

    def __init__(
        self,
        pretrained_file_name: str = "wiki.simple.vec",
        embedding_root: str = _ROOT,
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        self._load_pretrained(embedding_root, pretrained_file_name, init_unknown_vec, vocabulary)


class CustomEmbedding(_TokenEmbedding):
    """Vectors from a text file: in every line a token and the numbers of its vector.

    Args:
        pretrained_file_path: the file.
        elem_delim: what separates token and numbers.
        encoding: the file's.
        init_unknown_vec: makes the vector of unknown tokens.
        vocabulary: whose tokens get vectors; all tokens of the file where None.
    """

    def __init__(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The joined vectors of several embeddings for the tokens of a vocabulary.

    Args:
        vocabulary: the tokens.
        token_embeddings: an embedding or a list of them.
    """

    def __init__(self, vocabulary: vocab.Vocabulary, token_embeddings: Any) -> None:
        super().__init__()
        require(
            isinstance(vocabulary, vocab.Vocabulary),
            f"The argument `vocabulary` must be an instance of Vocabulary, got {type(vocabulary).__name__}",
        )
        parts = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        require(
            all(isinstance(one, _TokenEmbedding) for one in parts),
            f"`token_embeddings` must be an embedding or a list of them, got {[type(one).__name__ for one in parts]}",
        )
        self._index_tokens_from_vocabulary(vocabulary)
        self._set_idx_to_vec_by_embeddings(parts, len(self), self._idx_to_token)


__all__ = [
    "CompositeEmbedding", "CustomEmbedding", "FastText", "GloVe", "create", "get_pretrained_file_names", "register",
]  # fmt: skip
