"""Write ``gluonjax/port/mxnet_api.tsv`` from a table of MXNet's names: ``pack_api.py api_signatures.tsv``.

The table has a head line and then ``name, kind, signature`` divided by tabs, one public name a line.
"""

from __future__ import annotations

import pathlib
import sys

from gluonjax.port._api_table import FILE, Name, pack, unpack

TARGET = pathlib.Path(__file__).parents[2] / "gluonjax" / "port" / FILE


def main(table: str) -> None:
    rows = pathlib.Path(table).read_text(encoding="utf-8").splitlines()[1:]
    listed = [Name(*line.split("\t")) for line in rows]
    classes = {one.path for one in listed if one.kind == "class"}
    listed.sort(key=lambda one: (one.path.rpartition(".")[0] in classes, one.path))
    packed = list(pack(listed))
    if set(unpack(packed)) != set(listed):
        raise SystemExit("the packed table differs from the given one")
    TARGET.write_text("\n".join(packed) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
