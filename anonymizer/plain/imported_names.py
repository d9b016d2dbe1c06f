"""Names of torch's inner modules as people import them: `from torch.distributed.tensor import
DTensor`, and not the whole path in each line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from anonymizer.graph.identifiers import find_names

#: The statement of a module that lies below a module of torch.
_INNER = re.compile(r"import (torch(?:\.\w+){2,})")


def import_names(statements: Sequence[ast.stmt], imports: Sequence[str]) -> tuple[str, ...]:
    """Shortens paths in statements, in place.

    Args:
        statements: a flat script without import statements.
        imports: those, one a line.

    Returns:
        The import statements that the script needs then.
    """
    taken = find_names(*statements) | _list_defined_names(statements)
    made: list[str] = []
    for line in imports:
        found = _INNER.fullmatch(line)
        if found is None:
            made.append(line)
            continue
        shortening = _PathShortening(found[1], taken)
        for each in statements:
            shortening.visit(each)
        if shortening.is_needed or not shortening.names:
            made.append(line)
        if shortening.names:
            made.append(f"from {found[1]} import {', '.join(sorted(shortening.names))}")
    return tuple(made)


def _list_defined_names(statements: Sequence[ast.stmt]) -> set[str]:
    """The names of functions, classes and parameters."""
    nodes = [node for each in statements for node in ast.walk(each)]
    defined = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return defined | {node.arg for node in nodes if isinstance(node, ast.arg)}


class _PathShortening(ast.NodeTransformer):
    """What a module offers, by its own name; what has the name of something else keeps its path,
    for which the module `is_needed` still.
    """

    def __init__(self, module: str, taken: set[str]) -> None:
        self.module, self.taken = module, taken
        self.names: set[str] = set()
        self.is_needed = False

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if ast.unparse(node.value) != self.module:
            return self.generic_visit(node)
        if node.attr in self.taken:
            self.is_needed = True
            return node
        self.names.add(node.attr)
        return ast.copy_location(ast.Name(node.attr, node.ctx), node)
