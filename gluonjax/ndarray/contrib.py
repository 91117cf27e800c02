"""Operators of ``mx.nd.contrib``; filled from the registry when the package is imported."""
