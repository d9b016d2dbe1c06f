"""What a rewritten script may consist of: kinds of syntax and words on a list, and nothing else.

This asks each node of the finished text, whatever the rewriting has made of it.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
from collections.abc import Collection, Iterator

from anonymizer.source.script.imported_names import SHORT_MODULES
from anonymizer.source.script.renaming import is_known_member
from anonymizer.source.symbols.imports import KNOWN_MODULES, STDLIB
from anonymizer.source.symbols.names import PublicNames
from anonymizer.source.symbols.symbol_table import SourceError

_STATEMENTS = (
    *(ast.FunctionDef, ast.ClassDef, ast.Return, ast.Delete, ast.Assign, ast.AugAssign),
    *(ast.AnnAssign, ast.For, ast.While, ast.If, ast.With, ast.Raise, ast.Try, ast.Assert),
    *(ast.Global, ast.Nonlocal, ast.Expr, ast.Pass, ast.Break, ast.Continue),
)
_EXPRESSIONS = (
    *(ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.Set),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Yield, ast.YieldFrom),
    *(ast.Compare, ast.Call, ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name),
    *(ast.List, ast.Tuple, ast.Slice),
)
_PARTS = (
    *(ast.Module, ast.arguments, ast.arg, ast.keyword, ast.withitem, ast.ExceptHandler),
    *(ast.comprehension, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
_ALLOWED = (*_STATEMENTS, *_EXPRESSIONS, *_PARTS)
#: Words by which Python's own functions and classes take arguments.
_KEYWORDS = frozenset(
    "key reverse default default_factory maxlen strict repeat start step metaclass frozen eq slots"
    " kw_only order init repr initial func".split()
)
#: Namespaces of operators that are torch's.
_OPERATORS = frozenset("aten prims prim inductor quantized sparse".split())
_PUBLIC = frozenset(dir(builtins)) | KNOWN_MODULES | {"torch", *SHORT_MODULES.values(), "self"}


def refuse_private(tree: ast.Module, names: PublicNames, own: Collection[str]) -> None:
    """Lets a rewritten script pass that has public words and known syntax alone.

    Args:
        tree: the script.
        names: know the words of torch and Python.
        own: the names that the rewriting gave away.

    Raises:
        SourceError: the script has another word, or syntax of another kind.
    """
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED) or getattr(node, "type_params", None):
            raise SourceError(f"syntax of the kind {type(node).__name__}")
        if isinstance(node, ast.Attribute):
            if node.attr not in own and not _is_public_member(node, names):
                raise SourceError("an attribute that is neither torch's nor the script's own")
        elif isinstance(node, ast.keyword):
            known = node.arg in _KEYWORDS or node.arg in names.vocabulary
            if node.arg is not None and node.arg not in own and not known:
                raise SourceError("an argument by a name that is not the script's own")
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            known = names.is_public_dunder(node.name) or node.name in names.vocabulary
            if node.name not in own and not known:
                raise SourceError("a definition without a public name")
        elif any(name not in own and name not in _PUBLIC for name in _list_names(node)):
            raise SourceError("a name that nothing in the script binds")


def _list_names(node: ast.AST) -> Iterator[str]:
    """The identifiers of variables in one node."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.ExceptHandler) and node.name is not None:
        yield node.name
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names


def _is_public_member(node: ast.Attribute, names: PublicNames) -> bool:
    """Whether an attribute is a word of torch or Python, or what a module of Python offers."""
    path = ast.unparse(node).split(".")
    if path[:2] == ["torch", "ops"] and len(path) > 2 and path[2] not in _OPERATORS:
        return False
    if path[:2] == ["torch", "ops"] or is_known_member(node.attr, names):
        return True
    return path[0] in STDLIB and len(path) == 2 and node.attr in _list_offered(path[0])


@functools.cache
def _list_offered(module: str) -> frozenset[str]:
    return frozenset(dir(importlib.import_module(module)))
