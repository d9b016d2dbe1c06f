"""One pass of type inference over one function: binds names, notes what every attribute and call is
made on.
"""

from __future__ import annotations

import ast
from typing import Any

from anonymizer.source.symbols.symbol_table import SymbolTable, find_called
from anonymizer.source.symbols.types import (
    PUBLIC,
    UNKNOWN,
    Type,
    Types,
    build_sequence_type,
    build_tuple_type,
    infer_element,
    is_private,
)

_SEQUENCES = {
    "zip",
    "enumerate",
    "list",
    "tuple",
    "reversed",
    "sorted",
    "iter",
    "set",
    "map",
    "filter",
}
_OF_CONTAINERS = {"items", "values", "keys", "copy", "get", "pop"}
_DYNAMIC = {"getattr", "vars", "eval", "next", "max", "min"}


def _infer_builtin(name: str, args: list[Type]) -> Type | None:
    """What a builtin returns; None where that follows from what is called."""
    if name in _SEQUENCES:
        inner = [infer_element(each) for each in args]
        if name == "zip":
            return build_sequence_type(build_tuple_type(*inner))
        if name == "enumerate":
            return build_sequence_type(build_tuple_type(PUBLIC, *inner[:1]))
        return build_sequence_type(frozenset().union(*inner))
    return UNKNOWN if name in _DYNAMIC else None


def _infer_method(name: str, receiver: Type) -> Type | None:
    """What a container's method or `apply` returns; None where that follows from what is called."""
    if name in _OF_CONTAINERS and any(atom[0] == "seq" for atom in receiver):
        inner = infer_element(receiver)
        if name == "items":
            return build_sequence_type(build_tuple_type(PUBLIC, inner))
        return inner if name in ("get", "pop") else build_sequence_type(inner)
    return PUBLIC if name == "apply" and any(atom[0] == "cls" for atom in receiver) else None


def infer(symbols: SymbolTable) -> Types:
    """The types of a whole program."""
    return Types(symbols, lambda types, key: _TypeWalk(types, key).run())


