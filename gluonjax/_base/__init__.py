"""Level 0: facts that everything else stands on. Imports the standard library, NumPy and JAX only."""
