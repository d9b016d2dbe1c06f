"""Small syntax trees that the public program is made of."""

from __future__ import annotations

import ast


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression."""
    return ast.parse(text, mode="eval").body


def build_dotted_name(name: str) -> ast.expr:
    """A public dotted name, with the usual short forms `nn.` and `F.`."""
    if name.startswith("torch.nn.functional"):
        name = "F" + name[len("torch.nn.functional") :]
    elif name == "torch.nn" or name.startswith("torch.nn."):
        # these two have an import line of their own (`symbols/imports.py`)
        if not name.startswith(("torch.nn.attention", "torch.nn.utils")):
            name = name[len("torch.") :]
    return parse_expression(name)


def build_list(items: list[ast.expr]) -> ast.expr:
    """`[Block() for _ in range(4)]` for equal items, else the list itself."""
    texts = {ast.unparse(each) for each in items}
    if len(items) > 1 and len(texts) == 1:
        return parse_expression(f"[{texts.pop()} for _ in range({len(items)})]")
    return ast.List(items, ast.Load())


def build_assignment(name: str, value: ast.expr) -> ast.stmt:
    """`name = value`."""
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=1)
