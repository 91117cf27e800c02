"""Parameters: deferred initialization, one array for life, dictionaries, files."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon


def test_one_array_for_life() -> None:
    weight = gluon.Parameter("w", shape=(2,))
    weight.initialize(init="ones")
    array = weight.data()
    weight.set_data(mx.nd.array([3.0, 4.0]))
    weight.cast("float16")
    assert weight.data() is array
    assert array.dtype == np.float16 and array.asnumpy().tolist() == [3, 4]


def test_deferred_initialization_says_what_to_do() -> None:
    weight = gluon.Parameter("w", shape=(2, 0), allow_deferred_init=True)
    weight.initialize()
    with pytest.raises(gluon.DeferredInitializationError, match="initialization was deferred"):
        weight.data()
    weight.shape = (2, 3)
    weight._finish_deferred_init()
    assert weight.data().shape == (2, 3)


@pytest.mark.parametrize("error", [AssertionError, ValueError, mx.MXNetError])
def test_mismatch_is_every_error_that_programs_catch(error: type[Exception]) -> None:
    params = gluon.ParameterDict("net_")
    params.get("a", shape=(2, 3))
    with pytest.raises(error, match="desired attribute does not match"):
        params.get("a", shape=(2, 4))


def test_unknown_dimensions_are_filled_from_either_side() -> None:
    params = gluon.ParameterDict()
    params.get("a", shape=(0, 3))
    assert params.get("a", shape=(4, 0)).shape == (4, 3)


def test_save_and_load_with_prefixes(tmp_path: object) -> None:
    file = f"{tmp_path}/x.params"
    params = gluon.ParameterDict("net_")
    params.get("a", shape=(2,), init="ones")
    params.initialize()
    params.save(file, strip_prefix="net_")
    other = gluon.ParameterDict("other_")
    other.get("a", shape=(2,))
    other.load(file, restore_prefix="other_")
    assert other["other_a"].data().asnumpy().tolist() == [1, 1]
    with pytest.raises(AssertionError, match="is missing in file"):
        other.load(file)


def test_copies_have_gradients_of_their_own() -> None:
    weight = gluon.Parameter("w", shape=(2,))
    weight.initialize(init="ones")
    twin = copy.deepcopy(weight)
    with autograd.record():
        loss = (twin.data() * 5).sum()
    loss.backward()
    assert twin.grad().asnumpy().tolist() == [5, 5]
    assert weight.grad().asnumpy().tolist() == [0, 0]


def test_grad_req_null_and_back() -> None:
    weight = gluon.Parameter("w", shape=(1,))
    weight.initialize()
    weight.grad_req = "null"
    with pytest.raises(RuntimeError, match="grad_req='null'"):
        weight.grad()
    weight.grad_req = "add"
    for _ in range(2):
        with autograd.record():
            loss = (weight.data() * 2).sum()
        loss.backward()
    assert weight.grad().asscalar() == 4
