"""Function bodies as they are written by hand: no name for what is used once, results by the names
that torch gives them.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable, Iterator

from anonymizer.graph.identifiers import NameSubstitution, find_names
from anonymizer.graph.program_factory import walk_scope

#: Fields of the named tuples that operators return, by operator (`torch.return_types`).
_VALUES = ("values", "indices")
_FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("max", "min", "sort", "topk", "kthvalue", "median", "nanmedian", "mode"), _VALUES
    ),
    **dict.fromkeys(("cummax", "cummin"), _VALUES),
    "aminmax": ("min", "max"),
    "frexp": ("mantissa", "exponent"),
    "slogdet": ("sign", "logabsdet"),
}
#: Those that return one tensor unless a dimension is given.
_BY_DIMENSION = frozenset(("max", "min", "median", "nanmedian"))
_GENERATED = re.compile(r"(?:v|value|arg|local)\d+")
#: An attribute that became a parameter keeps its name.
_ATTRIBUTE = re.compile(r"attr\d*")
_LETTERS = ("x", "y", "z", "w", "u", "v")
#: A statement that switches the grad mode, and the context in which it is switched.
_GRAD_SWITCH = re.compile(r"torch\.(?:_C\._)?set_grad_enabled\((True|False)\)")
_GRAD_CONTEXTS = {"False": "torch.no_grad()", "True": "torch.enable_grad()"}
#: Names of one function that letters can still tell apart.
_FEW = 5
#: Characters of a statement that is still read at one glance.
_WIDTH = 60


def tidy_functions(tree: ast.Module) -> None:
    """Rewrites every function of a program in place; what it computes, and in which order, stays.

    A value that is used once, by the next statement and before anything else is called there, is
    written where it is used; a value has one name; `[0]` of a named result is its field; what
    stands between switches of the grad mode is in a `with` statement; generated names become
    letters where they are few.
    """
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            _use_contexts(node)
            while _drop_alias(node):
                pass
            while _inline_one(node):
                pass
            _return_inside(node)
            _drop_empty_return(node)
            _Fields().visit(node)
            _rename(node, keywords)
    ast.fix_missing_locations(tree)


def _drop_empty_return(function: ast.FunctionDef) -> None:
    """Takes out a last statement that returns nothing."""
    *others, last = function.body
    if others and isinstance(last, ast.Return) and ast.unparse(last) in ("return", "return None"):
        function.body = others


def use_grad_contexts(definitions: str) -> str:
    """The program with `with` statements for what stands between switches of the grad mode; as it
    is where nothing is switched.
    """
    tree = ast.parse(definitions)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            _use_contexts(node)
    text = ast.unparse(ast.fix_missing_locations(tree))
    return definitions if text == ast.unparse(ast.parse(definitions)) else text


def return_one_field(definitions: str) -> Iterator[str]:
    """The program that returns one field of the named tuple that its last operator gives, for each
    field; nothing where it returns anything else.
    """
    tree = ast.parse(definitions)
    entry = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in ("repro", "forward")
    ]
    last = entry[0].body[-1] if len(entry) == 1 else None
    if not isinstance(last, ast.Return) or last.value is None:
        return
    value = last.value
    made = entry[0].body[-2] if isinstance(value, ast.Name) and len(entry[0].body) > 1 else None
    call = value
    if isinstance(made, ast.Assign) and ast.unparse(made.targets[0]) == ast.unparse(value):
        call = made.value
    for index in range(len(_find_fields(call))):
        last.value = ast.Subscript(value, ast.Constant(index), ast.Load())
        yield ast.unparse(ast.fix_missing_locations(tree))


def _find_fields(call: ast.expr) -> tuple[str, ...]:
    """The fields of the named tuple that an operator gives; none where it gives a tensor."""
    called = call.func if isinstance(call, ast.Call) else None
    if not isinstance(called, ast.Attribute):
        return ()
    if called.attr in _BY_DIMENSION and not _has_dimension(call):
        return ()
    return _FIELDS.get(called.attr, ())


def _inline_one(function: ast.FunctionDef) -> bool:
    for block in _list_blocks(function):
        for index, (made, user) in enumerate(zip(block, block[1:])):
            target = made.targets[0] if isinstance(made, ast.Assign) else None
            if not (isinstance(made, ast.Assign) and isinstance(target, ast.Name)):
                continue
            uses = _find_uses(function, target.id)
            if len(made.targets) != 1 or len(uses) != 2:  # it is assigned once and used once
                continue
            if target.id in _list_declared(function):  # others read it after the call
                continue
            written = _inline(user, target.id, made.value)
            if written is not None:
                block[index : index + 2] = [written]
                return True
    return False


def _drop_alias(function: ast.FunctionDef) -> bool:
    """Takes out one `y = x` of two local names that always have this one value."""
    if any(
        isinstance(node, (ast.Lambda, ast.FunctionDef))
        for node in ast.walk(function)
        if node is not function
    ):
        return False
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    for block in _list_blocks(function):
        for index, made in enumerate(block):
            target = made.targets[0] if isinstance(made, ast.Assign) else None
            if not (isinstance(made, ast.Assign) and isinstance(target, ast.Name)):
                continue
            value = made.value
            if len(made.targets) != 1 or not isinstance(value, ast.Name) or len(block) == 1:
                continue
            stores = {
                name: (name in parameters) + _count_stores(function, name)
                for name in (target.id, value.id)
            }
            if set(stores.values()) == {1} and target.id not in _list_declared(function):
                del block[index]
                NameSubstitution({target.id: value}).visit(function)
                return True
    return False


def _count_stores(function: ast.FunctionDef, name: str) -> int:
    return sum(not isinstance(node.ctx, ast.Load) for node in _find_uses(function, name))


def _use_contexts(function: ast.FunctionDef) -> None:
    """What stands between switching the grad mode and switching it back is a `with` statement; so
    is the rest of a function that never does, since people leave no mode switched.

    The first switch tells which mode the function begins in: the other one.
    """
    switches = [_GRAD_SWITCH.fullmatch(ast.unparse(node)) for node in function.body]
    switched = next((switch[1] for switch in switches if switch is not None), None)
    if switched is None:
        return
    body: list[ast.stmt] = []
    region: list[ast.stmt] = []
    is_inside = False
    for node, switch in zip(function.body, switches):
        if switch is not None:
            if is_inside and switch[1] != switched:
                region = []
            is_inside = switch[1] == switched
        elif not is_inside:
            body.append(node)
        else:
            if not region:
                body.append(_write_region(_GRAD_CONTEXTS[switched], region))
            region.append(node)
    function.body = body or [ast.Pass()]


def _write_region(context: str, statements: list[ast.stmt]) -> ast.With:
    """A `with` statement whose body is this list, which may still grow."""
    with_ = ast.parse(f"with {context}:\n    pass").body[0]
    assert isinstance(with_, ast.With)
    with_.body = statements
    return with_


def _return_inside(function: ast.FunctionDef) -> None:
    """`with …: y = f(x)`, then `return y`, returns from the `with` statement."""
    if len(function.body) < 2:
        return
    block, last = function.body[-2:]
    if not (isinstance(block, ast.With) and isinstance(last, ast.Return)):
        return
    made, value = block.body[-1], last.value
    if isinstance(made, ast.Assign) and isinstance(value, ast.Name):
        names = [ast.unparse(target) for target in made.targets]
        if names == [value.id] and len(_find_uses(function, value.id)) == 2:
            block.body[-1] = ast.Return(made.value)
            function.body.pop()


def _list_declared(function: ast.FunctionDef) -> set[str]:
    """The names that a function, or one in it, declares `global` or `nonlocal`."""
    nodes = (each for each in ast.walk(function) if isinstance(each, (ast.Global, ast.Nonlocal)))
    return {name for node in nodes for name in node.names}


def _list_blocks(function: ast.FunctionDef) -> list[list[ast.stmt]]:
    """The lists of statements of a function, those of its `with` statements too."""
    found = [function.body]
    for node in ast.walk(function):
        if isinstance(node, ast.With):
            found.append(node.body)
    return found


def _find_uses(function: ast.FunctionDef, name: str) -> list[ast.Name]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]


def _inline(user: ast.stmt, name: str, value: ast.expr) -> ast.stmt | None:
    """The statement with the value in the place of its name; None where that reorders calls or
    makes it hard to read.
    """
    if not isinstance(user, (ast.Assign, ast.Return, ast.Expr)) or user.value is None:
        return None
    if isinstance(user, ast.Assign) and not isinstance(user.targets[0], ast.Name):
        return None
    if not _comes_first(user.value, name):
        return None
    replaced: ast.stmt = NameSubstitution({name: value}).visit(copy.deepcopy(user))
    return replaced if len(ast.unparse(ast.fix_missing_locations(replaced))) <= _WIDTH else None


def _comes_first(value: ast.expr, name: str) -> bool:
    """Whether a name is evaluated before anything is called or computed in an expression."""
    order: list[ast.AST] = []

    def walk(node: ast.AST) -> None:
        for child in _list_evaluated(node):
            walk(child)
        order.append(node)

    walk(value)
    for node in order:
        if isinstance(node, ast.Name) and node.id == name:
            return True
        if isinstance(node, (ast.Call, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Compare)):
            return False
    return False


def _list_evaluated(node: ast.AST) -> list[ast.AST]:
    """The parts of an expression that are evaluated with it, once and whatever their values are."""
    match node:
        case ast.Lambda():
            return []
        case ast.IfExp():
            return [node.test]
        case ast.BoolOp():
            return [node.values[0]]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return [node.generators[0].iter]
        case _:
            return list(ast.iter_child_nodes(node))


class _Fields(ast.NodeTransformer):
    """`torch.min(x, 1)[0]` as `torch.min(x, 1).values`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        at = node.slice.value if isinstance(node.slice, ast.Constant) else None
        fields = _find_fields(node.value)
        if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at < len(fields):
            return node
        return ast.Attribute(node.value, fields[at], ast.Load())


