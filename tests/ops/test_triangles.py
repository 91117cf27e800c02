"""Cholesky factors above the diagonal: an attribute that 1.9.1 takes without listing it."""

from __future__ import annotations

import numpy as np

from gluonjax import autograd, nd

MATRIX = np.array([[4, 2, 1], [2, 5, 3], [1, 3, 6.0]])


def test_upper_factor_is_the_transposed_lower_one():
    lower, upper = nd.linalg.potrf(nd.array(MATRIX)), nd.linalg.potrf(nd.array(MATRIX), lower=False)
    assert (upper.asnumpy() == lower.asnumpy().T).all() and upper.asnumpy()[0, 2] == 0.5
    for factor, below in ((lower, True), (upper, False)):
        inverse = nd.linalg.potri(factor, lower=below).asnumpy()
        np.testing.assert_allclose(inverse, np.linalg.inv(MATRIX), rtol=1e-4, atol=1e-6)


def test_gradient_of_the_upper_factor_is_mxnets():
    x = nd.array(MATRIX)
    x.attach_grad()
    with autograd.record():
        y = nd.linalg.potrf(x, lower=False)
    y.backward(nd.arange(1, 10).reshape((3, 3)))
    wanted = [[0.2742, -0.1172, 0.1374], [-0.1172, 1.1715, 0.1256], [0.1374, 0.1256, 2.199]]  # recorded in 1.9.1
    np.testing.assert_allclose(x.grad.asnumpy(), wanted, atol=1e-4)


def test_spelling_of_the_attribute_is_checked():
    try:
        nd.linalg.potrf(nd.array(MATRIX), lowr=False)
    except Exception as error:
        assert "lowr" in str(error) and "lower" in str(error)
    else:
        raise AssertionError("an unknown attribute was accepted")
