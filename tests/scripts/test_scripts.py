"""Scripts written for MXNet, run by ``python -m gluonjax run`` in a process of their own."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.scripts.text import EXAMPLES, RECORDED, TINY, comparable, recorded_scripts

ROOT = EXAMPLES.parent


def run(*arguments: str, folder: pathlib.Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
    settings = {**os.environ, **TINY, "PYTHONPATH": paths, **environment}
    return subprocess.run(
        [sys.executable, "-m", "gluonjax", "run", *arguments],
        env=settings, cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("script", recorded_scripts(), ids=lambda path: path.stem)
def test_prints_what_mxnet_prints(script):
    done = run(str(script))
    assert done.returncode == 0, done.stderr
    assert comparable(done.stdout) == (RECORDED / (script.stem + ".txt")).read_text()


@pytest.mark.parametrize("name", ["digits_module", "digits_gluon"])
def test_digits_learn(name):
    pytest.importorskip("sklearn")
    done = run(str(EXAMPLES / f"{name}.py"), EXAMPLE_EPOCHS="6")
    assert done.returncode == 0, done.stderr
    assert "192 images to train on, 48 held out" in done.stdout
    accuracy = float(re.search(r"^held-out accuracy: ([\d.]+)$", done.stdout, re.MULTILINE).group(1))
    assert accuracy > 0.7, done.stdout
    progress = r"Epoch\[5\] Validation-accuracy=" if name == "digits_module" else r"epoch  5: loss [\d.]+, "
    assert re.search(progress, done.stdout), done.stdout


def test_arguments_name_and_neighbours_of_a_script(tmp_path):
    (tmp_path / "neighbour.py").write_text("import mxnet.ndarray as nd\nvalue = nd.ones((2,)) * 3\n")
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\nimport neighbour\nimport mxnet as mx\n"
        "print(__name__, sys.argv[1:], neighbour.value.asnumpy().tolist(), mx.__version__)\n"
    )
    done = run(str(script), "--epochs", "3", "-m", "x")
    assert done.stdout == "__main__ ['--epochs', '3', '-m', 'x'] [3.0, 3.0] 1.9.1\n", done.stderr


def test_a_module(tmp_path):
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "__init__.py").write_text("")
    (tmp_path / "tool" / "train.py").write_text("import sys, mxnet\nprint(mxnet.__name__, sys.argv[1:])\n")
    done = run("-m", "tool.train", "--lr", "0.1", folder=tmp_path)
    assert done.stdout == "gluonjax ['--lr', '0.1']\n", done.stderr


def test_exit_status_and_missing_script(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("import sys\nsys.exit(7)\n")
    assert run(str(script)).returncode == 7
    script.write_text("import mxnet as mx\nmx.nd.ones((2,)).no_such_thing\n")
    failed = run(str(script))
    assert failed.returncode == 1
    assert "fails.py" in failed.stderr and "no_such_thing" in failed.stderr
    missing = run(str(tmp_path / "absent.py"))
    assert missing.returncode == 2 and "absent.py" in missing.stderr


def test_third_party_package_that_imports_mxnet(tmp_path):
    package = tmp_path / "vendor"
    package.mkdir()
    (package / "__init__.py").write_text("from .layers import Scale, count\n")
    (package / "layers.py").write_text(
        "from mxnet import nd\nfrom mxnet.base import MXNetError\nfrom mxnet.gluon import nn\n"
        "import mxnet.gluon.loss as losses\n\n\n"
        "class Scale(nn.HybridBlock):\n"
        "    def __init__(self, factor, **kwargs):\n"
        "        super().__init__(**kwargs)\n        self.factor = factor\n\n"
        "    def hybrid_forward(self, F, x):\n        return F.broadcast_mul(x, F.ones((1,)) * self.factor)\n\n\n"
        "def count(block):\n"
        "    return sum(1 for _ in block.collect_params()), issubclass(MXNetError, RuntimeError), losses.L2Loss\n"
    )
    script = tmp_path / "use.py"
    script.write_text(
        "import mxnet as mx\nimport vendor\nfrom mxnet.gluon import nn, loss\n"
        "net = nn.HybridSequential()\nnet.add(nn.Dense(1), vendor.Scale(3.0))\n"
        "net.initialize(mx.init.One())\nnet.hybridize()\nprint(net(mx.nd.ones((1, 2))).asscalar())\n"
        "parameters, runtime, kind = vendor.count(net)\n"
        "print(parameters, runtime, kind is loss.L2Loss, isinstance(net[1], nn.HybridBlock))\n"
    )
    done = run(str(script))
    assert done.stdout == "6.0\n2 True True True\n", done.stderr


def test_a_data_set_of_the_script_is_loaded_by_processes(tmp_path):
    script = tmp_path / "load.py"
    script.write_text(
        "import os\nimport mxnet as mx\nimport numpy as np\nfrom mxnet import gluon\n\n\n"
        "class Mine(gluon.data.Dataset):\n"
        "    def __len__(self):\n        return 4\n\n"
        "    def __getitem__(self, i):\n        return np.array([i, os.getpid()])\n\n\n"
        "def double(x):\n    return x * 2\n\n\n"
        "if __name__ == '__main__':\n"
        "    found = np.concatenate([b.asnumpy() for b in gluon.data.DataLoader(\n"
        "        Mine().transform(double), 2, num_workers=1)])\n"
        "    print(found[:, 0].tolist(), os.getpid() * 2 in found[:, 1])\n"
    )
    done = run(str(script))
    assert done.stdout == "[0, 2, 4, 6] False\n", done.stderr
