"""Dead code goes without asking, and what cannot run is not tried: cheap facts that save expensive
candidates.
"""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import re

from anonymizer.graph.identifiers import find_names
from anonymizer.source.program import STATE, SourceProgram
from anonymizer.source.symbols.imports import KNOWN_MODULES

_KNOWN = frozenset(dir(builtins)) | KNOWN_MODULES | {"torch", "nn", "F", "__class__"}
_ATTRIBUTE = re.compile(r"(?:attr|method)\d+")
_GENERATED = re.compile(r"\b[A-Za-z_]+?\d+\b")


def find_undefined(program: SourceProgram) -> set[str]:
    """Names that are read and bound nowhere: such a candidate can only raise NameError."""
    top = {node.name for node in program.definitions.body if hasattr(node, "name")}
    top |= {name for node in program.definitions.body for name in _list_targets(node)}
    top |= {
        name
        for node in ast.walk(program.definitions)
        if isinstance(node, ast.Global)
        for name in node.names
    }
    found: set[str] = set()
    for tree in (*program.definitions.body, program.inputs):
        read: set[str] = set()
        bound: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)) and node.name:
                bound.add(node.name)
        found |= read - bound - top - _KNOWN
    return found | _find_unset(program.definitions) | _find_early_reads(program.definitions)


def _find_unset(definitions: ast.Module) -> set[str]:
    """Generated attribute names that are read and set nowhere."""
    read: set[str] = set()
    given: set[str] = set()
    for node in ast.walk(definitions):
        if isinstance(node, ast.Attribute):
            (read if isinstance(node.ctx, ast.Load) else given).add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given.add(node.id)
        elif isinstance(node, ast.FunctionDef):
            given.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            given.add(node.value)
    return {name for name in read - given if _ATTRIBUTE.fullmatch(name)}


def _find_early_reads(definitions: ast.Module) -> set[str]:
    """Locals that a function reads before anything in its text binds them: it can only raise
    UnboundLocalError.
    """
    found: set[str] = set()
    for node in ast.walk(definitions):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            reader = _ScopeReader(node)
            found |= reader.early
    return found


