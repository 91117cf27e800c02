"""The evaluation metrics behind ``gluonjax.metric``, one theme a file."""