class _TypeWalk(ast.NodeVisitor):
    """One pass over one function: binds names, notes receivers and callees."""

    def __init__(self, types: Types, key: str) -> None:
        self.types = types
        self.key = key
        self.refs = types.symbols.get_function(key)["refs"]
        self.chains = types.symbols.get_function(key)["chains"]
        self.partials = types.symbols.list_partials(key)
        self.result: list[Any] = [key]
        self.count = 0

    def run(self) -> None:
        tree = self.types.symbols.trees[self.key]
        bound = {
            each.id
            for each in ast.walk(tree)
            if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
        }
        bound |= {each.name for each in ast.walk(tree) if isinstance(each, ast.ClassDef)}
        self.bound = bound | {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
        for statement in tree.body:
            self.visit(statement)

    def infer(self, node: ast.AST | None) -> Type:
        """The type of an expression, noting what is met on the way."""
        if node is None:
            return PUBLIC
        handler = getattr(self, "infer_" + type(node).__name__, None)
        if handler is not None:
            found: Type = handler(node)
            return found
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.infer(child)
            elif not isinstance(child, ast.expr_context):
                self.visit(child)
        return PUBLIC

    def infer_Name(self, node: ast.Name) -> Type:
        known = self.types.env.get((self.key, node.id))
        if known is not None:
            return known
        if node.id in self.refs and node.id not in self.bound:
            return self.types.infer(self.refs[node.id])
        return UNKNOWN if node.id in self.bound else PUBLIC

    def infer_Attribute(self, node: ast.Attribute) -> Type:
        receiver = self.infer(node.value)
        self.types.receivers[id(node)] = receiver
        chain = self.chains.get(ast.unparse(node))
        return (
            self.types.infer(chain)
            if chain is not None
            else self.types.infer_attribute(receiver, node.attr)
        )

    def infer_Call(self, node: ast.Call) -> Type:
        callee = self.infer(node.func)
        self.types.callees[id(node.func)] = callee
        args = [self.infer(each) for each in node.args]
        if args and find_called(node, self.partials) is node.args[0]:
            self.types.callees[id(node.args[0])] = args[0]
        kwargs = {each.arg: self.infer(each.value) for each in node.keywords if each.arg}
        for each in node.keywords:
            if not each.arg:
                self.infer(each.value)
        known = None
        if isinstance(node.func, ast.Name) and node.func.id not in {*self.refs, *self.bound}:
            known = _infer_builtin(node.func.id, args)
            if node.func.id == "type" and len(args) == 1:
                known = self.types.infer_class(args[0])
        elif isinstance(node.func, ast.Attribute):
            receiver = self.types.receivers.get(id(node.func), UNKNOWN)
            known = _infer_method(node.func.attr, receiver)
        return self.types.infer_call(callee, args, kwargs) if known is None else known

    def infer_Subscript(self, node: ast.Subscript) -> Type:
        base = self.infer(node.value)
        self.infer(node.slice)
        return base if isinstance(node.slice, ast.Slice) else infer_element(base)

    def infer_IfExp(self, node: ast.IfExp) -> Type:
        self.infer(node.test)
        return self.infer(node.body) | self.infer(node.orelse)

    def infer_BoolOp(self, node: ast.BoolOp) -> Type:
        return frozenset().union(*(self.infer(each) for each in node.values))

    def infer_Starred(self, node: ast.Starred) -> Type:
        return infer_element(self.infer(node.value))

    def infer_NamedExpr(self, node: ast.NamedExpr) -> Type:
        kind = self.infer(node.value)
        self.assign(node.target, kind)
        return kind

    def _infer_collection(self, nodes: list[ast.expr]) -> Type:
        return build_sequence_type(frozenset().union(*(self.infer(each) for each in nodes)))

    def infer_Tuple(self, node: ast.Tuple) -> Type:
        return self._infer_collection(node.elts)

    infer_List = infer_Set = infer_Tuple

    def infer_Dict(self, node: ast.Dict) -> Type:
        for each in node.keys:
            self.infer(each)
        return self._infer_collection(node.values)

    def _infer_comprehension(self, node: Any) -> Type:
        for each in node.generators:
            self.assign(each.target, infer_element(self.infer(each.iter)))
            for test in each.ifs:
                self.infer(test)
        if isinstance(node, ast.DictComp):
            self.infer(node.key)
            return build_sequence_type(self.infer(node.value))
        return build_sequence_type(self.infer(node.elt))

    infer_ListComp = infer_SetComp = infer_GeneratorExp = infer_DictComp = _infer_comprehension

    def infer_Lambda(self, node: ast.Lambda) -> Type:
        return self._infer_nested(node, [ast.Return(node.body)])

    def _infer_nested(self, node: Any, body: list[Any]) -> Type:
        key = (self.key, self.count)
        self.count += 1
        self.types.nested[key] = node
        self.result.append(key)
        for statement in body:
            self.visit(statement)
        self.result.pop()
        return frozenset({("nested", *key)})

    def assign(self, target: ast.expr, kind: Type) -> None:
        """Binds an assignment target."""
        if isinstance(target, ast.Name):
            self.types.bind(
                (self.key, target.id), frozenset(atom for atom in kind if atom[0] != "row")
            )
        elif isinstance(target, ast.Starred):
            self.assign(target.value, build_sequence_type(kind))
        elif isinstance(target, (ast.Tuple, ast.List)):
            rows = [atom for atom in kind if atom[0] == "row"]
            inner = infer_element(kind)
            for index, each in enumerate(target.elts):
                picked = frozenset().union(
                    *(row[index + 1] for row in rows if index + 1 < len(row))
                )
                self.assign(each, picked | inner)
        else:
            self.infer(target)
            if isinstance(target, ast.Attribute):
                for atom in self.types.receivers.get(id(target), UNKNOWN):
                    if atom[0] == "obj":
                        self.types.bind(("attr", f"{atom[1]}.{target.attr}"), kind)

    def visit_Assign(self, node: ast.Assign) -> None:
        kind = self.infer(node.value)
        for target in node.targets:
            self.assign(target, kind)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.infer(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.infer(node.value)
        self.assign(node.target, PUBLIC)

    def visit_For(self, node: ast.For) -> None:
        self.assign(node.target, infer_element(self.infer(node.iter)))
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            kind = self.infer(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, kind if is_private(kind) else PUBLIC)
        for statement in node.body:
            self.visit(statement)

    def visit_Return(self, node: ast.Return) -> None:
        kind = self.infer(node.value)
        key = self.result[-1]
        if not kind <= self.types.returns.get(key, UNKNOWN):
            self.types.returns[key] = self.types.returns.get(key, UNKNOWN) | kind
            self.types.changed = True

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.types.bind((self.key, node.name), self._infer_nested(node, node.body))

    def generic_visit(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.infer(child)
            else:
                self.visit(child)
