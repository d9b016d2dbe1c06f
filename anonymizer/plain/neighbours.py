"""Programs next to a repro: another dtype, size, layout or operator of the same family.

Maintainers ask for which of these it fails. The variants are written here; which of them fail is
measured by the caller.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from anonymizer.graph.identifiers import NameSubstitution, find_names
from anonymizer.graph.repro import ReproAssertion, ReproBody
from anonymizer.plain.script.creation_calls import (
    CREATION_FUNCTIONS,
    FLOATS,
    find_creation_calls,
    is_single_size,
    list_dimensions,
    list_sizes,
    read_dtype,
    replace_size,
)

#: Operators that stand for each other in a program without further changes.
_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("min", "max"),
    ("amin", "amax"),
    ("argmin", "argmax"),
    ("cummin", "cummax"),
    ("minimum", "maximum"),
    ("any", "all"),
    ("sum", "mean", "prod"),
    ("cumsum", "cumprod", "logcumsumexp"),
    ("sin", "cos", "tan"),
    ("exp", "expm1", "exp2"),
    ("log", "log1p", "log2"),
    ("floor", "ceil", "round", "trunc"),
    ("add", "sub", "mul", "div"),
    ("addcmul", "addcdiv"),
    ("bitwise_left_shift", "bitwise_right_shift"),
    ("softmax", "log_softmax"),
    ("view", "reshape"),
    ("tril", "triu"),
    ("max_pool1d", "avg_pool1d"),
    ("max_pool2d", "avg_pool2d"),
    ("max_pool3d", "avg_pool3d"),
)
_WHOLE = ("uint8", "int8", "int16", "int32", "int64", "bool")
#: The methods that lay out a new tensor, and what its layout is called then.
_LAYOUTS = {
    "t": "transposed",
    "transpose": "transposed",
    "permute": "permuted",
    "expand": "expanded",
    "as_strided": "strided",
}
#: What begins the name of a change of a size: of one dimension, or of several at once.
SIZE, SIZES = "size ", "sizes "
#: What stands for an argument that is not given.
_LEFT_OUT = "left out"
#: Arguments that are left out one by one, at most.
_WORDS = 3
#: Different sizes of a program that are varied, and sizes that a dimension is given at most.
_SIZES, _LARGEST = 3, 4096


@dataclass(frozen=True)
class Neighbour:
    """A variant: what was changed (`values nan`, `argument dim of sum`, `dtype`, `size 16`,
    `layout`, `operator`), from what and to what.
    """

    what: str
    own: str
    to: str
    body: ReproBody


def build_neighbours(body: ReproBody, assertion: ReproAssertion) -> Iterator[Neighbour]:
    """The variants of a program, in an order in which the first ones tell most: of what a title
    names, each kind has its turn, so that none is left out where there is little time.

    Sizes are those of the inputs; where sizes change from call to call they are left alone.
    """
    yield from _change_values(body)
    yield from _drop_arguments(body)
    yield from _drop_layouts(body)
    sizes = () if assertion.calls else _change_sizes(body)
    turns = itertools.zip_longest(
        _change_dtypes(body), sizes, _change_operators(body), _change_layouts(body)
    )
    yield from (near for turn in turns for near in turn if near is not None)


def _change_values(body: ReproBody) -> Iterator[Neighbour]:
    """Inputs that hold NaN or infinities with an ordinary number in their place."""
    for value in ("nan", "inf", "-inf"):
        text = f"float('{value}')"
        lines = tuple(ast.unparse(statement) for statement in body.parse_inputs().body)
        if any(text in line for line in lines):
            made = replace(body, inputs=tuple(line.replace(text, "1.0") for line in lines))
            yield Neighbour(f"values {value}", value, "1.0", made)


def _drop_arguments(body: ReproBody) -> Iterator[Neighbour]:
    """One argument that an operator is given by keyword left out; only where one call of the
    operator has it, and as a constant.
    """
    tree = ast.parse(body.definitions)
    contexts = {id(item.context_expr) for node in ast.walk(tree) for item in _list_items(node)}
    found = [
        (f"argument {word.arg} of {call.func.attr}", at, index)
        for at, call in enumerate(_find_calls(tree))
        if isinstance(call.func, ast.Attribute) and id(call) not in contexts
        for index, word in enumerate(call.keywords)
        if _is_constant(word.value)
    ]
    names = [what for what, _, _ in found]
    for what, at, index in [each for each in found if names.count(each[0]) == 1][:_WORDS]:
        changed = copy.deepcopy(tree)
        words = _find_calls(changed)[at].keywords
        value = ast.unparse(words.pop(index).value)
        yield Neighbour(what, value, _LEFT_OUT, replace(body, definitions=ast.unparse(changed)))


def _list_items(node: ast.AST) -> list[ast.withitem]:
    return node.items if isinstance(node, ast.With) else []


def _is_constant(value: ast.expr) -> bool:
    """Whether an argument is written as a number, a text, or a name of torch's."""
    is_call = any(isinstance(part, ast.Call) for part in ast.walk(value))
    return find_names(value) <= {"torch"} and not is_call


def _find_calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


