"""What a flat script compiles: the function that a module without state is, a stock layer, or the
program as it is made.
"""

from __future__ import annotations

import ast
import re

from anonymizer.graph.identifiers import find_names
from anonymizer.graph.repro import PROGRAM_FACTORY, ReproAssertion, ReproBody
from anonymizer.kinds import Differentiation


def unwrap_module(
    made: ast.expr, tree: ast.Module, is_module: bool
) -> tuple[ast.expr, ast.Module, bool]:
    """The callable as a function where it is a module without state: its `forward`, as `fn`.

    Args:
        made: the expression that makes the callable, such as `Repro()`.
        tree: the definitions; the `forward` in it is changed in place.
        is_module: whether `made` gives a module.

    Returns:
        The three, with `fn` defined in place of the class. They come back as they are where the
        class has more than `forward`, where that has no receiver by name, where a definition names
        the module or `super`, or where the name `fn` is taken.
    """
    name = re.sub(r"\(.*", "", ast.unparse(made))  # of `Repro()` or `Repro().eval()`
    owns = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    own = next(owns, None)
    forward = own.body[0] if own is not None and len(own.body) == 1 else None
    if not (is_module and isinstance(forward, ast.FunctionDef) and forward.name == "forward"):
        return made, tree, is_module
    if forward.args.posonlyargs or not forward.args.args:  # `forward(*args)`
        return made, tree, is_module
    receiver, *parameters = forward.args.args
    names = find_names(tree)
    defined = {getattr(node, "name", "") for node in tree.body}
    is_read = any(
        isinstance(node, ast.Name) and node.id == receiver.arg for node in ast.walk(forward)
    )
    if is_read or "fn" in names | defined or names & {name, "super"}:
        return made, tree, is_module
    forward.name, forward.args.args = "fn", parameters
    others = [forward if node is own else node for node in tree.body]
    return ast.Name("fn", ast.Load()), ast.Module(others, []), False


def choose_callee(
    made: ast.expr, tree: ast.Module, body: ReproBody, assertion: ReproAssertion
) -> tuple[str, str, ast.Module]:
    """What is compiled, the statement that makes it, and the definitions that are left.

    Args:
        made: the expression that makes the callable; a bare name is a function.
        tree: the definitions; none are left where `made` is only a wrapper of one stock layer.
        assertion: its `backward` and `evaluation` are read.

    Returns:
        An expression, a statement ("" where none is needed), and the definitions.
    """
    if isinstance(made, ast.Name):
        return made.id, "", tree
    if ast.unparse(made) == f"{PROGRAM_FACTORY}()" and assertion.backward == Differentiation.NONE:
        return ast.unparse(made), "", tree  # each side has one of its own
    name = "model" if body.convention.is_module else "function"
    layer = _find_only_layer(made, tree) if body.convention.is_module else None
    if layer is not None:
        made, tree = layer, ast.Module([], [])
    text = ast.unparse(made) + (
        ".eval()" if assertion.evaluation and body.convention.is_module else ""
    )
    return name, f"{name} = {text}", tree


def _find_only_layer(made: ast.expr, tree: ast.Module) -> ast.expr | None:
    """The stock layer that a module consists of, if it does nothing but call it with its own
    arguments.
    """
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.ClassDef):
        return None
    if not (isinstance(made, ast.Call) and not made.args and not made.keywords):
        return None
    methods = {node.name: node for node in tree.body[0].body if isinstance(node, ast.FunctionDef)}
    if set(methods) != {"__init__", "forward"}:
        return None
    init, forward = methods["__init__"], methods["forward"]
    if len(init.body) != 2 or len(forward.body) != 1:
        return None
    assigned, returned = init.body[1], forward.body[0]
    if not (isinstance(assigned, ast.Assign) and isinstance(returned, ast.Return)):
        return None
    target, call = ast.unparse(assigned.targets[0]), returned.value
    given = [parameter.arg for parameter in forward.args.args[1:]]
    is_same = isinstance(call, ast.Call) and ast.unparse(call) == f"{target}({', '.join(given)})"
    return assigned.value if is_same and "nn." in ast.unparse(assigned.value) else None


def list_parameters(tree: ast.Module, body: ReproBody) -> list[str]:
    """The names that the program itself gives its arguments; none where they cannot be told."""
    name = body.callable
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if node.name == name and not body.convention.is_module:
                return [each.arg for each in node.args.args]
            if node.name == "forward" and body.convention.is_module:
                return [each.arg for each in node.args.args[1:]]
    return []
