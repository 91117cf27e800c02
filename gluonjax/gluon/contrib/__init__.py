"""Experimental parts of Gluon."""

from gluonjax.gluon.contrib import nn as nn
