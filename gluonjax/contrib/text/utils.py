"""Counting tokens."""

from __future__ import annotations

import collections
import re


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: collections.Counter[str] | None = None,
) -> collections.Counter[str]:
    """Count the tokens of a text.

    Args:
        source_str: the text.
        token_delim, seq_delim: regular expressions that separate tokens and sequences.
        to_lower: count in lower case.
        counter_to_update: a counter that is updated and returned.

    >>> sorted(count_tokens_from_str("a b\\nb").items())
    [('a', 1), ('b', 2)]
    """
    counter = collections.Counter() if counter_to_update is None else counter_to_update
    # The text is split before its case is changed: delimiters may contain capitals.
    tokens = filter(None, re.split(f"{token_delim}|{seq_delim}", source_str))
    counter.update(map(str.lower, tokens) if to_lower else tokens)
    return counter


__all__ = ["count_tokens_from_str"]
