"""Edits of definitions and statements: dropped, unwrapped, or without the names that they set."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

from anonymizer.edits.callees import calls_base
from anonymizer.source.locations import change_each, copy_with_place, list_bodies
from anonymizer.source.program import SourceProgram, is_state_reader

#: Definitions that a program cannot do without.
_FIXED = frozenset({"Repro", "repro", "custom_backend"})


def drop_definitions(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop each definition and each member of a class that the entry is not."""
    for index, node in enumerate(program.definitions.body):
        if getattr(node, "name", "") not in _FIXED and not is_state_reader(node):
            made = copy.deepcopy(program)
            del made.definitions.body[index]
            yield made
    yield from change_each(program, _list_members, remove)


def _list_members(program: SourceProgram) -> list[Any]:
    return [
        (node.body, each)
        for node in program.definitions.body
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if getattr(each, "name", "") != "forward"
    ]


def remove(location: Any) -> None:
    """Takes a member, given behind the body that it stands in, out of its class."""
    body, each = location
    body.remove(each)
    if not body:
        body.append(ast.Pass())


def drop_statements(program: SourceProgram) -> Iterator[SourceProgram]:
    """Delete runs of statements: all, halves, quarters, single ones; the last statements first."""
    for index, body in enumerate(_list_blocks(program)):
        length = len(body)
        step = length
        while step:
            for start in reversed(range(0, length, step)):
                made, location = copy_with_place(program, _list_blocks, index)
                gone = location[start : start + step]
                returns = any(isinstance(each, ast.Return) for each in gone)
                if returns and (_is_inputs(made, location) or _is_gradient(made, location)):
                    continue
                if len(gone) < len(location) and any(calls_base(each) for each in gone):
                    continue
                location[start : start + step] = [] if len(location) > step else [ast.Pass()]
                yield made
            step //= 2


def _is_inputs(program: SourceProgram, body: list[ast.stmt]) -> bool:
    return body is program.inputs.body


def _is_gradient(program: SourceProgram, body: list[ast.stmt]) -> bool:
    """Whether statements are those of a `backward`, without which there is no gradient to speak
    of.
    """
    return any(
        isinstance(node, ast.FunctionDef) and node.name == "backward" and node.body is body
        for node in ast.walk(program.definitions)
    )


def _list_blocks(program: SourceProgram) -> list[list[ast.stmt]]:
    """Lists of statements; those of classes hold members, which go one by one."""
    trees = program.definitions.body
    inside = [body for node in trees for body in list_bodies(node)]
    parts = (part for node in trees for part in ast.walk(node))
    classes = {id(part.body) for part in parts if isinstance(part, ast.ClassDef)}
    return [body for body in inside if id(body) not in classes] + [program.inputs.body]


def unwrap(program: SourceProgram) -> Iterator[SourceProgram]:
    """Put the body of an `if`, `for`, `with`, `try`, `while` or `match` in its place; first the
    bodies of all that are a `with` of the same contexts, since calls in one and outside of it
    differ.
    """
    texts = Counter(
        _read_contexts(node) for node in ast.walk(program.definitions) if isinstance(node, ast.With)
    )
    for contexts in (text for text, count in texts.items() if count > 1):
        made = copy.deepcopy(program)
        _WithoutContexts(contexts).visit(made.definitions)
        yield made

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (body, node, part)
            for body in list_bodies(each.definitions)
            for node in body
            for part in _list_parts(node)
        ]

    def change(location: Any) -> None:
        body, node, part = location
        at = body.index(node)
        before: list[ast.stmt] = []
        if isinstance(node, ast.For) and part is node.body:
            first = ast.Subscript(node.iter, ast.Constant(0), ast.Load())
            before = [ast.Assign([node.target], first, lineno=1)]
        body[at : at + 1] = before + part

    yield from change_each(program, locate, change)


def _read_contexts(node: ast.With) -> str:
    return ", ".join(ast.unparse(item) for item in node.items)


class _WithoutContexts(ast.NodeTransformer):
    """The bodies of each `with` of some contexts in its place."""

    def __init__(self, contexts: str) -> None:
        self.contexts = contexts

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.body if _read_contexts(node) == self.contexts else node


def _list_parts(node: ast.stmt) -> list[list[ast.stmt]]:
    """The lists of statements of which a statement runs one, or each in turn."""
    if isinstance(node, ast.Match):
        return [case.body for case in node.cases]
    if not isinstance(node, (ast.If, ast.For, ast.With, ast.Try, ast.While)):
        return []
    handlers = [handler.body for handler in getattr(node, "handlers", ())]
    return [part for part in (node.body, getattr(node, "orelse", []), *handlers) if part]


def discard(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make a statement of an assignment, whose names need not be read any more."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (body, node)
            for body in list_bodies(each.definitions)
            for node in body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, (ast.Call, ast.BinOp, ast.Subscript, ast.Tuple))
            and all(isinstance(target, (ast.Name, ast.Tuple)) for target in node.targets)
        ]

    def change(location: Any) -> None:
        body, node = location
        body[body.index(node)] = ast.Expr(node.value)

    yield from change_each(program, locate, change)
