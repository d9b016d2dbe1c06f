"""A program for a GPU, tried on the CPU: many a failure is in the layers above the device, and then
no device is needed to see it.

Only a failure as stated counts of such a run. That it passes says nothing about the device.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

from reporter.triage.reading.repro_selection import find_devices

_MOVED = re.compile(r"^(?:cuda|xpu|mps|hpu)(?::\d+)?$")
#: Housekeeping of an accelerator, which does nothing without one.
_HOUSEKEEPING = re.compile(
    r"torch\.(?:cuda|xpu|mps)\.(?:synchronize|empty_cache|set_device|manual_seed\w*)\([^()]*\)"
)


def replace_devices(text: str) -> str | None:
    """The program with its devices replaced by the CPU; None where something of a device would be
    left.
    """
    lines = [line.encode() for line in text.split("\n")]
    for edit in sorted(_list_edits(ast.parse(text)), reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.start] + edit.text.encode() + line[edit.end :]
    moved = b"\n".join(lines).decode()
    try:
        left = find_devices(moved)
    except SyntaxError:
        return None
    return moved if not left and moved != text else None


class _Edit(NamedTuple):
    """What stands in a line, numbered from 1, in place of its bytes from `start` up to `end`."""

    line: int
    start: int
    end: int
    text: str


def _list_edits(tree: ast.Module) -> Iterator[_Edit]:
    """Housekeeping, the names of devices, and calls such as `x.cuda(0)`."""
    nodes = list(ast.walk(tree))
    idle = [node for node in nodes if _does_nothing(node)]
    moves = [node for node in nodes if _is_move(node)]
    for each in idle:
        yield _Edit(each.lineno, each.col_offset, each.end_col_offset or 0, "pass")
    inside = {part for each in idle for part in ast.walk(each)}
    for move in moves:
        if move not in inside:
            method = move.func.attr if isinstance(move.func, ast.Attribute) else ""
            start = (move.func.end_col_offset or 0) - len(method)
            # what the call says of a device, or of the copy to it, means nothing to `cpu`
            yield _Edit(move.end_lineno or 0, start, move.end_col_offset or 0, "cpu()")
            given = (*move.args, *move.keywords)
            inside |= {part for each in given for part in ast.walk(each)}
    for node in nodes:
        if node not in inside and isinstance(node, ast.Constant) and isinstance(node.value, str):
            end = node.end_col_offset
            if _MOVED.match(node.value) and node.lineno == node.end_lineno and end is not None:
                yield _Edit(node.lineno, node.col_offset, end, '"cpu"')


def _is_move(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether it is a call such as `x.cuda(0)`, written on one line."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("cuda", "xpu")
        and node.func.end_lineno == node.end_lineno
    )


def _does_nothing(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether a statement on a line of its own is no more than housekeeping."""
    if not isinstance(node, ast.Expr) or node.lineno != node.end_lineno:
        return False
    return _HOUSEKEEPING.fullmatch(ast.unparse(node)) is not None
