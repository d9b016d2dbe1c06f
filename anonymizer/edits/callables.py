"""Edits on what is called: a function in the place of an object's method, and in the place of what
only hands its arguments on to it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from anonymizer.edits.callees import needs_no_object
from anonymizer.graph.identifiers import NameSubstitution, find_names
from anonymizer.source.locations import change_each, find_expressions, find_new_objects, put_at
from anonymizer.source.program import SourceProgram

#: A program, the statement that makes an object, the object's class, and a method of it.
_MethodPlace = tuple[SourceProgram, ast.Assign, ast.ClassDef, ast.FunctionDef]


def free_bound_methods(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make a function of a method of an object in a variable, which does nothing with the object:
    `state.method(x)` as `helper(x)`, and `state(x)` too, where the class can be called.
    """

    def locate(each: SourceProgram) -> list[_MethodPlace]:
        plain = {
            node.name: node
            for node in each.definitions.body
            if isinstance(node, ast.ClassDef)
            and not (node.bases or node.keywords or node.decorator_list)
        }
        return [
            (each, statement, owner, method)
            for statement, owner in find_new_objects(each, plain)
            for method in owner.body
            if isinstance(method, ast.FunctionDef) and needs_no_object(method)
        ]

    def change(location: _MethodPlace) -> bool:
        whole, statement, owner, method = location
        name = ast.unparse(statement.targets[0])
        function = _make_name(whole)
        read = [
            part
            for part in find_expressions(whole, (ast.Attribute, ast.Call))
            if ast.unparse(getattr(part[3], "value", part[3])) == name
            and getattr(part[3], "attr", "") == method.name
            or method.name == "__call__"
            and isinstance(part[3], ast.Call)
            and ast.unparse(part[3].func) == name
        ]
        for part in read:
            if isinstance(part[3], ast.Call):
                part[3].func = ast.Name(function, ast.Load())
            else:
                put_at(part, ast.Name(function, ast.Load()))
        if not read or method.name in {
            node.attr for node in ast.walk(whole.definitions) if isinstance(node, ast.Attribute)
        }:
            return False
        owner.body.remove(method)
        owner.body = owner.body or [ast.Pass()]
        method.name, method.args.args = function, method.args.args[1:]
        whole.definitions.body.insert(whole.definitions.body.index(owner), method)
        _drop_other_name(whole.definitions, function)
        return True

    yield from change_each(program, locate, change)


