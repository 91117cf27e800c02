"""``python -m gluonjax run`` keeps compiled programs: the second run of a script adds none."""

import os
import stat
import subprocess
import sys

import pytest

from gluonjax.port import compile_cache

SCRIPT = """
import mxnet as mx
net = mx.gluon.nn.Dense(3, in_units=4)
net.initialize()
net.hybridize()
for _ in range(2):  # what is met once is not compiled
    out = net(mx.nd.ones((2, 4)))
print(out.shape)
"""


def _run(tmp_path, **environment):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    settings = {key: value for key, value in os.environ.items() if key != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-m", "gluonjax", "run", str(script)], env={**settings, **environment},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0 and "(2, 3)" in done.stdout, done.stderr


def test_the_second_run_compiles_nothing(tmp_path):
    _run(tmp_path, XDG_CACHE_HOME=str(tmp_path))
    folder = tmp_path / "gluonjax" / "programs"
    programs = {path.name for path in folder.iterdir() if path.name.endswith("-cache")}
    assert programs and stat.S_IMODE(folder.stat().st_mode) == 0o700
    _run(tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert {path.name for path in folder.iterdir() if path.name.endswith("-cache")} == programs
    _run(tmp_path, XDG_CACHE_HOME=str(tmp_path / "other"), GLUONJAX_CACHE_DIR="0")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("limit, left", [(250, ["b", "c"]), (10_000, ["a", "b", "c"]), (50, [])])
def test_the_oldest_programs_go_first(tmp_path, monkeypatch, limit, left):
    monkeypatch.setattr(compile_cache, "MOST_BYTES", limit)
    for age, name in enumerate("abc"):
        (tmp_path / name).write_bytes(b"x" * 100)
        os.utime(tmp_path / name, (age, age))
    compile_cache._drop_oldest(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == left
