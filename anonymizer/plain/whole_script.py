"""The plain form of a script that each side runs as a whole, with objects of its own: a function of
what is compiled, called twice.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

from anonymizer.graph.compilation import write_compilation
from anonymizer.graph.identifiers import NameSubstitution, find_names
from anonymizer.graph.imports import is_used, list_imports
from anonymizer.graph.program_factory import walk_scope
from anonymizer.graph.randomness import write_seed
from anonymizer.graph.repro import COMPILE, ReproAssertion, ReproBody, indent
from anonymizer.kinds import Differentiation
from anonymizer.plain.renaming import name_by_hand

#: The parameter of a script that compiles one function of its own.
_CALL = "call"


def render_whole_script(
    body: ReproBody,
    assertion: ReproAssertion,
    comparison: str,
    reseeds: bool,
    keeps_names: bool = False,
) -> str:
    """The complete text; valid Python that black has not seen.

    Args:
        body: a script that ends in its failing call.
        comparison: a statement, with two `{}` for what the compiled and the eager side return.
        reseeds: both sides draw the same random numbers.
        keeps_names: the names of the program stay, since they are translated back.

    Raises:
        ValueError: the body is no such script, or the assertion needs more than its values.
    """
    if (
        not body.convention.is_script
        or assertion.prelude
        or assertion.backward != Differentiation.NONE
    ):
        raise ValueError("no script whose values are compared")
    statements = _read_statements(body)
    functions, made = _take_functions(statements if keeps_names else name_by_hand(statements))
    callee, made = _take_callee(made, functions)
    parameter, compiled, eager = _write_sides(assertion, callee)
    lines = [write_seed(assertion.seed)] if reseeds else []
    lines += [line for each in made for line in ast.unparse(each).splitlines()]
    definitions = [ast.unparse(each) for each in functions]
    parts = [
        *assertion.write_config(),
        *definitions,
        "\n".join([f"def run({parameter}):", *indent(lines)]),
        comparison.format(f"run({compiled})", f"run({eager})"),
    ]
    text = "\n".join(parts)
    known = [line for line in body.imports if is_used(line, text)]
    imports = list_imports(text, (*known, *assertion.write_config_imports()))
    return "\n".join([*imports, "", *parts, ""])


def _read_statements(body: ReproBody) -> list[ast.stmt]:
    """The statements of a script, which return what its failing call did."""
    factory = ast.parse(body.definitions).body[-1]
    assert isinstance(factory, ast.FunctionDef)
    *statements, last = factory.body
    assert isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
    call, result = statements[-1], last.value.elts[0]
    if isinstance(call, ast.Assign) and ast.unparse(call.targets[0]) == ast.unparse(result):
        return [*statements[:-1], ast.Return(call.value)]
    return [*statements, ast.Return(result)]


def _take_functions(
    statements: Sequence[ast.stmt],
) -> tuple[list[ast.FunctionDef], list[ast.stmt]]:
    """The functions that need nothing of the script but each other, and the other statements."""
    own = {node.id for node in walk_scope(statements) if isinstance(node, ast.Name)}
    own |= {each.name for each in statements if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    own -= {*dir(builtins), "torch", "nn", "F"}
    functions: list[ast.FunctionDef] = []
    for each in statements:
        declares = any(isinstance(node, (ast.Global, ast.Nonlocal)) for node in ast.walk(each))
        if isinstance(each, ast.FunctionDef) and not each.decorator_list and not declares:
            known = {function.name for function in functions} | {each.name}
            if not (_list_free_names(each) & own) - known:
                functions.append(each)
    return functions, [each for each in statements if each not in functions]


def _list_free_names(function: ast.FunctionDef) -> set[str]:
    """The names that a function reads and does not bind."""
    bound = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    return find_names(function) - bound - find_names(*function.body, context=ast.Store)


def _take_callee(
    statements: list[ast.stmt], functions: Sequence[ast.FunctionDef]
) -> tuple[str, list[ast.stmt]]:
    """The name of the function that the script compiles, and the statements with `_CALL` for what
    compiling it returns; "" where they compile something else, or read the function as well.
    """
    names = [function.name for function in functions]
    calls = [
        node
        for each in statements
        for node in ast.walk(each)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == COMPILE
    ]
    callee = ast.unparse(calls[0].args[0]) if len(calls) == 1 else ""
    nodes = (node for each in statements for node in ast.walk(each))
    read = [node.id for node in nodes if isinstance(node, ast.Name)]
    if callee not in names or read.count(callee) != 1 or _CALL in read:
        return "", statements
    made, names_of_call = [], {}
    for each in statements:
        if isinstance(each, ast.Assign) and each.value is calls[0]:
            names_of_call[ast.unparse(each.targets[0])] = ast.Name(_CALL, ast.Load())
        else:
            made.append(each)
    rename = NameSubstitution(names_of_call)
    exchange = _CallExchange(calls[0])
    return callee, [rename.visit(exchange.visit(each)) for each in made]


class _CallExchange(ast.NodeTransformer):
    """Puts `_CALL` in the place of a call that compiles."""

    def __init__(self, made: ast.Call) -> None:
        self.made = made

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return ast.Name(_CALL, ast.Load()) if node is self.made else self.generic_visit(node)


def _write_sides(assertion: ReproAssertion, callee: str) -> tuple[str, str, str]:
    """The parameter of the script, and what the compiled and the eager side give it."""
    if callee:
        return _CALL, write_compilation(assertion, callee, ""), callee
    compiled = write_compilation(assertion, "fn", "")
    is_plain = compiled == "torch.compile(fn)"
    return COMPILE, "torch.compile" if is_plain else f"lambda fn: {compiled}", "lambda fn: fn"
