"""How large a repro is: the operations of one from the minifier, and the lines of anybody's."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def count_statements(text: str) -> int:
    """Tensor operations of a minifier repro: assigned calls and operators, less tuple items, sizes
    and switches.
    """
    forwards = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == "forward"
    ]
    values = [
        node.value
        for forward in forwards
        for node in ast.walk(forward)
        if isinstance(node, (ast.Assign, ast.AugAssign))
    ]
    return sum(_is_operation(value) for value in values)


def _is_operation(value: ast.expr) -> bool:
    if isinstance(value, ast.Subscript):
        return not isinstance(value.slice, ast.Constant)
    if isinstance(value, ast.Call):
        return not re.search(r"\.size$|\.sym_size|^torch\._C\.", ast.unparse(value.func))
    return isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Compare))


def count_lines(path: Path) -> int | None:
    """Its lines that are not blank; None where there is no file."""
    if not path.exists():
        return None
    return sum(bool(line.strip()) for line in path.read_text().splitlines())
