"""The receiving side runs a repro unread, so it refuses to run what looks unsafe: all of the list
in `reporter.lint.safety_list`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from reporter.lint.rule import Hit, Rule
from reporter.lint.safety_list import TABLE, find_unsafe_statements
from reporter.lint.subject import LintSubject

#: Names of the types of NumPy's scalars.
_NUMPY_SCALAR = re.compile(r"bool_?|u?int\d+|float\d+|longdouble|complex\d+")


def _check_safety(subject: LintSubject) -> Iterator[Hit]:
    if subject.tree is None:
        return
    for statement in find_unsafe_statements(subject.tree, subject.repro or ""):
        what = f"{TABLE[statement.kind].words} ({statement.what.removeprefix('import ')})"
        yield subject.name, statement.line, f"the safety list has {what}"


def _check_dependencies(subject: LintSubject) -> Iterator[Hit]:
    for node in subject.walk():
        for module in _list_import_names(node):
            top = module.split(".")[0]
            known = top in ("torch", "triton") or top in sys.stdlib_module_names
            if not known and not (top == "numpy" and _needs_scalars_alone(subject)):
                yield subject.name, getattr(node, "lineno", None), f"it needs {top}"


def _needs_scalars_alone(subject: LintSubject) -> bool:
    """Whether NumPy is there for nothing but scalars, which torch takes as arguments."""
    used = [
        node.attr
        for node in subject.walk()
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "numpy"
    ]
    return bool(used) and all(_NUMPY_SCALAR.fullmatch(name) for name in used)


def _list_import_names(node: ast.AST) -> Iterator[str]:
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
        _check_safety,
    ),
    Rule(
        "dependencies",
        "A repro needs torch and nothing else, but for scalars of NumPy.",
        "replace it by a few lines of torch",
        _check_dependencies,
    ),
)
