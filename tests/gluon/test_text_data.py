"""WikiText from local files."""

from __future__ import annotations

import pytest

import gluonjax as mx
from gluonjax.gluon.contrib.data import WikiText2, WikiText103

text = pytest.importorskip("gluonjax.contrib.text")

LINES = " = Title = \n\n the cat saw the dog . \n the dog saw the cat and the bird . \n"


@pytest.mark.parametrize("kind", [WikiText2, WikiText103])
def test_samples_are_words_and_the_words_after_them(kind, tmp_path) -> None:
    (tmp_path / "wiki.train.tokens").write_text(LINES)
    data = kind(root=str(tmp_path), seq_len=5)
    words = [word for line in LINES.splitlines() if line.strip() for word in (*line.split(), "<eos>")]
    assert len(data) == (len(words) - 1) // 5
    x, y = data[1]
    assert data.vocabulary.to_tokens([int(one) for one in x.asnumpy()]) == words[5:10]
    assert data.vocabulary.to_tokens([int(one) for one in y.asnumpy()]) == words[6:11]
    assert data.frequencies["the"] == 5
    shared = kind(root=str(tmp_path), seq_len=2, vocab=data.vocabulary)
    assert shared.vocabulary is data.vocabulary
    batch = next(iter(mx.gluon.data.DataLoader(data, 2)))
    assert [part.shape for part in batch] == [(2, 5), (2, 5)]


def test_missing_files_are_explained(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MXNET_GLUON_REPO", "file:///nowhere/")
    with pytest.raises(mx.MXNetError, match=r"wikitext-2-v1\.zip \(SHA-1 3c914d17"):
        WikiText2(root=str(tmp_path))
    with pytest.raises(ValueError, match="train, validation, test, got 'dev'"):
        WikiText2(root=str(tmp_path), segment="dev")
