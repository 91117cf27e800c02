"""The benchmarks run: every workload and its hand-written twin once at a small size, every driver's own arithmetic.

No time measured here decides anything.
"""

from __future__ import annotations

import importlib
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import gluonjax as mx
from gluonjax.port import bench, cli
from gluonjax.port.bursts import Bursts
from gluonjax.port.workloads import WORKLOADS, run_once

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "benchmarks"
# Their many convolutions compile for seconds even when they are tiny.
LONG = ("MobileNet 1.0 training, hybridized", "MobileNet 1.0 inference, hybridized", "LeNet training, eager")
LONG_TWINS = (*LONG, "ResNet-18 training, hybridized", "ResNet-18 inference, hybridized")


def part(name: str):
    """A module of the benchmarks' folder, as the drivers import each other."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(name)


def rows(names, slow) -> list:
    return [pytest.param(name, marks=pytest.mark.slow) if name in slow else name for name in names]


def drive(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), "--tiny", *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", rows(WORKLOADS, LONG))
def test_every_workload_runs(name):
    step = WORKLOADS[name].prepare(mx, True)
    for _ in range(2):
        found = step()
        assert np.isfinite(found.asnumpy()).all()
    run_once(step, mx)


@pytest.mark.parametrize("name", ["MLP training, eager", "LSTMCell unrolled 20 steps, training"])
def test_training_rows_train(name):
    step = WORKLOADS[name].prepare(mx, True)
    first = step().mean().asscalar()
    for _ in range(20):
        last = step()
    assert last.mean().asscalar() < first


@pytest.mark.parametrize("name", rows(part("jax_twin").TWINS, LONG_TWINS))
def test_every_twin_runs_and_has_its_row(name):
    import jax

    assert name in WORKLOADS
    step = part("jax_twin").TWINS[name](True)
    for leaf in jax.tree.leaves([step(), step()]):
        assert np.isfinite(leaf).all()


@pytest.mark.parametrize("name", ["resnet18", "mobilenet"])
def test_twins_have_the_model_zoos_parameters(name):
    import jax

    workloads, twin = part("load").workloads, part("jax_twin")
    net, _ = workloads.initialized(mx, getattr(workloads, name), True, False)
    flax_net, shape = getattr(twin, name)(True)
    variables = jax.eval_shape(lambda key, x: flax_net.init(key, x, False), jax.random.key(0), np.zeros(shape, "f4"))
    ours = sorted(p.data().size for p in net.collect_params().values() if p.grad_req != "null")
    assert sorted(int(np.prod(p.shape)) for p in jax.tree.leaves(variables["params"])) == ours


def test_a_burst_counts_its_calls():
    calls = []
    burst = Bursts(lambda: calls.append(1), lambda found: None, seconds=1e-4, warm_calls=5)
    before = len(calls)
    assert burst() > 0
    assert len(calls) - before == burst.calls >= 1


def test_bench_shows_a_table(capsys):
    assert cli.main(["bench", "--tiny", "--device", "cpu", "--only", "DOT"]) == 0
    out, err = capsys.readouterr()
    assert "[1/1] dot 1024 x 1024" in err
    assert [line for line in out.splitlines() if line.startswith("| dot 1024 x 1024 |")]


def test_bench_explains_misuse(capsys):
    assert cli.main(["bench", "--only", "no such row"]) == 2
    assert "dot 1024 x 1024" in capsys.readouterr().err
    if not mx.context.num_gpus():
        assert bench.bench("dot", tiny=True, device="gpu") == 2
        assert "--device cpu" in capsys.readouterr().err


def kept_rows() -> dict:
    times = {"gluonjax": [1.0, 2.0, 6.0], "mxnet": [2.0, 8.0, 8.0], "jax": [1.0, 1.0, 6.0]}
    other = {"gluonjax": [0.5], "mxnet without oneDNN": [0.5]}
    return {"dot 1024 x 1024": {"times": times}, "eager a + b": {"times": other}, "import": {"failed": "x\nwhy"}}


def test_ratios_are_taken_between_neighbours():
    compare, kept = part("compare"), kept_rows()
    assert compare.ratios(kept["dot 1024 x 1024"]) == {"mxnet": 0.5, "jax": 1.0}
    assert compare.ratios(kept["eager a + b"]) == {"mxnet": 1.0}
    text = compare.table(kept)
    assert "| dot 1024 x 1024 | 2.00 s | 8.00 s | 0.50 | 0.9 | 1.00 s | 1.00 |  |" in text
    assert "failed: why" in text and "0.71" in text.splitlines()[-1]


def test_charts_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    chart, compare, kept = part("chart"), part("compare"), kept_rows()
    chart.comparison(
        {name: compare.ratios(row) for name, row in kept.items() if "failed" not in row}, tmp_path / "a.png"
    )
    chart.lines({"depth": ("layers", {"gluonjax": ([1, 10], [5.0, 50.0])})}, tmp_path / "b.png")
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in ("a.png", "b.png"))


def test_comparison_from_end_to_end(tmp_path):
    results = tmp_path / "results.json"
    out = drive("compare.py", "--only", "dot", "--rounds", "2", "--results", str(results))
    assert "| dot 1024 x 1024 |" in out
    times = json.loads(results.read_text())["dot 1024 x 1024"]["times"]
    assert {who: len(values) for who, values in times.items()} == {"gluonjax": 2, "jax": 2}


def test_a_failing_process_is_named():
    processes = part("processes")
    worker = processes.Worker(sys.executable, "gluonjax", "no such row")
    with pytest.raises(processes.WorkerFailed, match="no such row"):
        worker.ready()
    worker.end()


@pytest.mark.parametrize("task", ["pairs", "first step", "lengths"])
def test_cold_tasks_run(task):
    assert part("cold").timed(task, "gluonjax", True) > 0


@pytest.mark.slow
def test_cold_from_end_to_end():
    assert "| 300 (operator, shape) pairs |" in drive("cold.py", "--only", "300")


@pytest.mark.parametrize("name", ["parameters", "depth", "batch", "eager operators"])
def test_scaling_points_run(name):
    scaling = part("scaling")
    for make in (scaling.ours, scaling.twin):
        step, wait = make(name, 2)
        wait(step())


def test_scaling_names_its_constants():
    assert part("scaling").line_through([1, 10, 100], [7.0, 25.0, 205.0]) == pytest.approx((5.0, 2.0))


@pytest.mark.skipif(not pathlib.Path("/proc/self/clear_refs").exists(), reason="reads Linux's /proc")
@pytest.mark.parametrize("who", ["gluonjax", "jax"])
def test_memory_peaks_are_read(who):
    memory = part("memory")
    assert 0 < memory.resident() <= memory.resident("VmHWM")
    assert np.isfinite(memory.peak("MLP 4096-4096-4096-10, batch 256", who, True))
    if who == "gluonjax":
        assert np.isfinite(memory.growth(20))


LARGE = ("ResNet-50 training, bfloat16", "LSTM 2x1024 training, bfloat16")


@pytest.mark.parametrize("name", rows(LARGE, LARGE[:1]))
def test_large_steps_run(name):
    gpu = part("gpu")
    for step in (gpu.large_step(mx, name, True), gpu.large_twin(name, True)):
        assert np.isfinite(np.asarray(step().astype("float32").mean())).all()


@pytest.mark.slow
def test_gpu_script_from_end_to_end():
    assert "| dot 1024 x 1024 |" in drive("gpu.py", "--device", "cpu", "--only", "dot")
