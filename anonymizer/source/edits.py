"""The single edits of source reduction.

Each takes a private copy of a program and yields changed copies of it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

from anonymizer.source.absorb import absorb, calls_base, single
from anonymizer.source.inline import fold, inline, promote, propagate
from anonymizer.source.locations import bodies, change_each, expressions, nth, put_at
from anonymizer.source.program import SourceProgram, is_simple

Edit = Callable[[SourceProgram], Iterator[SourceProgram]]
FIXED = frozenset({"Repro", "repro", "custom_backend"})


def definitions(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop each definition and each member of a class that the entry is not."""
    for index, node in enumerate(program.definitions.body):
        if getattr(node, "name", "") not in FIXED:
            made = copy.deepcopy(program)
            del made.definitions.body[index]
            yield made
    yield from change_each(program, _members, _remove)


def _members(program: SourceProgram) -> list[Any]:
    return [
        (node.body, each)
        for node in program.definitions.body
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if getattr(each, "name", "") != "forward"
    ]


def _remove(location: Any) -> None:
    body, each = location
    body.remove(each)
    if not body:
        body.append(ast.Pass())


def statements(program: SourceProgram) -> Iterator[SourceProgram]:
    """Delete runs of statements: all, halves, quarters, single ones; the last statements first."""
    for index, body in enumerate(_blocks(program)):
        length = len(body)
        step = length
        while step:
            for start in reversed(range(0, length, step)):
                made, location = nth(program, _blocks, index)
                gone = location[start : start + step]
                if any(isinstance(each, ast.Return) for each in gone) and _is_inputs(
                    made, location
                ):
                    continue
                if len(gone) < len(location) and any(calls_base(each) for each in gone):
                    continue
                location[start : start + step] = [] if len(location) > step else [ast.Pass()]
                yield made
            step //= 2


def _is_inputs(program: SourceProgram, body: list[ast.stmt]) -> bool:
    return body is program.inputs.body


def _blocks(program: SourceProgram) -> list[list[ast.stmt]]:
    """Lists of statements; those of classes hold members, which go one by one."""
    trees = program.definitions.body
    inside = [body for node in trees for body in bodies(node)]
    parts = (part for node in trees for part in ast.walk(node))
    classes = {id(part.body) for part in parts if isinstance(part, ast.ClassDef)}
    return [body for body in inside if id(body) not in classes] + [program.inputs.body]


def unwrap(program: SourceProgram) -> Iterator[SourceProgram]:
    """Put the body of an `if`, `for`, `with`, `try` or `while` in its place."""

    def locate(each: SourceProgram) -> list[Any]:
        kinds = (ast.If, ast.For, ast.With, ast.Try, ast.While)
        return [
            (body, node, name)
            for body in bodies(each.definitions)
            for node in body
            if isinstance(node, kinds)
            for name in ("body", "orelse")
            if getattr(node, name, None)
        ]

    def change(location: Any) -> None:
        body, node, name = location
        at = body.index(node)
        before: list[ast.stmt] = []
        if isinstance(node, ast.For) and name == "body":
            first = ast.Subscript(node.iter, ast.Constant(0), ast.Load())
            before = [ast.Assign([node.target], first, lineno=1)]
        body[at : at + 1] = before + getattr(node, name)

    yield from change_each(program, locate, change)


def _parts(node: Any) -> list[ast.expr]:
    """Expressions that could stand for a whole one: its receiver, its arguments, its operands."""
    if isinstance(node, ast.Call):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        plain = [each for each in receiver if not _is_module(each)]
        return [*node.args, *plain, *(each.value for each in node.keywords)]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Compare):
        return [node.left]
    if isinstance(node, ast.BoolOp):
        return list(node.values)
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Subscript):
        return [node.value]
    return list(node.elts) if isinstance(node, (ast.Tuple, ast.List)) else []


