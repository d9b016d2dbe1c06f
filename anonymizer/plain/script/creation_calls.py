"""The calls that make the inputs of a program, and the sizes that they are given."""

from __future__ import annotations

import ast
import math

from anonymizer.graph.repro import ReproBody

#: Functions that create tensors, with the dtype that they have by default.
CREATION_FUNCTIONS = {
    "torch.randn": "float32",
    "torch.rand": "float32",
    "torch.ones": "float32",
    "torch.zeros": "float32",
    "torch.randint": "int64",
    "torch.full": "",
    "torch.arange": "",
}
#: Dtypes of floating-point numbers, the usual one first.
FLOATS = ("float32", "float64", "float16", "bfloat16")


def find_creation_calls(tree: ast.AST) -> list[ast.Call]:
    """The calls that create a tensor."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CREATION_FUNCTIONS
    ]


def read_argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    """An argument that a call may give by position or by keyword; None where it gives none."""
    if position < len(call.args):
        return call.args[position]
    return next((each.value for each in call.keywords if each.arg == keyword), None)


def _find_counting_calls(tree: ast.AST) -> list[tuple[ast.Call, list[ast.expr]]]:
    """The calls of `torch.arange` that count from 0 and whose result is reshaped, and the sizes
    that it gets.
    """
    return [
        (node.func.value, node.args)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "reshape"
        and isinstance(node.func.value, ast.Call)
        and ast.unparse(node.func.value.func) == "torch.arange"
        and _find_count(node.func.value) is not None
    ]


def _find_count(call: ast.Call) -> ast.expr | None:
    """What a call of `torch.arange` counts up to; None where it is given a start or a step."""
    if len(call.args) > 1 or {word.arg for word in call.keywords} & {"start", "step"}:
        return None
    return read_argument(call, 0, "end")


def list_sizes(body: ReproBody) -> list[int]:
    """The different sizes of the dimensions of the inputs, the largest first."""
    function = body.parse_creations()
    found = _list_size_nodes(function, _find_counting_calls(function))
    return sorted({size for node in found if (size := read_size(node)) is not None}, reverse=True)


def is_single_size(body: ReproBody, size: int) -> bool:
    """Whether a size stands in one dimension of one input, and nothing is cut out of the inputs: a
    smaller one then says something of that dimension, and of nothing else.
    """
    function = body.parse_creations()
    nodes = _list_size_nodes(function, _find_counting_calls(function))
    cuts = any(isinstance(node, ast.Slice) for node in ast.walk(ast.parse(body.definitions)))
    return sum(read_size(node) == size for node in nodes) == 1 and not cuts


def _list_size_nodes(
    tree: ast.AST, counted: list[tuple[ast.Call, list[ast.expr]]]
) -> list[ast.expr]:
    """The expressions of the sizes that inputs are made with; `counted` are the calls of
    `torch.arange` among them.
    """
    nodes = [node for creation in find_creation_calls(tree) for node in list_dimensions(creation)]
    return nodes + [node for _, sizes in counted for node in sizes]


def replace_size(body: ReproBody, old: int, new: int) -> ReproBody:
    """The program with inputs in which every dimension of the size `old` has the size `new`.

    What `torch.arange(n).reshape(...)` counts up to fits the new sizes.

    Args:
        body: is left as it is.
        old: a size that stands in the creation calls as a number; others are not found.
        new: no less than 0.
    """
    function = body.parse_creations()
    counted = _find_counting_calls(function)
    for node in _list_size_nodes(function, counted):
        if read_size(node) == old and isinstance(node, ast.Constant):
            node.value = new
    for creation, given in counted:
        end, shape = _find_count(creation), [read_size(node) for node in given]
        if (
            isinstance(end, ast.Constant)
            and isinstance(end.value, (int, float))
            and None not in shape
        ):
            end.value = type(end.value)(math.prod(size for size in shape if size is not None))
    return body.with_creations(function)


def fill_inputs(body: ReproBody, value: str, only: int | None = None) -> ReproBody:
    """The program with one value everywhere in each tensor of floats that it is given.

    Args:
        body: is left as it is.
        value: a word that Python's `float` takes, such as `-inf`.
        only: the place of the one tensor among them that is filled; others stay.
    """
    return body.with_creations(_Fill(value, only).visit(body.parse_creations()))


class _Fill(ast.NodeTransformer):
    """Makes tensors of floats of one value; numbers by which they are scaled stay."""

    def __init__(self, value: str, only: int | None) -> None:
        number = float(value)
        text = repr(number) if math.isfinite(number) else f"float({value!r})"
        self.value = ast.parse(text, mode="eval").body
        self.only = only
        self.count = -1

    def visit_Call(self, node: ast.Call) -> ast.AST:
        creation, sizes = node, (
            list_dimensions(node) if ast.unparse(node.func) in CREATION_FUNCTIONS else []
        )
        for counted, given in _find_counting_calls(ast.Expression(node)):
            if given is node.args:
                creation, sizes = counted, given
        if not sizes or read_dtype(creation) not in FLOATS:
            return self.generic_visit(node)
        self.count += 1
        if self.only not in (None, self.count):
            return node
        made = ast.parse("torch.full", mode="eval").body
        return ast.Call(made, [ast.Tuple(sizes, ast.Load()), self.value], creation.keywords)


def list_dimensions(creation: ast.Call) -> list[ast.expr]:
    """The expressions of the sizes that a call is given; none for one of another shape."""
    name = ast.unparse(creation.func)
    given = creation.args
    if name == "torch.randint":
        given = creation.args[2:]
    elif name == "torch.full":
        given = creation.args[:1]
    elif name == "torch.arange":
        return []  # its shape is that of what follows
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        return given[0].elts
    return list(given)


def read_size(node: ast.expr) -> int | None:
    """A size that is written as a number."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_dtype(creation: ast.Call) -> str:
    """The dtype of a new tensor; empty where it cannot be told."""
    named = {keyword.arg: ast.unparse(keyword.value) for keyword in creation.keywords}
    if "dtype" in named:
        return named["dtype"].removeprefix("torch.")
    name = ast.unparse(creation.func)
    if name == "torch.arange":
        given = [*creation.args, *(word.value for word in creation.keywords)]
        values = [node.value for node in given if isinstance(node, ast.Constant)]
        return "float32" if any(isinstance(value, float) for value in values) else "int64"
    return CREATION_FUNCTIONS[name]
