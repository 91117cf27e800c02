"""Whole numbers that a formula of floating point refuses: one wording, whoever refuses and wherever it runs."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from jax import lax

import gluonjax as mx
from gluonjax import nd
from gluonjax._base.errors import OperatorError, plain
from gluonjax._engine.run import Kernel
from gluonjax._ops.rules import check_floating

WORDS = "only support floating point types, not {}; cast with astype"


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_jax_refusing_whole_numbers_is_put_in_our_words(dtype):
    error = TypeError(f"sqrt does not accept dtype {dtype}. Accepted dtypes are subtypes of floating.\n\nAnd more.")
    assert plain(error) == "This operation " + WORDS.format(dtype) + "('float32')"


@pytest.mark.parametrize("text", [
    "sqrt does not accept dtype float32. Accepted dtypes are subtypes of integer.",
    "cannot reshape array of shape (3,) into (2,)",
    "the formula that sqrt does not accept dtype int32 of floating",
])  # fmt: skip
def test_other_errors_keep_their_first_paragraph(text):
    assert plain(ValueError(f"  {text}\n\nA second paragraph.")) == text


@pytest.mark.parametrize("interpretable", [True, False])
def test_kernels_use_these_words(interpretable):
    root = Kernel("root", lambda x: (lax.sqrt(x),), interpretable=interpretable)
    with pytest.raises(OperatorError, match="Error in operator root: This operation " + WORDS.format("int32")):
        root.run([nd.array([1, 4], dtype="int32")._value], True)


def test_symbols_use_these_words():
    sums = mx.sym.linalg.sumlogdiag(mx.sym.var("a"))
    bound = sums.bind(mx.cpu(), {"a": nd.ones((2, 2), dtype="int32")})
    with pytest.raises(mx.MXNetError, match="sumlogdiag.*" + WORDS.format("int32")):
        bound.forward()[0].asnumpy()


def test_operators_that_check_name_themselves():
    check_floating("some_formula", jnp.zeros(2, jnp.float16))
    with pytest.raises(OperatorError, match="^some_formula: This operation " + WORDS.format("int32")):
        check_floating("some_formula", jnp.zeros(2, jnp.int32))
