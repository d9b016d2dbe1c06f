"""Inputs that a reader can hold: ones and counted numbers in the place of random ones, and of whole
numbers that are the program's own.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator

from anonymizer.graph.randomness import is_seed
from anonymizer.graph.repro import ReproBody
from anonymizer.plain.script.creation_calls import read_argument

#: A plainer creation of a tensor, from the random one and the whole expression, in which that may
#: be scaled and moved; None where it has none.
_Plain = Callable[[ast.Call, ast.expr], "ast.expr | None"]
#: The greatest numbers of dtypes that overflow soon.
_MOST_OF = {"torch.uint8": 255, "torch.int8": 127, "torch.int16": 32767}


def count_random(body: ReproBody) -> int:
    """How many inputs are random, or a list of whole numbers."""
    return sum(_is_random(node) for node in ast.walk(body.parse_creations()))


def build_plainer_inputs(body: ReproBody) -> Iterator[ReproBody]:
    """The same program on plainer inputs: all NaN or infinite where some values are, all ones, all
    counted, all 2, all the greatest number of a small dtype, all the least or the greatest of their
    whole numbers.

    Nothing where no input is random or a list of whole numbers. Sizes, dtypes, layouts and
    gradients stay.
    """
    count = count_random(body)
    if not count:
        return
    filled = _SpecialEverywhere()
    function = filled.visit(body.parse_creations())
    if filled.done:
        yield _without_idle_seed(body, function)
    yield from _with_plainer(body, range(count))


def build_plainer_input(body: ReproBody, index: int) -> Iterator[ReproBody]:
    """The same with one random input plainer, the one of an `index` among them."""
    yield from _with_plainer(body, (index,))


def _with_plainer(body: ReproBody, indices: Iterable[int]) -> Iterator[ReproBody]:
    chosen = tuple(indices)
    creations: tuple[_Plain, ...] = (
        _replace_by_ones,
        _number_elements,
        _replace_by_whole_twos,
        _fill_limit,
        _fill,
        _fill_most,
        _round,
        _replace_by_twos,
        _replace_by_zeros,
    )
    for creation in creations:
        changed = _CreationSubstitution(dict.fromkeys(chosen, creation))
        function = changed.visit(body.parse_creations())
        if changed.done:
            yield _without_idle_seed(body, function)


def _without_idle_seed(body: ReproBody, function: ast.FunctionDef) -> ReproBody:
    """The program with these inputs, and without a seed that nothing needs any more; a script may
    draw weights after its own.
    """
    if not body.convention.is_script and not any(_draws(node) for node in ast.walk(function)):
        function.body = [each for each in function.body if not is_seed(ast.unparse(each))]
    return body.with_creations(function)


def _draws(node: ast.AST) -> bool:
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return name.startswith("torch.rand") or name.rpartition(".")[2] in ("normal_", "uniform_")


def _is_random(node: ast.AST) -> bool:
    """Whether an expression makes a tensor of a known shape that may be another: a random one, or
    one of whole numbers.
    """
    return isinstance(node, ast.Call) and (
        ast.unparse(node.func) in ("torch.randn", "torch.rand", "torch.randint")
        or bool(_read_numbers(node))
    )


def _read_numbers(call: ast.Call) -> list[int]:
    """The whole numbers of `torch.tensor([3, 1, 2])`; none for any other call."""
    given = call.args[0] if ast.unparse(call.func) == "torch.tensor" and call.args else None
    items = given.elts if isinstance(given, ast.List) else []
    values = [item.value for item in items if isinstance(item, ast.Constant)]
    numbers = [value for value in values if type(value) is int]
    return numbers if len(numbers) == len(items) else []


def _as_random(call: ast.Call) -> ast.Call:
    """A random tensor of the same shape, dtype and bounds."""
    numbers = _read_numbers(call)
    if not numbers:
        return call
    bounds = f"torch.randint({min(numbers)}, {max(numbers) + 1}, ({len(numbers)},))"
    made = ast.parse(bounds, mode="eval").body
    assert isinstance(made, ast.Call)
    made.keywords = call.keywords
    return made


class _SpecialEverywhere(ast.NodeTransformer):
    """A random tensor that holds NaN or an infinity in some places with it everywhere."""

    def __init__(self) -> None:
        self.done = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        call = _find_scaled(node.func.value) if isinstance(node.func, ast.Attribute) else None
        is_filled = ast.unparse(node.func).rpartition(".")[2] == "masked_fill"
        value = read_argument(node, 1, "value") if is_filled else None
        if call is None or value is None or not ast.unparse(value).startswith("float("):
            return self.generic_visit(node)
        sizes = _read_shape(call)
        if sizes is None:
            return node
        self.done = True
        return _make_full(sizes, value, call)


class _CreationSubstitution(ast.NodeTransformer):
    """The n-th random tensor made in a plainer way; `done` says whether any was."""

    def __init__(self, chosen: dict[int, _Plain]) -> None:
        self.chosen = chosen
        self.count = -1
        self.done = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self._find_plainer(node, node) if _is_random(node) else self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        call = _find_scaled(node)
        return self.generic_visit(node) if call is None else self._find_plainer(call, node)

    def _find_plainer(self, call: ast.Call, node: ast.expr) -> ast.expr:
        """What takes the place of `node`, a random tensor or one that is scaled and moved."""
        self.count += 1
        creation = self.chosen.get(self.count)
        plain = creation(_as_random(call), node) if creation is not None else None
        self.done |= plain is not None
        return plain or node


def _find_scaled(node: ast.expr) -> ast.Call | None:
    """The random tensor in `torch.rand(2) * 6.0 - 3.0`; None for any other expression."""
    if isinstance(node, ast.Call):
        return node if _is_random(node) else None
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
        return _find_scaled(node.left)
    return None


def _read_shape(call: ast.Call) -> list[ast.expr] | None:
    """The sizes that a random tensor is made with."""
    given = call.args[2:] if ast.unparse(call.func) == "torch.randint" else call.args
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        return given[0].elts
    return None if any(isinstance(size, ast.Starred) for size in given) else list(given)


def _read_settings(call: ast.Call) -> list[ast.keyword]:
    """dtype, device and the like; whole numbers stay whole."""
    named = {keyword.arg for keyword in call.keywords}
    if ast.unparse(call.func) == "torch.randint" and "dtype" not in named:
        whole = ast.parse("torch.int64", mode="eval").body
        return [ast.keyword("dtype", whole), *call.keywords]
    return call.keywords


def _replace_by_ones(call: ast.Call, _: ast.expr) -> ast.expr | None:
    sizes = _read_shape(call)
    if sizes is None:
        return None
    is_zero = ast.unparse(call.func) == "torch.randint" and _read_upper_bound(call) <= 1
    made = ast.parse("torch.zeros" if is_zero else "torch.ones", mode="eval").body
    # the default, which random numbers may have had to name
    kept = [word for word in _read_settings(call) if ast.unparse(word) != "dtype=torch.float32"]
    return ast.Call(made, sizes or [ast.Tuple([], ast.Load())], kept)


def _number_elements(call: ast.Call, _: ast.expr) -> ast.expr | None:
    """0, 1, 2, … in the shape of the tensor, and parts of one where values lie below it."""
    sizes = _read_shape(call)
    if not sizes:
        return None
    numbers = [size.value for size in sizes if isinstance(size, ast.Constant)]
    if len(numbers) != len(sizes) or not all(isinstance(number, int) for number in numbers):
        return None
    count = math.prod(int(str(number)) for number in numbers)
    is_whole = ast.unparse(call.func) == "torch.randint"
    if (
        count < 2
        or is_whole
        and count > _read_upper_bound(call)
        or "torch.bool" in ast.unparse(call)
    ):
        return None
    named = {keyword.arg for keyword in call.keywords}
    settings = [word for word in call.keywords if word.arg != "requires_grad"]
    end = ast.Constant(count if is_whole or "dtype" in named else float(count))
    made: ast.expr = ast.Call(ast.parse("torch.arange", mode="eval").body, [end], settings)
    if len(sizes) > 1:
        made = ast.Call(ast.Attribute(made, "reshape", ast.Load()), sizes, [])
    if ast.unparse(call.func) == "torch.rand":
        made = ast.BinOp(made, ast.Div(), ast.Constant(count))
    if "requires_grad" in named:
        made = ast.Call(ast.Attribute(made, "requires_grad_", ast.Load()), [], [])
    return made


def _replace_by_whole_twos(call: ast.Call, _: ast.expr) -> ast.expr | None:
    """2 everywhere, where that is one of the whole numbers and not the greatest."""
    low = _read_lower_bound(call)
    if low is None or not low <= 2 < _read_upper_bound(call) - 1:
        return None
    return _make_full(_read_shape(call) or [], ast.Constant(2), call)


def _fill_limit(call: ast.Call, _: ast.expr) -> ast.expr | None:
    """The greatest number of a small dtype everywhere, where the whole numbers come near it."""
    dtypes = [ast.unparse(word.value) for word in call.keywords if word.arg == "dtype"]
    most = _MOST_OF.get(dtypes[0]) if dtypes else None
    if _read_lower_bound(call) is None or most is None or _read_upper_bound(call) <= most / 2:
        return None
    return _make_full(_read_shape(call) or [], ast.Constant(most), call)


def _fill(call: ast.Call, _: ast.expr) -> ast.expr | None:
    """The least whole number everywhere, where that is neither 0 nor 1."""
    sizes = _read_shape(call)
    if not sizes or ast.unparse(call.func) != "torch.randint" or len(call.args) < 3:
        return None
    least = ast.unparse(call.args[0])
    if least in ("0", "1") or "torch.bool" in ast.unparse(call):
        return None
    return _make_full(sizes, call.args[0], call)


def _fill_most(call: ast.Call, _: ast.expr) -> ast.expr | None:
    """The greatest whole number everywhere, where that is more than 1: what overflows."""
    sizes, most = _read_shape(call), _read_upper_bound(call) - 1
    is_whole = ast.unparse(call.func) == "torch.randint" and len(call.args) > 2
    if not sizes or not is_whole or not 1 < most < math.inf or "torch.bool" in ast.unparse(call):
        return None
    return _make_full(sizes, ast.Constant(int(most)), call)


def _replace_by_twos(call: ast.Call, node: ast.expr) -> ast.expr | None:
    """2 everywhere: a normal number that is no probability."""
    sizes = _read_shape(call)
    if not sizes or ast.unparse(call.func) != "torch.randn" or node is not call:
        return None
    return _make_full(sizes, ast.Constant(2.0), call)


def _round(call: ast.Call, node: ast.expr) -> ast.expr | None:
    """A round number everywhere, where all values are large or small: 1e20 between 7e19 and 9e20.
    Those of a normal distribution lie within its deviation.
    """
    sizes = _read_shape(call)
    least = {"torch.rand": 0.0, "torch.randn": -1.0}.get(ast.unparse(call.func))
    if not sizes or least is None:
        return None
    low, high = _compute_value(node, least), _compute_value(node, 1.0)
    if low is None or high is None or low * high < 0:
        return None
    near, far = sorted((abs(low), abs(high)))
    power = 10.0 ** math.floor(math.log10(far)) if far else 0.0
    number = next((n for n in (power, 5 * power, 2 * power) if near <= n <= far), 0.0)
    if number in (0.0, 1.0) or near == 0 and far < 10:
        return None
    return _make_full(sizes, ast.Constant(math.copysign(number, low + high)), call)


def _replace_by_zeros(call: ast.Call, _: ast.expr) -> ast.expr | None:
    """0 everywhere, where that is one of several whole numbers."""
    low = _read_lower_bound(call)
    if low is None or not low <= 0 < _read_upper_bound(call) - 1:
        return None
    made = ast.parse("torch.zeros", mode="eval").body
    return ast.Call(made, _read_shape(call) or [], _read_settings(call))


def _make_full(sizes: list[ast.expr], value: ast.expr, call: ast.Call) -> ast.expr:
    """A tensor of one value, otherwise as a call would make it."""
    made = ast.parse("torch.full", mode="eval").body
    return ast.Call(made, [ast.Tuple(sizes, ast.Load()), value], call.keywords)


def _compute_value(node: ast.expr, drawn: float) -> float | None:
    """What `torch.rand(2) * 6.0 - 3.0` is where the random number is `drawn`; None for operators
    other than these.
    """
    if isinstance(node, ast.Call):
        return drawn
    if not isinstance(node, ast.BinOp) or not isinstance(node.right, ast.Constant):
        return None
    left, right = _compute_value(node.left, drawn), node.right.value
    if left is None or not isinstance(right, (int, float)):
        return None
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, (ast.Add, ast.Sub)):
        return left + right if isinstance(node.op, ast.Add) else left - right
    return None


def _read_lower_bound(call: ast.Call) -> int | None:
    """The least value of `torch.randint` for a tensor of a known shape that is no scalar; None for
    any other call, and for truth values.
    """
    if ast.unparse(call.func) != "torch.randint" or len(call.args) < 3 or not _read_shape(call):
        return None
    try:
        low = ast.literal_eval(call.args[0])
    except ValueError:  # a name
        return None
    return low if isinstance(low, int) and "torch.bool" not in ast.unparse(call) else None


def _read_upper_bound(call: ast.Call) -> float:
    """Values of `torch.randint` lie below it."""
    bound = call.args[1] if len(call.args) > 1 else None
    value = bound.value if isinstance(bound, ast.Constant) else None
    return float(value) if isinstance(value, int) else math.inf
