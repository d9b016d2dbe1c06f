"""Other numbers for a whole program: a width of 6,144 or a temperature of 0.37219 says whose model
it is, 64 and 0.4 do not.

Sizes come in groups, a width with its multiples; a group is changed together, wherever its
numbers stand: in shapes, in layers, in arguments, in the root of a head's width. Floats are rounded
to one digit, but for roots and well-known constants. Whether the program survives that is for the
candidate to show.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from anonymizer.graph.ir import Atom, Node, Recipe, Seq, StockLayer, TensorMeta, Value
from anonymizer.graph.layouts import compute_contiguous_strides, order_dimensions
from anonymizer.source.program import is_simple
from anonymizer.trace.tree import Function, GivenTensor, Module, ModuleCall, Step, TracedProgram

#: Sizes below are nobody's in particular: heads, kernels, groups, batches.
_SMALLEST = 9
#: Numbers up to here are nobody's where they are no sizes.
_EVERYBODYS = 64
_MULTIPLES = 16
_DIVISORS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128)
#: Characters of a float that was computed and not written down.
_COMPUTED = 14
#: Of the tanh form of GELU, its sigmoid form, and SELU.
_KNOWN = frozenset((0.044715, 1.702, 1.0507009873554805, 1.6732632423543772))
_LAYER_SIZES = frozenset(
    """in_features out_features num_embeddings embedding_dim normalized_shape num_channels
    num_features in_channels out_channels embed_dim d_model dim_feedforward input_size hidden_size
    kdim vdim proj_size num_parameters in1_features in2_features""".split()
)


@dataclass(frozen=True)
class SizeGroup:
    """A size and those of its multiples that occur with it."""

    base: int
    members: tuple[int, ...]


def find_size_groups(program: TracedProgram) -> list[SizeGroup]:
    """The sizes of a program by group, largest base first; sizes that anybody would choose are
    left out.

    Sizes are in elements. Large numbers that are no sizes are among them: moduli, limits, offsets.
    """
    sizes = (size for _, size in _list_positions(program))
    return group_sizes({*sizes, *(n for n in _read(program).whole if n > _EVERYBODYS)})


def collect_taken_sizes(program: TracedProgram) -> frozenset[int]:
    """Sizes that a generic one would be mistaken for."""
    return frozenset(size for group in find_size_groups(program) for size in group.members)


def group_sizes(numbers: Iterable[int]) -> list[SizeGroup]:
    """Numbers by group, as `find_size_groups` has them."""
    bases: dict[int, list[int]] = {}
    for size in sorted({size for size in numbers if size >= _SMALLEST}):
        base = next((b for b in bases if size % b == 0 and size // b <= _MULTIPLES), size)
        bases.setdefault(base, []).append(size)
    found = [SizeGroup(base, tuple(members)) for base, members in bases.items()]
    return sorted((g for g in found if not _is_generic(g)), key=lambda g: -g.base)


def _is_generic(group: SizeGroup) -> bool:
    """Whether the sizes are powers of two that are in everybody's programs."""
    return all(size & (size - 1) == 0 and size <= 64 for size in group.members)


def list_generic_bases(group: SizeGroup, taken: Collection[int]) -> Iterator[int]:
    """Generic sizes for the base of a group, the likeliest first.

    Args:
        taken: sizes that the program has for something else; none of them is chosen.
    """
    wanted = 1 << (group.base.bit_length() - 1)
    for size in (min(wanted, 64), 32, 16, 64, 24, 48, 12, 96, 128, 256):
        if size not in taken and size != group.base:
            yield size


