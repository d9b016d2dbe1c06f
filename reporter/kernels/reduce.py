"""A failing kernel made small: statements, then parameters, as long as the same target fails in the same way.

All changes of one sweep are compiled by one process, each in a fork, since starting Triton costs more than compiling.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from reporter.lab import Json
from reporter.reduce.ddmin import minimise_list

#: Texts and launches to try, and for each whether the failure is still there.
Try = Callable[[Sequence["Kernel"]], list[bool]]
_BATCH = 16


@dataclass(frozen=True)
class Kernel:
    """A public kernel: `text` defines `name`; `launch` has `signature`, `constexprs`, `aligned` and `options` in its names."""

    text: str
    name: str
    launch: Json

    @property
    def statements(self) -> int:
        """Statements in the bodies of all its functions."""
        return len(list(_places(ast.parse(self.text))))


def smallest(kernel: Kernel, attempt: Try) -> Kernel:
    """The kernel with as few statements and parameters as still fail; `kernel` itself must fail."""

    def first(proposals: Sequence[list[int]]) -> int | None:
        for start in range(0, len(proposals), _BATCH):
            batch = [_with(kernel, keep) for keep in proposals[start : start + _BATCH]]
            answers = attempt(batch)
            if True in answers:
                return start + answers.index(True)
        return None

    small = _with(kernel, minimise_list(list(range(kernel.statements)), first))
    small = _bypassed(small, attempt)
    kernel = small  # what was bypassed leaves statements that nothing reads
    small = _with(small, minimise_list(list(range(small.statements)), first))
    return _without_parameters(small, attempt)


def _bypassed(kernel: Kernel, attempt: Try) -> Kernel:
    """The kernel with operations replaced by one of their operands, until none can be: a chain of statements hangs together."""
    while True:
        proposals = list(_bypasses(kernel))
        found = None
        for start in range(0, len(proposals), _BATCH):
            answers = attempt(proposals[start : start + _BATCH])
            if True in answers:
                found = proposals[start + answers.index(True)]
                break
        if found is None:
            return kernel
        kernel = found


def _bypasses(kernel: Kernel) -> Iterator[Kernel]:
    """One text for each right-hand side and operand of it: an operand that is a name takes the operation's place."""
    count = sum(isinstance(node, ast.Assign) for node in ast.walk(ast.parse(kernel.text)))
    for number in range(count):
        for choice in range(3):
            tree = ast.parse(kernel.text)
            assign = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)][number]
            value = assign.value
            operands = [value.left, value.right] if isinstance(value, ast.BinOp) else []
            names = [item for item in operands if isinstance(item, ast.Name)]
            if choice < len(names) and isinstance(assign.targets[0], ast.Name):
                renamed = _Renamed(assign.targets[0].id, names[choice].id).visit(tree)
                assign.value = ast.Constant(0)  # nothing reads it any more
                yield replace(kernel, text=ast.unparse(ast.fix_missing_locations(renamed)))


class _Renamed(ast.NodeTransformer):
    """Reads of one variable become reads of another."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        is_read = node.id == self.old and isinstance(node.ctx, ast.Load)
        return ast.Name(self.new, node.ctx) if is_read else node


def _places(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Each statement inside a function, as the list that holds it and its index, outer ones first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            continue
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                for index in range(len(block)):
                    yield block, index


def _with(kernel: Kernel, keep: Sequence[int]) -> Kernel:
    tree = ast.parse(kernel.text)
    wanted = set(keep)
    gone = {
        id(block[index])
        for number, (block, index) in enumerate(_places(tree))
        if number not in wanted
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            continue
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                left = [item for item in block if id(item) not in gone]
                setattr(node, name, left or ([ast.Pass()] if name == "body" else []))
    return replace(kernel, text=ast.unparse(ast.fix_missing_locations(_called(tree, kernel.name))))


def _called(tree: ast.Module, name: str) -> ast.Module:
    """The module without definitions that nothing uses any more."""
    while True:
        used = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        left = [item for item in tree.body if _defines(item) in used | {name}]
        if len(left) == len(tree.body):
            return tree
        tree.body = left


def _defines(item: ast.stmt) -> str:
    if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
        return item.targets[0].id
    return getattr(item, "name", "")


def _without_parameters(kernel: Kernel, attempt: Try) -> Kernel:
    """Without the parameters of the kernel that its body does not read."""
    tree = ast.parse(kernel.text)
    function = next(
        n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == kernel.name
    )
    used = {
        node.id for item in function.body for node in ast.walk(item) if isinstance(node, ast.Name)
    }
    left = [item for item in function.args.args if item.arg in used]
    if len(left) == len(function.args.args) or function.args.defaults or function.args.kwonlyargs:
        return kernel
    function.args.args = left
    names = {item.arg for item in left}
    launch = copy.deepcopy(kernel.launch)
    for key in ("signature", "constexprs"):
        launch[key] = {name: value for name, value in launch[key].items() if name in names}
    launch["aligned"] = [name for name in launch["aligned"] if name in names]
    shorter = replace(kernel, text=ast.unparse(tree), launch=launch)
    return shorter if attempt([shorter])[0] else kernel
