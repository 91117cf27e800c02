"""autograd: heads, accumulation, higher order, custom functions, and the gradients of a small loss."""

import mxnet as mx
from mxnet import autograd, nd

x = nd.array([[1.0, -2.0], [3.0, 0.5]])
x.attach_grad()
with autograd.record():
    y = x * x * x + nd.maximum(x, 0)
    print(autograd.is_recording(), autograd.is_training())
y.backward(nd.array([[1, 2], [3, 4]]))
print(x.grad)

w = nd.array([2.0, 3.0])
w.attach_grad(grad_req="add")
for _ in range(3):
    with autograd.record():
        loss = (w**2).sum()
    loss.backward()
print(w.grad)

z = nd.array([0.5, 1.5])
z.attach_grad()
with autograd.record():
    value = nd.exp(z)
    first = autograd.grad(value, z, create_graph=True, retain_graph=True)[0]
    second = first.sum()
second.backward()
print(first.asnumpy().round(3), z.grad.asnumpy().round(3))


class Clipped(autograd.Function):
    """The identity with a clipped gradient."""

    def forward(self, data):
        self.save_for_backward(data)
        return data * 1

    def backward(self, head):
        (data,) = self.saved_tensors
        return nd.clip(head, -1, 1) * (data > 0)


v = nd.array([-1.0, 2.0, 3.0])
v.attach_grad()
with autograd.record():
    total = Clipped()(v) * nd.array([5.0, 5.0, 0.5])
total.backward()
print(v.grad)

with autograd.record(train_mode=False):
    print(nd.Dropout(nd.ones((2, 2)), p=0.9))
try:
    total.backward()
except mx.MXNetError:
    print("second backward refused")
