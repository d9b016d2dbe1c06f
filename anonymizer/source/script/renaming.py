"""Public names, texts and numbers for those of a script."""

from __future__ import annotations

import ast
from collections.abc import Collection

from anonymizer.graph import repro
from anonymizer.source.program import is_simple
from anonymizer.source.script.compilation import COMPILE, FUNCTION, RESULT
from anonymizer.source.symbols.imports import STDLIB
from anonymizer.source.symbols.names import PublicNames
from anonymizer.source.symbols.symbol_table import SourceError

#: Public names of what stands for nothing private.
PUBLIC = {FUNCTION: "fn", RESULT: "out", COMPILE: repro.COMPILE}
_COMPILED = "compiled"
_BUILT_IN = (dict, list, set, str, tuple, int, float, type, object)
#: Builtins by which a program reaches what is not in its text.
_REFUSED = frozenset("open exec eval compile input __import__ breakpoint".split())
_LARGEST = 64
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def list_words(tree: ast.AST) -> set[str]:
    """Every identifier that the script binds itself."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    found |= {node.name for node in ast.walk(tree) if isinstance(node, (*_FUNCTIONS, ast.ClassDef))}
    return found - {*PUBLIC, "torch", "nn", "F", *STDLIB}


class Renaming(ast.NodeTransformer):
    """Public names, texts and numbers. One name is one name in every scope."""

    def __init__(self, tree: ast.Module, names: PublicNames, compiled: Collection[str]) -> None:
        self.names = names
        names.used |= {*PUBLIC.values(), _COMPILED}
        self.bound = dict(PUBLIC)
        if len(compiled) == 1:
            names.tables["variables"].update(dict.fromkeys(compiled, _COMPILED))
            self.bound.update(dict.fromkeys(compiled, _COMPILED))
        function = _find_compiled(tree)
        if function is not None:
            names.tables["definitions"][function] = self.bound[function] = PUBLIC[FUNCTION]
        self.attributes: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for member in node.body:
                    for name in _list_bound(member):
                        self._bind_attribute(name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                self._bind_attribute(node.attr)
        self.bound.update(self.attributes)
        modules = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            and any("nn.Module" in ast.unparse(base) for base in node.bases)
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
        known[name] = self.bound[name] = self.names.fresh(prefix)

    def _bind_attribute(self, name: str) -> None:
        if name in self.attributes or self.names.is_public_dunder(name):
            return
        is_public = name in self.names.vocabulary
        self.attributes[name] = name if is_public else self.names.attribute(name)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in _REFUSED and node.id not in self.bound:
            raise SourceError(f"{node.id}()")
        node.id = self.bound.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr in self.attributes:
            node.attr = self.attributes[node.attr]
        elif not self._is_known(node):
            raise SourceError("an attribute that is neither torch's nor the script's own")
        return node

    def _is_known(self, node: ast.Attribute) -> bool:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return (
            node.attr in self.names.vocabulary
            or self.names.is_public_dunder(node.attr)
            or (isinstance(root, ast.Name) and root.id in {*STDLIB, "torch", "nn", "F"})
            or any(hasattr(kind, node.attr) for kind in _BUILT_IN)
        )

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.bound.get(node.arg, node.arg)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        if node.arg is not None and node.arg in self.names.tables["variables"]:
            node.arg = self.bound[node.arg]
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

    def visit_JoinedStr(self, _: ast.JoinedStr) -> ast.AST:
        return ast.Constant("text")

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) or node.value is None:
            return node
        if isinstance(node.value, str):
            return ast.Constant(self.names.text(node.value))
        if isinstance(node.value, (int, float)):
            return ast.Constant(_replace_number(node.value))
        if node.value is ...:
            return node
        raise SourceError("a constant without a public form")

    def visit_AsyncFunctionDef(self, _: ast.AsyncFunctionDef) -> ast.AST:
        raise SourceError("an asynchronous function")


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
