"""Symbols, executors, inference and the symbol file format."""
