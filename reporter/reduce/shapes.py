"""Shapes and constants shrink together: a size of 64 is the same 64 in an input, a weight and a
`view`.

Sizes are taken as shared symbols: one step replaces a number wherever it stands, in inputs and in
the arguments of nodes, and its multiples in proportion. Layers follow by themselves, since they are
read off their weights.
"""

from __future__ import annotations

import enum
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from anonymizer.graph.ir import (
    Graph,
    Input,
    Node,
    Recipe,
    TensorMeta,
    map_constants,
)
from anonymizer.graph.layouts import compute_contiguous_strides, order_dimensions
from reporter.core.candidate import Candidate
from reporter.reduce.candidate_questions import Change, Questions, require_graph
from reporter.reduce.graph_cuts import replace_input

#: Two is asked before these; one is a special case (it broadcasts, it is never symbolic).
_DOWNWARD = (16, 8, 4, 3)
#: Elements that a kernel computes at once where it is vectorized: of float32 with AVX-512.
_VECTOR = 16
#: A size, the smaller one for it, and whether its multiples shrink in proportion.
_Step = tuple[int, int, bool]


def propose_sizes(_: Candidate) -> Iterator[Change]:
    """All sizes two, or small and as different as they were, or rows as long as a vector of the
    processor; multiples stay multiples where that can be.
    """
    for step in (0, 1):
        yield functools.partial(_shrink_all, step)
    yield _shrink_to_vectors


def _shrink_all(step: int, candidate: Candidate) -> Candidate | None:
    """All sizes from 2 on upwards, each `step` more than the one below."""
    graph = require_graph(candidate)
    sizes = sorted({size for item in graph.inputs for size in item.meta.shape if size > 1})
    if len(sizes) < 2:
        return None
    targets = [2 + step * at for at in range(len(sizes))]
    return candidate.with_graph(_resize(graph, sizes, targets))


def _shrink_to_vectors(candidate: Candidate) -> Candidate | None:
    """Long last dimensions as long as a vector, all others two; None where none is that long."""
    graph = require_graph(candidate)
    shapes = [item.meta.shape for item in graph.inputs if item.meta.shape]
    long = {shape[-1] for shape in shapes if shape[-1] > _VECTOR}
    sizes = sorted({size for shape in shapes for size in shape if size > 1})
    targets = [_VECTOR if size in long else 2 for size in sizes]
    return candidate.with_graph(_resize(graph, sizes, targets)) if long else None


def limit_sizes(candidate: Candidate, size: int) -> Candidate:
    """Every size above a limit as that one; sizes that are multiples of such a size shrink in
    proportion.

    Args:
        candidate: of a graph.
        size: in elements along one dimension.
    """
    graph = require_graph(candidate)
    sizes = sorted({each for item in graph.inputs for each in item.meta.shape if each > size})
    return candidate.with_graph(_resize(graph, sizes, [size] * len(sizes)))


