"""``python -m gluonjax convert IN OUT``: arrays from one format to another."""

from __future__ import annotations

import argparse
import os
import sys

import numpy as np

from gluonjax._base.errors import MXNetError
from gluonjax._files.formats import FORMATS, format_of_content, format_of_name, read_arrays, storable, write_arrays


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add convert's arguments to a parser."""
    parser.add_argument("source", metavar="IN", help="a file, or the folder of an orbax checkpoint")
    parser.add_argument("target", metavar="OUT", help="a file to write, or a new folder for an orbax checkpoint")
    parser.add_argument("--from", dest="source_format", choices=FORMATS, help="format of IN; told by its content")
    parser.add_argument("--to", dest="target_format", choices=FORMATS, help="format of OUT; told by its ending")


def main(options: argparse.Namespace) -> int:
    """Run the command; the answer is the exit status."""
    try:
        if not os.path.exists(options.source):
            raise MXNetError(f"there is no file or folder {options.source!r}")
        before = options.source_format or format_of_content(options.source)
        after = options.target_format or format_of_name(options.target)
        arrays, names = read_arrays(options.source, before)
        if after == "params":
            for name, array in zip(names, arrays):
                if isinstance(array, np.ndarray) and not storable(array):
                    raise MXNetError(f"MXNet's format cannot hold {name!r}, which is {array.dtype}")
        write_arrays(options.target, arrays, names, after)
    except MXNetError as error:
        print(f"gluonjax convert: {error}", file=sys.stderr)
        return 1
    print(f"{len(arrays)} arrays from {options.source} ({before}) to {options.target} ({after})")
    return 0
