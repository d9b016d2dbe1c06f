"""Edits that leave the entry without state of its own: its tensors and what its layers make as
arguments, attributes of classes as variables, and then a function in the place of a class.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any

from anonymizer.graph.containers import is_container
from anonymizer.graph.identifiers import find_names
from anonymizer.source.locations import change_each, find_expressions, find_method, put_at
from anonymizer.source.program import SourceProgram

#: What makes a tensor of nothing but sizes and numbers.
_MAKERS = frozenset(
    "torch.arange torch.empty torch.eye torch.full torch.linspace torch.ones torch.rand torch.randn"
    " torch.randint torch.randperm torch.tensor torch.zeros".split()
)
#: Bases of classes whose attributes are those of any class.
_PLAIN_BASES = frozenset(("nn.Module", "object"))
#: A program and the class of its entry.
_Entry = tuple[SourceProgram, ast.ClassDef]
#: The same with a constructor, and a statement of it.
_TensorPlace = tuple[SourceProgram, ast.ClassDef, ast.FunctionDef, ast.stmt]
#: A program, a call in its entry (`find_expressions`), which of the arguments this is given, the
#: sizes of its result, and whether that needs a gradient.
_OutputPlace = tuple[SourceProgram, Any, int, list[ast.expr], bool]
#: A program, a class of it, the statement that gives it an attribute, and that one's name.
_AttributePlace = tuple[SourceProgram, ast.ClassDef, ast.stmt, str]


def pass_tensors(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give the entry a tensor or a container that its constructor makes as one more argument."""

    def locate(each: SourceProgram) -> list[_TensorPlace]:
        return [
            (each, owner, start, statement)
            for owner in filter(None, [_find_entry_class(each)])
            for start in owner.body
            if isinstance(start, ast.FunctionDef) and start.name == "__init__"
            for statement in start.body
            if _read_given(statement) is not None
        ]

    def change(location: _TensorPlace) -> bool:
        whole, owner, start, statement = location
        name, value = _read_given(statement) or ("", statement)
        forward = find_method(owner, "forward")
        given = getattr(getattr(whole.inputs.body[-1], "value", None), "elts", None)
        if forward is None or given is None or name in _find_names(whole):
            return False
        parameters = forward.args
        if parameters.vararg or parameters.kwarg or parameters.kwonlyargs:
            return False
        if len(parameters.args) != len(given) + 1:
            return False
        _AsName(name, {"self"}).visit(forward)
        start.body.remove(statement)
        if any(_is_attribute(node, name) for node in ast.walk(whole.definitions)):
            return False
        parameters.args.append(ast.arg(name))
        parameters.defaults = []
        given.append(value)
        return True

    yield from change_each(program, locate, change)


def pass_outputs(program: SourceProgram) -> Iterator[SourceProgram]:
    """Give the entry what a layer makes of an argument in the place of that argument: of an
    embedding, whose indices no other layer takes, without and with a gradient, of others with one,
    which is often all that a failing backward needs of them.
    """

    def locate(each: SourceProgram) -> list[_OutputPlace]:
        owner = _find_entry_class(each)
        forward = find_method(owner, "forward") if owner is not None else None
        if owner is None or forward is None:
            return []
        names = [argument.arg for argument in forward.args.args[1:]]
        made = dict(_list_assigned(each.inputs))
        arguments = {
            name: made.get(ast.unparse(given), given)
            for name, given in zip(names, each.list_arguments())
        }
        return [
            (each, place, names.index(place[3].args[0].id), shape, gradient)
            for place in find_expressions(forward, ast.Call)
            if len(place[3].args) == 1 and isinstance(place[3].args[0], ast.Name)
            for layer in [_find_layer(owner, place[3].func)]
            for sizes in [_read_sizes(arguments.get(place[3].args[0].id))]
            if layer is not None and sizes is not None
            for shape in [_compute_output_sizes(layer, sizes)]
            if shape is not None
            for gradient in ((False, True) if _is_embedding(layer) else (True,))
        ]

    def change(location: _OutputPlace) -> None:
        whole, place, at, sizes, needs_gradient = location
        put_at(place, place[3].args[0])
        keywords = [ast.keyword("requires_grad", ast.Constant(True))] if needs_gradient else []
        maker = ast.Attribute(ast.Name("torch", ast.Load()), "randn", ast.Load())
        whole.list_arguments()[at] = ast.Call(maker, sizes, keywords)

    yield from change_each(program, locate, change)


