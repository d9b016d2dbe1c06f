"""A script as a function that is given what compiles, so that each run has objects of its own, and
back again.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from anonymizer.graph.repro import COMPILE, PROGRAM_FACTORY

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def wrap_script(
    statements: Sequence[ast.stmt], returned: str, has_globals: bool = False
) -> ast.FunctionDef:
    """The function `PROGRAM_FACTORY` that runs a script with what compiles as its parameter.

    Args:
        statements: those of the script; the function takes them over, and changes them.
        returned: the text of the expression that it returns.
        has_globals: whether the script's variables, functions and classes stay global; Dynamo
            guards a global in another way than a variable of an enclosing function.
    """
    factory = ast.parse(f"def {PROGRAM_FACTORY}({COMPILE}):\n    return {returned}").body[0]
    assert isinstance(factory, ast.FunctionDef)
    if has_globals:
        shared = sorted(_list_bound(statements) & _list_inner_names(statements))
        names = [ast.Global(shared)] if shared else []
        factory.body = [*names, *_declare(statements, ast.Global), *factory.body]
    else:
        factory.body = [*_declare(statements, ast.Nonlocal), *factory.body]
    return ast.fix_missing_locations(factory)


def _list_bound(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that statements bind in their own scope."""
    nodes = list(walk_scope(statements))
    named = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return named | {node.name for node in nodes if isinstance(node, _SCOPES)}


def _list_inner_names(statements: Sequence[ast.stmt]) -> set[str]:
    """The names in functions and classes that statements define."""
    scopes = [node for node in walk_scope(statements) if isinstance(node, (*_SCOPES, ast.Lambda))]
    return {n.id for scope in scopes for n in ast.walk(scope) if isinstance(n, ast.Name)}


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
    body = [each for each in factory.body[:-1] if not isinstance(each, ast.Global)]
    return _declare(body, ast.Global), last.value


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
