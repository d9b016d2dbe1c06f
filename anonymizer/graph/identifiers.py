"""Names of variables in a syntax tree: which there are, and expressions in their place."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping


def find_names(*trees: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """The names that are read or bound anywhere in some trees; with `ast.Load` or `ast.Store` as
    the context, one of both. Parameters and definitions have no context, and are none of them.
    """
    return {
        node.id
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }


class NameSubstitution(ast.NodeTransformer):
    """Puts a copy of an expression in the place of each name that has one."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """What stands for the name: a copy, so that a later edit changes one place."""
        return copy.deepcopy(self.values.get(node.id, node))
