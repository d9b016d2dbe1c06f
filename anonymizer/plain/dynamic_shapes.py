"""The `dynamic_shapes` of an export as people write them: each dynamic dimension by its number."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from anonymizer.graph.repro import ReproAssertion, ReproBody
from anonymizer.kinds import EXPORTERS
from anonymizer.plain.script.creation_calls import CREATION_FUNCTIONS, list_dimensions, read_size

#: Every size of every argument as a dimension; equal sizes are one, as Dynamo takes them. Where it
#: is known which sizes may change, `declare_symbols` puts those in its place.
EVERY_DIMENSION = (
    '[{i: torch.export.Dim(f"d{n}") for i, n in enumerate(arg.shape) if n > 1} for arg in args]'
)
#: Methods that leave the shape of a tensor as it is.
_SAME_SHAPE = frozenset(
    "requires_grad_ to float double half bfloat16 contiguous clone detach".split()
)
#: Dimensions that are tried as the only dynamic one, at most.
_MOST = 6

#: Dynamic dimensions as text, by argument and number.
_Dimensions = Mapping[tuple[int, int], str]


def write_out(body: ReproBody, assertion: ReproAssertion) -> Iterator[ReproAssertion]:
    """The assertion with its dynamic dimensions written out: one of them alone, then all.

    Nothing where the program is not exported with dynamic dimensions, or is called with other sizes
    than it is exported for; nor where the sizes of an argument cannot be read from the call that
    makes it.
    """
    given = dict(assertion.arguments).get("dynamic_shapes")
    if given is None or assertion.calls:
        return
    if given == EVERY_DIMENSION:
        shapes = _read_shapes(body)
        if shapes is None:
            return
        count, dynamic = len(shapes), _name_sizes(shapes)
    else:
        count, dynamic = _read_dimensions(given)
    for place in list(dynamic)[:_MOST] if len(dynamic) > 1 else ():
        yield _with_dimensions(assertion, count, {place: _write_dimension("d")})
    yield _with_dimensions(assertion, count, dynamic)


def _name_sizes(shapes: Sequence[Sequence[int]]) -> _Dimensions:
    """All sizes above 1 as dimensions, equal ones as the same."""
    places = {(at, i): n for at, shape in enumerate(shapes) for i, n in enumerate(shape) if n > 1}
    several = len(set(places.values())) > 1
    return {place: _write_dimension(f"d{n}" if several else "d") for place, n in places.items()}


def _read_dimensions(text: str) -> tuple[int, _Dimensions]:
    """How many arguments there are, and the dynamic dimensions, as `_with_dimensions` writes
    them.
    """
    listed = ast.parse(text, mode="eval").body
    assert isinstance(listed, ast.Tuple)
    return len(listed.elts), {
        (at, key.value): ast.unparse(value).replace("'", '"')
        for at, each in enumerate(listed.elts)
        if isinstance(each, ast.Dict)
        for key, value in zip(each.keys, each.values)
        if isinstance(key, ast.Constant) and isinstance(key.value, int)
    }


def declare_symbols(
    symbols: Sequence[Sequence[int | str]], assertion: ReproAssertion
) -> ReproAssertion:
    """The assertion with the dimensions that may change declared as dynamic, in the place of every
    dimension.

    Nothing changes where the program is not exported with every dimension dynamic, or none is known
    to change.

    Args:
        symbols: the sizes of each argument, those that may change as text.
    """
    if ("dynamic_shapes", EVERY_DIMENSION) not in assertion.arguments:
        return assertion
    places = {
        (at, i): size
        for at, sizes in enumerate(symbols)
        for i, size in enumerate(sizes)
        if isinstance(size, str)
    }
    if not places:
        return assertion
    distinct = list(dict.fromkeys(places.values()))
    names = {size: f"d{at}" if len(distinct) > 1 else "d" for at, size in enumerate(distinct)}
    written = {place: _write_dimension(names[size]) for place, size in places.items()}
    return _with_dimensions(assertion, len(symbols), written)


def declare_changing(body: ReproBody, assertion: ReproAssertion) -> ReproAssertion:
    """The assertion of a program that is exported once and called with several sizes, with the
    dimensions that change declared as dynamic, each range with the smallest size that is called.

    Sizes of which one is a multiple of another at each call are one dimension and its multiple.
    Nothing changes where the program is not exported, or no size in a call of `inputs` differs.
    """
    if assertion.compiler not in EXPORTERS or len(assertion.calls) < 2:
        return assertion
    sizes = {
        name: [int(dict(call)[name]) for call in assertion.calls] for name, _ in assertion.calls[0]
    }
    shapes = _find_shapes(body) or []
    changing = {
        (at, i): node.id
        for at, shape in enumerate(shapes)
        for i, node in enumerate(shape or ())
        if isinstance(node, ast.Name) and node.id in sizes
    }
    if not changing:
        return assertion
    bases = {name: _find_base(sizes[name], sizes.values()) for name in changing.values()}
    distinct = list(dict.fromkeys(map(tuple, bases.values())))
    written = {}
    for place, name in changing.items():
        base, numbered = bases[name], len(distinct) > 1
        called = f"d{distinct.index(tuple(base))}" if numbered else "d"
        factor = sizes[name][0] // base[0] if base[0] else 1
        dimension = _write_dimension(called, min(base))
        written[place] = dimension if factor == 1 else f"{factor} * {dimension}"
    return _with_dimensions(assertion, len(shapes), written)


def _find_base(sizes: list[int], others: Iterable[list[int]]) -> list[int]:
    """The smallest sizes of which `sizes` are the same multiple at each call."""
    bases = [
        base
        for base in others
        if all(base) and all(sizes)
        if sizes[0] % base[0] == 0
        if all(size * base[0] == own * sizes[0] for size, own in zip(sizes, base))
    ]
    return min(bases, default=sizes)


def _write_dimension(name: str, smallest: int = 2) -> str:
    """A dimension; torch.export takes a size below 2 for dynamic only where the range has it."""
    least = f", min={smallest}" if smallest < 2 else ""
    return f'torch.export.Dim("{name}"{least})'


def _with_dimensions(
    assertion: ReproAssertion, count: int, dimensions: _Dimensions
) -> ReproAssertion:
    """The assertion with these dimensions of `count` arguments as the dynamic ones."""
    each = []
    for at in range(count):
        own = [f"{i}: {text}" for (a, i), text in dimensions.items() if a == at]
        each.append(f"{{{', '.join(own)}}}" if own else "None")
    text = f"({', '.join(each)}{',' if count == 1 else ''})"
    others = assertion.without_argument("dynamic_shapes").arguments
    return replace(assertion, arguments=(*others, ("dynamic_shapes", text)))


def _read_shapes(body: ReproBody) -> list[list[int]] | None:
    """The shape of each argument; None where one cannot be told."""
    known = {name: int(size) for name, size in body.sizes}
    shapes = []
    for found in _find_shapes(body) or [None]:
        given = [
            known.get(node.id) if isinstance(node, ast.Name) else _read_whole(node)
            for node in found or ()
        ]
        shape = [size for size in given if size is not None]
        if not shape or len(shape) < len(given):
            return None
        shapes.append(shape)
    return shapes


def _read_whole(node: ast.expr) -> int | None:
    """A size, or the end of `torch.arange`, which may be a float."""
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return int(node.value)
    return read_size(node)


def _find_shapes(body: ReproBody) -> list[Sequence[ast.expr] | None] | None:
    """The sizes of each argument, as expressions, or None for one whose sizes cannot be told; None
    where that holds for all.
    """
    *statements, last = body.parse_inputs().body
    if not (isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)):
        return None
    made = {
        statement.targets[0].id: statement.value
        for statement in statements
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    return [
        _find_shape(made.get(value.id, value) if isinstance(value, ast.Name) else value)
        for value in last.value.elts
    ]


def _find_shape(value: ast.expr) -> Sequence[ast.expr] | None:
    """The sizes of a new tensor, or those of `reshape` at the end."""
    if isinstance(value, ast.BinOp):
        return _find_shape(value.left)
    if not isinstance(value, ast.Call):
        return None
    method = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    if method in _SAME_SHAPE and isinstance(value.func, ast.Attribute):
        return _find_shape(value.func.value)
    name = ast.unparse(value.func)
    if name == "torch.arange" and len(value.args) == 1:
        return value.args
    if method != "reshape" and name not in CREATION_FUNCTIONS:
        return None
    return list_dimensions(value)
