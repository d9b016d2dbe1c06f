"""Public names, texts and numbers for those of a script."""

from __future__ import annotations

import ast
import collections
import functools
import random
import re
from collections.abc import Collection

from anonymizer.graph import repro
from anonymizer.graph.identifiers import find_names
from anonymizer.source.program import is_simple
from anonymizer.source.script.compilation import COMPILE, FUNCTION, RESULT
from anonymizer.source.script.imported_names import SHORT_MODULES
from anonymizer.source.symbols.imports import KNOWN_MODULES
from anonymizer.source.symbols.names import PublicNames
from anonymizer.source.symbols.symbol_table import SourceError, find_called

#: Public names of what stands for nothing private.
PUBLIC = {FUNCTION: "fn", RESULT: "out", COMPILE: repro.COMPILE}
_COMPILED = "compiled"
#: Python's own classes whose methods a script may call.
_PYTHONS = (
    *(dict, list, set, str, tuple, int, float, complex, bytes, range, slice, type, object),
    *(collections.Counter, collections.OrderedDict, collections.deque, functools.partial),
    *(BaseException, random.Random, re.Match, re.Pattern),
)
#: Builtins by which a program reaches what is not in its text.
_REFUSED = frozenset("open exec eval compile input __import__ breakpoint".split())
_LARGEST = 64
#: So many numbers of one literal may be sizes; those of a longer one count up to `_COUNTED`.
_MOST_NUMBERS = 4
_COUNTED = 8
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def list_words(tree: ast.AST) -> set[str]:
    """Every identifier that the script binds itself."""
    found = find_names(tree)
    found |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    found |= {node.name for node in ast.walk(tree) if isinstance(node, (*_FUNCTIONS, ast.ClassDef))}
    return found - {*PUBLIC, "torch", "nn", "F", *KNOWN_MODULES}


