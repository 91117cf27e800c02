"""Operators of ``mx.nd.image``; filled from the registry when the package is imported."""
