"""Vocabularies: tokens and their numbers."""

from __future__ import annotations

import collections
from collections.abc import Hashable
from typing import Any

from gluonjax.contrib.text._constants import UNKNOWN_IDX
from gluonjax.contrib.text._errors import TextArgumentError, require


class Vocabulary:
    """Numbers for tokens: 0 for unknown ones, then reserved tokens, then those of a counter, frequent ones first.

    Args:
        counter: how often each token occurs.
        most_freq_count: how many tokens of the counter get a number at most; reserved ones do not count.
        min_freq: how often a token must occur.
        unknown_token: stands for every token without a number.
        reserved_tokens: tokens that get a number in any case.

    >>> Vocabulary(collections.Counter("abbccc")).to_indices(["c", "b", "x"])
    [1, 2, 0]
    """

    def __init__(
        self,
        counter: collections.Counter[Any] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable = "<unk>",
        reserved_tokens: list[Any] | None = None,
    ) -> None:
        require(min_freq > 0, f"`min_freq` must be set to a positive value, got {min_freq}")
        reserved = list(reserved_tokens or ())
        require(unknown_token not in reserved, "`reserved_token` cannot contain `unknown_token`")
        require(len(set(reserved)) == len(reserved), "`reserved_tokens` cannot contain duplicate reserved tokens")
        require(
            counter is None or isinstance(counter, collections.Counter),
            f"`counter` must be an instance of collections.Counter, got {type(counter).__name__}",
        )
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else reserved
        self._idx_to_token: list[Any] = [unknown_token, *reserved]
        self._idx_to_token += self._frequent(counter or {}, most_freq_count, min_freq)
        self._token_to_idx = {token: index for index, token in enumerate(self._idx_to_token)}

    def _frequent(self, counter: dict[Any, int], limit: int | None, min_freq: int) -> list[Any]:
        special = set(self._idx_to_token)
        # Equally frequent tokens come in their own order.
        ordered = sorted(sorted(counter), key=lambda token: -counter[token])
        return [token for token in ordered if counter[token] >= min_freq and token not in special][:limit]

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """The number of every token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """The tokens in the order of their numbers."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Any:
        """What stands for tokens without a number."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """Tokens that have a number in any case."""
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """The number of a token, or the numbers of a list of tokens."""
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, UNKNOWN_IDX) for token in tokens]
        return self._token_to_idx.get(tokens, UNKNOWN_IDX)

    def to_tokens(self, indices: Any) -> Any:
        """The token of a number, or the tokens of a list of numbers."""
        if isinstance(indices, list):
            return [self.to_tokens(index) for index in indices]
        if not isinstance(indices, int) or indices >= len(self):
            raise TextArgumentError(
                f"Token index {indices} in the provided `indices` is invalid; indices are 0 to {len(self) - 1}"
            )
        return self._idx_to_token[indices]


__all__ = ["Vocabulary"]
