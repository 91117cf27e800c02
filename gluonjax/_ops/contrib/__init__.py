"""Operators of MXNet's ``contrib`` namespace."""
