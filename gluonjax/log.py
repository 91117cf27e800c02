"""Loggers with coloured, compact lines."""

from __future__ import annotations

import logging
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, WARNING
from logging import NOTSET as NOTSET

_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}
_RED, _GREEN, _BLUE, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[34m", "\x1b[0m"


class _Formatter(logging.Formatter):
    """``I0102 03:04:05 pid path:function:line] text``, the head coloured by level."""

    def __init__(self) -> None:
        super().__init__(
            "%(head)s%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]" + _PLAIN + " %(message)s",
            "%m%d %H:%M:%S",
        )

    def format(self, record: logging.LogRecord) -> str:
        colour = _RED if record.levelno >= WARNING else _GREEN if record.levelno >= INFO else _BLUE
        record.head = colour + _LETTERS.get(record.levelno, "U")
        return super().format(record)


_prepared: set[str] = set()


def get_logger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """Return a logger that writes to a file, or coloured to the terminal. A name is set up once.

    Args:
        name: the logger's name; without one, the root logger is returned as it is.
        filename: the file to write to.
        filemode: how to open it; append where None.
        level: the lowest level that is written.
    """
    logger = logging.getLogger(name)
    if name is None or name in _prepared:
        return logger
    _prepared.add(name)
    if filename:
        handler: logging.Handler = logging.FileHandler(filename, filemode or "a")
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(_Formatter())
    logger.addHandler(handler)
    logger.setLevel(level)
    return logger


def getLogger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """Deprecated name of ``get_logger``."""
    warnings.warn("getLogger is deprecated, Use get_logger instead.", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
