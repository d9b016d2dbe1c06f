"""What holds for every module of a package, whatever it does."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

COLLECTORS = sorted((ROOT / "collectors").rglob("*.py"))
#: What the collectors may import besides the standard library; all but torch only where the program has it.
THERE = {"torch", "triton", "IPython", "traitlets", "pytest", "bugreport"}


@pytest.mark.parametrize("path", COLLECTORS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_target_side_is_python_3_9(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


def test_the_target_side_needs_the_standard_library_and_torch_only() -> None:
    found = {
        name.split(".")[0]: path
        for path in COLLECTORS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported(node)
    }
    odd = {name: path for name, path in found.items() if name not in sys.stdlib_module_names}
    assert set(odd) <= THERE, odd


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


@pytest.mark.parametrize("top", ["reporter", "collectors", "anonymizer"])
def test_a_room_says_what_lives_there(top: str) -> None:
    for folder in (ROOT / top).iterdir():
        if folder.is_dir() and any(folder.glob("*.py")):
            said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
            assert said.count(".") >= 2, folder


@pytest.mark.parametrize("top", ["reporter", "anonymizer", "templates", "collectors"])
def test_any_stays_where_it_is_counted(top: str) -> None:
    row = re.search(rf"^\| `{top}` \| (\d+) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.M)
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / top).rglob("*.py")]
    lines = [line for text in texts for line in text.splitlines() if re.search(r"\bAny\b", line)]
    assert row and len([line for line in lines if "import" not in line]) <= int(row.group(1))
