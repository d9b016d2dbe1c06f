"""The `dynamic_shapes` of an export as people write them: each dynamic dimension by its number."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from anonymizer.graph.repro import ReproAssertion, ReproBody
from anonymizer.plain.creation_calls import CREATION_FUNCTIONS, list_dimensions, read_size

#: Every size of every argument as a dimension; equal sizes are one, as Dynamo takes them.
EVERY_DIMENSION = (
    '[{i: torch.export.Dim(f"d{n}") for i, n in enumerate(arg.shape) if n > 1} for arg in args]'
)
#: Methods that leave the shape of a tensor as it is.
_SAME_SHAPE = frozenset(
    "requires_grad_ to float double half bfloat16 contiguous clone detach".split()
)
#: Dimensions that are tried as the only dynamic one, at most.
_MOST = 6


def write_out(body: ReproBody, assertion: ReproAssertion) -> Iterator[ReproAssertion]:
    """The assertion with its dynamic dimensions written out: one of them alone, then all.

    Nothing where the program is not exported with every dimension dynamic, or where the sizes of an
    argument cannot be read from the call that makes it.
    """
    if ("dynamic_shapes", EVERY_DIMENSION) not in assertion.arguments:
        return
    shapes = _find_shapes(body)
    if shapes is None:
        return
    dynamic = [(at, i) for at, shape in enumerate(shapes) for i, n in enumerate(shape) if n > 1]
    for at, i in dynamic[:_MOST] if len(dynamic) > 1 else ():
        yield _with_names(assertion, len(shapes), {(at, i): "d"})
    names = {(at, i): f"d{shapes[at][i]}" for at, i in dynamic}
    if len(set(names.values())) == 1:
        names = dict.fromkeys(names, "d")
    yield _with_names(assertion, len(shapes), names)


def _with_names(
    assertion: ReproAssertion, count: int, names: Mapping[tuple[int, int], str]
) -> ReproAssertion:
    """`names` has those of the dynamic dimensions, by argument and dimension."""
    each = []
    for at in range(count):
        own = [f'{i}: torch.export.Dim("{name}")' for (a, i), name in names.items() if a == at]
        each.append(f"{{{', '.join(own)}}}" if own else "None")
    text = f"({', '.join(each)}{',' if count == 1 else ''})"
    arguments = ((n, text if n == "dynamic_shapes" else given) for n, given in assertion.arguments)
    return replace(assertion, arguments=tuple(arguments))


def _find_shapes(body: ReproBody) -> list[Sequence[int]] | None:
    """The shape of each argument; None where one cannot be told."""
    *statements, last = body.parse_inputs().body
    if not (isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)):
        return None
    made = {
        statement.targets[0].id: statement.value
        for statement in statements
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    sizes = {name: int(size) for name, size in body.sizes}
    found: list[Sequence[int]] = []
    for value in last.value.elts:
        made_by = made.get(value.id, value) if isinstance(value, ast.Name) else value
        shape = _find_shape(made_by, sizes)
        if shape is None:
            return None
        found.append(shape)
    return found


def _find_shape(value: ast.expr, sizes: Mapping[str, int]) -> Sequence[int] | None:
    """The sizes of a new tensor, or those of `reshape` at the end."""
    if isinstance(value, ast.BinOp):
        return _find_shape(value.left, sizes)
    if not isinstance(value, ast.Call):
        return None
    method = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    if method in _SAME_SHAPE and isinstance(value.func, ast.Attribute):
        return _find_shape(value.func.value, sizes)
    name = ast.unparse(value.func)
    if name == "torch.arange" and len(value.args) == 1:
        end = value.args[0].value if isinstance(value.args[0], ast.Constant) else None
        return (int(end),) if isinstance(end, (int, float)) else None
    if method != "reshape" and name not in CREATION_FUNCTIONS:
        return None
    given = [
        sizes.get(node.id) if isinstance(node, ast.Name) else read_size(node)
        for node in list_dimensions(value)
    ]
    known = [size for size in given if size is not None]
    return known if len(known) == len(given) and known else None
