"""``python -m gluonjax``: the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gluonjax.port import convert, im2rec


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns the process's exit status."""
    parser = argparse.ArgumentParser(
        prog="gluonjax", description="Run Apache MXNet 1.9.1 programs, unmodified, on JAX."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run a script with 'mxnet' meaning gluonjax")
    run.add_argument("script", help="path of the script", nargs="?")
    run.add_argument(
        "-m", dest="module", metavar="MODULE", nargs=argparse.REMAINDER, help="a module, and its arguments, instead"
    )
    run.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")
    bench = commands.add_parser("bench", help="measure the benchmark workloads on this machine and show a table")
    bench.add_argument("--only", metavar="NAME", help="only workloads whose name contains this, e.g. LeNet")
    bench.add_argument("--tiny", action="store_true", help="sizes for a try: seconds in all, times without meaning")
    bench.add_argument("--device", choices=("cpu", "gpu"), help="default: the GPU if JAX sees one")
    operators = commands.add_parser("ops", help="which operators of MXNet 1.9.1 are here")
    operators.add_argument("--missing", action="store_true", help="name those that are not")
    packing = commands.add_parser(
        "im2rec", help="list the pictures of a folder, and pack them into RecordIO files",
        description="List the pictures of a folder (--list), then pack them; the options of MXNet's tools/im2rec.py.",
    )  # fmt: skip
    im2rec.add_arguments(packing)
    converting = commands.add_parser(
        "convert", help="convert arrays between .params, .safetensors, .npz and an orbax checkpoint",
        description="Convert named arrays; an orbax checkpoint is a folder.",
    )  # fmt: skip
    convert.add_arguments(converting)
    api = commands.add_parser("api", help="compare the public names and signatures with MXNet's")
    api.add_argument("prefix", nargs="?", default="mxnet", help="only names below this one, e.g. gluon.nn")
    api.add_argument("--missing", action="store_true", help="only names that are not there")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    if options.command == "run":
        from gluonjax.port.run import run_module, run_script

        if options.module:
            return run_module(options.module[0], options.module[1:])
        if not options.script:
            run.error("name a script, e.g. 'python -m gluonjax run train.py --epochs 3'")
        return run_script(options.script, options.args)
    if options.command == "bench":
        from gluonjax.port.bench import bench as measure

        return measure(options.only, options.tiny, options.device)
    if options.command == "ops":
        from gluonjax.port.operators import show

        return show(options.missing)
    if options.command == "im2rec":
        return im2rec.main(options)
    if options.command == "convert":
        return convert.main(options)
    if options.command == "api":
        from gluonjax.port import api_walk

        return api_walk.main(options.prefix, options.missing)
    return 2


if __name__ == "__main__":
    sys.exit(main())
