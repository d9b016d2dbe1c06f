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
from anonymizer.source.program import SourceProgram, is_simple, is_state_reader

#: What a number may stand in.
_TAKES_NUMBERS = (
    *(ast.Call, ast.keyword, ast.BinOp, ast.Compare, ast.Tuple, ast.List),
    *(ast.Return, ast.Assign),
)
Edit = Callable[[SourceProgram], Iterator[SourceProgram]]
#: Functions that are given nothing but sizes.
_OF_SIZES = ("torch.ones", "torch.zeros", "torch.rand", "torch.randn")
FIXED = frozenset({"Repro", "repro", "custom_backend"})


def definitions(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop each definition and each member of a class that the entry is not."""
    for index, node in enumerate(program.definitions.body):
        if getattr(node, "name", "") not in FIXED and not is_state_reader(node):
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
    if isinstance(node, ast.Dict):
        return node.values
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
        ast.Dict,
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
    """Drop one element of a tuple, list or dictionary, or one keyword of a call."""

    def locate(each: SourceProgram) -> list[Any]:
        found: list[Any] = []
        roots = (each.definitions, *each.arguments())
        for node in (part for root in roots for part in ast.walk(root)):
            if (
                isinstance(node, (ast.Tuple, ast.List))
                and isinstance(node.ctx, ast.Load)
                and len(node.elts) > 1
            ):
                found += [((node.elts,), at) for at in range(len(node.elts))]
            elif isinstance(node, ast.Dict) and len(node.keys) > 1:
                found += [((node.keys, node.values), at) for at in range(len(node.keys))]
            elif isinstance(node, ast.Call):
                found += [((node.keywords,), at) for at in range(len(node.keywords))]
        return found

    def change(location: Any) -> None:
        lists, at = location
        for items in lists:
            del items[at]

    yield from change_each(program, locate, change)


def discard(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make a statement of an assignment, whose names need not be read any more."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (body, node)
            for body in bodies(each.definitions)
            for node in body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, (ast.Call, ast.BinOp, ast.Subscript, ast.Tuple))
            and all(isinstance(target, (ast.Name, ast.Tuple)) for target in node.targets)
        ]

    def change(location: Any) -> None:
        body, node = location
        body[body.index(node)] = ast.Expr(node.value)

    yield from change_each(program, locate, change)


def parameters(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop a parameter of the entry that it does not mention, together with the input for it."""
    entry = _entry(program)
    returned = program.inputs.body[-1]
    if (
        entry is None
        or not isinstance(returned, ast.Return)
        or not isinstance(returned.value, ast.Tuple)
    ):
        return
    offset = 1 if entry.args.args and entry.args.args[0].arg == "self" else 0
    for index in reversed(range(len(entry.args.args) - offset)):
        made = copy.deepcopy(program)
        node, last = _entry(made), made.inputs.body[-1]
        assert node is not None
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
        del last.value.elts[index : index + 1]  # type: ignore[attr-defined]
        yield made


def only_items(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give the entry the only item of a list, where it asks that list for nothing else."""
    entry, returned = _entry(program), program.inputs.body[-1]
    if entry is None or not isinstance(getattr(returned, "value", None), ast.Tuple):
        return
    given = [each for each in entry.args.args if each.arg != "self"]
    for index, parameter in enumerate(given):
        made = copy.deepcopy(program)
        node, last = _entry(made), made.inputs.body[-1]
        items = last.value.elts[index : index + 1]  # type: ignore[attr-defined]
        if node is None or not items or not isinstance(items[0], (ast.List, ast.Tuple)):
            continue
        body = ast.Module(node.body, [])
        uses = [
            place
            for place in expressions(body, ast.Subscript)
            if ast.unparse(place[3]) == f"{parameter.arg}[0]"
        ]
        for place in uses:
            put_at(place, place[3].value)
        names = [n for n in ast.walk(body) if isinstance(n, ast.Name) and n.id == parameter.arg]
        if len(items[0].elts) == 1 and uses and len(names) == len(uses):
            last.value.elts[index] = items[0].elts[0]  # type: ignore[attr-defined]
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


def fields(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop a field of a dataclass, with what its instances are given for it."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (each, owner, node)
            for owner in each.definitions.body
            if isinstance(owner, ast.ClassDef) and owner.decorator_list
            for node in owner.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        ]

    def change(location: Any) -> None:
        whole, owner, field = location
        _remove((owner.body, field))
        for node in ast.walk(whole.definitions):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == owner.name:
                node.keywords = [each for each in node.keywords if each.arg != field.target.id]

    yield from change_each(program, locate, change)


def function_arguments(program: SourceProgram) -> Iterator[SourceProgram]:
    """Drop what an `autograd.Function` is given beside its first argument, together with its
    gradient.
    """

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (each, owner, at)
            for owner in each.definitions.body
            if isinstance(owner, ast.ClassDef)
            and any(ast.unparse(base).endswith("autograd.Function") for base in owner.bases)
            for at in reversed(range(2, len(_method(owner, "forward").args)))
        ]

    def change(location: Any) -> None:
        whole, owner, at = location
        del _method(owner, "forward").args[at]
        for node in ast.walk(owner):
            value = node.value if isinstance(node, ast.Return) else None
            if isinstance(value, ast.Tuple) and len(value.elts) >= at:
                del value.elts[at - 1]
        for node in ast.walk(whole.definitions):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{owner.name}.apply":
                del node.args[at - 1 : at]

    yield from change_each(program, locate, change)


def _method(owner: ast.ClassDef, name: str) -> ast.arguments:
    """The parameters of a class's method; none where there is no such method."""
    found = (each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == name)
    return next((each.args for each in found), ast.arguments([], [], None, [], [], None, []))


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


def layouts(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make an input that is laid out in an order of its own contiguous."""

    def locate(each: SourceProgram) -> list[Any]:
        found = expressions(each.inputs, ast.Call)
        return [
            location
            for location in found
            if isinstance(location[3].func, ast.Attribute)
            and location[3].func.attr == "as_strided"
            and isinstance(location[3].func.value, ast.Call)
            and isinstance(location[3].args[0], ast.Tuple)
        ]

    def change(location: Any) -> Any:
        made, sizes = location[3].func.value, location[3].args[0]
        if ast.unparse(made.func) in _OF_SIZES:
            made.args = sizes.elts
        elif made.args and isinstance(made.args[-1], ast.Tuple):
            made.args[-1] = sizes
        else:
            return False
        put_at(location, made)
        return True

    yield from change_each(program, locate, change)


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


def earlier(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give a variable an earlier value of its function instead of one that is computed: what led to
    it need not matter.
    """

    def locate(each: SourceProgram) -> list[Any]:
        return [
            (node, name)
            for function in ast.walk(each.definitions)
            if isinstance(function, ast.FunctionDef) and function.name != "__init__"
            for at, node in enumerate(function.body)
            if _is_computed(node)
            for name in _names_before(function, at)
        ]

    def change(location: Any) -> None:
        node, name = location
        node.value = ast.Name(name, ast.Load())

    yield from change_each(program, locate, change)


def _names_before(function: ast.FunctionDef, position: int) -> list[str]:
    """A function's first tensor, and the variables that were set last."""
    given = [each.arg for each in function.args.args if each.arg != "self"]
    made = [name for node in function.body[:position] if (name := _target(node))]
    return list(dict.fromkeys([*given[:1], *reversed(made[-2:])]))


def _is_computed(node: ast.stmt) -> bool:
    """Whether a statement gives one variable a value that is not written there."""
    if not isinstance(node, ast.Assign) or not _target(node):
        return False
    return not isinstance(node.value, (ast.Name, ast.Constant))


def _target(node: ast.stmt) -> str:
    """The variable that a statement sets; empty for other statements."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def literals(program: SourceProgram) -> Iterator[SourceProgram]:
    """Write a number where an attribute or a size is read."""

    def locate(each: SourceProgram) -> list[Any]:
        return [
            location
            for location in expressions(each, (ast.Attribute, ast.Subscript))
            if isinstance(location[0], _TAKES_NUMBERS)
            and location[1] != "func"
            and isinstance(location[3].ctx, ast.Load)
            and (not _is_module(location[3]) or ast.unparse(location[3]).startswith("self."))
        ]

    def change(location: Any) -> None:
        put_at(location, ast.Constant(2))

    yield from change_each(program, locate, change)


PASSES: tuple[Edit, ...] = (
    promote,
    definitions,
    statements,
    discard,
    unwrap,
    blocks,
    single,
    absorb,
    simplify,
    elements,
    fields,
    inline,
    propagate,
    fold,
    parameters,
    only_items,
    function_arguments,
    layouts,
    dimensions,
    constants,
    earlier,
    literals,
)
