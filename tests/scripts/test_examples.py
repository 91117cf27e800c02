"""The examples at tiny size: each prints its progress and reaches what it promises."""

from __future__ import annotations

import re

import pytest

from tests.scripts.test_scripts import run
from tests.scripts.text import EXAMPLES


def printed(name: str, **environment: str) -> str:
    done = run(str(EXAMPLES / f"{name}.py"), EXAMPLE_TINY="1", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(text: str, line: str) -> list[float]:
    """The numbers of the line that begins with these words."""
    found = re.search(rf"^{line}:?(.*)$", text, re.MULTILINE)
    assert found is not None, text
    return [float(one) for one in re.findall(r"\d+\.\d+(?:e-?\d+)?", found.group(1))]


def test_bucketing_lstm_beats_word_frequencies():
    text = printed("bucketing_lstm")
    reached, known = numbers(text, "held-out perplexity")
    assert reached < 0.9 * known, text
    first, last = (numbers(text, f"epoch  {epoch}")[0] for epoch in (0, 3))
    assert last < first and "buckets [6, 12]" in text


def test_matrix_factorization_comes_near_the_noise():
    error, noise, guess = numbers(printed("matrix_factorization"), "held-out error")
    assert error < 2.5 * noise and guess > 0.8


def test_custom_operator_learns():
    text = printed("custom_operator")
    assert numbers(text, "held-out accuracy")[0] > 0.9
    assert "gradient of one sample: [[-1.0, 1.0, 0.0]]" in text


def test_multi_task_learns_both():
    pytest.importorskip("sklearn")
    digit, even = numbers(printed("multi_task"), "held out")
    assert digit > 0.85 and even > 0.85


def test_two_contexts_give_the_same_weights():
    text = printed("two_contexts", XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert numbers(text, "largest difference of a weight")[0] < 1e-4
    accuracies = [float(one) for one in re.findall(r"held-out accuracy ([\d.]+)", text)]
    assert len(accuracies) == 2 and min(accuracies) > 0.85, text


def test_optax_in_module_learns():
    text = printed("optax_in_module")
    assert numbers(text, "held-out accuracy")[0] > 0.85 and "epoch  9:" in text
