"""A script as a function that is given what compiles, so that each run has objects of its own, and
back again.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from anonymizer.graph.repro import COMPILE, PROGRAM_FACTORY

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def wrap_script(statements: Sequence[ast.stmt], returned: str) -> ast.FunctionDef:
    """The function `PROGRAM_FACTORY` that runs a script with what compiles as its parameter.

    Args:
        statements: those of the script; the function takes them over, and changes them.
        returned: the text of the expression that it returns.
    """
    factory = ast.parse(f"def {PROGRAM_FACTORY}({COMPILE}):\n    return {returned}").body[0]
    assert isinstance(factory, ast.FunctionDef)
    factory.body = [*_declare(statements, ast.Nonlocal), *factory.body]
    return ast.fix_missing_locations(factory)


def unwrap_script(text: str) -> tuple[list[ast.stmt], ast.expr]:
    """The statements of a script that `wrap_script` has wrapped, and what it returns.

    Raises:
        ValueError: the text is no such function.
    """
    factory = ast.parse(text).body[-1]
    last = factory.body[-1] if isinstance(factory, ast.FunctionDef) else None
    if not isinstance(factory, ast.FunctionDef) or not isinstance(last, ast.Return):
        raise ValueError("the script returns nothing")
    assert last.value is not None
    return _declare(factory.body[:-1], ast.Global), last.value


def walk_scope(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Every node outside of functions and classes that are defined there."""
    left: list[ast.AST] = list(statements)
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, (*_SCOPES, ast.Lambda)):
            left += ast.iter_child_nodes(node)


def _declare(
    statements: Sequence[ast.stmt], declaration: type[ast.Global | ast.Nonlocal]
) -> list[ast.stmt]:
    """The statements, in whose functions names of their own scope are declared so."""
    own = {node.id for node in walk_scope(statements) if isinstance(node, ast.Name)}
    return [DeclarationRewriter(own, declaration).visit(each) for each in statements]


class DeclarationRewriter(ast.NodeTransformer):
    """Declares names of the scope around a function `global` or `nonlocal`, whichever it was."""

    def __init__(self, own: Collection[str], declaration: type[ast.Global | ast.Nonlocal]) -> None:
        self.own, self.declaration = set(own), declaration

    def _declare(self, node: ast.Global | ast.Nonlocal) -> ast.AST:
        return self.declaration(node.names) if set(node.names) <= self.own else node

    visit_Global = visit_Nonlocal = _declare
