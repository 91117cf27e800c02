"""The training loop of gluon.contrib.estimator and its handlers."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gluonjax as mx
from gluonjax import gluon, nd
from gluonjax.gluon import nn
from gluonjax.gluon.contrib.estimator import (
    BatchEnd,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochEnd,
    Estimator,
    LoggingHandler,
    ValidationHandler,
)


def loader(batches: int = 3) -> gluon.data.DataLoader:
    draw = np.random.default_rng(0)
    data = nd.array(draw.normal(size=(4 * batches, 5)))
    label = nd.array(draw.integers(0, 3, size=(4 * batches,)))
    return gluon.data.DataLoader(gluon.data.ArrayDataset(data, label), batch_size=4)


def estimator(rate: float = 0.1, hybridize: bool = False, **settings: Any) -> Estimator:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=5))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate})
    return Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, **settings)


def test_training_lowers_the_loss(capsys: pytest.CaptureFixture[str]) -> None:
    one = estimator(rate=0.5)
    assert [metric.name for metric in one.train_metrics] == ["training accuracy", "training softmaxcrossentropyloss"]
    assert [metric.name for metric in one.val_metrics] == ["validation accuracy", "validation softmaxcrossentropyloss"]
    data = loader()
    one.evaluate(data)
    before = one.val_metrics[1].get()[1]
    one.fit(data, val_data=data, epochs=5)
    assert one.val_metrics[1].get()[1] < before
    lines = capsys.readouterr().out.splitlines()
    assert "Training begin: using optimizer SGD with current learning rate 0.5000 " in lines
    assert "Train for 5 epochs." in lines
    pattern = r"\[Epoch 4\] Finished in \d+\.\d{3}s, training accuracy: \d\.\d{4}, training softmaxcrossentropyloss: .*"
    assert any(re.fullmatch(pattern, line) for line in lines)


def test_batches_are_counted_and_logged(capsys: pytest.CaptureFixture[str]) -> None:
    one = estimator()
    one.fit(loader(), batches=5, event_handlers=[LoggingHandler(log_interval=2, metrics=one.train_metrics)])
    shown = re.findall(r"\[Epoch (\d)\]\[Batch (\d)\]\[Samples (\d+)\] time/interval", capsys.readouterr().out)
    assert shown == [("0", "0", "4"), ("0", "2", "12"), ("1", "0", "16")]


def test_handlers_can_stop() -> None:
    class Stopper(BatchEnd, EpochEnd):
        seen = 0

        def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
            self.seen += 1
            assert set(kwargs) == {"batch", "pred", "label", "loss"}
            return self.seen == 4

        def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
            return self.seen >= 4

    stopper = Stopper()
    given = [stopper]
    estimator().fit(loader(), epochs=9, event_handlers=given)
    assert stopper.seen == 4
    assert given == [stopper]


def test_early_stopping_waits_for_its_patience() -> None:
    one = estimator(rate=0.0)
    handler = EarlyStoppingHandler(one.train_metrics[1], patience=2, mode="min")
    one.fit(loader(), epochs=9, event_handlers=[handler])
    assert handler.current_epoch == 3 and handler.stopped_epoch == 2


@pytest.mark.parametrize(("index", "word"), [(0, "greater"), (1, "less")])
def test_auto_mode_goes_by_the_name(index: int, word: str) -> None:
    with pytest.warns(UserWarning, match=f"`{word}` operator will be used"):
        EarlyStoppingHandler(estimator().train_metrics[index])


def test_checkpoints_are_kept_deleted_and_resumed(tmp_path: Path) -> None:
    one = estimator(hybridize=True)
    saver = CheckpointHandler(
        str(tmp_path), "m", monitor=one.train_metrics[1], save_best=True, mode="min", max_checkpoints=2
    )
    one.fit(loader(), epochs=3, event_handlers=[saver])
    assert sorted(os.listdir(tmp_path)) == [
        "m-best.params", "m-best.states", "m-epoch1batch6.params", "m-epoch1batch6.states", "m-epoch2batch9.params",
        "m-epoch2batch9.states", "m-symbol.json",
    ]  # fmt: skip
    other = estimator()
    resumed = CheckpointHandler(str(tmp_path), "m", resume_from_checkpoint=True)
    other.fit(loader(), epochs=5, event_handlers=[resumed])
    assert other.max_epoch == 2
    assert (tmp_path / "m-epoch4batch15.params").exists()
    with pytest.raises(ValueError, match="maximum number of epoch 5 reached"):
        estimator().fit(
            loader(), epochs=5, event_handlers=[CheckpointHandler(str(tmp_path), "m", resume_from_checkpoint=True)]
        )


def test_validation_by_batches() -> None:
    calls = []
    one = estimator()
    handler = ValidationHandler(
        loader(), lambda **how: calls.append(sorted(how)), epoch_period=None, batch_period=2
    )
    one.fit(loader(), epochs=2, event_handlers=[handler])
    assert calls == [["batch_axis", "event_handlers", "val_data"]] * 3


def test_settings_that_cannot_work() -> None:
    one = estimator()
    with pytest.raises(ValueError, match="Gluon DataLoader"):
        one.fit([nd.ones((2, 5))], epochs=1)
    with pytest.raises(ValueError, match="exactly one type of iteration"):
        one.fit(loader(), epochs=1, batches=1)
    with pytest.raises(ValueError, match="outside of the known training"):
        one.fit(loader(), epochs=1, event_handlers=[LoggingHandler(metrics=[mx.metric.Accuracy()])])
    with pytest.raises(ValueError, match="loss must be a Loss"):
        Estimator(one.net, "mse")
    with pytest.raises(ValueError, match="must contain fit_batch"):
        estimator(batch_processor=object())


def test_defaults_are_announced() -> None:
    net = nn.Dense(3, in_units=5)
    with pytest.warns(UserWarning, match="No trainer specified"):
        one = Estimator(net, gluon.loss.L2Loss())
    assert one.context == [mx.cpu()] and net.weight.data().shape == (3, 5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Estimator(net, gluon.loss.L2Loss(), trainer=one.trainer, initializer=mx.init.One())
    assert "already fully initialized" in str(caught[0].message)