class ShapePass:
    """Every size as small as the failure allows, largest first, constants included.

    A size that cannot be two is made a little smaller, and goes on down from there; one that cannot
    stays as it is.
    """

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """One step after another, each tried once; those of the next sizes run ahead."""
        tried: set[_Step] = set()
        while True:
            options = [each for each in self._list_options(candidate) if each[0] not in tried]
            found = ask.pick(options)
            if found is None:
                return candidate
            tried.update(step for step, _ in options[: options.index(found) + 1])
            candidate = found[1]

    def _list_options(self, candidate: Candidate) -> Iterator[tuple[_Step, Candidate]]:
        graph = require_graph(candidate)
        sizes = {size for item in graph.inputs for size in item.meta.shape if size > 1}
        for size in (*_sort_descending(sizes), *_sort_descending(_list_constants(graph) - sizes)):
            smaller = dict.fromkeys((2, self._choose_next_below(size))) if size > 2 else (1,)
            for step, proportional in itertools.product(smaller, (True, False)):
                made = resize(graph, size, step, proportional)
                if made != graph:
                    yield (size, step, proportional), candidate.with_graph(made)

    @staticmethod
    def _choose_next_below(size: int) -> int:
        """The half of a size, or the largest step below it if that is more."""
        return max(size // 2, next((step for step in _DOWNWARD if step < size), 2))


def _sort_descending(sizes: Iterable[int]) -> list[int]:
    return sorted(sizes, reverse=True)


#: Each step of `propose_dimensions`, and the largest size that it is tried on: what cannot be eight
#: is not four.
_STEPS = {2: None, 8: None, 4: 8, 3: 4}


def propose_dimensions(candidate: Candidate) -> Iterator[Change]:
    """One dimension of one input at a time: for sizes that only happen to be equal."""
    for item in require_graph(candidate).inputs:
        for dim in range(len(item.meta.shape)):
            for step in _STEPS:
                yield functools.partial(_shorten, item.name, dim, step)


def _shorten(name: str, dim: int, step: int, candidate: Candidate) -> Candidate | None:
    graph = require_graph(candidate)
    item = graph.find_input(name)
    if item is None or item.alias is not None or dim >= len(item.meta.shape):
        return None
    size, most = item.meta.shape[dim], _STEPS[step]
    if step >= size or most is not None and size > most:
        return None
    shape = (*item.meta.shape[:dim], step, *item.meta.shape[dim + 1 :])
    new = replace(item, meta=_restride(item.meta, shape), symbols=())
    return candidate.with_graph(replace_input(graph, item, new))


def propose_ranks(candidate: Candidate) -> Iterator[Change]:
    """Fewer dimensions: of all tensors of the largest rank only the last one, or the first one
    dropped, while that is possible; with the dimensions that operators name, or moved with them.
    """
    for _ in range(_find_largest_rank(require_graph(candidate)) - 1):
        for change in (_flatten_to_vectors, _drop_dimension):
            for moved in _Moved:
                yield functools.partial(change, moved)


class _Moved(enum.Enum):
    """Which numbers of an operator's arguments may be dimensions: most operators name one, before
    sizes and counts (`unfold(dimension, size, step)`).
    """

    NONE = enum.auto()
    FIRST = enum.auto()
    ALL = enum.auto()


def simplify_ranks(candidate: Candidate) -> Candidate:
    """Vectors instead of the tensors of the largest rank, where that can be."""
    return _flatten_to_vectors(_Moved.NONE, candidate) or candidate


def _flatten_to_vectors(moved: _Moved, candidate: Candidate) -> Candidate | None:
    return _with_rank(candidate, 1, moved)


def _drop_dimension(moved: _Moved, candidate: Candidate) -> Candidate | None:
    return _with_rank(candidate, _find_largest_rank(require_graph(candidate)) - 1, moved)


def _find_largest_rank(graph: Graph) -> int:
    return max((len(item.meta.shape) for item in graph.inputs if item.kind == "input"), default=0)


def _with_rank(candidate: Candidate, target: int, moved: _Moved) -> Candidate | None:
    """The tensors of the largest rank with `target` dimensions; None where that is no less.

    The numbers that `moved` takes for dimensions still name the same ones; None where there is no
    such number.
    """
    graph = require_graph(candidate)
    rank = _find_largest_rank(graph)
    aliased = any(i.alias or any(isinstance(s, str) for s in i.symbols) for i in graph.inputs)
    if not 0 < target < rank or aliased:
        return None
    inputs = tuple(
        _flatten(item, target) if len(item.meta.shape) == rank else item for item in graph.inputs
    )
    nodes = graph.nodes
    if moved != _Moved.NONE:
        nodes = tuple(_shift_dimensions(node, rank, rank - target, moved) for node in nodes)
        if nodes == graph.nodes:
            return None
    return candidate.with_graph(replace(graph, inputs=inputs, nodes=nodes))


def _shift_dimensions(node: Node, rank: int, by: int, moved: _Moved) -> Node:
    """The node where each number that may be a dimension of a tensor of that rank, but the first
    dimension, is less by so many, and at least 0.
    """
    seen = 0

    def change(value: Any) -> Any:
        nonlocal seen
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        seen += 1
        is_dimension = 0 < value < rank and (moved == _Moved.ALL or seen == 1)
        return max(0, value - by) if is_dimension else value

    return _map_arguments(node, change)


def _map_arguments(node: Node, change: Callable[[Any], Any]) -> Node:
    """The node with what `change` makes of each constant of its arguments."""
    return replace(
        node,
        args=tuple(map_constants(value, change) for value in node.args),
        kwargs=tuple((key, map_constants(value, change)) for key, value in node.kwargs),
    )


def _flatten(item: Input, rank: int) -> Input:
    if item.kind != "input":
        return item
    shape = item.meta.shape[len(item.meta.shape) - rank :]
    meta = replace(item.meta, shape=shape, stride=compute_contiguous_strides(shape))
    return replace(item, meta=meta, symbols=())


class CallSizePass:
    """Small sizes in a sequence of calls, keeping which of them are equal and which is larger."""

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        calls = candidate.assertion.calls
        values = sorted({size for call in calls for _, size in call})
        for start in (2, 3, 4, 5):
            if (
                not values
                or values[:1] == [start]
                and values == list(range(start, start + len(values)))
            ):
                return candidate
            rank = {value: start + index for index, value in enumerate(values)}
            renamed = tuple(tuple((symbol, rank[size]) for symbol, size in call) for call in calls)
            last = dict(renamed[-1])
            graph = require_graph(candidate)
            inputs = tuple(
                replace(
                    item,
                    meta=_restride(
                        item.meta,
                        tuple(
                            last.get(s, n) if isinstance(s, str) else n
                            for s, n in zip(item.symbols or item.meta.shape, item.meta.shape)
                        ),
                    ),
                )
                for item in graph.inputs
            )
            smaller = candidate.with_graph(replace(graph, inputs=inputs)).with_assertion(
                calls=renamed
            )
            found = ask.find_first([smaller])
            if found is not None:
                return found
        return candidate


def _list_constants(graph: Graph) -> set[int]:
    found: set[int] = set()

    def note(value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool) and 4 < value < 1_000_000:
            found.add(value)
        return value

    for node in graph.nodes:
        for value in (*node.args, *(item for _, item in node.kwargs)):
            map_constants(value, note)
    return found


def _resize(graph: Graph, sizes: Sequence[int], targets: Sequence[int]) -> Graph:
    """Each size replaced by its target where that is smaller, multiples in proportion."""
    for size, target in zip(sizes, targets):
        if size > target:
            graph = resize(graph, size, target, True)
    return graph


def resize(graph: Graph, size: int, smaller: int, proportional: bool) -> Graph:
    """The graph with another size in the shapes of its inputs and in the arguments of its nodes.

    Args:
        size: the elements of a dimension, which is replaced wherever it stands.
        smaller: the size that stands there then.
        proportional: multiples of `size` become as many times `smaller`.
    """

    def change(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            return value
        if value == size:
            return smaller
        if proportional and value > size and value % size == 0:
            return value // size * smaller
        return value

    inputs = []
    for item in graph.inputs:
        shape = tuple(change(entry) for entry in item.meta.shape)
        inputs.append(_reshape(item, shape, size, smaller))
    nodes = tuple(_map_arguments(node, change) for node in graph.nodes)
    return replace(graph, inputs=tuple(inputs), nodes=nodes)


def _reshape(item: Input, shape: tuple[int, ...], size: int, smaller: int) -> Input:
    symbols = (
        tuple(shape[i] if isinstance(s, int) else s for i, s in enumerate(item.symbols))
        if item.symbols
        else ()
    )
    recipe = item.recipe
    if recipe.kind == "randint" and size <= recipe.high <= size + 1 and recipe.high > smaller:
        recipe = Recipe("randint", min(recipe.low, smaller - 1), max(1, smaller))
    if recipe.kind == "linspace" and recipe.low == 0 and size - 1 <= recipe.high <= size:
        recipe = Recipe("linspace", 0, recipe.high - size + smaller)
    meta = item.meta if shape == item.meta.shape else _restride(item.meta, shape)
    return replace(item, meta=meta, symbols=symbols, recipe=recipe)


def _restride(meta: TensorMeta, shape: tuple[int, ...]) -> TensorMeta:
    """The same order of dimensions in memory, for another shape; expanded dimensions stay
    expanded.
    """
    if meta.stride is None or meta.stride == compute_contiguous_strides(meta.shape):
        return replace(meta, shape=shape, stride=compute_contiguous_strides(shape))
    order = order_dimensions(meta.stride)
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        if meta.stride[dim] == 0 and meta.shape[dim] > 1:
            continue
        strides[dim] = step
        step *= max(1, shape[dim])
    return replace(meta, shape=shape, stride=tuple(strides))


def propose_literals(candidate: Candidate) -> Iterator[Change]:
    """Plainer numbers in the arguments of nodes: 0, 1 or 2 for floats and ints that are no sizes;
    optional arguments dropped.
    """
    for node in require_graph(candidate).nodes:
        if node.op not in ("enter", "exit"):
            for key, _ in node.kwargs:
                yield functools.partial(_without_argument, node.name, key)
            yield functools.partial(_without_argument, node.name, None)
        for plain in (2.0, 1.0, 0.5):
            yield functools.partial(_with_plain_floats, node.name, plain)


def _without_argument(name: str, key: str | None, candidate: Candidate) -> Candidate | None:
    """Without one keyword argument, or (None) without the last argument if that is a plain number
    or None.
    """
    node = require_graph(candidate).find_node(name)
    if node is None:
        return None
    if key is not None:
        kwargs = tuple(item for item in node.kwargs if item[0] != key)
        return _with_node(candidate, replace(node, kwargs=kwargs))
    last = node.args[-1] if len(node.args) > 1 else node
    if last is None or isinstance(last, (bool, int, float)):
        return _with_node(candidate, replace(node, args=node.args[:-1]))
    return None


def _with_plain_floats(name: str, plain: float, candidate: Candidate) -> Candidate | None:
    node = require_graph(candidate).find_node(name)
    if node is None:
        return None

    def change(value: Any) -> Any:
        odd = isinstance(value, float) and value not in (0.5, 1.0, 2.0, 0.0)
        return plain if odd else value

    return _with_node(candidate, _map_arguments(node, change))


def _with_node(candidate: Candidate, new: Node) -> Candidate:
    graph = require_graph(candidate)
    nodes = tuple(new if node.name == new.name else node for node in graph.nodes)
    return candidate.with_graph(replace(graph, nodes=nodes))
