"""Writing files so that a crash or a full disk never leaves half of one behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable

Bytes = bytes | bytearray | memoryview


def atomic_write(path: str | os.PathLike[str], content: Bytes | Iterable[Bytes]) -> None:
    """Write ``content`` to ``path``: all of it, or the old file stays as it was.

    The bytes go to a temporary name in the same folder, which is then renamed over ``path``. Links are
    followed, permissions of an existing file are kept, and things that are not plain files (``/dev/stdout``,
    a pipe) are written directly.

    Args:
        path: the file to write.
        content: the bytes of the whole file, or pieces of them.
    """
    pieces = (content,) if isinstance(content, (bytes, bytearray, memoryview)) else content
    target = os.path.realpath(os.fspath(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as stream:
            stream.writelines(pieces)
        return
    temporary = f"{target}.{secrets.token_hex(4)}.part"
    try:
        with open(temporary, "xb") as stream:
            stream.writelines(pieces)
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
