"""A failing kernel made small: statements, parameters, then numbers, as long as the same target
fails in the same way.

All changes of one sweep are compiled by one process, each in a fork, since starting Triton costs
more than compiling.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from collectors.protocol.kernels import KernelLaunch
from reporter.core.delta_debugging import minimize_list

#: Texts and launches to try, and for each whether the failure is still there.
Try = Callable[[Sequence["KernelCandidate"]], list[bool]]
_BATCH = 64
_SWEEPS = 8


@dataclass(frozen=True)
class KernelCandidate:
    """A public kernel: `text` defines `name`; `launch` has `signature`, `constexprs`, `aligned` and
    `options` in its names.
    """

    text: str
    name: str
    launch: KernelLaunch

    @property
    def statements(self) -> int:
        """Statements in the bodies of all its functions."""
        return len(list(_list_positions(ast.parse(self.text))))


def reduce_kernel(kernel: KernelCandidate, attempt: Try) -> KernelCandidate:
    """The kernel with as few statements and parameters as still fail; `kernel` itself must fail."""

    def find_first(proposals: Sequence[list[int]]) -> int | None:
        for start in range(0, len(proposals), _BATCH):
            batch = [_keep_only(kernel, keep) for keep in proposals[start : start + _BATCH]]
            answers = attempt(batch)
            if True in answers:
                return start + answers.index(True)
        return None

    small = _keep_only(kernel, minimize_list(list(range(kernel.statements)), find_first))
    small = _simplify_launch(_without_copies(_hoist(small, attempt), attempt), attempt)
    kernel = small  # what was replaced leaves statements that nothing reads
    small = _keep_only(small, minimize_list(list(range(small.statements)), find_first))
    return _simplify_numbers(_without_parameters(small, attempt), attempt)


def _hoist(kernel: KernelCandidate, attempt: Try) -> KernelCandidate:
    """The kernel with expressions replaced by a part of themselves, until none can be.

    All edits that hold alone are tried together, since a sweep costs a process; else the first of
    them counts.
    """
    for _ in range(_SWEEPS):
        edits = _list_edits(ast.parse(kernel.text))
        holds: list[_Edit] = []
        for start in range(0, len(edits), _BATCH):
            batch = edits[start : start + _BATCH]
            answers = attempt([_edit(kernel, [edit]) for edit in batch])
            holds += [edit for edit, answer in zip(batch, answers) if answer]
        if not holds:
            return kernel
        together = _edit(kernel, holds)
        kernel = together if attempt([together])[0] else _edit(kernel, holds[:1])
        kernel = _keep_only(
            kernel, range(kernel.statements)
        )  # without helpers that are no longer used
    return kernel


def _without_copies(kernel: KernelCandidate, attempt: Try) -> KernelCandidate:
    """The kernel without statements that only give a value another name."""
    done = 0
    while True:
        tree = ast.parse(kernel.text)
        copies = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Name)
        ]
        if done >= len(copies):
            return kernel
        target, value = copies[done].targets[0], copies[done].value
        assert isinstance(target, ast.Name) and isinstance(value, ast.Name)
        number = next(
            index
            for index, (block, at) in enumerate(_list_positions(tree))
            if block[at] is copies[done]
        )
        renamed = replace(
            kernel, text=ast.unparse(_VariableRenaming(target.id, value.id).visit(tree))
        )
        proposal = _keep_only(renamed, [at for at in range(renamed.statements) if at != number])
        if attempt([proposal])[0]:
            kernel = proposal
        else:
            done += 1


class _VariableRenaming(ast.NodeTransformer):
    """Reads of one variable become reads of another."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        is_read = node.id == self.old and isinstance(node.ctx, ast.Load)
        return ast.Name(self.new, node.ctx) if is_read else node


@dataclass(frozen=True)
class _Edit:
    """`position` counts expressions from the outside in; of that one, part number `part` stays, or
    a keyword goes.
    """

    position: int
    part: int
    keyword: bool = False


def _list_expressions(tree: ast.AST) -> list[ast.expr]:
    """The expressions within the functions of a module, each before its parts; annotations and
    decorators aside.
    """
    found: list[ast.expr] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
            found.append(node)
        for child in ast.iter_child_nodes(node):
            visit(child)

    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                visit(statement)
    return found


def _list_parts(node: ast.expr) -> list[ast.expr]:
    """What an operation works on, each of which could stand in its place."""
    if isinstance(node, ast.Call):
        is_method = isinstance(node.func, ast.Attribute) and not ast.unparse(node.func).startswith(
            ("tl.", "triton.")
        )
        owner = [node.func.value] if is_method and isinstance(node.func, ast.Attribute) else []
        return [*owner, *node.args]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return []


def _list_edits(tree: ast.AST) -> list[_Edit]:
    return [
        edit
        for position, node in enumerate(_list_expressions(tree))
        for edit in (
            *(_Edit(position, part) for part in range(len(_list_parts(node)))),
            *(
                _Edit(position, number, keyword=True)
                for number in range(len(getattr(node, "keywords", ())))
            ),
        )
    ]


