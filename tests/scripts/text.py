"""What two runs of one script may print differently: times, speeds, addresses, where a module lies.

No import of gluonjax or mxnet here: the recorder under the real MXNet uses it too.
"""

from __future__ import annotations

import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = TESTS.parent / "examples"
RECORDED = TESTS / "data" / "scripts"

# What keeps the examples small while they are tested and recorded.
TINY = {"EXAMPLE_SIZE": "40", "EXAMPLE_EPOCHS": "3", "EXAMPLE_IMAGES": "240"}

_VARIABLE = (
    (r"0x[0-9a-f]{6,}", "ADDRESS"),
    (r"\d+\.\d+ sec", "TIME sec"),
    (r"Time cost=\d+\.\d+", "Time cost=TIME"),
    (r"Speed: \d+\.\d+ samples/sec", "Speed: SPEED samples/sec"),
    (r"<module '(?:mxnet|gluonjax)([\w.]*)' from '[^']*'>", r"<module 'mxnet\1'>"),
)


def recorded_scripts() -> list[pathlib.Path]:
    """The scripts whose printed text was recorded from the real MXNet 1.9.1."""
    documents = [EXAMPLES / "hybrid_and_lazy.py", EXAMPLES / "imperative_and_symbolic.py"]
    return documents + sorted((TESTS / "scripts" / "small").glob("*.py"))


def comparable(text: str) -> str:
    """The text with everything replaced that differs from run to run."""
    for pattern, replacement in _VARIABLE:
        text = re.sub(pattern, replacement, text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