class Renaming(ast.NodeTransformer):
    """Public names, texts and numbers. One name is one name in every scope."""

    def __init__(self, tree: ast.Module, names: PublicNames, compiled: Collection[str]) -> None:
        self.names = names
        names.used |= {*PUBLIC.values(), _COMPILED}
        self.bound = dict(PUBLIC)
        if len(compiled) == 1:
            for name in compiled:
                names.fix_variable(name, _COMPILED)
                self.bound[name] = _COMPILED
        function = _find_compiled(tree)
        if function is not None:
            names.tables["definitions"][function] = self.bound[function] = PUBLIC[FUNCTION]
        self.attributes: dict[str, str] = {}
        self._bind_attributes(tree)
        self.bound.update(self.attributes)
        self._bind_names(tree)

    def _bind_attributes(self, tree: ast.Module) -> None:
        """What classes and assignments to attributes bind."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for name in (name for member in node.body for name in _list_bound(member)):
                    self._bind_attribute(name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                self._bind_attribute(node.attr)

    def _bind_names(self, tree: ast.Module) -> None:
        """Classes, functions, parameters and variables, in the order of the text."""
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        modules = {
            node.name
            for node in classes
            if any("nn.Module" in ast.unparse(base) for base in node.bases)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self._bind("definitions", node.name, "Block" if node.name in modules else "Thing")
            elif isinstance(node, _FUNCTIONS):
                self._bind("definitions", node.name, "helper")
            elif isinstance(node, ast.arg):
                self._bind("variables", node.arg, "arg")
            elif isinstance(node, ast.Assign) and _makes_module(node.value, modules):
                for name in _list_bound(node):
                    self._bind("variables", name, "model")
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self._bind("variables", node.id, "value")
            elif isinstance(node, ast.ExceptHandler) and node.name:
                self._bind("variables", node.name, "value")

    def _bind(self, table: str, name: str, prefix: str) -> None:
        if name in self.bound or name == "self" or self.names.is_public_dunder(name):
            return
        known = self.names.tables[table]
        known[name] = self.bound[name] = self.names.take_unused(prefix)

    def _bind_attribute(self, name: str) -> None:
        if name in self.attributes or self.names.is_public_dunder(name):
            return
        is_public = name in self.names.vocabulary
        self.attributes[name] = name if is_public else self.names.name_attribute(name)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in _REFUSED and node.id not in self.bound:
            raise SourceError(f"{node.id}()")
        node.id = self.bound.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if not _is_of_module(node):
            node.attr = self.attributes.get(node.attr, node.attr)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call; arguments by name are renamed where what is called may be the script's own."""
        own = not self._is_foreign(find_called(node, ("functools.partial",)))
        for each in node.keywords:
            if own and each.arg is not None:
                each.arg = self.bound.get(each.arg, each.arg)
        return self.generic_visit(node)

    def _is_foreign(self, called: ast.expr) -> bool:
        """Whether a function is one of torch or Python, by its path or as a method of a tensor."""
        if not isinstance(called, ast.Attribute):
            return False
        if _is_of_module(called):
            return True
        return called.attr not in self.attributes and called.attr in self.names.vocabulary

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.bound.get(node.arg, node.arg)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.bound.get(node.name, node.name)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.bound.get(node.name, node.name)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        node.name = self.bound.get(node.name, node.name) if node.name else None
        return node

    def _rename_declared(self, node: ast.Global | ast.Nonlocal) -> ast.AST:
        node.names = [self.bound.get(name, name) for name in node.names]
        return node

    visit_Global = visit_Nonlocal = _rename_declared

    def _replace_numbers(self, node: ast.List | ast.Tuple | ast.Set) -> ast.AST:
        """A literal of many numbers counts: they are data, and not sizes."""
        numbers = [
            part
            for part in ast.walk(node)
            if isinstance(part, ast.Constant)
            and isinstance(part.value, (int, float))
            and not isinstance(part.value, bool)
        ]
        if len(numbers) > _MOST_NUMBERS:
            for at, part in enumerate(numbers):
                count = at % _COUNTED
                part.value = float(count) if isinstance(part.value, float) else count
        return self.generic_visit(node)

    visit_List = visit_Tuple = visit_Set = _replace_numbers

    def visit_JoinedStr(self, _: ast.JoinedStr) -> ast.AST:
        return ast.Constant("text")

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) or node.value is None:
            return node
        if isinstance(node.value, str):
            return ast.Constant(self.names.rewrite_text(node.value))
        if isinstance(node.value, (int, float)):
            return ast.Constant(_replace_number(node.value))
        if node.value is ...:
            return node
        raise SourceError("a constant without a public form")

    def visit_AsyncFunctionDef(self, _: ast.AsyncFunctionDef) -> ast.AST:
        raise SourceError("an asynchronous function")


def _is_of_module(node: ast.Attribute) -> bool:
    """Whether an attribute is a path in a module of torch or Python."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in {
        *KNOWN_MODULES,
        "torch",
        *SHORT_MODULES.values(),
    }


def is_known_member(name: str, names: PublicNames) -> bool:
    """Whether an attribute is one that torch's objects have, or Python's."""
    is_torchs = name in names.vocabulary or names.is_public_dunder(name)
    return is_torchs or any(hasattr(kind, name) for kind in _PYTHONS)


def _find_compiled(tree: ast.Module) -> str | None:
    """The only function of the script that is compiled, if it has a name of its own."""
    functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    given = {
        ast.unparse(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == COMPILE
    }
    name = given.pop() if len(given) == 1 else None
    return name if FUNCTION not in functions and functions.count(name or "") == 1 else None


def _makes_module(value: ast.expr, own: Collection[str]) -> bool:
    """Whether an expression constructs a layer, or a module of the script's `own` classes."""
    name = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    return name in own or name.startswith("nn.") and name not in ("nn.Parameter", "nn.Buffer")


def _list_bound(member: ast.stmt) -> list[str]:
    """The names that a statement of a class binds."""
    if isinstance(member, (*_FUNCTIONS, ast.ClassDef)):
        return [member.name]
    targets = member.targets if isinstance(member, ast.Assign) else []
    if isinstance(member, ast.AnnAssign):
        targets = [member.target]
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _replace_number(value: float) -> float:
    """A number that is nobody's: small and with few digits."""
    if isinstance(value, int):
        return value if is_simple(value) else _LARGEST
    return value if is_simple(value) else float(f"{value:.0e}")
