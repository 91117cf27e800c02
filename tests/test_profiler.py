"""The profiler: real statistics by operator, traces, and nothing where it is off."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import gluonjax as mx
from gluonjax import profiler
from gluonjax._engine.profile import recorder


@pytest.fixture
def profile(tmp_path):
    """A running profiler that writes into a temporary folder; stopped and emptied afterwards."""
    path = tmp_path / "profile.json"
    profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(path))
    profiler.dumps(reset=True)
    profiler.set_state("run")
    yield path
    profiler.set_state("stop")
    profiler.resume()
    profiler._output.enabled = False
    recorder.tables.clear()
    recorder.events.clear()


def times() -> dict:
    return json.loads(profiler.dumps(format="json"))["Time"]


def counts() -> dict[str, int]:
    return {name: numbers["Count"] for name, numbers in times().get("operator", {}).items()}


def test_operators_and_their_backwards_are_counted(profile) -> None:
    x = mx.nd.ones((3, 4))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.relu(mx.nd.FullyConnected(x, mx.nd.ones((2, 4)), no_bias=True, num_hidden=2) + 1)
    y.backward()
    found = counts()
    for name in ("FullyConnected", "_plus_scalar", "relu", "_backward_FullyConnected", "_backward_relu"):
        assert found[name] == 1, name
    assert found["_ones"] == 2
    numbers = times()["operator"]["FullyConnected"]
    assert 0 < numbers["Min"] == numbers["Max"] == pytest.approx(numbers["Avg"])


def test_graphs_run_operator_by_operator(profile) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, activation="tanh"), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    x = mx.nd.random.normal(shape=(5, 3))
    with mx.autograd.record():
        loss = net(x).square().sum()
    loss.backward()
    found = counts()
    assert found["FullyConnected"] == found["_backward_FullyConnected"] == 2
    assert found["Activation"] == found["BatchNorm"] == found["_backward_BatchNorm"] == 1


def test_profiled_gradients_are_the_usual_ones(tmp_path) -> None:
    data = mx.sym.var("data")
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Dropout(mx.sym.sin(data) * data, p=0.0), num_hidden=3, name="fc"), name="softmax"
    )
    executor = net.simple_bind(mx.cpu(), data=(4, 5))
    for array in executor.arg_arrays:
        array[:] = mx.nd.random.uniform(shape=array.shape)

    def gradients():
        executor.forward(is_train=True)
        executor.backward()
        return {name: array.asnumpy() for name, array in executor.grad_dict.items()}

    plain = gradients()
    profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(tmp_path / "p.json"))
    profiler.set_state("run")
    try:
        timed = gradients()
    finally:
        profiler.set_state("stop")
        profiler._output.enabled = False
        recorder.tables.clear()
    for name, array in plain.items():
        mx.test_utils.assert_almost_equal(array, timed[name], rtol=1e-5, atol=1e-6)


def test_modules_train_in_parts_while_profiled(profile) -> None:
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
    module = mx.mod.Module(net)
    batches = mx.io.NDArrayIter(mx.nd.ones((4, 3)), mx.nd.zeros((4,)), batch_size=2)
    module.fit(batches, num_epoch=1)
    found = counts()
    assert found["FullyConnected"] >= 2 and found["_backward_SoftmaxOutput"] == 2


def test_table_and_sorting(profile) -> None:
    for _ in range(3):
        mx.nd.sqrt(mx.nd.ones((2, 2)))
    table = profiler.dumps(sort_by="count", ascending=False)
    assert "Profile Statistics:" in table and "Device Storage" in table
    row = next(line for line in table.splitlines() if line.startswith("sqrt "))
    assert row.split()[1] == "3" and len(row.split()) == 6
    for key, title in (("total", "Total"), ("avg", "Avg"), ("min", "Min"), ("max", "Max"), ("count", "Count")):
        for ascending in (False, True):
            found = json.loads(profiler.dumps(format="json", sort_by=key, ascending=ascending))
            values = [one[title] for one in found["Time"]["operator"].values()]
            assert values == sorted(values, reverse=not ascending)
    assert profiler.dumps(reset=True) and counts() == {}
    with pytest.raises(AssertionError, match="sort_by: size"):
        profiler.dumps(sort_by="size")


def test_memory_follows_live_arrays(profile) -> None:
    big = mx.nd.ones((256, 256)) + 1
    del big
    mx.nd.ones((4,)) + 1
    numbers = json.loads(profiler.dumps(format="json"))["Memory"]["Device Storage"]["Memory: cpu/0"]
    assert numbers["Max"] >= 256 and numbers["Min"] < 256


def test_domains_tasks_frames_events_counters_markers(profile) -> None:
    domain = profiler.Domain("Mine")
    with domain.new_task("task"):
        pass
    frame, event = domain.new_frame("frame"), profiler.Event("event")
    frame.start(), event.start(), event.stop(), frame.stop()
    counter = domain.new_counter("counter", 3)
    counter += 2
    counter -= 4
    domain.new_marker("moment").mark("thread")
    assert str(domain) == "Mine" and str(counter) == "counter"
    found = times()
    assert found["Mine"]["task"]["Count"] == 1 and found["Mine,frame"]["frame"]["Count"] == 1
    assert found["event"]["event"]["Count"] == 1
    assert found["Mine"]["counter"] == {"Count": 3, "Total": 1, "Min": 1, "Max": 5, "Avg": 3.0}
    profiler.dump(False)
    trace = json.loads(profile.read_text())["traceEvents"]
    phases = {one["name"]: one["ph"] for one in trace}
    assert phases["task"] == "e" and phases["frame"] == ")" and phases["counter"] == "C" and phases["moment"] == "n"
    begin, end = (one["ts"] for one in trace if one["name"] == "task")
    assert end >= begin
    with pytest.raises(mx.MXNetError, match="Invalid Input: 'galaxy'"):
        domain.new_marker("m").mark("galaxy")


def test_custom_operators_show_their_own_time(profile) -> None:
    class Doubled(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("ProfiledDouble")
    class DoubledProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Doubled()

    x = mx.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="ProfiledDouble")
    y.backward()
    found = times()["Custom Operator"]
    assert found["ProfiledDouble::pure_python"]["Count"] == 1
    assert found["_backward_ProfiledDouble::pure_python"]["Count"] == 1
    assert found["ProfiledDouble::_mul_scalar"]["Count"] == 1


def test_pause_resume_and_off(profile) -> None:
    profiler.pause()
    mx.nd.ones((2,)) + 1
    assert counts() == {} and not recorder.on
    profiler.resume()
    mx.nd.ones((2,)) + 1
    assert counts()["_plus_scalar"] == 1
    profiler.set_state("stop")
    mx.nd.ones((2,)) + 1
    assert counts()["_plus_scalar"] == 1 and not recorder.on and not recorder.op_by_op


def test_imperative_and_symbolic_are_separate_switches(profile) -> None:
    profiler.set_config(profile_imperative=False, aggregate_stats=True)
    x = mx.nd.ones((2,)) + 1
    executor = mx.sym.sqrt(mx.sym.var("x")).bind(mx.cpu(), {"x": x})
    executor.forward()
    assert counts() == {"sqrt": 1}


def test_states_and_arguments_are_checked(tmp_path) -> None:
    with pytest.raises(mx.MXNetError, match="did you mean 'filename'"):
        profiler.set_config(file_name="x")
    with pytest.raises(mx.MXNetError, match="expect bool"):
        profiler.set_config(profile_all="perhaps")
    with pytest.raises(mx.MXNetError, match="hasn't been run"):
        profiler.dump()
    with pytest.raises(KeyError):
        profiler.set_state("walk")
    with pytest.warns(UserWarning, match="profiler_set_config"):
        profiler.profiler_set_config("symbolic", str(tmp_path / "x.json"))
    profiler.set_config()
    assert profiler.dumps() == ""


def test_the_file_is_written_at_exit_and_autostart(tmp_path) -> None:
    script = (
        "import gluonjax as mx\n"
        "from gluonjax._engine.profile import recorder\n"
        "assert recorder.running\n"
        f"mx.profiler._output.config.filename = {str(tmp_path / 'exit.json')!r}\n"
        "mx.nd.sqrt(mx.nd.ones((2, 2))).asnumpy()\n"
        "mx.sym.cos(mx.sym.var('x')).bind(mx.cpu(), {'x': mx.nd.ones((2,))}).forward()[0].asnumpy()\n"
    )
    for mode in ("0", "1"):
        settings = {**os.environ, "MXNET_PROFILER_AUTOSTART": "1", "MXNET_PROFILER_MODE": mode}
        subprocess.run([sys.executable, "-c", script], check=True, env=settings)
        trace = json.loads((tmp_path / "exit.json").read_text())["traceEvents"]
        found = {one["name"] for one in trace}
        assert "cos" in found and ("sqrt" in found) == (mode == "1")


def test_jax_trace_of_the_device(tmp_path) -> None:
    profiler.set_config(profile_symbolic=False, profile_imperative=False, device_trace=str(tmp_path / "trace"))
    profiler.set_state("run")
    mx.nd.ones((4, 4)).sum().asnumpy()
    profiler.set_state("stop")
    profiler._output.enabled = False
    profiler.set_config()
    assert list((tmp_path / "trace").rglob("*.pb")), "JAX wrote no trace"
