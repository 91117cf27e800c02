"""``mx.kv``: stores that sum gradients and hand out weights, by key."""

from __future__ import annotations

from gluonjax.kvstore import base as base
from gluonjax.kvstore import kvstore as kvstore
from gluonjax.kvstore import kvstore_server as kvstore_server
from gluonjax.kvstore.base import KVStoreBase as KVStoreBase
from gluonjax.kvstore.base import create as create
from gluonjax.kvstore.kvstore import KVStore as KVStore
from gluonjax.kvstore.kvstore_server import KVStoreServer as KVStoreServer

__all__ = ["KVStore", "KVStoreBase", "KVStoreServer", "base", "create", "kvstore", "kvstore_server"]