class _CreationWrapping(ast.NodeTransformer):
    """Each new tensor of a kind in a further call."""

    def __init__(self, wrap: Callable[[ast.Call], ast.expr | None]) -> None:
        self.wrap = wrap
        self.done = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        made = self.wrap(node) if ast.unparse(node.func) in CREATION_FUNCTIONS else None
        self.done |= made is not None
        return made or node


def _change(body: ReproBody, wrap: Callable[[ast.Call], ast.expr | None]) -> ReproBody | None:
    change = _CreationWrapping(wrap)
    function = change.visit(body.parse_creations())
    return body.with_creations(function) if change.done else None


def _append_method(value: ast.expr, text: str) -> ast.expr:
    """`value.text`, where the text is a chain of method calls."""
    return _fill(f"_.{text}", value)


def _fill(text: str, value: ast.expr) -> ast.expr:
    """An expression with a copy of `value` wherever its text has `_`."""
    filled: ast.expr = NameSubstitution({"_": value}).visit(ast.parse(text, mode="eval").body)
    return filled


def _change_dtypes(body: ReproBody) -> Iterator[Neighbour]:
    """All inputs of one dtype in another one; none where complex numbers are made of their parts,
    whose dtype is no input's.
    """
    if any("torch.complex(" in line for line in body.inputs):
        return
    found = {read_dtype(creation) for creation in find_creation_calls(body.parse_creations())} & {
        *FLOATS,
        *_WHOLE,
    }
    for dtype in sorted(found):
        others = FLOATS if dtype in FLOATS else (*_WHOLE, "float32")
        if body.convention.is_module and dtype not in FLOATS:
            continue  # the weights stay floats
        for other in others:
            if other == dtype:
                continue

            def wrap(creation: ast.Call, old: str = dtype, new: str = other) -> ast.expr | None:
                return (
                    _append_method(creation, f"to(torch.{new})")
                    if read_dtype(creation) == old
                    else None
                )

            made = _change(body, wrap)
            if made is None:
                continue
            if body.convention.is_module:
                made = replace(made, callable=f"{body.callable}.to(torch.{other})")
            which = "dtype" if len(found) == 1 else f"dtype {dtype}"
            yield Neighbour(which, dtype, other, made)


def _change_operators(body: ReproBody) -> Iterator[Neighbour]:
    """One operator replaced by the others of its family."""
    tree = ast.parse(body.definitions)
    names = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    for family in _FAMILIES:
        pairs = ((name, other) for name in family for other in family if other != name)
        for name, other in pairs:
            if names.count(name) == 1:
                changed = copy.deepcopy(tree)
                for node in ast.walk(changed):
                    if isinstance(node, ast.Attribute) and node.attr == name:
                        node.attr = other
                made = replace(body, definitions=ast.unparse(changed))
                yield Neighbour("operator", name, other, made)


def _change_sizes(body: ReproBody) -> Iterator[Neighbour]:
    """Every dimension of one size in another size, in all inputs at once."""
    for size in list_sizes(body)[:_SIZES]:
        what = f"{SIZE if is_single_size(body, size) else SIZES}{size}"
        for other in dict.fromkeys((size - 1, size + 1, size // 2, 2 * size)):
            if other == size or not 1 <= other <= _LARGEST:
                continue
            yield Neighbour(what, str(size), str(other), replace_size(body, size, other))


def _drop_layouts(body: ReproBody) -> Iterator[Neighbour]:
    """Inputs that have layouts of their own contiguous."""
    function = body.parse_creations()
    own = _find_layouts(function)
    if own:
        made = body.with_creations(_ContiguousWrapping().visit(function))
        yield Neighbour("layout", own.pop() if len(own) == 1 else "strided", "contiguous", made)


def _change_layouts(body: ReproBody) -> Iterator[Neighbour]:
    """All inputs of two dimensions or more transposed in memory, or all of them strided; not where
    some have layouts of their own.
    """
    if _find_layouts(body.parse_creations()):
        return

    def transpose(creation: ast.Call) -> ast.expr | None:
        swap = "transpose(-1, -2)"
        is_matrix = len(list_dimensions(creation)) > 1
        return _append_method(creation, f"{swap}.contiguous().{swap}") if is_matrix else None

    def make_strided(creation: ast.Call) -> ast.expr | None:
        if not list_dimensions(creation):
            return None
        return _fill("torch.stack([_, _], -1)[..., 0]", creation)

    for name, wrap in (("transposed", transpose), ("strided", make_strided)):
        made = _change(body, wrap)
        if made is not None:
            yield Neighbour("layout", "contiguous", name, made)


class _ContiguousWrapping(ast.NodeTransformer):
    """New tensors that have a layout of their own made contiguous."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _read_layout(node):
            return _append_method(node, "contiguous()")
        return self.generic_visit(node)


def _find_layouts(tree: ast.AST) -> set[str]:
    """The layouts that new tensors are given."""
    return {_read_layout(call) for call in _find_calls(tree)} - {""}


def _read_layout(call: ast.Call) -> str:
    """The layout that a call gives a new tensor; empty for any other call, also for one that makes
    a view of another tensor, whose memory the view has to share.
    """
    if not isinstance(call.func, ast.Attribute) or find_names(call) != {"torch"}:
        return ""
    return _LAYOUTS.get(call.func.attr, "")