def _list_assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The names that the statements of `inputs()` bind, each with its value."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            yield statement.targets[0].id, statement.value


def _find_layer(owner: ast.ClassDef, called: ast.expr) -> ast.Call | None:
    """The call by which the constructor makes the layer of `nn` that it assigns to `called`."""
    start = find_method(owner, "__init__")
    for statement in start.body if start is not None else ():
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        is_layer = ast.unparse(statement.targets[0]) == ast.unparse(called)
        if is_layer and ast.unparse(statement.value.func).startswith("nn."):
            return statement.value
    return None


def _is_embedding(layer: ast.Call) -> bool:
    return ast.unparse(layer.func) == "nn.Embedding"


def _compute_output_sizes(layer: ast.Call, sizes: list[ast.expr]) -> list[ast.expr] | None:
    """The sizes of what a layer makes of a tensor of `sizes`: an embedding adds its width, a linear
    layer changes the last one, of any other they are taken to stay; None where the constructor does
    not write the width as a number.
    """
    words = {"nn.Embedding": "embedding_dim", "nn.Linear": "out_features"}
    word = words.get(ast.unparse(layer.func))
    if word is None:
        return sizes
    named = {each.arg: each.value for each in layer.keywords}
    width = (*layer.args[1:2], named.get(word))[0]
    kept = sizes if _is_embedding(layer) else sizes[:-1]
    return [*kept, width] if isinstance(width, ast.Constant) else None


def _read_sizes(given: ast.expr | None) -> list[ast.expr] | None:
    """The sizes of a tensor that an expression makes by itself; None where they are not written as
    numbers.
    """
    if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute):
        return None
    name = ast.unparse(given.func)
    if given.func.attr == "masked_fill":
        return _read_sizes(given.func.value)
    if name == "torch.randint" and isinstance(given.args[-1], ast.Tuple):
        sizes = given.args[-1].elts
    elif name == "torch.full" and isinstance(given.args[0], ast.Tuple):
        sizes = given.args[0].elts
    elif name in ("torch.ones", "torch.zeros", "torch.arange", "torch.randn", "torch.rand"):
        sizes = given.args
    else:
        return None
    return sizes if all(isinstance(size, ast.Constant) for size in sizes) else None


