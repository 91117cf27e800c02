"""Experimental parts of Gluon."""

from gluonjax.gluon.contrib import cnn as cnn
from gluonjax.gluon.contrib import data as data
from gluonjax.gluon.contrib import estimator as estimator
from gluonjax.gluon.contrib import nn as nn
from gluonjax.gluon.contrib import rnn as rnn
