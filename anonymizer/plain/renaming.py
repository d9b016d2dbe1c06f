"""The names that people give: to a program, to its functions and classes, and to the values of a
script.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from anonymizer.graph.identifiers import find_names
from anonymizer.plain.function import tidy_functions

#: What the harness calls the program, and what people do.
_RENAMED = {"repro": "fn", "Repro": "Model"}
SHORT = ("x", "y", "z", "w")
_LETTERS = (*SHORT, "u", "v", "a", "b")
#: Generated names that need no number where there is one of them.
_NUMBERED = {"model": "model", "Block": "Model", "Thing": "Thing"}
#: What torch's documentation calls the parameters of the methods by which a subclass takes over.
_TAKES_OVER = ("__torch_function__", "__torch_dispatch__")
_ITS_PARAMETERS = ("cls", "func", "types", "args", "kwargs")


def rename_program(tree: ast.Module, others: Iterable[str], *more: ast.AST) -> ast.Module:
    """Gives the program the name that people give it.

    Args:
        tree: the definitions, which are changed in place and returned.
        others: texts that stand beside them, whose names are taken.
        more: trees in which it is renamed, too.
    """
    names = _find_taken_names(tree, others)
    renaming = NameRenaming({old: new for old, new in _RENAMED.items() if new not in names})
    for each in (tree, *more):
        renaming.visit(each)
    return tree


class NameRenaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        return node


def _find_taken_names(tree: ast.AST, texts: Iterable[str]) -> set[str]:
    """Every identifier of the program, so that no new name takes the place of one."""
    found = find_names(tree)
    found |= {
        node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    for text in texts:
        found |= set(re.findall(r"[A-Za-z_]\w*", text))
    return found


def name_by_hand(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements with letters for generated names, as far as there are enough, and no number
    where there is one of a sort.
    """
    tree = ast.parse(_replace_by_letters("value", ast.unparse(ast.Module(statements, []))))
    tidy_functions(tree)
    text = _replace_by_letters("arg", ast.unparse(tree))  # what is left of them belongs to lambdas
    for prefix, name in _NUMBERED.items():
        if f"{prefix}2" not in text and not re.search(rf"\b{name}\b", text):
            text = re.sub(rf"\b{prefix}1\b", name, text)
    named = ast.parse(text)
    _name_parameters(named)
    return named.body


def _name_parameters(tree: ast.Module) -> None:
    """Gives the parameters of a subclass's own methods the names of torch's documentation."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.name not in _TAKES_OVER:
            continue
        names = dict(zip((each.arg for each in node.args.args), _ITS_PARAMETERS))
        if find_names(node) & {*_ITS_PARAMETERS} - {*names}:
            continue
        for each in node.args.args:
            each.arg = names.get(each.arg, each.arg)
        NameRenaming(names).visit(node)


def _replace_by_letters(prefix: str, text: str) -> str:
    """The text with a letter for each name of the prefix and a number; as it is, where there are
    not enough.
    """
    pattern = rf"\b{prefix}\d+\b"
    taken = set(re.findall(r"\b[a-z]\b", text))
    letters = [letter for letter in _LETTERS if letter not in taken]
    new = dict(zip(dict.fromkeys(re.findall(pattern, text)), letters))
    if len(set(re.findall(pattern, text))) > len(letters):
        return text
    return re.sub(pattern, lambda name: new[name[0]], text)
