"""Predefined models."""

from gluonjax.gluon.model_zoo import model_store as model_store
from gluonjax.gluon.model_zoo import vision as vision
