"""Operators of ``mx.nd.op``; filled from the registry when the package is imported."""
