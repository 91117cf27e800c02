"""Data sets, samplers and loaders."""

from gluonjax.gluon.data import _batchify as batchify
from gluonjax.gluon.data import vision as vision
from gluonjax.gluon.data.dataloader import DataLoader as DataLoader
from gluonjax.gluon.data.dataset import ArrayDataset as ArrayDataset
from gluonjax.gluon.data.dataset import Dataset as Dataset
from gluonjax.gluon.data.dataset import RecordFileDataset as RecordFileDataset
from gluonjax.gluon.data.dataset import SimpleDataset as SimpleDataset
from gluonjax.gluon.data.sampler import BatchSampler as BatchSampler
from gluonjax.gluon.data.sampler import FilterSampler as FilterSampler
from gluonjax.gluon.data.sampler import RandomSampler as RandomSampler
from gluonjax.gluon.data.sampler import Sampler as Sampler
from gluonjax.gluon.data.sampler import SequentialSampler as SequentialSampler
