"""Data iterators: batches of arrays in memory and of files."""

from __future__ import annotations

from gluonjax.base import c_str_array as c_str_array
from gluonjax.base import check_call as check_call
from gluonjax.base import py_str as py_str
from gluonjax.io._batch import DataBatch as DataBatch
from gluonjax.io._batch import DataDesc as DataDesc
from gluonjax.io._batch import DataIter as DataIter
from gluonjax.io._batch import ResizeIter as ResizeIter
from gluonjax.io._file_iters import CSVIter as CSVIter
from gluonjax.io._file_iters import LibSVMIter as LibSVMIter
from gluonjax.io._file_iters import MNISTIter as MNISTIter
from gluonjax.io._image_det_record import ImageDetRecordIter as ImageDetRecordIter
from gluonjax.io._image_record import ImageRecordInt8Iter as ImageRecordInt8Iter
from gluonjax.io._image_record import ImageRecordIter as ImageRecordIter
from gluonjax.io._image_record import ImageRecordIter_v1 as ImageRecordIter_v1
from gluonjax.io._image_record import ImageRecordUInt8Iter as ImageRecordUInt8Iter
from gluonjax.io._image_record import ImageRecordUInt8Iter_v1 as ImageRecordUInt8Iter_v1
from gluonjax.io._native import MXDataIter as MXDataIter
from gluonjax.io._ndarray_iter import NDArrayIter as NDArrayIter
from gluonjax.io._prefetch import PrefetchingIter as PrefetchingIter
from gluonjax.ndarray import NDArray as NDArray
from gluonjax.ndarray import array as array
from gluonjax.ndarray.sparse import CSRNDArray as CSRNDArray
