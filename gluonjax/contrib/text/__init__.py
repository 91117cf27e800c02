"""``mx.contrib.text``: vocabularies and pre-trained token embeddings."""

from __future__ import annotations

from gluonjax.contrib.text import embedding, utils, vocab
