"""A rewritten program that shows what it does to Python's state.

A function that reads the state stands among the definitions, which a reduction takes as any other.
When the program is written, they move into a function (`wrap`), so that each run has state of its
own and what was a closure is one again. A repro compares what is read after an eager run and after
a compiled one.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from anonymizer.graph.containers import is_container, is_generator, is_object, read_callee_name
from anonymizer.graph.identifiers import find_names
from anonymizer.graph.program_factory import DeclarationRewriter
from anonymizer.graph.repro import KEEP_GRADIENT, PROGRAM_FACTORY
from anonymizer.source.program import STATE, SourceProgram, find_state_reader, is_state_reader

_MODEL = "model"
#: How many objects lie one in another, at most, of which the innermost is read.
_DEEPEST = 4
#: Methods that write to their tensor.
_IN_PLACE = re.compile(r"[a-z]\w*[a-z0-9]_")
_DICTIONARIES = frozenset("dict defaultdict OrderedDict Counter".split())


def holds_objects(program: SourceProgram) -> bool:
    """Whether a program is given anything that a call can change beside tensors."""
    return any(is_container(given) or is_object(given) for given in program.list_arguments())


def holds_generators(program: SourceProgram) -> bool:
    """Whether a variable of a program hands out numbers, others in each run."""
    return any(is_generator(value) for _, value in _list_variables(program.definitions.body))


def _keeps_gradients(program: SourceProgram) -> bool:
    """Whether a program asks for the gradient of a tensor to be kept."""
    return KEEP_GRADIENT in {
        node.attr for node in ast.walk(program.definitions) if isinstance(node, ast.Attribute)
    }


def writes_buffers(program: SourceProgram) -> bool:
    """Whether a function of a program writes to a buffer of a module, or puts another tensor in its
    place.
    """
    nodes = list(ast.walk(program.definitions))
    buffers = {
        node.args[0].value
        for node in nodes
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "self.register_buffer"
        and isinstance(node.args[0], ast.Constant)
    }
    written = [node.value for node in nodes if _writes(node)]
    stored = [node for node in nodes if isinstance(node, ast.Attribute) and _is_stored(node)]
    return any(
        isinstance(node, ast.Attribute) and node.attr in buffers for node in (*written, *stored)
    )


def _is_stored(node: ast.Attribute | ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Store)


def _writes(node: ast.AST) -> TypeGuard[ast.Attribute | ast.Subscript]:
    """Whether `node` writes into its value: an item of it, or a method such as `add_`."""
    if isinstance(node, ast.Subscript):
        return _is_stored(node)
    return isinstance(node, ast.Attribute) and bool(_IN_PLACE.fullmatch(node.attr))


def forget_stored(program: SourceProgram) -> SourceProgram | None:
    """The program whose objects begin without the attributes that it stores itself: these may be
    what an earlier call has left. None where there are none.
    """
    definitions = copy.deepcopy(program.definitions)
    functions = [node for node in ast.walk(definitions) if isinstance(node, ast.FunctionDef)]
    stored = {
        node.attr
        for function in functions
        if function.name != "__init__"
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    for function in functions:
        if function.name == "__init__":
            kept = [node for node in function.body if not _sets_one_of(node, stored)]
            function.body = kept or [ast.Pass()]
    if ast.unparse(definitions) == ast.unparse(program.definitions):
        return None
    return replace(program, definitions=definitions)


def _sets_one_of(node: ast.stmt, names: set[str]) -> bool:
    """Whether a statement does nothing but set an attribute of one of these names."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    return isinstance(target, ast.Attribute) and target.attr in names


def observe(program: SourceProgram) -> Iterator[SourceProgram]:
    """The program with its state beside it: what its arguments hold, or whether they are going to
    keep their gradients, then lengths of containers, or
    their keys, before their contents, and one call before two. Nothing where it has no state to be
    seen.
    """
    if program.backend is None and (holds_objects(program) or _keeps_gradients(program)):
        yield from (
            replace(program, state_calls=calls, observes_arguments=True) for calls in (1, 2)
        )
    if program.has_own_state or program.backend is not None:
        return
    inside = _split(program)[1]
    for calls in (1, 2):
        for lengths in (True, False):
            read = list(_list_expressions(inside, lengths))
            if read and (lengths or read != list(_list_expressions(inside, True))):
                reader = ast.parse(f"{STATE} = lambda {_MODEL}: [{', '.join(read)}]").body
                definitions = ast.Module([*program.definitions.body, *reader], [])
                yield replace(
                    program, definitions=definitions, state_calls=calls, has_own_state=True
                )


def renew(program: SourceProgram) -> Iterator[SourceProgram]:
    """The program with state of its own in each run, where it has classes or variables that hold
    some: an eager run then leaves nothing for the compiled one. Nothing where it has none.
    """
    if program.has_own_state or program.backend is not None:
        return
    inside = _split(program)[1]
    if (
        any(_list_in_definitions(inside, lengths=False))
        or holds_generators(inside)
        or _keeps_on_functions(inside)
    ):
        yield replace(program, has_own_state=True)


def _keeps_on_functions(program: SourceProgram) -> bool:
    """Whether something is assigned to an attribute of a function, which is one for all calls."""
    body = program.definitions.body
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node.value) in functions
        for node in ast.walk(program.definitions)
    )


