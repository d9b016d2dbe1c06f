"""The receiving side runs a repro unread, so it refuses to run what looks unsafe: all of the list
in `reporter.core.safety`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from reporter.core.safety import TABLE, dangers
from reporter.lint.rule import Hit, Rule
from reporter.lint.subject import LintSubject


def _safety(subject: LintSubject) -> Iterator[Hit]:
    if subject.tree is None:
        return
    for danger in dangers(subject.tree, subject.repro or ""):
        what = f"{TABLE[danger.kind].words} ({danger.what.removeprefix('import ')})"
        yield subject.name, danger.line, f"the safety list has {what}"


def _dependencies(subject: LintSubject) -> Iterator[Hit]:
    for node in subject.nodes():
        for module in _import_names(node):
            top = module.split(".")[0]
            if top not in ("torch", "triton", "numpy") and top not in sys.stdlib_module_names:
                yield subject.name, getattr(node, "lineno", None), f"it needs {top}"


def _import_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module


RULES = (
    Rule(
        "safety",
        "Nothing of the safety list: network, shell, eval, pickles, files, encoded text, installs,"
        " other processes.",
        "leave it out; a repro needs none of it",
        _safety,
    ),
    Rule(
        "dependencies",
        "A repro needs torch, and NumPy at most.",
        "replace it by a few lines of torch",
        _dependencies,
    ),
)
