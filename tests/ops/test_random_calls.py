"""The generator of random calls: the same calls for the same seed, and nothing but MXNetError comes out of them."""

from __future__ import annotations

import warnings

import numpy as np

from tests.oracle.random_calls.compare import Outcome, run, verdict
from tests.oracle.random_calls.draw import draw_calls, templates
from tests.oracle.random_calls.known import reason_for
from tests.samples import fingerprint
from tests.samples._sample import Sample


def test_equal_seeds_draw_equal_calls_of_every_operator():
    count = len(templates())
    first, second = draw_calls(3, count), draw_calls(3, count)
    assert [fingerprint(call) for call in first] == [fingerprint(call) for call in second]
    assert {call.op for call in first} != {call.op for call in first[: count // 2]}
    assert [fingerprint(call) for call in draw_calls(4, 20)] != [fingerprint(call) for call in first[:20]]


def test_drawn_calls_answer_or_raise_an_mxnet_error():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        outcomes = [(call, run(call)) for call in draw_calls(8, 60)]
    assert not [(call.op, found.text) for call, found in outcomes if found.status == "exception"]
    assert sum(found.status == "ok" for _, found in outcomes) > 20


def test_verdicts():
    call = Sample("relu", (np.ones(2, np.float32),))
    ours = run(call)
    assert verdict(call, Outcome("ok", arrays=ours.arrays), ours)[0] == "agree"
    other = {**ours.arrays, "out0": ours.arrays["out0"] + 1}
    kind, found = verdict(call, Outcome("ok", arrays=other), ours)
    assert kind == "wrong" and (found.theirs == found.ours + 1).all()
    double = {**ours.arrays, "grad0": ours.arrays["grad0"].astype(np.float64)}
    assert "dtype" in verdict(call, Outcome("ok", arrays=double), ours)[1].text
    assert verdict(call, Outcome("error", "no"), ours)[0] == "lenient"
    assert verdict(call, Outcome("ok", arrays=other), Outcome("error", "no"))[0] == "strict"
    assert verdict(call, Outcome("died"), ours)[0] == "died"


def test_terms_that_cancel_may_round():
    # Two numbers to a mean: the gradient is what three terms as large as 1 / deviation leave.
    data = np.array([[0.31, -0.62], [1.7, 0.4]], np.float32)
    call = Sample("LayerNorm", (data, np.ones(2, np.float32), np.zeros(2, np.float32)), {"eps": 1e-9}, train=True)
    ours = run(call)
    assert np.abs(ours.arrays["grad0"]).max() < 1e-6
    rounded = {**ours.arrays, "grad0": ours.arrays["grad0"] + np.float32(6e-7)}
    assert verdict(call, Outcome("ok", arrays=rounded), ours)[0] == "agree"
    other = {**ours.arrays, "grad0": ours.arrays["grad0"] + np.float32(1e-4)}
    assert verdict(call, Outcome("ok", arrays=other), ours)[0] == "wrong"


def test_a_bound_that_is_0_in_float16_is_a_deliberate_difference():
    scores = np.array([[0, 30, 0], [1, 0, 2]], np.float16)
    call = Sample("softmax_cross_entropy", (scores, np.zeros(2, np.float16)))
    ours = run(call)
    theirs = Outcome("ok", arrays={**ours.arrays, "out0": np.array([np.inf], np.float16)})
    kind, found = verdict(call, theirs, ours)
    assert kind == "wrong" and "bound" in (reason_for(call, kind, found) or "")
    theirs = Outcome("ok", arrays={**ours.arrays, "out0": ours.arrays["out0"] + np.float16(2)})
    assert reason_for(call, *verdict(call, theirs, ours)) is None
