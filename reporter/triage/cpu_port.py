"""A program for a GPU, tried on the CPU: many a failure is in the layers above the device, and then
no device is needed to see it.

Only a failure as stated counts of such a run. That it passes says nothing about the device.
"""

from __future__ import annotations

import ast
import re

from reporter.triage.reading.repro_selection import find_devices

_MOVED = re.compile(r"^(?:cuda|xpu|mps|hpu)(?::\d+)?$")
#: Housekeeping of an accelerator, which does nothing without one.
_HOUSEKEEPING = re.compile(
    r"^\s*torch\.(?:cuda|xpu|mps)\.(?:synchronize|empty_cache|set_device"
    r"|manual_seed\w*)\([^()]*\)\s*$"
)


def replace_devices(text: str) -> str | None:
    """The program with its devices replaced by the CPU; None where something of a device would be
    left.
    """
    lines = ["" if _HOUSEKEEPING.match(line) else line for line in text.split("\n")]
    lines = [
        line if line or not old else _indent(old) + "pass"
        for line, old in zip(lines, text.split("\n"))
    ]
    changed = "\n".join(lines)
    edits: list[tuple[int, int, int, str]] = []
    for node in ast.walk(ast.parse(changed)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and _MOVED.match(node.value)
        ):
            if node.lineno == node.end_lineno and node.end_col_offset is not None:
                edits.append((node.lineno, node.col_offset, node.end_col_offset, '"cpu"'))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if (
                node.func.attr in ("cuda", "xpu")
                and node.func.end_lineno
                and node.func.end_col_offset
            ):
                end = node.func.end_col_offset
                edits.append((node.func.end_lineno, end - len(node.func.attr), end, "cpu"))
    found = [line.encode() for line in changed.split("\n")]
    for line, first, last, new in sorted(edits, reverse=True):
        found[line - 1] = found[line - 1][:first] + new.encode() + found[line - 1][last:]
    moved = b"\n".join(found).decode()
    try:
        left = find_devices(moved)
    except SyntaxError:
        return None
    return moved if not left and moved != text else None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
