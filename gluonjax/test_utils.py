"""MXNet's helpers for tests: comparing arrays, random data, numeric gradients, data sets.

``from mxnet.test_utils import *`` is how most tests get NumPy and friends: these
modules are public names here.
"""

from __future__ import annotations

import bz2 as bz2
import errno as errno
import gzip as gzip
import importlib
import json as json
import logging as logging
import numbers as numbers
import os as os
import platform as platform
import struct as struct
import sys as sys
import time as time
import traceback as traceback
import zipfile as zipfile
from collections import OrderedDict as OrderedDict
from contextlib import contextmanager as contextmanager

import numpy as np  # noqa: F401
import numpy.random as rnd  # noqa: F401
import numpy.testing as npt  # noqa: F401

import gluonjax as mx  # noqa: F401
from gluonjax._testing._arrays import assign_each as assign_each
from gluonjax._testing._arrays import assign_each2 as assign_each2
from gluonjax._testing._arrays import create_2d_tensor as create_2d_tensor
from gluonjax._testing._arrays import create_sparse_array as create_sparse_array
from gluonjax._testing._arrays import create_sparse_array_zd as create_sparse_array_zd
from gluonjax._testing._arrays import create_vector as create_vector
from gluonjax._testing._arrays import get_identity_mat as get_identity_mat
from gluonjax._testing._arrays import get_identity_mat_batch as get_identity_mat_batch
from gluonjax._testing._arrays import new_matrix_with_real_eigvals_2d as new_matrix_with_real_eigvals_2d
from gluonjax._testing._arrays import new_matrix_with_real_eigvals_nd as new_matrix_with_real_eigvals_nd
from gluonjax._testing._arrays import new_orthonormal_matrix_2d as new_orthonormal_matrix_2d
from gluonjax._testing._arrays import (
    new_sym_matrix_with_real_eigvals_2d as new_sym_matrix_with_real_eigvals_2d,
)
from gluonjax._testing._arrays import (
    new_sym_matrix_with_real_eigvals_nd as new_sym_matrix_with_real_eigvals_nd,
)
from gluonjax._testing._arrays import rand_coord_2d as rand_coord_2d
from gluonjax._testing._arrays import rand_ndarray as rand_ndarray
from gluonjax._testing._arrays import rand_shape_2d as rand_shape_2d
from gluonjax._testing._arrays import rand_shape_3d as rand_shape_3d
from gluonjax._testing._arrays import rand_shape_nd as rand_shape_nd
from gluonjax._testing._arrays import rand_sparse_ndarray as rand_sparse_ndarray
from gluonjax._testing._arrays import random_arrays as random_arrays
from gluonjax._testing._arrays import random_sample as random_sample
from gluonjax._testing._arrays import random_uniform_arrays as random_uniform_arrays
from gluonjax._testing._arrays import shuffle_csr_column_indices as shuffle_csr_column_indices
from gluonjax._testing._compare import almost_equal as almost_equal
from gluonjax._testing._compare import assert_allclose as assert_allclose
from gluonjax._testing._compare import assert_almost_equal as assert_almost_equal
from gluonjax._testing._compare import assert_almost_equal_ignore_nan as assert_almost_equal_ignore_nan
from gluonjax._testing._compare import assert_almost_equal_with_err as assert_almost_equal_with_err
from gluonjax._testing._compare import assert_exception as assert_exception
from gluonjax._testing._compare import checkShapes as checkShapes
from gluonjax._testing._compare import collapse_sum_like as collapse_sum_like
from gluonjax._testing._compare import compare_ndarray_tuple as compare_ndarray_tuple
from gluonjax._testing._compare import locationError as locationError
from gluonjax._testing._compare import np_reduce as np_reduce
from gluonjax._testing._compare import same as same
from gluonjax._testing._compare import same_array as same_array
from gluonjax._testing._consistency import check_consistency as check_consistency
from gluonjax._testing._consistency import check_speed as check_speed
from gluonjax._testing._consistency import same_symbol_structure as same_symbol_structure
from gluonjax._testing._datasets import download as download
from gluonjax._testing._datasets import download_model as download_model
from gluonjax._testing._datasets import get_bz2_data as get_bz2_data
from gluonjax._testing._datasets import get_cifar10 as get_cifar10
from gluonjax._testing._datasets import get_mnist as get_mnist
from gluonjax._testing._datasets import get_mnist_iterator as get_mnist_iterator
from gluonjax._testing._datasets import get_mnist_pkl as get_mnist_pkl
from gluonjax._testing._datasets import get_mnist_ubyte as get_mnist_ubyte
from gluonjax._testing._datasets import get_zip_data as get_zip_data
from gluonjax._testing._misc import DummyIter as DummyIter
from gluonjax._testing._misc import check_gluon_hybridize_consistency as check_gluon_hybridize_consistency
from gluonjax._testing._misc import compare_optimizer as compare_optimizer
from gluonjax._testing._misc import default_context as default_context
from gluonjax._testing._misc import discard_stderr as discard_stderr
from gluonjax._testing._misc import environment as environment
from gluonjax._testing._misc import get_cuda_compute_capability as get_cuda_compute_capability
from gluonjax._testing._misc import get_im2rec_path as get_im2rec_path
from gluonjax._testing._misc import has_tvm_ops as has_tvm_ops
from gluonjax._testing._misc import is_aarch64_run as is_aarch64_run
from gluonjax._testing._misc import is_cd_run as is_cd_run
from gluonjax._testing._misc import is_op_runnable as is_op_runnable
from gluonjax._testing._misc import list_gpus as list_gpus
from gluonjax._testing._misc import retry as retry
from gluonjax._testing._misc import set_default_context as set_default_context
from gluonjax._testing._statistics import chi_square_check as chi_square_check
from gluonjax._testing._statistics import gen_buckets_probs_with_ppf as gen_buckets_probs_with_ppf
from gluonjax._testing._statistics import mean_check as mean_check
from gluonjax._testing._statistics import var_check as var_check
from gluonjax._testing._statistics import verify_generator as verify_generator
from gluonjax._testing._symbols import check_numeric_gradient as check_numeric_gradient
from gluonjax._testing._symbols import check_symbolic_backward as check_symbolic_backward
from gluonjax._testing._symbols import check_symbolic_forward as check_symbolic_forward
from gluonjax._testing._symbols import numeric_grad as numeric_grad
from gluonjax._testing._symbols import simple_forward as simple_forward
from gluonjax._testing._tolerance import default_atols as default_atols
from gluonjax._testing._tolerance import default_dtype as default_dtype
from gluonjax._testing._tolerance import default_numeric_eps as default_numeric_eps
from gluonjax._testing._tolerance import default_rtols as default_rtols
from gluonjax._testing._tolerance import effective_dtype as effective_dtype
from gluonjax._testing._tolerance import get_atol as get_atol
from gluonjax._testing._tolerance import get_etol as get_etol
from gluonjax._testing._tolerance import get_rtol as get_rtol
from gluonjax._testing._tolerance import get_tolerance as get_tolerance
from gluonjax._testing._tolerance import get_tols as get_tols
from gluonjax.context import Context as Context
from gluonjax.context import current_context as current_context
from gluonjax.ndarray import array as array
from gluonjax.runtime import Features as Features
from gluonjax.symbol import Symbol as Symbol
from gluonjax.util import getenv as getenv
from gluonjax.util import setenv as setenv
from gluonjax.util import use_np as use_np


def __getattr__(name: str) -> type:
    if name == "np_symbol":
        try:
            return importlib.import_module("gluonjax.symbol.numpy")._Symbol
        except ModuleNotFoundError:
            raise AttributeError(f"module {__name__!r} has no 'np_symbol': mx.sym.np is not there yet") from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
