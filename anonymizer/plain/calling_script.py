"""The statements of a script that compiles and calls by itself, up to its failing call."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from anonymizer.graph.compilation import write_compilation
from anonymizer.graph.identifiers import find_names
from anonymizer.graph.program_factory import unwrap_script
from anonymizer.graph.repro import COMPILE, ReproAssertion, ReproBody
from anonymizer.kinds import WRONG_AT_ONCE
from anonymizer.plain.imported_names import import_names
from anonymizer.plain.inputs import choose_names
from anonymizer.plain.renaming import name_by_hand
from anonymizer.plain.script.parts import Callee, Script

_NO_GROUP = "not torch.distributed.is_initialized()"


def read_calling_script(
    body: ReproBody, assertion: ReproAssertion, keeps_names: bool = False
) -> Script:
    """The statements of a script up to its failing call, which is the last one.

    Args:
        body: its `definitions` are the script.
        assertion: its settings become the arguments of each `torch.compile` in the script.
        keeps_names: the names stay as they are; else those that were generated are shortened.

    Raises:
        ValueError: what that call compiles, or is given, cannot be told.
    """
    statements, _ = unwrap_script(body.definitions)
    whole = [part for each in statements for part in _without_guard(each)]
    *made, last = whole if keeps_names else name_by_hand(whole)
    imports = import_names([*made, last], body.imports)
    call = last.value if isinstance(last, ast.Assign) else None
    if not isinstance(call, ast.Call):
        raise ValueError("the last statement is no call")
    if any(isinstance(each, ast.Starred) for each in call.args):
        raise ValueError("the number of inputs is not known")
    compiled = call.func.id if isinstance(call.func, ast.Name) else ""
    function = _find_compiled(made, compiled) if compiled else call.func
    if not _is_compile(function):
        raise ValueError("the last call is none of something compiled")
    callee = function.args[0]  # type: ignore[attr-defined]
    names = choose_names(len(call.args), ())
    taken = find_names(*made)
    arguments = [
        (
            (given.id, "")
            if isinstance(given, ast.Name)
            else (_choose_free_name(name, taken), ast.unparse(given))
        )
        for name, given in zip(names, call.args)
    ]
    compilation = _Compilation(assertion)
    lines = [ast.unparse(compilation.visit(each)) for each in made]
    expression = ast.unparse(callee)
    is_written_twice = assertion.kind in WRONG_AT_ONCE and not compiled
    # a transform of torch's, as `torch.func.grad(loss)`, has no state that both sides would share
    if is_written_twice and isinstance(callee, ast.Call) and expression.startswith("torch."):
        name = _choose_free_name("fn", taken)
        lines.append(f"{name} = {expression}")
        expression = name
    return Script(
        definitions="",
        called=Callee(expression, compiled=compiled),
        statements=tuple(lines),
        arguments=tuple(arguments),
        imports=imports,
        keywords=tuple(map(ast.unparse, call.keywords)),
    )


def _without_guard(statement: ast.stmt) -> list[ast.stmt]:
    """A statement; of one that makes a process group where there is none yet, what it does: a
    script that runs once has none.
    """
    is_guard = isinstance(statement, ast.If) and ast.unparse(statement.test) == _NO_GROUP
    return statement.body if is_guard else [statement]  # type: ignore[attr-defined]


def _find_compiled(statements: Sequence[ast.stmt], name: str) -> ast.expr:
    """What a name is assigned, if that is done once."""
    values = [
        each.value
        for each in statements
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == name
    ]
    if len(values) != 1:
        raise ValueError("what is compiled has no name of its own")
    return values[0]


def _is_compile(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == COMPILE and bool(node.args)


def _choose_free_name(name: str, taken: Collection[str]) -> str:
    return f"{name}_" if name in taken else name


class _Compilation(ast.NodeTransformer):
    """What compiles, as torch calls it."""

    def __init__(self, assertion: ReproAssertion) -> None:
        self.assertion = assertion

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not _is_compile(node):
            return node
        text = write_compilation(self.assertion, ast.unparse(node.args[0]), "")
        return ast.parse(text, mode="eval").body