def wrap(program: SourceProgram) -> SourceProgram:
    """The program as it is written: where it has state of its own, in a function that makes the
    callable and, where that is read, a function that reads the state.
    """
    if not program.has_own_state:
        return program
    outside, inside = _split(program)
    return replace(
        program,
        definitions=ast.Module([*outside, _make_factory(inside)], []),
        callable_expression=f"{PROGRAM_FACTORY}()",
    )


def _split(program: SourceProgram) -> tuple[list[ast.stmt], SourceProgram]:
    """The definitions that the inputs need, which a function around them would hide, and the
    program of the others.
    """
    body = program.definitions.body
    names = [set(_list_defined(node)) for node in body]
    needed = find_names(program.inputs)
    outside: set[int] = set()
    while True:
        found = {at for at, defined in enumerate(names) if defined & needed} - outside
        if not found:
            break
        outside |= found
        needed = find_names(*(body[at] for at in found))
    inner = [node for at, node in enumerate(body) if at not in outside]
    rest = replace(program, definitions=ast.Module(inner, []))
    return [node for at, node in enumerate(body) if at in outside], rest


def _list_defined(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    return [name for name, _ in _list_variables([node])]


def _make_factory(program: SourceProgram) -> ast.FunctionDef:
    """A function around the definitions, which returns what they make."""
    reader = find_state_reader(program.definitions)
    body = [
        DeclarationRewriter(_find_assigned(program), ast.Nonlocal).visit(_copy(node))
        for node in program.definitions.body
        if not is_state_reader(node)
    ]
    model = program.callable_expression
    if _MODEL in find_names(reader.body) if reader is not None else not model.isidentifier():
        body += ast.parse(f"{_MODEL} = {model}").body
        model = _MODEL
    returned = model if reader is None else f"({model}, lambda: {ast.unparse(reader.body)})"
    factory = ast.parse(f"def {PROGRAM_FACTORY}():\n    return {returned}").body[0]
    assert isinstance(factory, ast.FunctionDef)
    factory.body = [*body, *factory.body]
    return factory


def _copy(node: ast.stmt) -> ast.stmt:
    return ast.parse(ast.unparse(ast.fix_missing_locations(node))).body[0]


def _find_assigned(program: SourceProgram) -> set[str]:
    """Names of variables that the definitions assign at their top level."""
    return {name for name, _ in _list_variables(program.definitions.body)}


def _list_variables(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                yield target.id, node.value


def _list_expressions(program: SourceProgram, lengths: bool) -> Iterator[str]:
    """What reads the state, one expression for each variable, class attribute and object."""
    yield from _list_in_definitions(program, lengths)
    yield from _list_in_model(program, lengths)


def _find_classes(program: SourceProgram) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in program.definitions.body if isinstance(node, ast.ClassDef)}


def _list_in_definitions(program: SourceProgram, lengths: bool) -> Iterator[str]:
    """What reads variables and attributes of classes."""
    classes = _find_classes(program)
    for name, value in _list_variables(program.definitions.body):
        yield from _write_reading(name, value, lengths, set(classes))
    for owner, definition in classes.items():
        for name, value in _list_variables(definition.body):
            if not name.startswith("__"):
                yield from _write_reading(f"{owner}.{name}", value, lengths, set(classes))


def _list_in_model(program: SourceProgram, lengths: bool) -> Iterator[str]:
    """What reads attributes of the model, and of the objects that it holds; nothing for a
    function.
    """
    if "(" not in program.callable_expression:
        return
    if not lengths:
        condition = 'k[0] != "_" and not hasattr(v, "__dict__")'
        yield f"{{k: v for k, v in vars({_MODEL}).items() if {condition}}}"
    classes = _find_classes(program)
    model = classes.get(program.callable_expression.partition("(")[0])
    if model is not None:
        yield from _list_state_within(_MODEL, model, lengths, classes, _DEEPEST)


def _list_state_within(
    path: str, owner: ast.ClassDef, lengths: bool, classes: dict[str, ast.ClassDef], depth: int
) -> Iterator[str]:
    """What reads the state of the objects that an object at `path` holds, by what the constructor
    of its class, `owner`, says.
    """
    for node in ast.walk(owner):
        if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
            continue
        for statement in node.body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if not isinstance(target, ast.Attribute) or ast.unparse(target.value) != "self":
                continue
            at, value = f"{path}.{target.attr}", statement.value  # type: ignore[attr-defined]
            if path != _MODEL or lengths:  # its own attributes are read as a whole
                yield from _write_reading(at, value, lengths, set())
            if isinstance(value, ast.Call) and read_callee_name(value) in classes and depth:
                yield from _list_state_within(
                    at, classes[read_callee_name(value)], lengths, classes, depth - 1
                )


def _write_reading(name: str, value: ast.expr, lengths: bool, classes: set[str]) -> Iterator[str]:
    if is_container(value):
        yield f"{'list' if _is_dictionary(value) else 'len'}({name})" if lengths else name
    elif isinstance(value, ast.Constant):
        yield name
    elif isinstance(value, ast.Call) and read_callee_name(value) in classes:
        yield f"vars({name})"


def _is_dictionary(value: ast.expr) -> bool:
    """Whether a list of it has its keys, in their order."""
    return isinstance(value, (ast.Dict, ast.DictComp)) or (
        isinstance(value, ast.Call) and read_callee_name(value) in _DICTIONARIES
    )
