"""Operators of ``mx.nd.linalg``; filled from the registry when the package is imported."""