def _is_module(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return (
        text.split(".")[0] in ("torch", "nn", "F", "math", "operator", "functools", "self")
        or text == "super()"
    )


def simplify(program: SourceProgram) -> Iterator[SourceProgram]:
    """Replace a call, an operator or a tuple by one of its parts."""
    kinds = (
        ast.Call,
        ast.BinOp,
        ast.UnaryOp,
        ast.Compare,
        ast.BoolOp,
        ast.IfExp,
        ast.Subscript,
        ast.Tuple,
        ast.List,
    )
    for index, location in enumerate(expressions(program, kinds)):
        if isinstance(getattr(location[3], "ctx", None), (ast.Store, ast.Del)) or location[1] in (
            "targets",
            "decorator_list",
            "bases",
        ):
            continue
        for part in range(len(_parts(location[3]))):
            made, found = nth(program, lambda each: expressions(each, kinds), index)
            piece = _parts(found[3])[part]
            if not isinstance(piece, ast.Starred):
                put_at(found, piece)
                yield made


def elements(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop one element of a tuple or list, one keyword or one argument of a call."""

    def locate(each: SourceProgram) -> list[Any]:
        found: list[Any] = []
        for node in ast.walk(each.definitions):
            if (
                isinstance(node, (ast.Tuple, ast.List))
                and isinstance(node.ctx, ast.Load)
                and len(node.elts) > 1
            ):
                found += [(node.elts, at) for at in range(len(node.elts))]
            elif isinstance(node, ast.Call):
                found += [(node.keywords, at) for at in range(len(node.keywords))]
        return found

    def change(location: Any) -> None:
        items, at = location
        del items[at]

    yield from change_each(program, locate, change)


def parameters(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop an input together with the entry's parameter, if the entry does not mention it."""
    entry = _entry(program)
    returned = program.inputs.body[-1]
    if (
        entry is None
        or not isinstance(returned, ast.Return)
        or not isinstance(returned.value, ast.Tuple)
    ):
        return
    offset = 1 if entry.args.args and entry.args.args[0].arg == "self" else 0
    for index in reversed(range(len(returned.value.elts))):
        made = copy.deepcopy(program)
        node, last = _entry(made), made.inputs.body[-1]
        if node is None or index + offset >= len(node.args.args):
            continue
        name = node.args.args[index + offset].arg
        if any(
            isinstance(part, ast.Name) and part.id == name
            for each in node.body
            for part in ast.walk(each)
        ):
            continue
        from_end = len(node.args.args) - index - offset
        if from_end <= len(node.args.defaults):
            del node.args.defaults[len(node.args.defaults) - from_end]
        del node.args.args[index + offset]
        del last.value.elts[index]  # type: ignore[attr-defined]
        yield made


def _entry(program: SourceProgram) -> ast.FunctionDef | None:
    for node in program.definitions.body:
        if isinstance(node, ast.FunctionDef) and node.name == "repro":
            return node
        if isinstance(node, ast.ClassDef) and node.name == "Repro":
            return next(
                (e for e in node.body if isinstance(e, ast.FunctionDef) and e.name == "forward"),
                None,
            )
    return None


def blocks(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make one sub-module the whole: `self.a(x)` becomes `x` (through `simplify`); lists of blocks
    become short.
    """

    def locate(each: SourceProgram) -> list[Any]:
        return [
            node
            for node in ast.walk(each.definitions)
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) == "range"
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Constant)
            and node.args[0].value not in (1, 0)
        ]

    def change(node: ast.Call) -> None:
        node.args[0] = ast.Constant(1)

    yield from change_each(program, locate, change)


def constants(program: SourceProgram) -> Iterator[SourceProgram]:
    """Simpler numbers, one place at a time."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            node
            for tree in (each.definitions, each.inputs)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, (int, float))
            and not isinstance(node.value, bool)
        ]

    for index, node in enumerate(locate(program)):
        for value in _simpler(node.value):
            made, location = nth(program, locate, index)
            location.value = value
            yield made


def _simpler(value: float) -> list[float]:
    if isinstance(value, int):
        return [2] if abs(value) > 2 else []
    simple = [1.0, 0.5, float(f"{value:.0e}")]
    return (
        [] if value in simple and is_simple(value) else [each for each in simple if each != value]
    )


def dimensions(program: SourceProgram) -> Iterator[SourceProgram]:
    """Every occurrence of a size in inputs and parameters shrinks at once."""
    found = sorted(
        {
            node.value
            for tree in (program.definitions, program.inputs)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 2
        },
        reverse=True,
    )
    for value in found:
        for smaller in dict.fromkeys((2, 4, 8, value // 2)):
            if smaller < value:
                made = copy.deepcopy(program)
                for tree in (made.definitions, made.inputs):
                    for node in ast.walk(tree):
                        if (
                            isinstance(node, ast.Constant)
                            and type(node.value) is int
                            and node.value % value == 0
                            and node.value
                        ):
                            node.value = node.value // value * smaller
                yield made


PASSES: tuple[Edit, ...] = (
    promote,
    definitions,
    statements,
    unwrap,
    blocks,
    single,
    absorb,
    simplify,
    elements,
    inline,
    propagate,
    fold,
    parameters,
    dimensions,
    constants,
)