class _ScopeReader(ast.NodeVisitor):
    """Reads a function's own scope in the order in which it runs; what a loop binds is bound in all
    of the loop.
    """

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.early: set[str] = set()
        self.local = find_names(*function.body, context=ast.Store) - _find_foreign_names(function)
        self.bound = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
        for statement in function.body:
            self.visit(statement)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)
        elif node.id in self.local - self.bound:
            self.early.add(node.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        for part in (node.value, *node.targets):
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.visit_Name(ast.Name(node.target.id, ast.Load()))
        self.visit(node.value)
        self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self.bound |= find_names(node, context=ast.Store)
        for part in (*node.body, *node.orelse):
            self.visit(part)

    def visit_While(self, node: ast.While) -> None:
        self.bound |= find_names(node, context=ast.Store)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self.bound |= {node.name} if node.name else set()
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self.bound.add(node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bound.add(node.name)

    def _skip_scope(self, node: ast.AST) -> None:
        """What is run later, or has names of its own."""

    visit_Lambda = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = (
        _skip_scope
    )


def _find_foreign_names(function: ast.AST) -> set[str]:
    """Names that are not this scope's own: declared so, or bound in a scope within it."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
        inner = isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.comprehension))
        if inner and node is not function:
            found |= find_names(node, context=ast.Store)
    return found


def renumber(program: SourceProgram) -> SourceProgram:
    """The program with its generated names numbered in the order in which they appear.

    Names that stand for nothing private keep their numbers, which no other name gets. Its mappings
    to private words follow.
    """
    text = "\n".join(
        [program.write_definitions(), *program.write_inputs(), program.callable_expression]
    )
    found = dict.fromkeys(_GENERATED.findall(text))
    taken = set(program.private.mapping) | (found.keys() - program.private.reverse.keys())
    counts: dict[str, int] = {}
    new: dict[str, str] = {}
    for name in found:
        if name in program.private.reverse:
            prefix = name.rstrip("0123456789")
            while True:
                counts[prefix] = counts.get(prefix, 0) + 1
                if f"{prefix}{counts[prefix]}" not in taken:
                    break
            new[name] = f"{prefix}{counts[prefix]}"

    def rename(source: str) -> str:
        return _GENERATED.sub(lambda match: new.get(match[0], match[0]), source)

    return dataclasses.replace(
        program,
        definitions=ast.parse(rename(program.write_definitions())),
        inputs=ast.parse(rename("\n".join(program.write_inputs()))),
        callable_expression=rename(program.callable_expression),
        private=dataclasses.replace(
            program.private,
            mapping={
                key: new.get(value, value)
                for key, value in program.private.mapping.items()
                if value in new or not value[-1:].isdigit()
            },
            reverse={
                new[public]: key for public, key in program.private.reverse.items() if public in new
            },
        ),
    )


def tidy(program: SourceProgram) -> SourceProgram:
    """Without definitions, attributes and inputs' lines that nothing mentions; semantics stay."""
    made = dataclasses.replace(
        program,
        definitions=copy.deepcopy(program.definitions),
        inputs=copy.deepcopy(program.inputs),
    )
    for _ in range(20):
        before = len(ast.dump(made.definitions)) + len(ast.dump(made.inputs))
        _drop_attributes(made.definitions)
        _drop_definitions(made)
        _drop_inputs(made.inputs)
        if len(ast.dump(made.definitions)) + len(ast.dump(made.inputs)) == before:
            break
    ast.fix_missing_locations(made.definitions)
    return made


def _drop_definitions(program: SourceProgram) -> None:
    kept = {"Repro", "repro", STATE, program.backend}
    roots = ast.parse(program.callable_expression)
    for node in list(program.definitions.body):
        names = {node.name} if hasattr(node, "name") else _list_targets(node)
        others = [each for each in program.definitions.body if each is not node]
        used = find_names(*others, program.inputs, roots)
        if names and not names & (used | kept):
            program.definitions.body.remove(node)


def _list_targets(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {each.id for each in targets if isinstance(each, ast.Name)}


def _drop_attributes(definitions: ast.Module) -> None:
    """`self.a = …` in a constructor that no code reads; what the constructor gets as arguments
    stays.
    """
    registered = {
        id(each.args[0])
        for each in ast.walk(definitions)
        if isinstance(each, ast.Call) and _is_buffer(each)
    }
    read = {
        node.attr
        for node in ast.walk(definitions)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Store)
    } | {
        node.value
        for node in ast.walk(definitions)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in registered
    }
    for node in ast.walk(definitions):
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            given = {each.arg for each in node.args.args}
            kept = [each for each in node.body if not _is_unread(each, read, given)]
            node.body = kept or [ast.Pass()]
    for node in definitions.body:
        if isinstance(node, ast.ClassDef):
            node.body = [each for each in node.body if not _is_empty_constructor(each)] or [
                ast.Pass()
            ]


def _is_buffer(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "self.register_buffer"
        and bool(node.args)
    )


def _is_unread(node: ast.stmt, read: set[str], given: set[str]) -> bool:
    if isinstance(node, ast.Expr) and _is_buffer(node.value):
        name, value = (node.value.args[0], node.value)  # type: ignore[attr-defined]
        attribute = name.value if isinstance(name, ast.Constant) else ""
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        attribute, value = node.targets[0].attr, node.value
        if not (isinstance(node.targets[0].value, ast.Name) and node.targets[0].value.id == "self"):
            return False
    else:
        return False
    takes = any(isinstance(part, ast.Name) and part.id in given for part in ast.walk(value))
    return attribute not in read and not takes


def _is_empty_constructor(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef) or node.name != "__init__" or len(node.args.args) > 1:
        return False
    return all(
        isinstance(each, ast.Pass) or ast.unparse(each) == "super().__init__()"
        for each in node.body
    )


def _drop_inputs(inputs: ast.Module) -> None:
    used = find_names(inputs, context=ast.Load)
    inputs.body = [
        each for each in inputs.body if not (_list_targets(each) and not _list_targets(each) & used)
    ]