def replace_sizes(
    program: TracedProgram, bases: Mapping[SizeGroup, int], floats: Iterable[float] = ()
) -> TracedProgram:
    """The program with other numbers.

    Args:
        bases: group -> its new base; its members become the same multiples of that.
        floats: floats without their signs, which are rounded to one digit.
    """
    table = {size: size // f.base * new for f, new in bases.items() for size in f.members}
    return _Resizer(table, frozenset(floats)).resize(program)


def list_unusual_floats(program: TracedProgram) -> tuple[float, ...]:
    """Floats, without their signs, that nobody else would write; in the order of the program."""
    return tuple(dict.fromkeys(value for value in _read(program).seen if not is_usual(value)))


def is_usual(value: float) -> bool:
    """Two digits at most, roots of whole numbers and of their inverses, and what activation
    functions are made of.
    """
    value = abs(value)
    if not math.isfinite(value) or is_simple(value) or value in _KNOWN:
        return True
    if len(repr(value)) < _COMPUTED:
        return False  # somebody's own decimals; a root has more of them
    powers = (value**2, value**-2, value**4, value**-4, value / math.pi, math.pi * value**2 / 2)
    return any(
        0.5 < power < 1 << 20 and math.isclose(power, round(power), rel_tol=1e-9)
        for power in powers
    )


def round_to_digit(value: float) -> float:
    """A float rounded to one significant digit: 0.0371 becomes 0.04."""
    return float(f"{value:.0e}")


def find_common_sizes(before: TracedProgram, after: TracedProgram) -> frozenset[int]:
    """The sizes that two versions of a program have at the same place."""
    then, now = dict(_list_positions(before)), dict(_list_positions(after))
    return frozenset(size for position, size in then.items() if now.get(position) == size)


def _list_positions(program: TracedProgram) -> Iterator[tuple[tuple[object, ...], int]]:
    for given in program.given.values():
        for dim, size in enumerate(given.meta.shape):
            yield (given.name, dim), size
    for module in program.modules.values():
        for key, value in module.layer.kwargs if module.layer is not None else ():
            if key in _LAYER_SIZES:
                for index, size in enumerate(_list_integers(value)):
                    yield (module.number, key, index), size


def _list_integers(value: Value) -> Iterator[int]:
    if isinstance(value, Seq):
        for item in value.items:
            yield from _list_integers(item)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value


def _read(program: TracedProgram) -> _Resizer:
    """One that has changed nothing, with the numbers that it met."""
    reader = _Resizer({}, frozenset())
    reader.resize(program)
    return reader


class _Resizer:
    def __init__(self, table: Mapping[int, int], floats: frozenset[float]) -> None:
        self.table = table
        self.floats = floats
        self.seen: list[float] = []
        self.whole: list[int] = []
        self.roots = dict(self._list_roots())

    def _list_roots(self) -> Iterator[tuple[float, float]]:
        """Roots of widths, and of what they are divided into: the scale of attention."""
        for old, new in self.table.items():
            for divisor in _DIVISORS:
                if old % divisor == 0 and new % divisor == 0 and old // divisor > 1:
                    before, after = old // divisor, new // divisor
                    for power in (0.5, -0.5, 0.25, -0.25):
                        yield round(float(before) ** power, 12), float(after) ** power

    def resize(self, program: TracedProgram) -> TracedProgram:
        return replace(
            program,
            root=self._resize_call(program.root),
            modules={n: self._resize_module(m) for n, m in program.modules.items()},
            given={n: self._resize_given(g) for n, g in program.given.items()},
            metas={n: self._resize_meta(m) for n, m in program.metas.items()},
        )

    def _resize_call(self, call: ModuleCall) -> ModuleCall:
        items = [
            self._resize_call(i) if isinstance(i, ModuleCall) else self._resize_step(i)
            for i in call.items
        ]
        return replace(call, items=tuple(items))

    def _resize_step(self, step: Step) -> Step:
        node: Node = step.node
        node = replace(
            node,
            args=tuple(map(self._resize_value, node.args)),
            kwargs=tuple((key, self._resize_value(value)) for key, value in node.kwargs),
            meta=self._resize_meta(node.meta),
            layer=self._resize_layer(node.layer),
        )
        return replace(step, node=node, function=self._resize_function(step.function))

    def _resize_function(self, found: Function | None) -> Function | None:
        if found is None:
            return None
        backward = found.backward and replace(
            found.backward, call=self._resize_call(found.backward.call)
        )
        return replace(found, forward=self._resize_call(found.forward), backward=backward)

    def _resize_module(self, module: Module) -> Module:
        return replace(module, layer=self._resize_layer(module.layer))

    def _resize_layer(self, layer: StockLayer | None) -> StockLayer | None:
        if layer is None:
            return None
        kwargs = tuple((key, self._resize_value(value)) for key, value in layer.kwargs)
        return replace(layer, kwargs=kwargs)

    def _resize_value(self, value: Value) -> Value:
        if isinstance(value, Seq):
            if value.kind == "dict":
                return Seq("dict", tuple((k, self._resize_value(item)) for k, item in value.items))
            return Seq(value.kind, tuple(map(self._resize_value, value.items)))
        if isinstance(value, bool) or isinstance(value, (Atom, str)):
            return value
        if isinstance(value, int):
            self.whole.append(abs(value))
            return int(math.copysign(self.table.get(abs(value), abs(value)), value))
        if isinstance(value, float) and value:
            self.seen.append(abs(value))
            if abs(value) in self.floats:
                return round_to_digit(value)
            root = self.roots.get(round(abs(value), 12))
            return value if root is None else math.copysign(root, value)
        return value

    def _resize_given(self, given: GivenTensor) -> GivenTensor:
        meta = self._resize_meta(given.meta)
        earlier = tuple(tuple(self.table.get(s, s) for s in shape) for shape in given.earlier)
        return replace(given, meta=meta, recipe=self._resize_recipe(given.recipe), earlier=earlier)

    def _resize_recipe(self, recipe: Recipe) -> Recipe:
        """Indices stay below the sizes that they index."""
        if recipe.kind != "randint":
            return recipe
        above = [old for old in self.table if old >= recipe.high > self.table[old]]
        high = self.table[min(above)] if above else recipe.high
        return replace(recipe, low=min(recipe.low, 0.0), high=high)

    def _resize_meta(self, meta: Any) -> Any:
        if isinstance(meta, tuple):
            return tuple(map(self._resize_meta, meta))
        if not isinstance(meta, TensorMeta):
            return meta
        shape = tuple(self.table.get(size, size) for size in meta.shape)
        return replace(meta, shape=shape, stride=_compute_strides(meta, shape))


def _compute_strides(meta: TensorMeta, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of the same order of memory; what was not dense becomes contiguous."""
    if meta.stride is None or shape == meta.shape:
        return meta.stride
    order = order_dimensions(meta.stride)
    dense = compute_contiguous_strides(tuple(meta.shape[i] for i in order))
    if tuple(meta.stride[i] for i in order) != dense:
        return compute_contiguous_strides(shape)
    made = compute_contiguous_strides(tuple(shape[i] for i in order))
    return tuple(made[order.index(i)] for i in range(len(shape)))
