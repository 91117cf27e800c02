"""Predefined models."""

from gluonjax.gluon.model_zoo import vision as vision
