"""Operators as pure JAX functions, one definition each (``opdef.py``), in one table (``registry.py``)."""