def free_modules(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make a function of a module class that has a `forward` alone, which does nothing with the
    object: `compile(Block1())(x)` as `compile(helper1)(x)`. The entry's is left to the plain form.
    """

    def locate(each: SourceProgram) -> list[tuple[SourceProgram, ast.ClassDef, ast.FunctionDef]]:
        return [
            (each, owner, forward)
            for owner in each.definitions.body
            if isinstance(owner, ast.ClassDef) and len(owner.body) == 1 and owner.name != "Repro"
            if [ast.unparse(base) for base in owner.bases] == ["nn.Module"]
            for forward in owner.body
            if isinstance(forward, ast.FunctionDef) and forward.name == "forward"
            if not (owner.keywords or owner.decorator_list) and needs_no_object(forward)
        ]

    def change(location: tuple[SourceProgram, ast.ClassDef, ast.FunctionDef]) -> bool:
        whole, owner, forward = location
        made = [
            place
            for place in find_expressions(whole, ast.Call)
            if ast.unparse(place[3]) == f"{owner.name}()"
        ]
        forward.name, forward.args.args = _make_name(whole), forward.args.args[1:]
        for place in made:
            put_at(place, ast.Name(forward.name, ast.Load()))
        whole.definitions.body[whole.definitions.body.index(owner)] = forward
        return bool(made) and owner.name not in find_names(whole.definitions)

    yield from change_each(program, locate, change)


def _drop_other_name(whole: ast.Module, function: str) -> None:
    """Calls a function by its own name where a variable beside it is nothing else."""
    for statement in list(whole.body):
        if isinstance(statement, ast.Assign) and ast.unparse(statement.value) == function:
            whole.body.remove(statement)
            names = [ast.unparse(target) for target in statement.targets]
            NameSubstitution(dict.fromkeys(names, statement.value)).visit(whole)


def _make_name(program: SourceProgram) -> str:
    """A name for a function that the program does not have."""
    taken = find_names(program.definitions, program.inputs)
    taken |= {getattr(node, "name", "") for node in ast.walk(program.definitions)}
    return next(name for at in range(1, len(taken) + 2) if (name := f"helper{at}") not in taken)


def call_directly(program: SourceProgram) -> Iterator[SourceProgram]:
    """Call what another function is given first with what it is given besides: `self.block(x)` for
    `checkpoint(self.block, x, use_reentrant=False)`.
    """

    def locate(each: SourceProgram) -> list[tuple[ast.AST, str, int | None, ast.Call]]:
        functions = {n.name for n in each.definitions.body if isinstance(n, ast.FunctionDef)}
        return [
            place
            for place in find_expressions(each, ast.Call)
            if len(place[3].args) > 1 and _may_be_called(place[3].args[0], functions)
        ]

    def change(location: tuple[ast.AST, str, int | None, ast.Call]) -> None:
        put_at(location, ast.Call(location[3].args[0], location[3].args[1:], []))

    yield from change_each(program, locate, change)


def _may_be_called(given: ast.expr, functions: Collection[str]) -> bool:
    """Whether an expression is a function of the program, a lambda or an attribute of an object."""
    if isinstance(given, ast.Name):
        return given.id in functions
    is_own = isinstance(given, ast.Attribute) and ast.unparse(given).startswith("self.")
    return is_own or isinstance(given, ast.Lambda)


def skip_entry(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make a function the entry where the entry does nothing but hand its arguments on to it."""

    def locate(each: SourceProgram) -> list[tuple[ast.Module, ast.FunctionDef, ast.FunctionDef]]:
        functions = {n.name: n for n in each.definitions.body if isinstance(n, ast.FunctionDef)}
        entry = functions.get("repro")
        called = _find_handed(entry.args, entry.body) if entry is not None else None
        helper = functions.get(called.id) if isinstance(called, ast.Name) else None
        if entry is None or helper is None or entry.decorator_list or helper.decorator_list:
            return []
        return [(each.definitions, entry, helper)]

    def change(location: tuple[ast.Module, ast.FunctionDef, ast.FunctionDef]) -> bool:
        whole, entry, helper = location
        whole.body.remove(entry)
        if helper.name in find_names(whole) or len(helper.args.args) != len(entry.args.args):
            return False
        helper.name = "repro"
        return True

    if program.callable_expression == "repro":
        yield from change_each(program, locate, change)


def drop_lambdas(program: SourceProgram) -> Iterator[SourceProgram]:
    """A function in the place of a lambda that does nothing but hand its arguments on to it."""

    def locate(each: SourceProgram) -> list[tuple[tuple[ast.AST, str, int | None], ast.expr]]:
        return [
            (place, called)
            for place in find_expressions(each, ast.Lambda)
            if (called := _find_handed(place[3].args, [ast.Return(place[3].body)])) is not None
        ]

    def change(location: tuple[tuple[ast.AST, str, int | None], ast.expr]) -> None:
        put_at(*location)

    yield from change_each(program, locate, change)


def _find_handed(arguments: ast.arguments, body: list[ast.stmt]) -> ast.expr | None:
    """What a function calls with its own arguments, in their order, if it does nothing else."""
    last = body[0] if len(body) == 1 else None
    call = last.value if isinstance(last, ast.Return) else None
    if (
        not isinstance(call, ast.Call)
        or call.keywords
        or not isinstance(call.func, (ast.Name, ast.Attribute))
    ):
        return None
    own = [each.arg for each in arguments.args]
    others = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.defaults)
    given = [each.id for each in call.args if isinstance(each, ast.Name)]
    if any(others) or len(given) != len(call.args) or given != own or not own:
        return None
    return None if find_names(call.func) & set(own) else call.func