def free_class_attributes(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make a variable of an attribute of a class that nothing assigns."""

    def locate(each: SourceProgram) -> list[_AttributePlace]:
        return [
            (each, owner, statement, target.id)
            for owner in each.definitions.body
            if isinstance(owner, ast.ClassDef) and _is_plain(owner)
            for statement in owner.body
            if isinstance(statement, ast.Assign)
            for target in statement.targets[:1]
            if isinstance(target, ast.Name) and not target.id.startswith("__")
        ]

    def change(location: _AttributePlace) -> bool:
        whole, owner, statement, name = location
        if name in _find_names(whole, but=statement):
            return False
        owner.body.remove(statement)
        owner.body = owner.body or [ast.Pass()]
        at = whole.definitions.body.index(owner)
        _AsName(name, {owner.name}).visit(whole.definitions)
        _AsName(name, {"self"}).visit(owner)
        whole.definitions.body.insert(at, statement)
        return not any(_is_attribute(node, name) for node in ast.walk(whole.definitions))

    yield from change_each(program, locate, change)


def free_entry(program: SourceProgram) -> Iterator[SourceProgram]:
    """Make a function of the entry's class, which each run makes anew, where that has a `forward`
    alone, which does nothing with the object. Of other programs the plain form does it.
    """
    if not program.has_own_state:
        return

    def locate(each: SourceProgram) -> list[_Entry]:
        owner = _find_entry_class(each)
        return [(each, owner)] if owner is not None else []

    def change(location: _Entry) -> bool:
        whole, owner = location
        forward = owner.body[0]
        if len(owner.body) != 1 or not isinstance(forward, ast.FunctionDef):
            return False
        if forward.name != "forward" or not forward.args.args:
            return False
        receiver = forward.args.args[0].arg
        read = find_names(forward)
        if receiver in read or read & {"super", "repro"} or forward.decorator_list:
            return False
        if owner.name in _find_names(whole):
            return False
        forward.name, forward.args.args = "repro", forward.args.args[1:]
        whole.definitions.body[whole.definitions.body.index(owner)] = forward
        return True

    for made in change_each(program, locate, change):
        yield dataclasses.replace(made, callable_expression="repro")


def forget_evaluation(program: SourceProgram) -> Iterator[SourceProgram]:
    """Leaves the module that is called as it is made, in training mode."""
    made = program.callable_expression.removesuffix(".eval()")
    if made != program.callable_expression:
        yield dataclasses.replace(program, callable_expression=made)


def _find_entry_class(program: SourceProgram) -> ast.ClassDef | None:
    """The class of the module that is called, made without arguments."""
    if program.callable_expression not in ("Repro()", "Repro().eval()"):
        return None
    classes = (node for node in program.definitions.body if isinstance(node, ast.ClassDef))
    owner = next((node for node in classes if node.name == "Repro"), None)
    return owner if owner is not None and _is_plain(owner) else None


def _is_plain(owner: ast.ClassDef) -> bool:
    bases = {ast.unparse(base) for base in owner.bases}
    return bases <= _PLAIN_BASES and not owner.keywords and not owner.decorator_list


def _read_given(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """The attribute and the value of `self.name = torch.randn(2)`, of a parameter, a buffer, or a
    container.
    """
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
        target = statement.targets[0]
        value = _without_parameter(statement.value)
        is_own = ast.unparse(target.value) == "self"
        is_container_alone = is_container(value) and "self" not in find_names(value)
        is_given = is_container_alone or _makes_tensor(value)
        return (target.attr, value) if is_own and is_given else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "self.register_buffer":
        name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        if isinstance(name, str) and len(call.args) > 1 and _makes_tensor(call.args[1]):
            return name, call.args[1]
    return None


def _without_parameter(value: ast.expr) -> ast.expr:
    """A parameter as a tensor that requires a gradient."""
    if not isinstance(value, ast.Call) or ast.unparse(value.func) != "nn.Parameter":
        return value
    if not value.args or value.keywords:
        return value.args[0] if value.args else value
    return ast.Call(ast.Attribute(value.args[0], "requires_grad_", ast.Load()), [], [])


def _makes_tensor(value: ast.expr) -> bool:
    """Whether an expression makes a tensor of nothing that has a name."""
    made = {ast.unparse(node.func) for node in ast.walk(value) if isinstance(node, ast.Call)}
    return find_names(value) == {"torch"} and bool(made & _MAKERS)


def _is_attribute(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name


def _find_names(program: SourceProgram, but: ast.AST | None = None) -> set[str]:
    """The names that a program binds and reads, but for those of one statement."""
    skipped = {id(node) for node in ast.walk(but)} if but is not None else set()
    nodes = [node for tree in (program.definitions, program.inputs) for node in ast.walk(tree)]
    names = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in skipped}
    return names | {node.arg for node in nodes if isinstance(node, ast.arg)}


class _AsName(ast.NodeTransformer):
    """`owner.name` as `name`, for each of the owners; what is assigned stays."""

    def __init__(self, name: str, owners: set[str]) -> None:
        self.name, self.owners = name, owners

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        is_read = node.attr == self.name and isinstance(node.ctx, ast.Load)
        if is_read and isinstance(node.value, ast.Name) and node.value.id in self.owners:
            return ast.Name(self.name, ast.Load())
        return node
