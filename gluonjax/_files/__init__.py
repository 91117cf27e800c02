"""File formats as bytes and NumPy; no array class here."""
