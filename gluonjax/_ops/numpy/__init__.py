"""NumPy-semantics operators as pure functions: tensors by position, attributes by keyword.

They differ from the legacy operators in dtypes (comparisons are booleans, positions are int64, mixed
precision is
allowed where MXNet's ``mx.np`` allows it) and in shapes (0-d and empty arrays are ordinary arrays).
"""
