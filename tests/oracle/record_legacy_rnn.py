"""Record unrolled cells and mixed precision graphs from real MXNet: ``python -m tests.oracle.record_legacy_rnn``."""

from __future__ import annotations

import json
import pathlib

import mxnet as mx
from mxnet.contrib import amp

from tests import legacy_rnn_cases as cases

FOLDER = pathlib.Path(__file__).parent.parent / "data"


def save(name, content):
    """Write one file of references."""
    (FOLDER / name).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    save("legacy_rnn.json", {" ".join(map(str, case)): cases.unroll(mx, *case) for case in cases.UNROLLS})
    save("amp.json", {" ".join(case): cases.convert(mx, amp, *case) for case in cases.CONVERSIONS})