def _edit(kernel: KernelCandidate, edits: Sequence[_Edit]) -> KernelCandidate:
    """The kernel after `edits`; of two at the same place, or one inside the other, the outer and
    earlier counts.
    """
    tree = ast.parse(kernel.text)
    expressions = _list_expressions(tree)
    taken: set[int] = set()
    swap: dict[int, ast.expr] = {}
    for edit in sorted(edits, key=lambda item: (item.position, item.part)):
        node = expressions[edit.position]
        if id(node) in taken:
            continue
        taken |= {id(inner) for inner in ast.walk(node)}
        if edit.keyword and isinstance(node, ast.Call):
            del node.keywords[edit.part]
        else:
            swap[id(node)] = _list_parts(node)[edit.part]
    changed = _Substitution(swap).visit(tree)
    return replace(kernel, text=ast.unparse(ast.fix_missing_locations(changed)))


class _Substitution(ast.NodeTransformer):
    """Other expressions in the place of some, by identity."""

    def __init__(self, swap: dict[int, ast.expr]) -> None:
        self.swap = swap

    def visit(self, node: ast.AST) -> ast.AST:
        found = self.swap.get(id(node))
        if found is not None:
            return found
        visited: ast.AST = self.generic_visit(node)
        return visited


def _list_positions(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Each statement inside a function, as the list that holds it and its index, outer ones
    first.
    """
    for _, _, block in _list_blocks(tree):
        for index in range(len(block)):
            yield block, index


def _list_blocks(tree: ast.AST) -> Iterator[tuple[ast.AST, str, list[ast.stmt]]]:
    """Each list of statements inside a function, with its node and the name that it has there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            continue
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield node, name, block


def _keep_only(kernel: KernelCandidate, keep: Sequence[int]) -> KernelCandidate:
    tree = ast.parse(kernel.text)
    wanted = set(keep)
    gone = {
        id(block[index])
        for number, (block, index) in enumerate(_list_positions(tree))
        if number not in wanted
    }
    for node, name, block in _list_blocks(tree):
        left = [item for item in block if id(item) not in gone]
        setattr(node, name, left or ([ast.Pass()] if name == "body" else []))
    return replace(
        kernel, text=ast.unparse(ast.fix_missing_locations(_drop_unused(tree, kernel.name)))
    )


def _drop_unused(tree: ast.Module, name: str) -> ast.Module:
    """The module without definitions that nothing uses any more."""
    while True:
        used = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        left = [item for item in tree.body if _read_defined_name(item) in used | {name}]
        if len(left) == len(tree.body):
            return tree
        tree.body = left


def _read_defined_name(item: ast.stmt) -> str:
    if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
        return item.targets[0].id
    return getattr(item, "name", "")


def _simplify_launch(kernel: KernelCandidate, attempt: Try) -> KernelCandidate:
    """A launch without options and without alignment, as far as it still fails."""
    for name in ("options", "aligned"):
        launch: KernelLaunch = {**kernel.launch}
        if name == "options":
            launch["options"] = {}
        else:
            launch["aligned"] = []
        proposal = replace(kernel, launch=launch)
        if proposal != kernel and attempt([proposal])[0]:
            kernel = proposal
    return kernel


def _simplify_numbers(kernel: KernelCandidate, attempt: Try) -> KernelCandidate:
    """With ones for the numbers in the text, and small powers of two for constants: all of them at
    once, else one by one.
    """
    count = len(_list_numbers(ast.parse(kernel.text)))
    if not count and not kernel.launch["constexprs"]:
        return kernel
    everywhere = _with_constants(_with_ones(kernel, range(count)), 16)
    if everywhere != kernel and attempt([everywhere])[0]:
        return everywhere
    for number in range(count):
        proposal = _with_ones(kernel, [number])
        if proposal != kernel and attempt([proposal])[0]:
            kernel = proposal
    for size in (16, 32, 64, 128):
        proposal = _with_constants(kernel, size)
        if proposal != kernel and attempt([proposal])[0]:
            return proposal
    return kernel


def _list_numbers(tree: ast.AST) -> list[ast.Constant]:
    """The numbers of a text that say something, in its order."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and type(node.value) in (int, float)
        and node.value not in (0, 1, 2)
    ]


def _with_ones(kernel: KernelCandidate, positions: Sequence[int]) -> KernelCandidate:
    tree = ast.parse(kernel.text)
    found = _list_numbers(tree)
    for position in positions:
        found[position].value = 1.0 if isinstance(found[position].value, float) else 1
    return replace(kernel, text=ast.unparse(tree))


def _with_constants(kernel: KernelCandidate, size: int) -> KernelCandidate:
    """The launch with `size` for each constant that is a larger whole number."""
    launch = copy.deepcopy(kernel.launch)
    for name, value in launch["constexprs"].items():
        if type(value) is int and value > size:
            launch["constexprs"][name] = size
    return replace(kernel, launch=launch)


def _without_parameters(kernel: KernelCandidate, attempt: Try) -> KernelCandidate:
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
