"""Names of variables in a syntax tree: which there are, and expressions in their place; names for
sizes.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

#: Of sizes that change from call to call; further ones are numbered.
_SIZE_NAMES = "nmkhlpq"


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

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """The call, with its arguments in line where a tuple or a list is now spread in it."""
        self.generic_visit(node)
        node.args = [part for argument in node.args for part in _spread(argument)]
        return node


def _spread(argument: ast.expr) -> list[ast.expr]:
    """What an argument gives a call: the elements of `*(a, b)`, else itself."""
    if isinstance(argument, ast.Starred) and isinstance(argument.value, (ast.Tuple, ast.List)):
        return argument.value.elts
    return [argument]


def name_size(index: int) -> str:
    """What the sizes that change are called, the first by index 0: n, m, …, then n2, m2, …"""
    row, place = divmod(index, len(_SIZE_NAMES))
    return f"{_SIZE_NAMES[place]}{row + 1 if row else ''}"
