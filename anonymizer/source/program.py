"""A public program as syntax trees: what the reducer edits and the harness prints."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from anonymizer.graph.repro import PROGRAM_FACTORY, CallSizes
from anonymizer.source.symbols.imports import write_imports

#: What the definitions call the function that reads Python's state.
STATE = "state"
_OPERATIONS = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.AugAssign)
_DISPLAYS = (
    *(ast.Tuple, ast.List, ast.Set, ast.Dict),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: Builtins that compute no tensor whatever they are given.
_BUILTINS = frozenset(dir(builtins)) - {"abs", "divmod", "max", "min", "pow", "round", "sum"}
_CONTAINERS = (list, dict, set, str, bytearray, deque, OrderedDict, Counter)
#: What tensors and NumPy's arrays have, too; not `values`, which sparse tensors alone have.
_OF_ARRAYS = frozenset("add copy index partition sort split subtract".split())
#: Methods of Python's containers and texts that no tensor has.
CONTAINER_METHODS = (
    frozenset(name for each in _CONTAINERS for name in dir(each) if not name.startswith("_"))
    - _OF_ARRAYS
)
#: What asks a tensor for its sizes and computes none.
_SIZE_METHODS = frozenset(("size", "dim", "numel"))
_SIZES = frozenset(("shape", "ndim"))


@dataclass(frozen=True)
class CallSequence:
    """The call with those before it: the body of `inputs()`, with parameters for what differs."""

    inputs: ast.Module
    calls: tuple[CallSizes, ...]


@dataclass(frozen=True)
class PrivateCounterparts:
    """What of the private program the parts of a public one stand for. It stays on the machine.

    Attributes:
        mapping: private word → public one.
        reverse: every public word → private one.
        tensors: those of `find_tensor_paths`, for the program as it was first written.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    reverse: Mapping[str, str] = field(default_factory=dict)
    tensors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SourceProgram:
    """A program as syntax trees, which the methods `write_…` write as text.

    Attributes:
        definitions: functions and classes, without imports, which `write_imports` derives. Where
            the program `is_script`, statements that compile and call by themselves.
        callable_expression: the callable; for a script its result with the arguments.
        inputs: the body of `inputs()`, which ends in `return (…,)`.
        backend: the name of a rebuilt custom backend.
        private: what its parts stand for.
        problems: what could not be rebuilt.
        state_calls: after how many calls Python's state is looked at; 0 if it never is.
        observes_arguments: whether the state is what the program's own arguments hold, and not
            what the lambda returns that the definitions call `STATE`.
        has_own_state: whether each run makes the definitions anew (`source.state.wrap`).
        sizes: the parameters of `inputs()`.
        sequences: what several calls may be, likeliest first.
        has_globals: whether what a script binds stays global where each run makes it anew.
    """

    definitions: ast.Module
    callable_expression: str
    inputs: ast.Module
    backend: str | None = None
    private: PrivateCounterparts = field(default_factory=PrivateCounterparts)
    problems: tuple[str, ...] = ()
    state_calls: int = 0
    observes_arguments: bool = False
    has_own_state: bool = False
    sizes: CallSizes = ()
    sequences: tuple[CallSequence, ...] = ()
    is_script: bool = False
    has_globals: bool = False

    def write_definitions(self) -> str:
        """The text of the definitions, without imports."""
        return ast.unparse(ast.fix_missing_locations(self.definitions))

    def write_inputs(self) -> list[str]:
        """The lines of the body of `def inputs()`, without indentation of the first level."""
        return ast.unparse(ast.fix_missing_locations(self.inputs)).splitlines()

    def list_arguments(self) -> list[ast.expr]:
        """The expressions of the call's arguments, as `inputs` returns them."""
        last = self.inputs.body[-1] if self.inputs.body else None
        given = last.value if isinstance(last, ast.Return) else None
        return given.elts if isinstance(given, ast.Tuple) else []

    def makes_module(self) -> bool:
        """Whether its callable is a module, and no function."""
        if "(" not in self.callable_expression:
            return False
        factory = self.definitions.body[-1] if self.definitions.body else None
        if isinstance(factory, ast.FunctionDef) and factory.name in self.callable_expression:
            last = factory.body[-1]
            returned = last.value if isinstance(last, ast.Return) else None
            names = {each.name for each in factory.body if isinstance(each, ast.FunctionDef)}
            return not (isinstance(returned, ast.Name) and returned.id in names)
        return True

    def is_nested(self) -> bool:
        """Whether its outputs may be something else than tensors in a tuple or a list."""
        nodes = list(ast.walk(self.definitions))
        plain = {name for node in nodes for name in _list_plain_targets(node)}
        return any(_may_nest(node) or _returns_plain(node, plain) for node in nodes)

    def write_imports(self) -> list[str]:
        """The lines of import statements that definitions and inputs need; "" between groups."""
        return write_imports(self.definitions, self.inputs)

    def count_statements(self) -> int:
        """The number of tensor operations in function bodies, constructors left out; Python's own
        are none where they can be told.
        """
        own = {node.name for node in ast.walk(self.definitions) if isinstance(node, _NAMED)}
        return sum(
            isinstance(part, _OPERATIONS) and not _is_plain(part, own)
            for node in ast.walk(self.definitions)
            if isinstance(node, ast.FunctionDef) and node.name not in ("__init__", "custom_backend")
            for statement in node.body
            if not isinstance(statement, (ast.FunctionDef, ast.ClassDef))
            for part in ast.walk(statement)
        )


