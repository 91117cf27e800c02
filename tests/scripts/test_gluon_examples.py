"""The examples, each at its tiny size: they run, say how far they are, and reach what they should."""

from __future__ import annotations

import re

import pytest

from tests.scripts.test_scripts import EXAMPLES, run

# script -> (what its progress looks like, how often at least, the quality as it is printed, what it must be)
CASES = {
    "transfer_learning": (r"features, 50 images: loss", 2, r"gained by transfer: (-?[\d.]+)", lambda v: v > 0.05),
    "lstm_language_model": (r"epoch \d: loss", 3, r"held-out perplexity: ([\d.]+)", lambda v: v < 14),
    "vae": (r"epoch +\d+: bound -[\d.]+ nats", 8, r"error: ([\d.]+), of the mean image: 0\.07", lambda v: v < 0.06),
    "wgan_gp": (r"step +\d+: critic's gap", 5, r"distance to real digits: ([\d.]+) generated, 3\.", lambda v: v < 2.4),
    "ctc_recognizer": (r"step +\d+: loss", 5, r"numbers read correctly: ([\d.]+)", lambda v: v > 0.3),
    "ssd_detector": (r"step +\d+: loss", 5, r"mean overlap: ([\d.]+), kind correct: (?:0\.9|1\.0)", lambda v: v > 0.6),
    "word_embedding": (r"step +\d+: loss", 5, r"true neighbour preferred: ([\d.]+)", lambda v: v > 0.58),
    "data_parallel": (r"epoch +\d+: loss .* on cpu\(0\), cpu\(1\)", 4, r"out accuracy: ([\d.]+)", lambda v: v > 0.8),
    "flax_head": (r"step \d+: loss", 4, r"held-out accuracy of the joined Gluon network: ([\d.]+)", lambda v: v > 0.85),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_reaches_its_quality(name):
    pytest.importorskip("sklearn")
    if name == "flax_head":
        pytest.importorskip("flax")
    progress, times, quality, good = CASES[name]
    done = run(str(EXAMPLES / f"{name}.py"), "--tiny", XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert done.returncode == 0, done.stderr
    assert len(re.findall(progress, done.stdout)) >= times, done.stdout
    found = re.search(quality, done.stdout)
    assert found and good(float(found.group(1))), done.stdout
    if name == "data_parallel":
        assert "weights differ between devices by 0\n" in done.stdout
