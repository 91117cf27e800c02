"""Sentences as numbers, and an iterator that sorts them into buckets by length."""

from __future__ import annotations

import bisect
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonjax import ndarray
from gluonjax.io import DataBatch, DataDesc, DataIter
from gluonjax.rnn._base import CellError, require


def encode_sentences(
    sentences: Sequence[Sequence[Any]], vocab: dict[Any, int] | None = None, invalid_label: int = -1,
    invalid_key: Any = "\n", start_label: int = 0, unknown_token: Any = None,
) -> tuple[list[list[int]], dict[Any, int]]:  # fmt: skip
    """Replace words by numbers.

    >>> encode_sentences([["a", "b"], ["b"]])
    ([[0, 1], [1]], {'\\n': -1, 'a': 0, 'b': 1})

    Args:
        sentences: lists of words.
        vocab: known words; None builds a vocabulary.
        invalid_label, invalid_key: the entry for padding in a new vocabulary.
        start_label: the first number.
        unknown_token: stands for words that are not in a given vocabulary.

    Returns:
        The numbers and the vocabulary.
    """
    building = vocab is None
    known: dict[Any, int] = {invalid_key: invalid_label} if vocab is None else vocab
    number = start_label

    def encode(word: Any) -> int:
        nonlocal number
        if word not in known:
            require(
                building or bool(unknown_token),
                f"Unknown token {word}: not in the given vocabulary; pass unknown_token or leave out vocab",
            )
            if number == invalid_label:
                number += 1
            # MXNet gives the unknown token a new number at each word it meets.
            word = unknown_token or word
            known[word] = number
            number += 1
        return known[word]

    return [[encode(word) for word in sentence] for sentence in sentences], known


class BucketSentenceIter(DataIter):
    """Batches of sentences of similar length for a language model: the label of each word is the next one.

    Args:
        sentences: encoded sentences.
        batch_size: sentences in a batch; what does not fill one is left out.
        buckets: the lengths; None takes every length that at least ``batch_size`` sentences have.
        invalid_label: fills up short sentences.
        data_name, label_name: names of input and label.
        dtype: of both.
        layout: 'NT' for (batch, length), 'TN' for (length, batch).
    """

    def __init__(
        self, sentences: Sequence[Sequence[int]], batch_size: int, buckets: list[int] | None = None,
        invalid_label: int = -1, data_name: str = "data", label_name: str = "softmax_label", dtype: str = "float32",
        layout: str = "NT",
    ) -> None:  # fmt: skip
        super().__init__()
        if not buckets:
            counts = np.bincount([len(sentence) for sentence in sentences])
            buckets = [length for length, count in enumerate(counts) if count >= batch_size]
        buckets.sort()
        if layout.find("N") not in (0, 1):
            raise CellError(f"Invalid layout {layout}: Must by NT (batch major) or TN (time major)")
        rows: list[list[np.ndarray]] = [[] for _ in buckets]
        discarded = 0
        for sentence in sentences:
            place = bisect.bisect_left(buckets, len(sentence))
            if place == len(buckets):
                discarded += 1
                continue
            row = np.full((buckets[place],), invalid_label, dtype=dtype)
            row[: len(sentence)] = sentence
            rows[place].append(row)
        print(f"WARNING: discarded {discarded} sentences longer than the largest bucket.")
        self.data = [np.asarray(content, dtype=dtype) for content in rows if content]
        self.buckets = [length for length, content in zip(buckets, rows) if content]
        require(
            bool(self.buckets),
            f"BucketSentenceIter: no bucket has a sentence (batch_size={batch_size}, {len(sentences)} sentences); "
            "pass buckets or a smaller batch_size",
        )
        self.batch_size = batch_size
        self.data_name = data_name
        self.label_name = label_name
        self.dtype = dtype
        self.invalid_label = invalid_label
        self.layout = layout
        self.major_axis = layout.find("N")
        self.default_bucket_key = max(self.buckets)
        shape = (batch_size, self.default_bucket_key)
        self.provide_data = [self._describe(data_name, shape if self.major_axis == 0 else shape[::-1])]
        self.provide_label = [self._describe(label_name, shape if self.major_axis == 0 else shape[::-1])]
        self.idx = [
            (bucket, start)
            for bucket, content in enumerate(self.data)
            for start in range(0, len(content) - batch_size + 1, batch_size)
        ]
        self.curr_idx = 0
        self.nddata: list[Any] = []
        self.ndlabel: list[Any] = []
        self.reset()

    def _describe(self, name: str, shape: tuple[int, ...]) -> DataDesc:
        return DataDesc(name=name, shape=shape, layout=self.layout)

    def reset(self) -> None:
        """Begin again, in another order of batches and of sentences within each bucket."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata, self.ndlabel = [], []
        for content in self.data:
            np.random.shuffle(content)
            label = np.full_like(content, self.invalid_label)
            label[:, :-1] = content[:, 1:]
            self.nddata.append(ndarray.array(content, dtype=self.dtype))
            self.ndlabel.append(ndarray.array(label, dtype=self.dtype))

    def next(self) -> DataBatch:
        """The next batch, with its length as ``bucket_key``."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, start = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (arrays[bucket][start : start + self.batch_size] for arrays in (self.nddata, self.ndlabel))
        if self.major_axis == 1:
            data, label = data.T, label.T
        return DataBatch(
            [data], [label], pad=0, bucket_key=self.buckets[bucket],
            provide_data=[self._describe(self.data_name, data.shape)],
            provide_label=[self._describe(self.label_name, label.shape)],
        )  # fmt: skip


__all__ = ["BucketSentenceIter", "DataBatch", "DataDesc", "DataIter", "encode_sentences"]
