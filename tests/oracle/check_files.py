"""Check that the real MXNet reads everything that gluonjax writes.

    python tests/oracle/check_files.py write FOLDER           with gluonjax
    python tests/oracle/check_files.py check FOLDER           with the real MXNet; exits with 1 where something differs

``write`` leaves files and, in expected.npz, what is in them; ``check`` reads the files with MXNet and compares.
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import numpy as np

SHAPE = (2, 3, 8, 8)


def network(mx: Any) -> Any:
    """A small network of Gluon, the same for both."""
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            mx.gluon.nn.Conv2D(4, 3, activation="relu"), mx.gluon.nn.BatchNorm(), mx.gluon.nn.MaxPool2D(2),
            mx.gluon.nn.Flatten(), mx.gluon.nn.Dense(3),
        )  # fmt: skip
    return net


def symbol(mx: Any) -> Any:
    """A small symbol with a loss."""
    data = mx.sym.Variable("data", lr_mult=1.0)
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=4, name="fc1"), act_type="tanh")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, no_bias=True, name="fc2"), name="softmax")


def module(mx: Any) -> Any:
    """A Module of it, bound."""
    made = mx.mod.Module(symbol(mx), context=mx.cpu())
    made.bind([("data", (4, 5))], [("softmax_label", (4,))])
    return made


def batch(mx: Any) -> Any:
    data = np.arange(20, dtype=np.float32).reshape(4, 5) / 10
    return mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array([0, 1, 2, 1])])


def pixels() -> np.ndarray:
    return (np.arange(12 * 10 * 3) * 5 % 256).astype(np.uint8).reshape(12, 10, 3)


def arrays_of(mx: Any) -> dict[str, Any]:
    dense = mx.nd.array([[0, 1, 0], [2, 0, 3]])
    kinds = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64")
    return {
        **{kind: mx.nd.arange(5, dtype=kind) for kind in kinds}, "größe": mx.nd.ones((1, 2, 3)),
        "csr": dense.tostype("csr"), "rows": dense.tostype("row_sparse"),
    }  # fmt: skip


def write(folder: pathlib.Path) -> None:
    """Write everything, with gluonjax."""
    import gluonjax as mx
    from gluonjax.port import cli

    mx.random.seed(1)
    np.random.seed(1)
    found: dict[str, np.ndarray] = {}
    arrays = arrays_of(mx)
    mx.nd.save(str(folder / "dict.params"), arrays)
    mx.nd.save(str(folder / "list.params"), list(arrays.values()))
    found.update({f"dict/{name}": array.asnumpy() for name, array in arrays.items()})
    with mx.util.np_shape(True), mx.util.np_array(True):
        mx.npx.save(str(folder / "np.params"), {"scalar": mx.np.array(2.5), "none": mx.np.zeros((0, 3))})
    record = mx.recordio.MXIndexedRecordIO(str(folder / "a.idx"), str(folder / "a.rec"), "w")
    magic = b"\x0a\x23\xd7\xce"
    for key, data in enumerate((b"", b"abc", magic, b"1234" + magic * 2 + b"5")):
        record.write_idx(key, data)
    header = mx.recordio.IRHeader(0, [1.5, 2.5], 7, 0)
    record.write_idx(4, mx.recordio.pack_img(header, pixels(), img_fmt=".png", quality=3))
    record.close()
    (folder / "pictures").mkdir()
    for number in range(3):
        _, data = mx.recordio.unpack(mx.recordio.pack_img(header, pixels() // (number + 1), img_fmt=".png"))
        (folder / "pictures" / f"{number}.png").write_bytes(data)
    for listing in (["--list", "--no-shuffle"], ["--encoding", ".png"]):
        assert cli.main(["im2rec", str(folder / "packed"), str(folder / "pictures"), *listing]) == 0

    net = network(mx)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    data = mx.nd.array(np.linspace(-1, 1, np.prod(SHAPE)).reshape(SHAPE))
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    for step in range(4):
        if step == 3:
            # What comes after the files were written is what MXNet must do too.
            net.export(str(folder / "net"), 3)
            net.save_parameters(str(folder / "net.params"))
            trainer.save_states(str(folder / "trainer.states"))
            found["net/before"] = net(data).asnumpy()
        with mx.autograd.record():
            loss = (net(data) ** 2).mean()
        loss.backward()
        trainer.step(2)
    found["net/after"] = net(data).asnumpy()

    model = module(mx)
    model.init_params(mx.init.Xavier())
    model.init_optimizer(optimizer="sgd", optimizer_params={"momentum": 0.9, "learning_rate": 0.1})
    for step in range(3):
        if step == 2:
            model.save_checkpoint(str(folder / "model"), 2, save_optimizer_states=True)
        model.forward_backward(batch(mx))
        model.update()
    model.forward(batch(mx), is_train=False)
    found["model"] = model.get_outputs()[0].asnumpy()
    np.savez(folder / "expected.npz", **found)


def check(folder: pathlib.Path) -> list[str]:
    """Read everything with the real MXNet; the answer says what differs."""
    import mxnet as mx

    wrong: list[str] = []
    expected = np.load(folder / "expected.npz")

    def same(name: str, found: Any, wanted: Any, tolerance: float = 0.0) -> None:
        found, wanted = np.asarray(found), np.asarray(wanted)
        good = found.shape == wanted.shape and found.dtype == wanted.dtype
        good = good and bool(np.allclose(found, wanted, tolerance, tolerance) if tolerance else (found == wanted).all())
        print(f"{'as written' if good else 'DIFFERENT '}  {name}")
        if not good:
            wrong.append(name)

    loaded, listed = mx.nd.load(str(folder / "dict.params")), mx.nd.load(str(folder / "list.params"))
    for number, (name, array) in enumerate(arrays_of(mx).items()):
        same(f"array {name}", loaded[name].asnumpy(), expected[f"dict/{name}"])
        same(f"array {number}", listed[number].asnumpy(), array.asnumpy())
        same(f"storage {name}", loaded[name].stype, array.stype)
    with mx.util.np_shape(True), mx.util.np_array(True):
        shaped = mx.npx.load(str(folder / "np.params"))
        same("scalar", shaped["scalar"].asnumpy(), np.array(2.5, np.float32))
        same("no elements", shaped["none"].shape, (0, 3))

    record = mx.recordio.MXIndexedRecordIO(str(folder / "a.idx"), str(folder / "a.rec"), "r")
    magic = b"\x0a\x23\xd7\xce"
    for key, data in enumerate((b"", b"abc", magic, b"1234" + magic * 2 + b"5")):
        same(f"record {key}", record.read_idx(key), data)
    header, picture = mx.recordio.unpack(record.read_idx(4))
    same("labels", header.label, np.array([1.5, 2.5], np.float32))
    same("picture", mx.image.imdecode(picture, to_rgb=False).asnumpy(), pixels())
    settings = {"path_imgrec": str(folder / "packed.rec"), "data_shape": (3, 12, 10), "batch_size": 3, "verbose": False}
    rows = next(mx.io.ImageRecordIter(**settings)).data[0].asnumpy()
    for number in range(3):
        wanted = pixels()[:, :, ::-1].transpose(2, 0, 1) // (number + 1)
        same(f"packed picture {number}", rows[number], wanted.astype(np.float32))

    data = mx.nd.array(np.linspace(-1, 1, np.prod(SHAPE)).reshape(SHAPE))
    block = mx.gluon.SymbolBlock.imports(str(folder / "net-symbol.json"), ["data"], str(folder / "net-0003.params"))
    same("exported network", block(data).asnumpy(), expected["net/before"], 1e-4)
    net = network(mx)
    net.load_parameters(str(folder / "net.params"))
    same("saved parameters", net(data).asnumpy(), expected["net/before"], 1e-4)
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    trainer.load_states(str(folder / "trainer.states"))
    with mx.autograd.record():
        loss = (net(data) ** 2).mean()
    loss.backward()
    trainer.step(2)
    same("training goes on", net(data).asnumpy(), expected["net/after"], 1e-3)

    model = mx.mod.Module.load(str(folder / "model"), 2, load_optimizer_states=True, context=mx.cpu())
    model.bind([("data", (4, 5))], [("softmax_label", (4,))])
    model.init_optimizer(optimizer="sgd", optimizer_params={"momentum": 0.9, "learning_rate": 0.1})
    model.forward_backward(batch(mx))
    model.update()
    model.forward(batch(mx), is_train=False)
    same("checkpoint goes on", model.get_outputs()[0].asnumpy(), expected["model"], 1e-4)
    return wrong


if __name__ == "__main__":
    command, where = sys.argv[1], pathlib.Path(sys.argv[2])
    if command == "write":
        write(where)
    else:
        sys.exit(1 if check(where) else 0)
