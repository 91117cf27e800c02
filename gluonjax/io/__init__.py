"""Data iterators, as ``mx.io``."""

from __future__ import annotations

from gluonjax.io import io as io
from gluonjax.io import utils as utils
from gluonjax.io.io import CSVIter as CSVIter
from gluonjax.io.io import DataBatch as DataBatch
from gluonjax.io.io import DataDesc as DataDesc
from gluonjax.io.io import DataIter as DataIter
from gluonjax.io.io import ImageDetRecordIter as ImageDetRecordIter
from gluonjax.io.io import ImageRecordInt8Iter as ImageRecordInt8Iter
from gluonjax.io.io import ImageRecordIter as ImageRecordIter
from gluonjax.io.io import ImageRecordIter_v1 as ImageRecordIter_v1
from gluonjax.io.io import ImageRecordUInt8Iter as ImageRecordUInt8Iter
from gluonjax.io.io import ImageRecordUInt8Iter_v1 as ImageRecordUInt8Iter_v1
from gluonjax.io.io import LibSVMIter as LibSVMIter
from gluonjax.io.io import MNISTIter as MNISTIter
from gluonjax.io.io import MXDataIter as MXDataIter
from gluonjax.io.io import NDArrayIter as NDArrayIter
from gluonjax.io.io import PrefetchingIter as PrefetchingIter
from gluonjax.io.io import ResizeIter as ResizeIter
