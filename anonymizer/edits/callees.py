"""What a call in a program calls, if that is its only call: a function, a method of an object whose
class is known, or a block.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anonymizer.graph.identifiers import find_names
from anonymizer.source.locations import find_method, find_new_objects
from anonymizer.source.program import SourceProgram, find_state_reader

#: The decorators, if any, of what is called by an object, by its class, and of what is only read.
_OF_OBJECT = ("", "staticmethod")
_OF_CLASS = ("classmethod", "staticmethod")
_PROPERTIES = ("property", "functools.cached_property")


@dataclass(frozen=True)
class Target:
    """What is called: a function, `bound` or not.

    `owner` is the class whose method or block it is, `made` the statement that makes that block,
    `moved` the statements of the block's own constructor, and `reader` what reads its state.
    `object` is the variable with the object whose method it is, where a script calls it, or what
    makes that object; of a method of the class it is the class.
    """

    function: ast.FunctionDef
    bound: bool = False
    owner: ast.ClassDef | None = None
    made: ast.stmt | None = None
    moved: tuple[ast.stmt, ...] = ()
    reader: ast.AST | None = None
    object: str = ""


class Index:
    """What a program defines, and how often names are mentioned and attributes read."""

    def __init__(self, program: SourceProgram) -> None:
        trees = (program.definitions, program.inputs, ast.parse(program.callable_expression))
        nodes = [node for tree in trees for node in ast.walk(tree)]
        self.mentions = Counter(node.id for node in nodes if isinstance(node, ast.Name))
        self.reader = find_state_reader(program.definitions)
        on_the_way = _list_on_the_way(self.reader)
        self.reads = Counter(
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and id(node) not in on_the_way
        )
        top = program.definitions.body
        self.functions = {node.name: node for node in top if isinstance(node, ast.FunctionDef)}
        self.classes = {node.name: node for node in top if isinstance(node, ast.ClassDef)}
        #: The classes of objects, by the variables of a script, or the parameters of the entry.
        self.objects = {
            ast.unparse(made.targets[0]): owner
            for made, owner in find_new_objects(program, self.classes)
        } | _list_given_objects(program, self.functions, self.classes)


def _list_given_objects(
    program: SourceProgram,
    functions: Mapping[str, ast.FunctionDef],
    classes: Mapping[str, ast.ClassDef],
) -> dict[str, ast.ClassDef]:
    """The classes of the objects that the entry is given, by its parameters."""
    module = classes.get("Repro")
    entry = find_method(module, "forward") if module is not None else functions.get("repro")
    given = [each for each in entry.args.args if each.arg != "self"] if entry is not None else []
    return {
        parameter.arg: classes[value.func.id]
        for parameter, value in zip(given, program.list_arguments())
        if isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in classes
    }


def _list_on_the_way(reader: ast.AST | None) -> set[int]:
    """The attributes that are read to come to one of theirs: `a.b` in `a.b.c`."""
    nodes = ast.walk(reader) if reader is not None else ()
    return {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}


def resolve(index: Index, owner: ast.ClassDef | None, called: ast.expr) -> Target | None:
    """What is called, if that is its only call; a property is where it is read.

    Args:
        owner: the class of the method that the call is in; None in a function or a script.
        called: a call, or an attribute that is read.
    """
    target = called.func if isinstance(called, ast.Call) else called
    if isinstance(target, ast.Name):
        function = index.functions.get(target.id)
        once = function is not None and index.mentions[target.id] == 1
        return Target(function) if function is not None and once else None
    if not isinstance(target, ast.Attribute) or index.reads[target.attr] != 1:
        return None
    if owner is None and (found := _resolve_member(index, target, isinstance(called, ast.Call))):
        return found
    if not isinstance(called, ast.Call):
        return None
    if owner is None or ast.unparse(target.value) != "self":
        return _resolve_part(index, owner, target)
    method = _find_method(owner, target.attr)
    if method is not None:
        return Target(method, True, owner)
    return _find_block(index, owner, target.attr) or _resolve_call(index, owner, target)


def _resolve_member(index: Index, target: ast.Attribute, is_call: bool) -> Target | None:
    """The method of an object or a class that a script calls, or the property that it reads."""
    base = target.value
    name = ast.unparse(base.func if isinstance(base, ast.Call) else base)
    of_class = index.classes.get(name)
    owner = of_class or index.objects.get(name)
    if owner is None:
        return None
    if of_class is not None and not isinstance(base, ast.Call):
        kinds = _OF_CLASS
    else:
        kinds = _OF_OBJECT if is_call else _PROPERTIES
    method = _find_method(owner, target.attr, kinds)
    if method is None:
        return None
    is_bound = [ast.unparse(each) for each in method.decorator_list] != ["staticmethod"]
    return Target(method, is_bound, owner, object=ast.unparse(base) if is_bound else "")


def _resolve_part(index: Index, owner: ast.ClassDef | None, target: ast.Attribute) -> Target | None:
    """The method of an object that the constructor of a known one makes, or an object there that is
    called itself.
    """
    kept = _find_class(index, owner, target.value)
    method = _find_method(kept, target.attr) if kept is not None else None
    if method is None:
        return _resolve_call(index, owner, target)
    return Target(method, True, kept, object=ast.unparse(target.value))


def _resolve_call(index: Index, owner: ast.ClassDef | None, called: ast.expr) -> Target | None:
    """The method by which an object is called, unless it is a module, where nothing else of its
    class is.
    """
    kept = _find_class(index, owner, called)
    if kept is None or kept.bases or index.mentions[kept.name] != 1:
        return None
    method = _find_method(kept, "__call__")
    return None if method is None else Target(method, True, kept, object=ast.unparse(called))


def _find_class(index: Index, owner: ast.ClassDef | None, value: ast.expr) -> ast.ClassDef | None:
    """The class of an object in a variable or, as constructors say, in an attribute of another;
    `owner` is that of `self`.
    """
    if isinstance(value, ast.Name):
        return owner if value.id == "self" else index.objects.get(value.id)
    holder = _find_class(index, owner, value.value) if isinstance(value, ast.Attribute) else None
    if holder is None or not isinstance(value, ast.Attribute):
        return None
    start = find_method(holder, "__init__")
    made = [
        node.value
        for node in (start.body if start is not None else ())
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == f"self.{value.attr}"
    ]
    only = made[0] if len(made) == 1 else None
    return index.classes.get(ast.unparse(only.func)) if isinstance(only, ast.Call) else None


def needs_no_object(method: ast.FunctionDef) -> bool:
    """Whether a method, called by its name or as its object, reads nothing of that object."""
    is_called_by_python = method.name.startswith("__") and method.name != "__call__"
    if is_called_by_python or method.decorator_list or not method.args.args:
        return False
    return not find_names(*method.body) & {method.args.args[0].arg, "super"}


def _find_method(
    owner: ast.ClassDef, name: str, kinds: Sequence[str] = _OF_OBJECT
) -> ast.FunctionDef | None:
    """A method of a class with one of some decorators, or none; `forward` is called by its
    module.
    """
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            own = " ".join(ast.unparse(each) for each in node.decorator_list)
            is_first = bool(node.args.args) or own == "staticmethod"
            return node if own in kinds and is_first and name != "forward" else None
    return None


def _find_block(index: Index, owner: ast.ClassDef, name: str) -> Target | None:
    """The block behind an attribute, if the constructor makes it without arguments and nobody else
    makes one.
    """
    made = [
        node
        for node in list_constructed(owner)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == f"self.{name}"
    ]
    value = made[0].value if len(made) == 1 else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return None
    block = index.classes.get(value.func.id)
    if block is None or index.mentions[block.name] != 1 or value.args or value.keywords:
        return None
    members = {each.name: each for each in block.body if isinstance(each, ast.FunctionDef)}
    if "forward" not in members or set(members) - {"forward", "__init__"}:
        return None
    moved = tuple(each for each in list_constructed(block) if not calls_base(each))
    return Target(members["forward"], True, owner, made[0], moved, index.reader)


def list_constructed(owner: ast.ClassDef) -> list[ast.stmt]:
    """The statements of the constructor of a class, if that takes nothing but the object."""
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return node.body if len(node.args.args) == 1 else []
    return []


def calls_base(node: ast.stmt) -> bool:
    """Whether a statement calls the constructor of a module's base, without which the module takes
    no sub-modules.
    """
    return ast.unparse(node).startswith(("super().__init__(", "nn.Module.__init__("))
