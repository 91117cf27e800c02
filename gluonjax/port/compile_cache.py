"""Keeping compiled programs between runs of a script, so that the second start compiles nothing."""

from __future__ import annotations

import os
import pathlib

import jax

# Older programs are dropped beyond this many bytes.
MOST_BYTES = 4 * 1024**3


def keep_compiled_programs() -> pathlib.Path | None:
    """Let JAX keep what it compiles in the user's cache folder, readable by the user alone.

    ``GLUONJAX_CACHE_DIR`` names another folder; ``GLUONJAX_CACHE_DIR=0`` keeps nothing. Where JAX has a cache already
    (``JAX_COMPILATION_CACHE_DIR``), that one stays.

    Returns:
        The folder, or None where nothing is kept or the folder cannot be made.
    """
    wanted = os.environ.get("GLUONJAX_CACHE_DIR")
    if wanted == "0" or jax.config.jax_compilation_cache_dir:  # type: ignore[attr-defined]
        return None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = pathlib.Path(wanted or os.path.join(base, "gluonjax", "programs"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Compiled programs are code: nobody else may put some there.
        if folder.stat().st_uid != os.getuid():
            return None
        folder.chmod(0o700)
        _drop_oldest(folder)
    except OSError:
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder


def _drop_oldest(folder: pathlib.Path) -> None:
    found = [(path, path.stat()) for path in folder.iterdir() if path.is_file()]
    total = sum(facts.st_size for _, facts in found)
    for path, facts in sorted(found, key=lambda one: one[1].st_mtime):
        if total <= MOST_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= facts.st_size
