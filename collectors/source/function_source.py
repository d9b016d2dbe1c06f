"""Where a live function stands in its file: found by line and shape, handed on as text without
comments.

`inspect.getsource` guesses by regular expression and returns half statements for lambdas. The code
object knows the line, the syntax tree of the whole file knows what is there, and `ast.unparse`
writes it down again without comments and indentation. Name mangling (`self.__x`) is undone here,
where the class is known.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import sys
import types
from typing import Any, Dict, List, Optional, Set, Tuple

_FILES: Dict[str, Optional[ast.Module]] = {}

_ALL = {
    "modules",
    "children",
    "named_modules",
    "named_children",
    "parameters",
    "named_parameters",
    "buffers",
    "named_buffers",
    "state_dict",
    "_modules",
    "_parameters",
    "_buffers",
    "__dict__",
}


def _parse_file(function: types.FunctionType) -> Optional[ast.Module]:
    name = function.__code__.co_filename
    if name not in _FILES:
        text = "".join(linecache.getlines(name, function.__globals__))
        try:
            _FILES[name] = ast.parse(text) if text else None
        except (SyntaxError, ValueError, RecursionError):
            _FILES[name] = None
    return _FILES[name]


def find_node(function: types.FunctionType) -> Optional[ast.AST]:
    """The FunctionDef, AsyncFunctionDef or Lambda the function was made from, or None without
    source text.
    """
    tree = _parse_file(function)
    if tree is None:
        return None
    code = function.__code__
    if code.co_name == "<lambda>":
        parts = _list_parts(code)
        same = (
            node
            for node, made in _list_lambdas(tree)
            if node.lineno == code.co_firstlineno and _list_parts(made) == parts
        )
        return next(same, None)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
            if code.co_firstlineno in (first, node.lineno) and node.name == code.co_name:
                return node
    return None


@functools.cache
def _list_lambdas(tree: ast.Module) -> List[Tuple[ast.Lambda, types.CodeType]]:
    """The lambdas of a file, each with what Python makes of it: a line may have several, and code
    depends on what is around it, such as what its names are in the module.
    """
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    places = [(node.lineno, node.end_lineno) for node in nodes]
    last = max((getattr(node, "end_lineno", 0) or 0 for node in tree.body), default=0)
    for number, node in enumerate(nodes, 1):  # a line of its own, which its code has then
        node.lineno, node.end_lineno = last + number, last + len(nodes) + 1
    try:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as cells of a notebook may have it
        waiting = [compile(tree, "<lambdas>", "exec", flags=flags, dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError):
        return []
    finally:
        for node, place in zip(nodes, places):
            node.lineno, node.end_lineno = place
    found = []
    while waiting:
        code = waiting.pop()
        waiting += [value for value in code.co_consts if isinstance(value, types.CodeType)]
        if code.co_name == "<lambda>":
            found.append((nodes[code.co_firstlineno - last - 1], code))
    return found


def _list_parts(code: types.CodeType) -> List[object]:
    """What tells code apart: instructions, names and constants."""
    constants: List[object] = []
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            constants.append(_list_parts(value))
        else:
            constants.append(
                sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
            )
    return [code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants]


def list_global_names(code: types.CodeType) -> Set[str]:
    """Every name that the code, or code nested in it, looks up in the globals."""
    found: Set[str] = set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
            found.add(str(step.argval))
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            found |= list_global_names(value)
    return found


def list_decorator_names(node: Any) -> Set[str]:
    """Names that the decorators of a definition mention."""
    parts = [
        part for decorator in getattr(node, "decorator_list", []) for part in ast.walk(decorator)
    ]
    return {part.id for part in parts if isinstance(part, ast.Name)}


def find_last_name(node: ast.AST) -> str:
    """The last part of a dotted name; empty for any other expression."""
    return getattr(node, "attr", None) or getattr(node, "id", None) or ""


def find_chains(node: ast.AST) -> Set[Tuple[str, ...]]:
    """Every dotted name `a.b.c`, longest form only."""
    found: Set[Tuple[str, ...]] = set()

    def visit(part: ast.AST) -> None:
        parts: List[str] = []
        inner = part
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name):
            found.add((inner.id, *reversed(parts)))
            return
        for child in ast.iter_child_nodes(part):
            visit(child)

    visit(node)
    return found


def find_used_names(node: ast.AST) -> Tuple[Set[str], bool]:
    """The attributes that the code of a function may reach.

    Returns:
        Their names, with the words of all string constants, since `getattr` takes text; and
        whether any attribute at all may be reached, by `vars` or a computed name.
    """
    names: Set[str] = set()
    every = False
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            names.add(part.attr)
            every = every or part.attr in _ALL
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            names.update(part.value.split("."))
        elif isinstance(part, ast.keyword) and part.arg:
            names.add(part.arg)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
            dynamic = part.func.id in ("getattr", "setattr") and not isinstance(
                part.args[1:2] and part.args[1], ast.Constant
            )
            every = every or dynamic or part.func.id == "vars"
        elif sys.version_info >= (3, 10) and isinstance(part, ast.MatchClass):
            names.update(part.kwd_attrs)
    return names, every


def find_local_imports(node: ast.AST) -> Dict[str, Tuple[str, Optional[str]]]:
    """Local import statements: the bound name gives the module and, for `from`, the attribute."""
    found: Dict[str, Tuple[str, Optional[str]]] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            for alias in part.names:
                top = alias.name if alias.asname else alias.name.split(".")[0]
                found[alias.asname or top] = (top, None)
        elif isinstance(part, ast.ImportFrom) and part.module and not part.level:
            for alias in part.names:
                found[alias.asname or alias.name] = (part.module, alias.name)
    return found


class _Unmangle(ast.NodeTransformer):
    """Writes the names that Python makes of private ones in a class; it does so for all but
    keywords of calls.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner.lstrip("_")

    def _unmangle(self, name: str) -> str:
        if name.startswith("__") and not name.endswith("__") and self.owner:
            return "_" + self.owner + name
        return name

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in () if isinstance(node, ast.keyword) else ("id", "attr", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                setattr(node, field, self._unmangle(name))
        return super().generic_visit(node)

    def _unmangle_declared(self, node: ast.Global | ast.Nonlocal) -> ast.AST:
        node.names = [self._unmangle(name) for name in node.names]
        return node

    visit_Global = visit_Nonlocal = _unmangle_declared

    def visit_alias(self, node: ast.alias) -> ast.AST:
        """What an import binds."""
        node.asname = self._unmangle(node.asname) if node.asname else None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """A class in a function: its own name is what its members get."""
        inner = _Unmangle(node.name)
        body, node.body = [inner.visit(each) for each in node.body], []
        self.generic_visit(node)
        node.body = body
        return node


def unparse(node: ast.AST, owner: str) -> str:
    """The text of a function; `owner` is the name of the class it was written in, or empty."""
    return ast.unparse(_Unmangle(owner).visit(ast.parse(ast.unparse(node))))
