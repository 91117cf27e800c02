"""Vocabularies and embeddings."""

from __future__ import annotations

import collections
import zipfile
from typing import ClassVar

import numpy as np
import pytest

import gluonjax as mx
from gluonjax.contrib import text


def _file(folder, lines: str):
    path = folder / "vectors.txt"
    path.write_text(lines)
    return str(path)


def test_vocabulary_orders_by_frequency_then_by_token() -> None:
    counter = text.utils.count_tokens_from_str("c b a\nb c c D d", to_lower=True)
    assert counter == collections.Counter({"c": 3, "b": 2, "d": 2, "a": 1})
    vocabulary = text.vocab.Vocabulary(counter, most_freq_count=2, min_freq=2, reserved_tokens=["<pad>"])
    assert vocabulary.idx_to_token == ["<unk>", "<pad>", "c", "b"]
    assert vocabulary.to_indices(["b", "nothing"]) == [3, 0] and vocabulary.to_tokens(1) == "<pad>"
    with pytest.raises(ValueError, match="indices are 0 to 3"):
        vocabulary.to_tokens([4])
    with pytest.raises(AssertionError, match="duplicate"):
        text.vocab.Vocabulary(counter, reserved_tokens=["x", "x"])


def test_embedding_from_a_file(tmp_path) -> None:
    path = _file(tmp_path, "2 3\na 1 2 3\nb 4 5 6\na 9 9 9\n<unk> 7 7 7\n")
    with pytest.warns(UserWarning) as heard:
        loaded = text.embedding.CustomEmbedding(path)
    said = [str(one.message) for one in heard]
    assert len(said) == 2 and "header" in said[0] and "another vector for token a" in said[1]
    assert loaded.idx_to_token == ["<unk>", "a", "b"] and loaded.vec_len == 3
    np.testing.assert_array_equal(loaded.idx_to_vec.asnumpy(), [[7, 7, 7], [1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(loaded.get_vecs_by_tokens(["A", "b"]).asnumpy(), [[7, 7, 7], [4, 5, 6]])
    np.testing.assert_array_equal(loaded.get_vecs_by_tokens("A", lower_case_backup=True).asnumpy(), [1, 2, 3])
    loaded.update_token_vectors("b", mx.nd.array([0, 0, 1]))
    np.testing.assert_array_equal(loaded.get_vecs_by_tokens("b").asnumpy(), [0, 0, 1])
    with pytest.raises(ValueError, match="Token z is unknown"):
        loaded.update_token_vectors("z", mx.nd.zeros((3,)))
    with pytest.raises(AssertionError, match="must have shape"):
        loaded.update_token_vectors(["a", "b"], mx.nd.zeros((2, 2)))


def test_embeddings_joined_for_a_vocabulary(tmp_path) -> None:
    first = text.embedding.CustomEmbedding(_file(tmp_path, "a 1 2\nb 3 4\n"), init_unknown_vec=mx.nd.ones)
    second = text.embedding.CustomEmbedding(_file(tmp_path, "b:5:6:7\n"), elem_delim=":")
    vocabulary = text.vocab.Vocabulary(collections.Counter(["b", "c"]))
    both = text.embedding.CompositeEmbedding(vocabulary, [first, second])
    np.testing.assert_array_equal(both.idx_to_vec.asnumpy(), [[1, 1, 0, 0, 0], [3, 4, 5, 6, 7], [1, 1, 0, 0, 0]])
    assert both.idx_to_token == ["<unk>", "b", "c"] and both.vec_len == 5


def test_wrong_files_are_explained(tmp_path) -> None:
    with pytest.raises(AssertionError, match=r"At line 2 .* dimension of token b is 3"):
        text.embedding.CustomEmbedding(_file(tmp_path, "a 1 2\nb 1 2 3\n"))
    with pytest.raises(ValueError, match="valid path"):
        text.embedding.CustomEmbedding(str(tmp_path / "missing.txt"))


def test_pretrained_names_and_files(tmp_path, monkeypatch) -> None:
    names = text.embedding.get_pretrained_file_names()
    assert len(names["fasttext"]) == 327 and "glove.6B.50d.txt" in names["glove"]
    with pytest.raises(KeyError, match="Valid pretrained files"):
        text.embedding.create("glove", pretrained_file_name="glove.x.txt")

    @text.embedding.register
    class Packed(text.embedding._TokenEmbedding):
        pretrained_file_name_sha1: ClassVar = {"v.vec": "6b62b4d3bd8a1a9a0e0d9ed5b3e2a8f0f1f0b6a5"}
        pretrained_archive_name_sha1: ClassVar = {"v.zip": None}

        @classmethod
        def _get_download_file_name(cls, name):
            return "v.zip"

        def __init__(self, root, **kwargs):
            super().__init__(**kwargs)
            self._load_embedding(self._get_pretrained_file(root, "v.vec"), " ", mx.nd.zeros)

    served = tmp_path / "gluon" / "embeddings" / "packed"
    served.mkdir(parents=True)
    monkeypatch.setenv("MXNET_GLUON_REPO", f"file://{tmp_path}/")
    with pytest.raises(mx.MXNetError, match="Without a network, put the file at"):
        text.embedding.create("packed", root=str(tmp_path / "cache"))
    with zipfile.ZipFile(served / "v.zip", "w") as archive:
        archive.writestr("v.vec", "a 1 2\n")
    assert text.embedding.create("packed", root=str(tmp_path / "cache")).to_indices("a") == 1
