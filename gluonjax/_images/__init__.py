"""Pictures as NumPy arrays: decoding, resizing, warping, colours, and the augmenters of the record iterators."""
