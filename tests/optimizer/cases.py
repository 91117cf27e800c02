"""Optimizer runs that the real MXNet recorded; one function drives MXNet and gluonjax. Imports NumPy only."""

from __future__ import annotations

from typing import Any

import numpy as np

STEPS = 20
NAMES = {0: "fc_weight", 1: "fc_bias"}

# name: (optimizer, its arguments). "half" in the name: float16 weights with master copies.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("sgd", {"learning_rate": 0.1}),
    "sgd_momentum": ("sgd", {"learning_rate": 0.1, "momentum": 0.9}),
    "sgd_negative_momentum": ("sgd", {"learning_rate": 0.1, "momentum": -0.5}),
    "sgd_half": ("sgd", {"learning_rate": 0.1, "multi_precision": True}),
    "sgd_momentum_half": ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True}),
    "ccsgd": ("ccsgd", {"learning_rate": 0.1, "momentum": 0.5}),
    "nag": ("nag", {"learning_rate": 0.1}),
    "nag_momentum": ("nag", {"learning_rate": 0.1, "momentum": 0.9}),
    "nag_momentum_half": ("nag", {"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True}),
    "signum": ("signum", {"learning_rate": 0.01, "wd_lh": 0.02}),
    "signum_plain": ("signum", {"learning_rate": 0.01, "momentum": 0}),
    "ftml": ("ftml", {"learning_rate": 0.05}),
    "lars": ("lars", {"learning_rate": 0.1, "eta": 0.3}),
    "lars_momentum": ("lars", {"learning_rate": 0.1, "momentum": 0.9, "eta": 0.3, "eps": 1e-3}),
    "lars_momentum_half": (
        "lars",
        {"learning_rate": 0.1, "momentum": 0.9, "eta": 0.3, "multi_precision": True},
    ),
    "lbsgd": ("lbsgd", {"learning_rate": 0.1, "momentum": 0.9, "batch_scale": 2, "updates_per_epoch": 3}),
    "lbsgd_power": ("lbsgd", {"learning_rate": 0.1, "batch_scale": 3, "warmup_strategy": "power2"}),
    "lbsgd_root": (
        "lbsgd",
        {"learning_rate": 0.1, "batch_scale": 3, "warmup_strategy": "sqrt", "warmup_epochs": 1},
    ),
    "lbsgd_norms": ("lbsgd", {"learning_rate": 0.01, "warmup_strategy": "lars"}),
    "lbsgd_half": ("lbsgd", {"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True}),
    "lamb": ("lamb", {"learning_rate": 0.02}),
    "lamb_bounds": (
        "lamb",
        {"learning_rate": 0.02, "lower_bound": 0.5, "upper_bound": 1.0, "bias_correction": False},
    ),
    "lamb_half": ("lamb", {"learning_rate": 0.02, "multi_precision": True}),
    "dcasgd": ("dcasgd", {"learning_rate": 0.1}),
    # DCASGD with momentum raises in MXNet ("truth value of an NDArray"); test_optimizer.py has a formula
    # for it.
    "adam": ("adam", {"learning_rate": 0.05}),
    "adam_settings": ("adam", {"learning_rate": 0.05, "beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3}),
    "adam_half": ("adam", {"learning_rate": 0.05, "multi_precision": True}),
    "adagrad": ("adagrad", {"learning_rate": 0.1, "eps": 1e-3}),
    "rmsprop": ("rmsprop", {"learning_rate": 0.01, "clip_weights": 0.6}),
    "rmsprop_centered": ("rmsprop", {"learning_rate": 0.01, "centered": True}),
    "adadelta": ("adadelta", {"rho": 0.8}),
    "ftrl": ("ftrl", {"learning_rate": 0.1, "lamda1": 0.2}),
    "adamax": ("adamax", {}),
    "nadam": ("nadam", {"learning_rate": 0.01}),
    "groupadagrad": ("groupadagrad", {"learning_rate": 0.1}),
    "test": ("test", {}),
}
VARIANTS = ("plain", "full", "scheduled", "begun")


def general_arguments(mx: Any, variant: str, optimizer: str) -> dict[str, Any]:
    """Arguments of the base class: none, or decay, clipping, scaling and names; or those with a scheduler too,
    which ``begun`` starts in the middle, while it still warms up."""
    if variant == "plain":
        return {}
    decay = {} if optimizer == "groupadagrad" else {"wd": 0.02}
    arguments = {**decay, "clip_gradient": 0.3, "rescale_grad": 0.5, "param_idx2name": dict(NAMES)}
    if variant == "scheduled":
        arguments["lr_scheduler"] = mx.lr_scheduler.FactorScheduler(step=4, factor=0.5)
    if variant == "begun":
        arguments["begin_num_update"] = 3
        arguments["lr_scheduler"] = mx.lr_scheduler.PolyScheduler(18, 0.1, 2, 0.01, 8, 0.02)
    return arguments


def run_case(mx: Any, name: str, variant: str) -> dict[str, np.ndarray]:
    """Twenty updates of a matrix and a second array; returns weights after 1, 2 and 20 steps, and final states."""
    kind, arguments = CASES[name]
    arguments = {**arguments, **general_arguments(mx, variant, kind)}
    optimizer = mx.optimizer.create(kind, **arguments)
    if variant == "full":
        optimizer.set_lr_mult({"fc_bias": 0.5})
        optimizer.set_wd_mult({} if kind == "groupadagrad" else {"fc_bias": 2.0})
    updater = mx.optimizer.get_updater(optimizer)
    source = np.random.RandomState(7)
    dtype = np.float16 if "half" in name else np.float32
    shapes = [(4, 3), (1, 3)]
    weights = [mx.nd.array(source.uniform(-1, 1, shape), dtype=dtype) for shape in shapes]
    found: dict[str, np.ndarray] = {}
    for step in range(1, STEPS + 1):
        grads = [mx.nd.array(source.uniform(-1, 1, shape), dtype=dtype) for shape in shapes]
        if optimizer.aggregate_num > 0 and step % 2:
            updater([0, 1], grads, weights)
        else:
            for index in (0, 1):
                updater(index, grads[index], weights[index])
        if step in (1, 2, STEPS):
            for index, weight in enumerate(weights):
                found[f"weight{index}_{step}"] = weight.asnumpy()
    for index in (0, 1):
        for number, array in enumerate(_flat(updater.states[index])):
            found[f"state{index}_{number}"] = array.asnumpy()
    found["num_update"] = np.array([optimizer.num_update])
    return found


def _flat(state: Any) -> list[Any]:
    if state is None:
        return []
    return (
        [array for entry in state for array in _flat(entry)] if isinstance(state, (tuple, list)) else [state]
    )
