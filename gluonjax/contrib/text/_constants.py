"""Which pre-trained embeddings exist, with the SHA-1 hashes of their files and archives."""

from __future__ import annotations

import pathlib

UNKNOWN_IDX = 0
APACHE_REPO_URL = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"


def _read(family: str) -> tuple[dict[str, str], dict[str, str]]:
    """Hashes of the files and of the archives of one family of embeddings."""
    files, archives = {}, {}
    text = pathlib.Path(__file__).with_name("pretrained.tsv").read_text()
    for line in text.splitlines()[1:]:
        kind, name, file_hash, archive, archive_hash = line.split("\t")
        if kind == family:
            files[name] = file_hash
            archives[archive] = archive_hash
    return files, archives


# MXNet has the names of the two GloVe tables the wrong way round.
GLOVE_PRETRAINED_ARCHIVE_SHA1, GLOVE_PRETRAINED_FILE_SHA1 = _read("glove")
FAST_TEXT_FILE_SHA1, FAST_TEXT_ARCHIVE_SHA1 = _read("fasttext")
