"""The helpers behind ``gluonjax.test_utils``, one theme a file."""
