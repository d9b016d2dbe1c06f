"""The statements of a script that run before its failing call, in their order."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from anonymizer.graph.program_factory import walk_scope
from anonymizer.source.symbols.symbol_table import SourceError

#: Functions of the script with a line in each, from the outermost to the one that makes the call.
Frames = Sequence[tuple[str, int]]
_GUARD = "__name__ == '__main__'"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def list_steps(tree: ast.Module, frames: Frames) -> tuple[list[ast.stmt], ast.stmt, bool]:
    """The statements of a script up to its failing call, in the order in which they run.

    A function without parameters, such as `main`, is written where it is called.

    Returns:
        The statements before the call, the one that makes it, and whether it is made there and not
        in a function of the script.

    Raises:
        SourceError: none of the script's own statements makes the call, or one in a function that
            cannot be written where it is called.
    """
    if not frames:
        raise SourceError("the script does not make the call")
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    steps = [each for node in tree.body for each in _without_guard(node)]
    (name, line), *inner = frames
    if name != "<module>":
        steps = [*_leave_out(steps, functions.get(name)), *_body(functions, name)]
    while True:
        at = _find_step(steps, line)
        called = _called_alone(steps[at])
        if not inner or inner[0][0] != called or called not in functions:
            return steps[:at], steps[at], not inner
        steps = [*_leave_out(steps[:at], functions[called]), *_body(functions, called)]
        line = inner.pop(0)[1]


def _leave_out(steps: Sequence[ast.stmt], function: ast.stmt | None) -> list[ast.stmt]:
    return [each for each in steps if each is not function]


def _without_guard(node: ast.stmt) -> list[ast.stmt]:
    is_guard = isinstance(node, ast.If) and ast.unparse(node.test) == _GUARD
    return node.body if is_guard else [node]  # type: ignore[attr-defined]


def _body(functions: Mapping[str, ast.FunctionDef], name: str) -> list[ast.stmt]:
    """The statements of a function, which run where it is called."""
    function = functions.get(name)
    if function is None or ast.unparse(function.args):
        raise SourceError("the call is made in a function with parameters")
    if function.decorator_list:
        raise SourceError("the call is made in a function with a decorator")
    body = function.body
    if any(isinstance(node, (ast.Yield, ast.Await)) for node in walk_scope(body)):
        raise SourceError("the call is made in a generator")
    kept = [node for node in body if not isinstance(node, ast.Return)]
    if any(isinstance(node, ast.Return) for node in walk_scope(kept)):
        raise SourceError("the call is made in a function with several ends")
    return kept


def _find_step(steps: Sequence[ast.stmt], line: int) -> int:
    """The last statement that has the line; a `def` of which the line is inside is none."""
    for at in reversed(range(len(steps))):
        step = steps[at]
        if isinstance(step, _SCOPES):
            continue
        if step.lineno <= line <= (step.end_lineno or step.lineno):
            return at
    raise SourceError("the call is made by no statement of the script itself")


def _called_alone(step: ast.stmt) -> str:
    """The function whose call without arguments is all of a statement."""
    call = step.value if isinstance(step, ast.Expr) else None
    if isinstance(call, ast.Call) and not call.args and not call.keywords:
        return ast.unparse(call.func)
    return ""


def strip(step: ast.stmt | None) -> list[ast.stmt]:
    """A statement before the call without what is only there to be read: of `print` the calls that
    it makes.
    """
    if step is None or isinstance(step, (ast.Assert, ast.Pass)):
        return []
    if isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant):
        return []
    call = step.value if isinstance(step, ast.Expr) else None
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "print":
        return [
            ast.copy_location(ast.Expr(each), step)
            for each in call.args
            if isinstance(each, ast.Call)
        ]
    return [step]
