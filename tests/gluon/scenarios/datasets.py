"""Data sets, samplers, batches, transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.gluon.scenarios.seen import numbers, raised, refused

Seen = list[Any]


def image(mx: Any, height: int = 5, width: int = 4) -> Any:
    return mx.nd.array(np.random.RandomState(3).randint(0, 255, (height, width, 3)), dtype="uint8")


def sets(mx: Any) -> Seen:
    data = mx.gluon.data
    ten = data.SimpleDataset(list(range(10)))
    seen = [len(ten), ten[3], ten.transform(lambda x: x * 2)[3], list(ten.filter(lambda x: x % 2)), list(ten.take(3))]
    seen += [list(ten.take(None)), list(ten.sample(data.SequentialSampler(3))), raised(ten.sample, [1, 2])]
    seen += [list(ten.shard(3, part)) for part in range(3)] + [raised(ten.shard, 3, 3)]
    pairs = data.ArrayDataset([1, 2, 3], [4, 5, 6])
    seen += [pairs[1], pairs.transform_first(lambda x: x * 10)[1], pairs.transform(lambda a, b: (a + b,))[1]]
    seen += [pairs.transform_first(lambda x: x * 10, lazy=False)[1], data.ArrayDataset([1, 2])[0]]
    return [*seen, refused(data.ArrayDataset), refused(data.ArrayDataset, [1, 2], [1])]


def samplers(mx: Any) -> Seen:
    data, seen = mx.gluon.data, []
    for last in ("keep", "discard", "rollover"):
        batches = data.BatchSampler(data.SequentialSampler(7), 3, last)
        seen += [len(batches), list(batches), len(batches), list(batches)]
    seen.append(raised(lambda: list(data.BatchSampler(data.SequentialSampler(7), 3, "foo"))))
    interval = mx.gluon.contrib.data.IntervalSampler
    chosen = data.FilterSampler(lambda x: x % 2 == 0, data.SimpleDataset([1, 2, 4]))
    seen += [list(chosen), len(chosen), list(interval(13, interval=3)), list(interval(13, interval=3, rollover=False))]
    return [*seen, list(data.SequentialSampler(3, 2)), sorted(data.RandomSampler(5))]


def loaders(mx: Any) -> Seen:
    data, seen = mx.gluon.data, []
    ten = data.ArrayDataset(np.arange(10.0), np.arange(10))
    forms = (
        {"batch_size": 4}, {"batch_size": 4, "last_batch": "discard"}, {"batch_size": 4, "last_batch": "rollover"},
        {"batch_sampler": data.BatchSampler(data.SequentialSampler(5), 2)},
        {"batch_size": 3, "sampler": data.SequentialSampler(4)},
    )  # fmt: skip
    for kwargs in forms:
        loader = data.DataLoader(ten, **kwargs)
        seen += [len(loader), [[[numbers(part), part.dtype] for part in batch] for batch in loader]]
    some = data.SequentialSampler(3)
    batches = data.BatchSampler(some, 2, "keep")
    wrong: tuple[tuple[Any, ...], ...] = (
        ((), {}), ((2,), {"shuffle": True, "sampler": some}), ((2,), {"batch_sampler": batches}),
        ((), {"batch_sampler": batches, "last_batch": "keep"}), ((2,), {"timeout": -1}),
    )  # fmt: skip
    return [*seen, *(raised(data.DataLoader, ten, *args, **kwargs) for args, kwargs in wrong)]


def batches(mx: Any) -> Seen:
    make = mx.gluon.data.dataloader.default_batchify_fn
    kinds = ([1, 2, 3], [1.0, 2], [np.float32(1)], [np.ones((2,), "int64")], [[1, 2], [3, 4]])
    seen = [[numbers(make(one)), make(one).dtype] for one in kinds]
    pairs = make([(1, mx.nd.ones(2)), (2, mx.nd.ones(2))])
    seen += [type(pairs).__name__, [part.shape for part in pairs]]
    return seen


def transforms(mx: Any) -> Seen:
    do, x = mx.gluon.data.vision.transforms, image(mx)
    tensor = do.ToTensor()(x)
    seen = [numbers(tensor), tensor.dtype, numbers(do.Normalize((0.1, 0.2, 0.3), (0.5, 0.6, 0.7))(tensor))]
    seen += [do.Cast("float64")(x).dtype, numbers(do.CenterCrop((2, 3))(x)), numbers(do.CropResize(1, 1, 2, 3)(x))]
    sizes = (
        do.ToTensor()(mx.nd.stack(x, x)), do.Resize((3, 2))(x), do.Resize(3)(x), do.Resize(3, keep_ratio=True)(x),
        do.CropResize(1, 1, 2, 3, size=(4, 5), interpolation=1)(x), do.Resize(3)(mx.nd.stack(x, x)),
        do.Compose([do.Resize(4), do.ToTensor(), do.Normalize(0, 1)])(x),
    )  # fmt: skip
    drawn = (
        do.RandomResizedCrop(4), do.RandomFlipLeftRight(), do.RandomFlipTopBottom(), do.RandomBrightness(0.3),
        do.RandomContrast(0.3), do.RandomSaturation(0.3), do.RandomHue(0.3), do.RandomLighting(0.1),
        do.RandomColorJitter(0.1, 0.2, 0.3, 0.1),
    )  # fmt: skip
    seen += [[one.shape, one.dtype] for one in sizes]
    return [*seen, *([one, one(x).shape, one(x).dtype, one(x.astype("float32")).dtype] for one in drawn)]


def resizing(mx: Any) -> Seen:
    do, x = mx.gluon.data.vision.transforms, image(mx, 4, 3).astype("float32")
    return [numbers(do.Resize((3, 2), interpolation=kind)(x)) for kind in (0, 1)] + [numbers(do.Resize((7, 9))(x))]


def turning(mx: Any) -> Seen:
    do = mx.gluon.data.vision.transforms
    tensor, seen = do.ToTensor()(image(mx, 6, 8)), []
    for angle, kwargs in ((30, {}), (-45, {"zoom_out": True}), (75, {"zoom_in": True}), (180, {})):
        seen.append(numbers(do.Rotate(angle, **kwargs)(tensor)))
    drawn = do.RandomRotation((-30, 30))
    seen += [drawn(tensor).shape, numbers(do.RandomRotation((-30, 30), rotate_with_proba=0)(tensor))[:9]]
    seen += [raised(do.RandomRotation, (30, -30)), raised(do.RandomRotation, (0, 1), rotate_with_proba=2)]
    some = do.RandomApply(do.Cast("float64"), 1.0)
    return [*seen, raised(do.Rotate(10), image(mx)), some(image(mx)).dtype]


def records(mx: Any) -> Seen:
    writer = mx.recordio.MXIndexedRecordIO("x.idx", "x.rec", "w")
    for number in range(3):
        writer.write_idx(number, bytes([65 + number]) * (number + 1))
    writer.close()
    found = mx.gluon.data.RecordFileDataset("x.rec")
    return [len(found), [found[number].decode() for number in range(3)]]


def handlers(mx: Any) -> Seen:
    kit, log = mx.gluon.contrib.estimator, []

    class Log(kit.TrainBegin, kit.TrainEnd, kit.EpochBegin, kit.EpochEnd, kit.BatchBegin, kit.BatchEnd):
        def _note(self, what: str, given: dict[str, Any]) -> None:
            log.append([what, sorted(given)])

        def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self._note("train begin", kwargs)

        def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self._note("train end", kwargs)

        def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self._note("epoch begin", kwargs)

        def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self._note("epoch end", kwargs)

        def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self._note("batch begin", kwargs)

        def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self._note("batch end", kwargs)

    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    estimator = kit.Estimator(net, loss, train_metrics=mx.metric.Accuracy(), trainer=trainer)
    draw = np.random.RandomState(0)
    samples = mx.gluon.data.ArrayDataset(draw.randn(8, 3).astype("f"), draw.randint(0, 2, 8).astype("f"))
    loader = mx.gluon.data.DataLoader(samples, 4)
    estimator.fit(loader, val_data=loader, epochs=2, event_handlers=[Log()])
    measured = [one.get() for one in estimator.train_metrics + estimator.val_metrics]
    return [log, numbers(net.weight.data()), measured, refused(estimator.fit, loader)]
