"""Image data sets and transformations."""

from gluonjax.gluon.data.vision import transforms as transforms
from gluonjax.gluon.data.vision.datasets import CIFAR10 as CIFAR10
from gluonjax.gluon.data.vision.datasets import CIFAR100 as CIFAR100
from gluonjax.gluon.data.vision.datasets import MNIST as MNIST
from gluonjax.gluon.data.vision.datasets import FashionMNIST as FashionMNIST
from gluonjax.gluon.data.vision.datasets import ImageFolderDataset as ImageFolderDataset
from gluonjax.gluon.data.vision.datasets import ImageListDataset as ImageListDataset
from gluonjax.gluon.data.vision.datasets import ImageRecordDataset as ImageRecordDataset
