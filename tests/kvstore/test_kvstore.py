"""Key-value stores: sums, updates, compression, and stores of one's own."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from gluonjax.kvstore.base import TestStore as SmallestStore
from tests.module import networks

SHAPE = (2, 3)


def full(value, context=None):
    return mx.nd.full(SHAPE, value, ctx=context)


def pulled(store, key):
    out = mx.nd.zeros(SHAPE)
    store.pull(key, out)
    return out.asnumpy()


@pytest.mark.parametrize("name", ["local", "device", "nccl", "dist_sync", "dist_device_sync", "local_allreduce_cpu"])
def test_names_of_one_worker(name):
    store = mx.kv.create(name)
    assert (store.type, store.rank, store.num_workers) == (name, 0, 1)
    assert store.is_capable("optimizer")


def test_unknown_name_is_local_with_a_warning():
    with pytest.warns(UserWarning, match="unknown kvstore type 'lokal'"):
        assert mx.kv.create("lokal").type == "lokal"
    with pytest.raises(TypeError, match="name must be a string"):
        mx.kv.create(3)


@pytest.mark.parametrize("keys", [[5, 7], ["a", "b"]])
def test_push_sums_and_pull_copies(keys):
    store = mx.kv.create()
    store.init(keys, [full(4), full(5)])
    assert (pulled(store, keys[1]) == 5).all()
    devices = [mx.cpu(i) for i in range(3)]
    store.push(keys, [[full(1, d) for d in devices], [full(2, d) for d in devices]])
    outs = [[mx.nd.zeros(SHAPE, d) for d in devices] for _ in keys]
    store.pull(keys, out=outs)
    for arrays, total in zip(outs, (3, 6)):
        assert [a.context for a in arrays] == devices
        assert all((a.asnumpy() == total).all() for a in arrays)


def test_pushpull_and_broadcast():
    store = mx.kv.create("device")
    out = mx.nd.zeros(SHAPE)
    store.broadcast("w", full(3), out)
    assert (out.asnumpy() == 3).all()
    values = [full(1), full(2)]
    store.pushpull("w", values)
    assert all((value.asnumpy() == 3).all() for value in values)
    store.pushpull("w", full(7), out=out)
    assert (out.asnumpy() == 7).all()


def test_the_kept_array_is_its_own():
    store = mx.kv.create()
    given = full(1)
    store.init(3, given)
    given[:] = 9
    store.push(3, given)
    given[:] = 0
    assert (pulled(store, 3) == 9).all()


def test_errors_name_key_and_call():
    store = mx.kv.create()
    store.init(3, full(1))
    with pytest.raises(mx.MXNetError, match="duplicate init of key 3"):
        store.init(3, full(1))
    with pytest.raises(mx.MXNetError, match="key 9 has not been inited"):
        store.pull(9, out=full(1))
    with pytest.raises(mx.MXNetError, match="Mixed key types"):
        store.push("a", full(1))
    with pytest.raises(AssertionError, match="unexpected type for keys"):
        store.init(2.5, full(1))
    with pytest.raises(AssertionError, match="2 keys and 1 values"):
        store.init([7, 8], [full(1)])
    with pytest.raises(AssertionError, match="must be an NDArray"):
        store.init(5, np.ones(2))
    with pytest.raises(AssertionError, match="give out"):
        store.pull(3)
    with pytest.raises(mx.MXNetError, match="Expected row_sparse storage type"):
        store.row_sparse_pull(3, out=full(1), row_ids=mx.nd.array([1]))
    with pytest.raises(ValueError, match="Unknown capability"):
        store.is_capable("flying")


def test_updater_gets_bytes_for_text_keys():
    seen = []

    def update(key, received, kept):
        seen.append(key)
        kept += received * 2

    for key, shown in ((3, 3), ("w", b"w")):
        store = mx.kv.create()
        store.init(key, full(1))
        store._set_updater(update)
        store.push(key, [full(1), full(1)])
        assert seen.pop() == shown
        assert (pulled(store, key) == 5).all()


def test_optimizer_and_its_states(tmp_path):
    def make():
        store = mx.kv.create()
        store.init(3, full(1))
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
        return store

    store, path = make(), str(tmp_path / "states")
    store.push(3, full(1))
    np.testing.assert_allclose(pulled(store, 3), 0.9, rtol=1e-6)
    store.save_optimizer_states(path)
    other = make()
    other.load_optimizer_states(path)
    other.push(3, full(1))
    np.testing.assert_allclose(pulled(other, 3), 1 - 0.19, rtol=1e-6)
    store.save_optimizer_states(path, dump_optimizer=True)
    other.load_optimizer_states(path)
    assert other._updater.optimizer.momentum == 0.9
    with pytest.raises(AssertionError, match="Cannot save states"):
        mx.kv.create().save_optimizer_states(path)
    with pytest.raises(mx.MXNetError, match="cannot read"):
        store.load_optimizer_states(str(tmp_path / "nothing"))


def test_two_bit_compression_as_mxnet():
    # The values that MXNet's device store gives for these gradients.
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init(1, mx.nd.zeros(4))
    out = mx.nd.zeros(4)
    for wanted in ([0, 0, 0.5, -0.5], [0.5, -0.5, 0.5, -0.5], [0, 0, 0.5, -0.5]):
        store.push(1, mx.nd.array([0.3, -0.3, 0.6, -1.2]))
        store.pull(1, out)
        assert out.asnumpy().tolist() == wanted
    store.set_gradient_compression({"type": "none"})
    store.push(1, mx.nd.array([0.3, 0, 0, 0]))
    store.pull(1, out)
    np.testing.assert_allclose(out.asnumpy(), [0.3, 0, 0, 0], rtol=1e-6)


def test_two_bit_compression_keeps_a_residual_for_each_device():
    store = mx.kv.create("dist_sync")
    store.set_gradient_compression({"type": "2bit"})
    store.init("w", mx.nd.zeros(1))
    out = mx.nd.zeros(1)
    totals = []
    for _ in range(3):
        store.push("w", [mx.nd.array([0.3], mx.cpu(0)), mx.nd.array([0.6], mx.cpu(1))])
        store.pull("w", out)
        totals.append(out.asscalar())
    assert totals == [0.5, 1.0, 0.5]


def test_compression_errors():
    with pytest.raises(mx.MXNetError, match="not supported for this type of kvstore"):
        mx.kv.create("local").set_gradient_compression({"type": "2bit"})
    store = mx.kv.create("device")
    with pytest.raises(mx.MXNetError, match="Unknown type for gradient compression 1bit"):
        store.set_gradient_compression({"type": "1bit"})
    with pytest.raises(mx.MXNetError, match="threshold must be greater than 0"):
        store.set_gradient_compression({"type": "2bit", "threshold": -1})
    with pytest.raises(AssertionError, match="unexpected type for param_dict"):
        store.set_gradient_compression("2bit")


def test_several_workers_are_refused(monkeypatch):
    monkeypatch.setenv("DMLC_NUM_WORKER", "2")
    assert mx.kv.create("local").num_workers == 1
    with pytest.raises(mx.MXNetError, match=r"DMLC_NUM_WORKER is 2.*jax.distributed"):
        mx.kv.create("dist_sync")


def test_server_sets_the_optimizer_and_does_not_run():
    store = mx.kv.create("dist_sync")
    store.init(0, full(1))
    server = mx.kvstore.KVStoreServer(store)
    with pytest.raises(mx.MXNetError, match="no server processes"):
        server.run()
    from gluonjax.optimizer._pickles import dump_states

    server._controller()(0, dump_states(mx.optimizer.SGD(learning_rate=0.5)))
    store.push(0, full(1))
    assert (pulled(store, 0) == 0.5).all()


def test_store_of_ones_own_is_asked_at_every_step():
    calls = []

    @mx.kv.KVStoreBase.register
    class CountingStore(SmallestStore):
        def pushpull(self, key, value, out=None, priority=0):
            calls.append((key, priority))
            super().pushpull(key, value, out, priority)
            for array in value:
                array *= 2

    try:
        store = mx.kv.create("countingstore")
        doubled, plain = (networks.module(mx, networks.perceptron(mx), (4, 5)) for _ in range(2))
        before = plain.get_params()[0]
        doubled.init_optimizer(store, "sgd", {"learning_rate": 0.1})
        plain.init_optimizer(optimizer_params={"learning_rate": 0.1})
        data, label = networks.arrays((4, 5), 1)
        for module in (doubled, plain):
            module.forward_backward(networks.batch(mx, data[0], label[0]))
            module.update()
        assert [key for key, _ in calls] == ["fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"]
        assert [priority for _, priority in calls] == [0, -1, -2, -3]
        for key, value in plain.get_params()[0].items():
            step = value.asnumpy() - before[key].asnumpy()
            moved = doubled.get_params()[0][key].asnumpy() - before[key].asnumpy()
            np.testing.assert_allclose(moved, 2 * step, rtol=1e-4, atol=1e-6)
    finally:
        del mx.kv.KVStoreBase.kv_registry["countingstore"]


def test_store_without_methods():
    class Empty(mx.kv.KVStoreBase):
        pass

    store = Empty()
    for call in (
        lambda: store.broadcast(1, 1, 1),
        lambda: store.pushpull(1, 1),
        lambda: store.set_optimizer(1),
        lambda: store.save_optimizer_states("x"),
        lambda: store.load_optimizer_states("x"),
        lambda: store.type,
        lambda: store.rank,
        lambda: store.num_workers,
        lambda: store.is_capable("optimizer"),
    ):
        with pytest.raises(NotImplementedError, match="does not define"):
            call()


def test_compression_in_a_module_updates_in_the_store(tmp_path):
    module = mx.mod.Module(networks.perceptron(mx), compression_params={"type": "2bit", "threshold": 10.0})
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.Uniform(0.5))
    before = {key: value.asnumpy() for key, value in module.get_params()[0].items()}
    module.init_optimizer(mx.kv.create("device"), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    assert module._update_on_kvstore
    data, label = networks.arrays((4, 5), 1)
    module.forward_backward(networks.batch(mx, data[0], label[0]))
    module.update()
    for key, value in module.get_params()[0].items():  # every gradient is below the threshold
        np.testing.assert_array_equal(value.asnumpy(), before[key])
    path = str(tmp_path / "states")
    module.save_optimizer_states(path)
    module.load_optimizer_states(path)
    assert set(module._kvstore._updater.states) == set(before)
