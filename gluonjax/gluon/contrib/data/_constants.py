"""Marks in text data sets."""

EOS_TOKEN = "<eos>"