def is_state_reader(node: ast.stmt) -> TypeGuard[ast.Assign]:
    """Whether a definition is the lambda that reads the state."""
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == STATE


def find_state_reader(tree: ast.AST) -> ast.Lambda | None:
    """The lambda that reads the state of a program, which the definitions call `STATE` and a
    factory returns beside the callable; None where nothing reads any.
    """
    for node in getattr(tree, "body", ()):
        if is_state_reader(node) and isinstance(node.value, ast.Lambda):
            return node.value
        if isinstance(node, ast.FunctionDef) and node.name == PROGRAM_FACTORY:
            found = (part for part in ast.walk(node.body[-1]) if isinstance(part, ast.Lambda))
            return next(found, None)
    return None


def _may_nest(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):  # a dataclass, or one that is derived from a container
        bases = " ".join(map(ast.unparse, node.bases))
        return bool(node.decorator_list) or re.search(r"[dD]ict|Tuple|list", bases) is not None
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(isinstance(part, (ast.Tuple, ast.List)) for part in node.elts)
    is_dictionary = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("dict")
    return is_dictionary or isinstance(node, (ast.Dict, ast.DictComp))


def _list_plain_targets(node: ast.AST) -> list[str]:
    """The names that a statement gives a container, a number or a text."""
    if not isinstance(node, ast.Assign) or not _is_no_tensor(node.value):
        return []
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _returns_plain(node: ast.AST, plain: Collection[str]) -> bool:
    """Whether a statement returns, beside others, what is no tensor; `plain` are names of such."""
    value = node.value if isinstance(node, ast.Return) else None
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    return any(
        _is_no_tensor(part) or isinstance(part, ast.Name) and part.id in plain for part in parts
    )


def _is_no_tensor(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _BUILTINS
    return isinstance(node, (*_DISPLAYS, ast.Constant, ast.JoinedStr))


def is_simple(value: float) -> bool:
    """Small whole numbers, and floats of two digits at most."""
    if isinstance(value, int):
        return abs(value) <= 64
    return float(f"{value:.1e}") == value


def _is_plain(node: ast.AST, own: Collection[str]) -> bool:
    """Whether an operation is certainly one of Python's: `own` are the program's functions and
    classes.
    """
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in _BUILTINS or node.func.id in own
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in CONTAINER_METHODS | _SIZE_METHODS
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return isinstance(key, str) or _is_number(node)
    if isinstance(node, ast.Compare):
        identity = all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops)
        return identity or all(_is_number(side) for side in (node.left, *node.comparators))
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) or _is_number(node.operand)
    return False


def _is_number(node: ast.expr) -> bool:
    """A literal, a length or a size, or arithmetic with nothing else."""
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr in _SIZES
    if isinstance(node, ast.Call):
        func = node.func
        length = isinstance(func, ast.Name) and func.id == "len"
        return length or isinstance(func, ast.Attribute) and func.attr in _SIZE_METHODS
    return isinstance(node, ast.Constant) or isinstance(node, ast.Attribute) and node.attr in _SIZES
