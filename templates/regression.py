"""The repro as a regression test: the same text, so the test fails exactly where the repro does.

torch's own suites use `torch._dynamo.test_case.TestCase`, which resets the compiler around each test. Its import
needs `expecttest`, which no torch wheel brings along (2.0.1 to 2.15.0), so outside torch's own tree the test falls
back on `unittest` and resets by itself. The file is the same in both places.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from templates import render
from templates.text import one_line


def render_test(report: Mapping[str, Any], repro: str) -> str:
    """`test_repro.py` around the text of `repro.py`, which must define `main()` and end in a main guard.

    Raises:
        ValueError: the repro has no `main` to call.
    """
    tree = ast.parse(repro)
    if not any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
        raise ValueError("the repro has no function main() to test")
    kind = "".join(
        character if character.isalnum() else "_" for character in report["verdict"]["kind"]
    )
    summary = (
        one_line(report["verdict"]["summary"], 100).replace("\\", "/").replace('"', "'").rstrip(".")
    )
    return render(
        "test_repro.py.j2", program=_without_guard(repro, tree), kind=kind, summary=summary
    )


def _without_guard(repro: str, tree: ast.Module) -> str:
    lines = repro.splitlines()
    for node in tree.body:
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (
                (node.end_lineno or node.lineno) - node.lineno + 1
            )
    return "\n".join(lines).strip()
