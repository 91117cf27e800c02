"""Evaluation metrics: accuracy, errors, likelihoods, and those that users write.

>>> import numpy
>>> metric = create(["acc", "ce"])
>>> metric.update([numpy.array([0, 1])], [numpy.full((2, 2), 0.5)])
>>> metric.get_name_value()[0]
('accuracy', 0.5)
"""

from __future__ import annotations

from gluonjax._metrics._base import EvalMetric as EvalMetric
from gluonjax._metrics._base import alias as alias
from gluonjax._metrics._base import check_label_shapes as check_label_shapes
from gluonjax._metrics._base import register as register
from gluonjax._metrics._classification import F1 as F1
from gluonjax._metrics._classification import MCC as MCC
from gluonjax._metrics._classification import PCC as PCC
from gluonjax._metrics._classification import Accuracy as Accuracy
from gluonjax._metrics._classification import TopKAccuracy as TopKAccuracy
from gluonjax._metrics._combined import CompositeEvalMetric as CompositeEvalMetric
from gluonjax._metrics._combined import CustomMetric as CustomMetric
from gluonjax._metrics._combined import create as create
from gluonjax._metrics._combined import np as np
from gluonjax._metrics._likelihood import Caffe as Caffe
from gluonjax._metrics._likelihood import CrossEntropy as CrossEntropy
from gluonjax._metrics._likelihood import Loss as Loss
from gluonjax._metrics._likelihood import NegativeLogLikelihood as NegativeLogLikelihood
from gluonjax._metrics._likelihood import Perplexity as Perplexity
from gluonjax._metrics._likelihood import Torch as Torch
from gluonjax._metrics._regression import MAE as MAE
from gluonjax._metrics._regression import MSE as MSE
from gluonjax._metrics._regression import RMSE as RMSE
from gluonjax._metrics._regression import PearsonCorrelation as PearsonCorrelation
from gluonjax.base import numeric_types as numeric_types
from gluonjax.base import string_types as string_types
