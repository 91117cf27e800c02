"""Where in a net and in the user's code something happens: for error messages and ``Block.debug``."""

from __future__ import annotations

import itertools
import linecache
import os
import re
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from gluonjax._base.errors import MXNetError

if TYPE_CHECKING:
    from gluonjax.gluon.block import Block

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OPERATOR = re.compile(r"Error in operator ([\w.]+)")


def is_users(filename: str) -> bool:
    """Whether a file is neither ours nor a library's."""
    return not filename.startswith(_PACKAGE) and "site-packages" not in filename and not filename.startswith("<frozen")


def line_of_frame(frame: FrameType, line: int) -> str:
    """``file.py:12: the text of the line``."""
    filename = frame.f_code.co_filename
    text = linecache.getline(filename, line).strip()
    return f"{filename}:{line}" + (f": {text}" if text else "")


def users_line() -> str | None:
    """The innermost line of the user's own code that is running now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return line_of_frame(frame, frame.f_lineno)
        frame = frame.f_back
    return None


def users_line_in(traceback: TracebackType | None) -> str | None:
    """The innermost line of the user's own code that an error went through."""
    found = None
    while traceback is not None:
        if is_users(traceback.tb_frame.f_code.co_filename):
            found = traceback
        traceback = traceback.tb_next
    return None if found is None else line_of_frame(found.tb_frame, found.tb_lineno)


def name_in(parent: Block, child: Any) -> str | None:
    """The attribute that leads from a block to another: one of its children, or something deeper."""
    if child is parent:
        return None
    for path, block in parent._paths():
        if block is child:
            return path
    return None


def steps(blocks: list[Block]) -> Iterator[str]:
    """The path through nested calls, outermost first: how each block is called in the one before."""
    for outer, inner in itertools.pairwise(blocks):
        yield name_in(outer, inner) or type(inner).__name__


def layer_of_operator(block: Block, operator: str) -> Block | None:
    """The deepest block below ``block`` whose prefix the name of an operator in a graph begins with."""
    best = None
    for _, one in block._paths():
        if one.prefix and operator.startswith(one.prefix) and (best is None or len(one.prefix) > len(best.prefix)):
            best = one
    return best


class Trail:
    """What an error collects on its way out through nested blocks."""

    def __init__(self, error: MXNetError) -> None:
        self.text = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
        self.blocks: list[Block] = []


def explain(error: MXNetError, block: Block) -> None:
    """Add to an error which layer it comes from; called once by every block it passes, innermost first."""
    trail = getattr(error, "_trail", None)
    if trail is None:
        trail = error._trail = Trail(error)  # type: ignore[attr-defined]
        found = _OPERATOR.match(trail.text)
        inner = layer_of_operator(block, found.group(1)) if found else None
        if inner is not None and inner is not block:
            trail.blocks.append(inner)
    if not trail.blocks or trail.blocks[-1] is not block:
        trail.blocks.append(block)
    blocks = trail.blocks[::-1]
    path = ".".join(steps(blocks))
    layer = trail.blocks[0]
    shown = repr(layer).splitlines()[0].rstrip("(")
    text = f"{trail.text}\n  in layer {path or layer.name or type(layer).__name__}: {shown}"
    line = users_line_in(error.__traceback__)
    if line is not None:
        text += f"\n  at {line}"
    error.args = (text, *error.args[1:])
