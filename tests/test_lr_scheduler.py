"""Schedulers: rates along the updates (values of MXNet 1.9.1), logging and errors."""

from __future__ import annotations

import logging

import pytest

from gluonjax import MXNetError
from gluonjax import lr_scheduler as lrs

UPDATES = (0, 1, 2, 3, 5, 8, 10, 11, 20)

RECORDED = [
    (
        lrs.FactorScheduler,
        {"step": 3, "factor": 0.5, "base_lr": 1.0},
        [1.0, 1.0, 1.0, 1.0, 0.5, 0.25, 0.125, 0.125, 0.015625],
    ),
    (
        lrs.FactorScheduler,
        {"step": 2, "factor": 0.1, "stop_factor_lr": 0.02, "base_lr": 1.0},
        [1.0, 1.0, 1.0, 0.1, 0.02, 0.02, 0.02, 0.02, 0.02],
    ),
    (
        lrs.FactorScheduler,
        {"step": 3, "factor": 0.5, "base_lr": 1.0, "warmup_steps": 4, "warmup_begin_lr": 0.2},
        [0.2, 0.4, 0.6, 0.8, 0.5, 0.25, 0.125, 0.125, 0.015625],
    ),
    (
        lrs.MultiFactorScheduler,
        {"step": [2, 8], "factor": 0.1, "base_lr": 1.0},
        [1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01],
    ),
    (
        lrs.MultiFactorScheduler,
        {
            "step": [5, 8],
            "factor": 0.1,
            "base_lr": 1.0,
            "warmup_steps": 3,
            "warmup_begin_lr": 0.5,
            "warmup_mode": "constant",
        },
        [0.5, 0.5, 0.5, 1.0, 1.0, 0.1, 0.01, 0.01, 0.01],
    ),
    (
        lrs.PolyScheduler,
        {"max_update": 10, "base_lr": 1.0, "pwr": 3, "final_lr": 0.1},
        [1.0, 0.7561, 0.5608, 0.4087, 0.2125, 0.1072, 0.1, 0.1, 0.1],
    ),
    (
        lrs.PolyScheduler,
        {"max_update": 10, "base_lr": 1.0, "warmup_steps": 2},
        [0.0, 0.5, 1.0, 0.765625, 0.390625, 0.0625, 0.0, 0.0, 0.0],
    ),
    (
        lrs.CosineScheduler,
        {"max_update": 10, "base_lr": 1.0, "final_lr": 0.1},
        [1.0, 0.9779754323, 0.9140576475, 0.8145033635, 0.55, 0.1859423525, 0.1, 0.1, 0.1],
    ),
    (
        lrs.CosineScheduler,
        {"max_update": 10, "base_lr": 2.0, "warmup_steps": 5, "warmup_begin_lr": 1.0},
        [1.0, 1.2, 1.4, 1.6, 2.0, 0.6909830056, 0.0, 0.0, 0.0],
    ),
]


@pytest.mark.parametrize(("kind", "arguments", "rates"), RECORDED)
def test_rates_equal_mxnet(kind, arguments, rates):
    schedule = kind(**arguments)
    assert [schedule(update) for update in UPDATES] == pytest.approx(rates, abs=1e-9)


def test_changes_are_logged(caplog):
    schedule = lrs.FactorScheduler(step=1, factor=0.1, stop_factor_lr=0.05, base_lr=1.0)
    with caplog.at_level(logging.INFO):
        schedule(3)
    assert caplog.messages == [
        "Update[3]: Change learning rate to 1.00000e-01",
        "Update[3]: now learning rate arrived at 5.00000e-02, will not change in the future",
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lrs.FactorScheduler(0), "step must be greater"),
        (lambda: lrs.FactorScheduler(1, 1.5), "Factor must be no more than 1"),
        (lambda: lrs.MultiFactorScheduler([3, 2]), "increasing integer list"),
        (lambda: lrs.MultiFactorScheduler(3), "must be a list"),
        (lambda: lrs.PolyScheduler(0), "strictly positive"),
        (lambda: lrs.CosineScheduler(2.5), "must be an integer"),
        (lambda: lrs.LRScheduler(warmup_begin_lr=1), "Base lr has to be higher"),
        (lambda: lrs.LRScheduler(warmup_steps=-1), "Warmup steps"),
        (lambda: lrs.LRScheduler(warmup_mode="jump"), "linear and constant"),
        (lambda: lrs.LRScheduler().get_warmup_lr(3), "not in the warm-up"),
    ],
)
def test_wrong_settings_are_explained(make, message):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert isinstance(caught.value, MXNetError)
