"""The operator lists of automatic mixed precision."""

from __future__ import annotations

from gluonjax.contrib.amp.lists import symbol_bf16, symbol_fp16

__all__ = ["symbol_bf16", "symbol_fp16"]
