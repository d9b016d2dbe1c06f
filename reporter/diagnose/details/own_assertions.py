"""Whether a script compares results itself."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def asserts_itself(texts: Iterable[str]) -> bool:
    """Whether a program of these texts ends badly by its own decision when results are wrong: it
    asserts, raises or exits.
    """
    return any(_ends_itself(text) for text in texts)


def _ends_itself(text: str) -> bool:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, (ast.Assert, ast.Raise))
        or isinstance(node, (ast.Name, ast.Attribute))
        and _read_last_name(node).startswith("assert")
        or isinstance(node, ast.Call)
        and isinstance(node.func, (ast.Name, ast.Attribute))
        and _read_last_name(node.func) == "exit"
        and not any(isinstance(status, ast.Call) for status in node.args)  # sys.exit(main())
        for node in ast.walk(tree)
    )


def _read_last_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr
