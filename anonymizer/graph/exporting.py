"""A program as the module that torch.export wants."""

from __future__ import annotations

import ast
from dataclasses import replace

from anonymizer.graph.boilerplate import ReproBody


def as_module(body: ReproBody) -> ReproBody:
    """The body with its function as the `forward` of a module; torch.export takes nothing else.

    Raises:
        ValueError: the callable is no function of the body's own definitions.
    """
    if body.is_module:
        return body
    tree = ast.parse(body.definitions)
    for index, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == body.callable:
            node.args.args.insert(0, ast.arg("self"))
            node.name = "forward"
            base = ast.Attribute(
                ast.Attribute(ast.Name("torch", ast.Load()), "nn", ast.Load()), "Module", ast.Load()
            )
            tree.body[index] = ast.ClassDef("Repro", [base], [], [node], [])
            definitions = ast.unparse(ast.fix_missing_locations(tree))
            return replace(body, definitions=definitions, callable="Repro()", is_module=True)
    raise ValueError(f"{body.callable} is no function of the program")
