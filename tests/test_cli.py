"""The command line's own answers; running scripts is in tests/scripts."""

from __future__ import annotations

import pytest

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
