"""What a script imports, written with the whole path, so that the imports follow from the text."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from anonymizer.graph.program_factory import walk_scope
from anonymizer.source.symbols.imports import KNOWN_MODULES
from anonymizer.source.symbols.symbol_table import SourceError

#: How the names of torch's modules are written.
SHORT_MODULES = {"torch.nn": "nn", "torch.nn.functional": "F"}


class ImportedNames(ast.NodeTransformer):
    """Takes the imports out; what they bind is written with the whole path. Annotations go too."""

    def __init__(self, steps: Sequence[ast.stmt]) -> None:
        self.paths: dict[str, str] = {}
        self.foreign: set[str] = set()
        self._fields: set[int] = set()
        for node in (part for step in steps for part in ast.walk(step)):
            if isinstance(node, ast.Import):
                for each in node.names:
                    self._bind(each.asname or each.name.split(".")[0], each.asname and each.name)
            elif isinstance(node, ast.ImportFrom):
                for each in node.names:
                    self._bind(each.asname or each.name, f"{node.module}.{each.name}")

    def _bind(self, name: str, path: str | None) -> None:
        whole = path or name
        if whole.split(".")[0] not in {*KNOWN_MODULES, "torch"} or whole.startswith("__future__"):
            self.foreign.add(name)
        self.paths[name] = whole

    def rewrite(self, step: ast.stmt) -> ast.stmt | None:
        """A statement with whole paths; None for an import, and for one that reaches what is
        neither torch's, NumPy's nor Python's own, whose names nobody can read then either.
        """
        try:
            made: ast.stmt | None = self.visit(step)
            for part in ast.walk(step):
                if getattr(part, "body", None) == []:  # of an import
                    part.body = [ast.Pass()]  # type: ignore[attr-defined]
        except SourceError:
            for name in _list_bound(step):
                self.paths[name] = name
                self.foreign.add(name)
            return None
        return made

    def visit_Import(self, _: ast.Import) -> None:
        """Its names are written out."""

    visit_ImportFrom = visit_Import  # type: ignore[assignment]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not isinstance(node.ctx, ast.Load) or node.id not in self.paths:
            return node
        if node.id in self.foreign:
            raise SourceError("a module is used that is neither torch's, NumPy's nor Python's own")
        return ast.copy_location(_write_path(self.paths[node.id]), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.value = self.visit(node.value)
        short = SHORT_MODULES.get(ast.unparse(node))
        return node if short is None else ast.copy_location(_write_path(short), node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        self.generic_visit(node)
        node.body = [each for each in node.body if not _is_text(each)] or [ast.Pass()]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for member in node.body:
            if isinstance(member, ast.AnnAssign):  # a field, whose type nobody asks for
                member.annotation = ast.Name("object", ast.Load())
        self._fields.update(map(id, node.body))
        self.generic_visit(node)
        node.body = [each for each in node.body if not _is_text(each)] or [ast.Pass()]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if id(node) in self._fields:
            return self.generic_visit(node)
        if node.value is None:
            return None
        made = ast.copy_location(ast.Assign([node.target], node.value), node)
        return self.generic_visit(made)


def _list_bound(step: ast.stmt) -> set[str]:
    """The names that a statement binds in its own scope."""
    own = getattr(step, "name", None)
    bound = {
        node.id
        for node in walk_scope([step])
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    return {own} if isinstance(own, str) else bound


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _write_path(path: str) -> ast.expr:
    for long, short in SHORT_MODULES.items():
        if path == long or path.startswith(f"{long}."):
            path = short + path[len(long) :]
    return ast.parse(path, mode="eval").body