def _has_dimension(call: ast.expr) -> bool:
    assert isinstance(call, ast.Call)
    given = (each.operand if isinstance(each, ast.UnaryOp) else each for each in call.args)
    numbers = any(isinstance(each, ast.Constant) for each in given)
    return numbers or any(keyword.arg == "dim" for keyword in call.keywords)


def _rename(function: ast.FunctionDef, keywords: set[str]) -> None:
    """Generated names (`v0`, `value1`) become the letters that people use, where there are few."""
    parameters = [node.arg for node in ast.walk(function) if isinstance(node, ast.arg)]
    assigned = [
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    own = dict.fromkeys([*parameters, *assigned])
    generated = [
        name
        for name in own
        if _GENERATED.fullmatch(name) or name in parameters and _ATTRIBUTE.fullmatch(name)
    ]
    kept = keywords | _list_outer_names(function, parameters)
    generated = [name for name in generated if name not in kept]
    taken = find_names(function) | set(parameters)
    free = [letter for letter in _LETTERS if letter not in taken]
    if len(generated) > min(_FEW, len(free)):
        return
    names = dict(zip(generated, free))
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
        elif isinstance(node, ast.Nonlocal):
            node.names = [names.get(name, name) for name in node.names]


def _list_outer_names(function: ast.FunctionDef, parameters: Iterable[str]) -> set[str]:
    """The names that a function or one in it declares, and that are variables of what is around
    it.
    """
    scope = list(walk_scope(function.body))
    names = (node for node in scope if isinstance(node, ast.Name))
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(parameters)
    outer: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            is_inner = isinstance(node, ast.Nonlocal) and node not in scope
            outer |= set(node.names) - (bound if is_inner else set())
    return outer
