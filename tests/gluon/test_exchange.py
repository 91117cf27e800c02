"""Files of the real MXNet: read here with the same results, and written so that it reads them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import autograd, gluon, nd
from gluonjax.gluon import nn, rnn

DATA = Path(__file__).parent.parent / "data" / "gluon"
RECORDER = Path(__file__).parent.parent / "oracle" / "record_gluon.py"
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)


def convolutional() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv1D(2, 2, use_bias=False), nn.BatchNorm(), nn.Swish(), nn.Dense(3))
    return net


def recurrent() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="rec_")
    with net.name_scope():
        net.add(rnn.LSTM(3, bidirectional=True), nn.Dense(2, flatten=False))
    return net


NETS: dict[str, Callable[[], nn.HybridSequential]] = {"convolutional": convolutional, "recurrent": recurrent}


@pytest.fixture(scope="module")
def answers() -> dict[str, np.ndarray]:
    with np.load(DATA / "answers.npz") as found:
        return dict(found)


def train(net: nn.HybridSequential, steps: int) -> tuple[gluon.Trainer, list[float]]:
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    losses = []
    for _ in range(steps):
        with autograd.record():
            loss = (net(nd.array(X)) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss.asscalar()))
    return trainer, losses


@pytest.mark.parametrize("kind", ["structural", "full"])
@pytest.mark.parametrize("name", NETS)
def test_parameters_of_mxnet(name: str, kind: str, answers: dict[str, np.ndarray]) -> None:
    net = NETS[name]()
    net.load_parameters(str(DATA / f"{name}-{kind}.params"))
    np.testing.assert_allclose(net(nd.array(X)).asnumpy(), answers[f"{name}:output"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NETS)
def test_exported_models_of_mxnet(name: str, answers: dict[str, np.ndarray]) -> None:
    block = gluon.SymbolBlock.imports(
        str(DATA / f"{name}-symbol.json"), ["data"], str(DATA / f"{name}-0000.params")
    )
    np.testing.assert_allclose(block(nd.array(X)).asnumpy(), answers[f"{name}:output"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("name", NETS)
def test_training_follows_mxnet(name: str, hybridize: bool, answers: dict[str, np.ndarray]) -> None:
    net = NETS[name]()
    net.initialize()
    net(nd.array(X))
    for key, parameter in net.collect_params().items():
        parameter.set_data(nd.array(answers[f"{name}:start:{key}"]))
    if hybridize:
        net.hybridize()
    _, losses = train(net, 3)
    np.testing.assert_allclose(losses, answers[f"{name}:losses"], rtol=1e-4)
    np.testing.assert_allclose(net(nd.array(X)).asnumpy(), answers[f"{name}:output"], rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("name", NETS)
def test_trainer_states_of_mxnet(name: str) -> None:
    net = NETS[name]()
    net.load_parameters(str(DATA / f"{name}-structural.params"))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    trainer.load_states(str(DATA / f"{name}.states"))
    assert trainer.optimizer.num_update == 3
    params = dict(net.collect_params().items())
    trained = {index: params[name] for index, name in enumerate(sorted(params)) if params[name].grad_req != "null"}
    states = trainer._updaters[0].states
    assert sorted(states) == sorted(trained)
    for index, parameter in trained.items():
        mean, variance = states[index]
        assert mean.shape == variance.shape == parameter.shape
        assert (variance.asnumpy() >= 0).all() and (variance.asnumpy() > 0).any()


@pytest.mark.parametrize("name", NETS)
def test_files_have_the_names_of_mxnet(name: str, tmp_path: Path) -> None:
    net = NETS[name]()
    net.load_parameters(str(DATA / f"{name}-structural.params"))
    net.hybridize()
    net(nd.array(X))
    net.export(str(tmp_path / name))
    net.save_parameters(str(tmp_path / f"{name}-structural.params"))
    for file in (f"{name}-0000.params", f"{name}-structural.params"):
        ours, theirs = nd.load(str(tmp_path / file)), nd.load(str(DATA / file))
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            assert ours[key].dtype == value.dtype
            np.testing.assert_array_equal(ours[key].asnumpy(), value.asnumpy())
    ours, theirs = (
        mx.sym.load(str(folder / f"{name}-symbol.json")) for folder in (tmp_path, DATA)
    )  # fmt: skip
    assert ours.list_inputs() == theirs.list_inputs()
    assert ours.list_outputs() == theirs.list_outputs()


@pytest.mark.skipif("GLUONJAX_ORACLE" not in os.environ, reason="needs a Python with the real mxnet: GLUONJAX_ORACLE")
def test_mxnet_reads_our_files(tmp_path: Path) -> None:
    for name, build in NETS.items():
        net = build()
        net.initialize(mx.init.Normal(0.5))
        net(nd.array(X))
        net.hybridize()
        trainer, _ = train(net, 2)
        net.save_parameters(str(tmp_path / f"{name}-structural.params"))
        net.export(str(tmp_path / name))
        trainer.save_states(str(tmp_path / f"{name}.states"))
        np.save(tmp_path / f"{name}-output.npy", net(nd.array(X)).asnumpy())
    command = [*os.environ["GLUONJAX_ORACLE"].split(), str(RECORDER), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("read by mxnet 1.9.1") == len(NETS)
