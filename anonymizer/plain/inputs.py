"""The inputs of a program as the arguments of a flat script, and the statements before them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from anonymizer.graph.identifiers import NameSubstitution, find_names
from anonymizer.graph.randomness import is_seed
from anonymizer.graph.repro import ReproBody
from anonymizer.plain.renaming import SHORT, NameRenaming

#: What the statements around the call are written with.
_USED = frozenset(
    "actual call callee compiled copy eager exact expected exported fn function grads leaves model"
    " nn off out outs owners tangents torch F".split()
)
#: Longest argument into which another expression is written.
_WIDTH = 76


def read_inputs(
    body: ReproBody, parameters: Sequence[str], constants: dict[str, float]
) -> tuple[list[str], list[tuple[str, str]]]:
    """The statements of `inputs()`, and the arguments that it returns, by name.

    Args:
        parameters: the names that the program gives its arguments; empty where they are unknown.
        constants: size -> its number, which is written in place of the size's name; empty where the
            sizes differ from call to call.

    Returns:
        The statements as text, and (name, expression) of each argument in the order of the call.
        The expression is "" where one of the statements assigns the name.

    Raises:
        ValueError: the inputs do not end in `return` of one tuple, or it has a starred item.
    """
    sizes = {name: ast.Constant(size) for name, size in constants.items()}
    *statements, last = NameSubstitution(sizes).visit(body.parse_inputs()).body
    if not (isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)):
        raise ValueError("the inputs do not end in one tuple")
    values = last.value.elts
    if any(isinstance(value, ast.Starred) for value in values):
        raise ValueError("the number of inputs is not known")
    names = choose_names(len(values), parameters)
    statements, values = _name_as_arguments(statements, values, names)
    bound = [value.id for value in values if isinstance(value, ast.Name)]
    inner = find_names(*statements)
    arguments: list[tuple[str, str]] = []
    for name, value in zip(names, values):
        if isinstance(value, ast.Name) and value.id in inner:
            arguments.append((value.id, ""))
        else:
            is_free = name not in inner and name not in bound and name not in _USED
            free = name if is_free else f"{name}_"
            arguments.append((free, _write_by_hand(ast.unparse(value))))
    return _put_in_line([_write_statement(each) for each in statements], arguments)


def choose_names(count: int, parameters: Sequence[str]) -> list[str]:
    """Names for some arguments: the parameters' where they are enough, else short ones.

    Args:
        count: how many arguments there are.
        parameters: names of the function's own; with one of them twice none is taken.
    """
    if len(parameters) >= count and len(set(parameters)) == len(parameters):
        return list(parameters[:count])
    return list(SHORT[:count]) if count <= len(SHORT) else [f"x{index}" for index in range(count)]


def _name_as_arguments(
    statements: list[ast.stmt], values: list[ast.expr], names: Sequence[str]
) -> tuple[list[ast.stmt], list[ast.expr]]:
    """Values that have a statement of their own, by the name of the argument that they are."""
    taken = find_names(*statements) | _USED
    made = find_names(*statements, context=ast.Store)
    renamed: dict[str, str] = {}
    for name, value in zip(names, values):
        if isinstance(value, ast.Name) and value.id in made and name not in taken:
            renamed.setdefault(value.id, name)
    visit = NameRenaming(renamed).visit
    return [visit(one) for one in statements], [visit(one) for one in values]


def _put_in_line(
    statements: list[str], arguments: list[tuple[str, str]]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Statements that each make one argument, in the order of the call, are those arguments."""
    made = {
        node.targets[0].id: ast.unparse(node.value)
        for text in statements
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    plain = [f"{name} = {made.get(name)}" for name, text in arguments if not text]
    others = [text for text in statements if text not in plain]
    in_order = [text for text in statements if text in plain] == plain
    if in_order and all(map(is_seed, others)):
        return others, [(name, text or _write_by_hand(made[name])) for name, text in arguments]
    return statements, arguments


def nest_arguments(
    statements: list[str], arguments: list[tuple[str, str]]
) -> tuple[list[str], list[tuple[str, str]]]:
    """What only one argument holds, such as a tensor in a list, is written inside of it; what is
    random stays, since the order of the draws counts.

    Args:
        statements: assignments before the call, one line each.
        arguments: (name, expression); the expression is empty where the name alone is given.

    Returns:
        The statements that are left, and the arguments in their order.
    """
    for statement in list(statements):
        node = ast.parse(statement).body[0]
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        inner, value = node.targets[0].id, ast.unparse(node.value)
        others = [one for one in statements if one != statement]
        read = "\n".join([*others, *(text or name for name, text in arguments)])
        if "rand" in value or len(re.findall(rf"\b{inner}\b", read)) != 1:
            continue
        swap = NameSubstitution({inner: node.value})
        nested = [(name, _apply_change(text, swap)) for name, text in arguments]
        if nested != arguments and max(len(text) for _, text in nested) <= _WIDTH:
            statements, arguments = others, nested
    return statements, arguments


def _apply_change(text: str, change: ast.NodeTransformer) -> str:
    """An expression after a change; nothing stays nothing."""
    return ast.unparse(change.visit(ast.parse(text, mode="eval"))) if text else ""


def loop_over_arguments(
    sizes: list[str], statements: Sequence[str], arguments: list[tuple[str, str]]
) -> tuple[list[str], list[tuple[str, str]]]:
    """The sizes and arguments of a loop over calls, in which a size that is an argument by itself
    has the name of that argument.

    Args:
        sizes: the names of what differs from call to call.
        statements: what runs before the call; a size that they read keeps its name.
        arguments: (name, expression) as `read_inputs` returns them.

    Returns:
        As many sizes and arguments, in the same order. The expression of an argument that has
        become one of the sizes is "".
    """
    texts = "\n".join([*statements, *(text for _, text in arguments)])
    for at, (name, text) in enumerate(arguments):
        if text in sizes and len(re.findall(rf"\b{text}\b", texts)) == 1:
            sizes = [name if size == text else size for size in sizes]
            arguments = [*arguments[:at], (name, ""), *arguments[at + 1 :]]
    return sizes, arguments


def _write_statement(node: ast.stmt) -> str:
    """The text of a statement; what it assigns as people write it."""
    if isinstance(node, ast.Assign):
        return f"{ast.unparse(node.targets[0])} = {_write_by_hand(ast.unparse(node.value))}"
    return ast.unparse(node)


def _write_by_hand(text: str) -> str:
    """`torch.randn(2, requires_grad=True)` where the harness calls `requires_grad_()`."""
    creation = r"(torch\.(?:randn|rand|ones|zeros)\([^()]*)"
    made = re.fullmatch(creation + r"\)\.requires_grad_\(\)(\.clone\(\))?", text)
    if made:
        return f"{made.group(1)}, requires_grad=True){made.group(2) or ''}"
    return _write_constant(text)


def _write_constant(text: str) -> str:
    """A tensor of one value as people write it: of ones or zeros, or its only number."""
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "torch.full":
        return text
    given = {each.arg: ast.unparse(each.value) for each in call.keywords}
    if len(call.args) != 2 or not isinstance(call.args[0], ast.Tuple):
        return text
    sizes, value = call.args[0].elts, ast.unparse(call.args[1])
    dtype = given.pop("dtype", "")
    more = "".join(f", {name}={text}" for name, text in given.items())
    typed = f", dtype={dtype}" if dtype else ""
    if value in ("0.0", "1.0") or dtype and value in ("0", "1"):
        creation = "ones" if value.startswith("1") else "zeros"
        return f"torch.{creation}({', '.join(map(ast.unparse, sizes)) or '()'}{typed}{more})"
    is_implied = dtype == "torch.int64" and value.lstrip("-").isdecimal()
    if [ast.unparse(size) for size in sizes] == ["1"] and re.fullmatch(r"-?[\d.e+-]+", value):
        return f"torch.tensor([{value}]{'' if is_implied else typed}{more})"
    return text
