"""Data iterators: batches of arrays in memory and of files."""

from __future__ import annotations

from gluonjax.io._batch import DataBatch as DataBatch
from gluonjax.io._batch import DataDesc as DataDesc
from gluonjax.io._batch import DataIter as DataIter
from gluonjax.io._batch import ResizeIter as ResizeIter
from gluonjax.io._file_iters import CSVIter as CSVIter
from gluonjax.io._file_iters import LibSVMIter as LibSVMIter
from gluonjax.io._file_iters import MNISTIter as MNISTIter
from gluonjax.io._native import MXDataIter as MXDataIter
from gluonjax.io._ndarray_iter import NDArrayIter as NDArrayIter
from gluonjax.io._prefetch import PrefetchingIter as PrefetchingIter
from gluonjax.ndarray import NDArray as NDArray
from gluonjax.ndarray import array as array
from gluonjax.ndarray.sparse import CSRNDArray as CSRNDArray
