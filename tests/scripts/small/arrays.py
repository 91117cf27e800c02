"""Arrays: creation, views, in-place writes, dtypes, printing, and an error."""

import mxnet as mx
import mxnet.ndarray as nd
import numpy as np
from mxnet.base import MXNetError

print(mx.__version__)
a = nd.arange(6).reshape((2, 3))
view = a[1]
view[:] = 7
a[0, 1:] += 10
print(a)
print(a.T, a.shape, a.size, a.ndim, a.dtype, a.context)
print(nd.array([1, 2, 3], dtype="int32") / 2)
print(nd.array([0.1, 1e-8, 12345.678]), nd.full((1, 3), -2), nd.array(np.float64(2.5)))
print(nd.concat(a, a * 2, dim=0).sum(axis=1), nd.topk(a, k=2), (a > 5).dtype)
print([float(row.asscalar()) for row in a[:, 0]], float(a.sum().asscalar()), bool(nd.ones((1,))))
print(a.astype("float16"), a[a[:, 0] > 1].shape, nd.one_hot(nd.array([0, 2]), 3))
out = nd.zeros((2, 3))
nd.elemwise_add(a, a, out=out)
print(out.asnumpy().tolist(), out.as_in_context(mx.cpu(1)).context)
try:
    nd.dot(nd.ones((2, 3)), nd.ones((2, 3)))
    nd.waitall()
except MXNetError as error:
    print("refused:", isinstance(error, RuntimeError))
try:
    a[5]
except IndexError:
    print("index refused")
