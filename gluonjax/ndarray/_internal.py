"""Operators of ``mx.nd._internal``; filled from the registry when the package is imported."""
