"""The command line's own answers; running scripts is in tests/scripts."""

from __future__ import annotations

import numpy as np
import pytest

import gluonjax as mx
from gluonjax.port import cli
from gluonjax.port.run import run_script


def test_help_names_the_commands(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--help"])
    assert stopped.value.code == 0
    assert "run" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["walk"], ["run"], ["run", "-m"]])
def test_misuse_is_explained(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "gluonjax" in capsys.readouterr().err


def test_missing_script(capsys):
    assert run_script("no/such/train.py", []) == 2
    assert "no/such/train.py" in capsys.readouterr().err


def test_operators_of_every_covered_family_are_here(capsys):
    assert cli.main(["ops"]) == 0
    shown = capsys.readouterr().out
    assert "general       312 of 312" in shown and "quantization" in shown


def test_missing_operators_are_named_by_family(capsys, monkeypatch):
    from gluonjax._ops import registry

    monkeypatch.delitem(registry._by_name, "Convolution")
    monkeypatch.setitem(registry._by_name, "flatten", registry.get("sigmoid"))
    assert cli.main(["ops", "--missing"]) == 1
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert shown[:3] == ["general       310 of 312", "Convolution", "flatten (is another operator than Flatten)"]
    assert "_CachedOp" in shown and shown[-1] == "2 of 500 missing"


def test_operators_that_are_no_part_of_a_graph():
    target = mx.nd.zeros((2, 2))
    assert mx.nd._internal._set_value(src=3, out=target) is target and target.asnumpy().tolist() == [[3, 3], [3, 3]]
    with pytest.raises(mx.MXNetError, match="must not be empty"):
        mx.nd._internal._set_value(src=3)
    picture = mx.nd.array(np.arange(12).reshape(2, 2, 3), dtype="uint8")
    assert mx.nd._internal._cvcopyMakeBorder(picture, 1, 0, 0, 2).shape == (3, 4, 3)
    assert mx.nd.contrib.backward_gradientmultiplier(target, scalar=-2).asnumpy().tolist() == [[-6, -6], [-6, -6]]
