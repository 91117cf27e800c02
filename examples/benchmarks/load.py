"""The shared workload definitions and timing, loaded by path so that processes without gluonjax can use them."""

import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def by_path(name):
    """``gluonjax/port/<name>.py`` as a module, without importing gluonjax."""
    key = "shared_" + name
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, ROOT / "gluonjax" / "port" / (name + ".py"))
        sys.modules[key] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[key])
    return sys.modules[key]


workloads = by_path("workloads")
bursts = by_path("bursts")
