"""Record outputs and gradients of every sample from the real MXNet 1.9.1.

Run it with an interpreter that has mxnet==1.9.1 and numpy==1.23.5, from the project's folder:

    MXNET_MKLDNN_ENABLED=0 MXNET_USE_MKLDNN_RNN=0 python -m tests.oracle.record_ops [family ...]

Each family runs in a process of its own (the fused RNN needs MXNET_MKLDNN_ENABLED=1), each crash costs one sample.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import zipfile

import numpy as np

from tests.samples import FAMILIES, differentiable, fingerprint, floating, head_gradients, samples_of

DATA = pathlib.Path(__file__).parent.parent / "data" / "ops"
NEEDS_MKLDNN = ("nn_rnn",)


def outputs_for(mx, op, inputs, attrs):
    """Arrays to write into, for the operators that update several weights and want them given; else None."""
    if op.endswith("nag_mom_update"):
        # Its momentum is another one where the new weight does not replace the old one, as it does in an optimizer.
        return [inputs[0]]
    count = attrs.get("num_weights", attrs.get("num_tensors"))
    if count is None or not op.lstrip("_").startswith(("multi_", "preloaded_multi_")):
        return None
    stride = (len(inputs) - (2 if op.startswith("preloaded") else 0)) // count
    return [mx.nd.zeros(inputs[i * stride].shape, dtype=inputs[i * stride].dtype) for i in range(count)]


def invoke(mx, op, inputs, attrs):
    """Call a registered operator by its registered name."""
    from mxnet._ctypes.ndarray import _imperative_invoke
    from mxnet.base import _LIB, check_call

    handle = ctypes.c_void_p()
    check_call(_LIB.NNGetOpHandle(ctypes.c_char_p(op.encode()), ctypes.byref(handle)))
    keys = list(attrs)
    values = [np.dtype(v).name if isinstance(v, (type, np.dtype)) else str(v) for v in attrs.values()]
    out = outputs_for(mx, op, inputs, attrs)
    with contextlib.ExitStack() as stack:
        if (out and out[0] is inputs[0]) or op == "reset_arrays":
            # Nothing is recorded in place, and 1.9.1 dies of recording what has no result.
            stack.enter_context(mx.autograd.pause())
        result = _imperative_invoke(handle.value, inputs, keys, values, out, False, False)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def record(mx, sample, arrays=None):
    """Outputs and gradients of one sample; ``arrays`` are its inputs where the caller wants to see what they became."""
    arrays = arrays or [mx.nd.array(array, dtype=array.dtype) for array in sample.inputs]
    wanted = differentiable(sample)
    attrs = dict(sample.attrs)
    if needs_count(sample.op):
        attrs.setdefault(needs_count(sample.op), len(arrays))
    for index in wanted:
        arrays[index].attach_grad()
    with mx.autograd.record(train_mode=sample.train):
        outputs = invoke(mx, sample.op, arrays, attrs)
    found = {f"out{i}": output.asnumpy() for i, output in enumerate(outputs)}
    if wanted and any(floating(o.dtype) for o in outputs):
        heads = head_gradients([o.shape for o in outputs], [np.dtype(o.dtype) for o in outputs])
        heads = [mx.nd.array(h, dtype=h.dtype) for h, o in zip(heads, outputs) if floating(o.dtype)]
        try:
            mx.autograd.backward([o for o in outputs if floating(o.dtype)], heads, train_mode=sample.train)
            found.update({f"grad{index}": arrays[index].grad.asnumpy() for index in wanted})
        except mx.base.MXNetError as error:
            found["nograd"] = np.array(str(error).splitlines()[-1][:200])
    return found


_counts: dict = {}


def needs_count(op):
    """The attribute that holds a variadic operator's number of inputs."""
    if not _counts:
        from mxnet.base import _LIB, check_call, py_str

        for name in list_operators():
            handle = ctypes.c_void_p()
            check_call(_LIB.NNGetOpHandle(ctypes.c_char_p(name.encode()), ctypes.byref(handle)))
            real, text, kind, back = (ctypes.c_char_p() for _ in range(4))
            count = ctypes.c_uint()
            tables = [ctypes.POINTER(ctypes.c_char_p)() for _ in range(3)]
            check_call(
                _LIB.MXSymbolGetAtomicSymbolInfo(
                    handle, ctypes.byref(real), ctypes.byref(text), ctypes.byref(count),
                    *(ctypes.byref(table) for table in tables), ctypes.byref(kind), ctypes.byref(back),
                )  # fmt: skip
            )
            _counts[name] = py_str(kind.value)
    return _counts.get(op, "")


def list_operators():
    """Every registered name."""
    from mxnet.base import _LIB, check_call, py_str

    size, names = ctypes.c_uint(), ctypes.POINTER(ctypes.c_char_p)()
    check_call(_LIB.MXListAllOpNames(ctypes.byref(size), ctypes.byref(names)))
    return [py_str(names[i]) for i in range(size.value)]


def write_npz(path, arrays):
    """A compressed .npz that is the same byte for byte for the same arrays."""
    temporary = path.with_suffix(".tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(arrays):
            with archive.open(zipfile.ZipInfo(name + ".npy", (2020, 1, 1, 0, 0, 0)), "w") as file:
                np.lib.format.write_array(file, np.asarray(arrays[name]), allow_pickle=False)
    temporary.replace(path)


def record_family(family, start, path):
    """Record the samples from ``start`` on; appends to ``path`` as it goes, so that a crash loses one sample."""
    import mxnet as mx

    samples = samples_of(family)
    for index in range(start, len(samples)):
        sample = samples[index]
        path.with_suffix(".at").write_text(str(index))
        if not sample.oracle:
            continue
        mx.random.seed(0)
        try:
            found = record(mx, sample)
        except Exception as error:
            print(f"{family}[{index}] {sample.op} {sample.attrs}: {type(error).__name__}: {str(error)[:300]}")
            continue
        found["id"] = np.array(fingerprint(sample))
        with open(path, "ab") as file:
            for name, value in found.items():
                header = json.dumps([index, name]).encode()
                file.write(len(header).to_bytes(4, "little") + header)
                np.save(file, value, allow_pickle=False)
    path.with_suffix(".at").write_text("done")


def read_stream(path):
    """What ``record_family`` wrote."""
    arrays = {}
    if not path.exists():
        return arrays
    with open(path, "rb") as file:
        while size := file.read(4):
            index, name = json.loads(file.read(int.from_bytes(size, "little")))
            arrays[f"{index}/{name}"] = np.load(file, allow_pickle=False)
    return arrays


def main(families):
    DATA.mkdir(parents=True, exist_ok=True)
    for family in families:
        stream = pathlib.Path(f"/tmp/record_{os.getpid()}_{family}.bin")
        marker = stream.with_suffix(".at")
        start = 0
        environment = dict(os.environ, MXNET_MKLDNN_ENABLED="1" if family in NEEDS_MKLDNN else "0")
        while True:
            command = [sys.executable, "-m", "tests.oracle.record_ops", "--child", family, str(start), str(stream)]
            subprocess.run(command, check=False, env=environment)
            at = marker.read_text() if marker.exists() else "missing"
            if at in ("done", "missing"):
                break
            print(f"{family}[{at}]: the process died")
            start = int(at) + 1
        arrays = read_stream(stream)
        for leftover in (stream, marker):
            leftover.unlink(missing_ok=True)
        write_npz(DATA / f"{family}.npz", arrays)
        print(f"{family}: {sum(name.endswith('/id') for name in arrays)} of {len(samples_of(family))} samples")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        record_family(sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4]))
    else:
        main(sys.argv[1:] or FAMILIES)
