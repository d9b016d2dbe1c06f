"""The graph IR: a captured program as plain, immutable, hashable data with generated names only.

Everything downstream — emission, stock layers, every reduction step — is a function from one
`Graph` to another. Arguments are Python constants, `Ref`s to values, `Atom`s (torch constants by
name) or `Seq`s of those.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from collectors.protocol.captured_graph import InputKind
from collectors.protocol.captured_values import (
    OPERATORS_IN_PLACE,
    OperationKind,
    TensorStatistics,
    is_write,
)

#: What stands around the items of a `Seq`.
SequenceKind = Literal["list", "tuple", "slice", "dict"]
#: How a tensor's values are made; see `Recipe`.
RecipeKind = (
    Literal["randn", "rand", "uniform", "normal", "ties", "randint", "bool"]
    | Literal["arange", "zeros", "ones", "full", "literal", "linspace", "eye", "definite"]
    | Literal["complex"]
)


@dataclass(frozen=True)
class Ref:
    """A value of the program: an input, a parameter or the result of a node."""

    name: str


@dataclass(frozen=True)
class Atom:
    """A constant written as it stands: `torch.float32`, `...`, `float("inf")`."""

    text: str


@dataclass(frozen=True)
class Seq:
    """A list, tuple, dict or slice of arguments. A dict holds (key, value) tuples."""

    kind: SequenceKind
    items: tuple[Any, ...]


Value = None | bool | int | float | str | Ref | Atom | Seq


@dataclass(frozen=True)
class TensorMeta:
    """Shape, stride (elements), dtype name, device type and requires_grad of a tensor."""

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] | None = None
    device: str = "cpu"
    requires_grad: bool = False

    @property
    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def is_float(self) -> bool:
        """Whether the dtype is a real floating-point one."""
        return self.dtype.startswith(("float", "bfloat"))


@dataclass(frozen=True)
class Recipe:
    """How to make a tensor's values: `randn`, `rand`, `uniform`, `randint`, `arange`, `zeros`,
    `ones`, `eye`, `full`, `bool`.

    `normal` has its mean in `low` and its deviation in `high`, `ties` whole numbers times `step`,
    `literal` the `values` of a tensor of that `shape`. `linspace` goes from `low` to `high`, both
    included, `definite` is a positive definite matrix, or a batch of the same one, `complex` has
    real and imaginary `parts`. `specials` are further values, as text, with the share of elements
    that get them.
    """

    kind: RecipeKind
    low: float = 0.0
    high: float = 1.0
    step: float = 1.0
    specials: tuple[tuple[str, float], ...] = ()
    values: tuple[float | str, ...] = ()
    shape: tuple[int, ...] = ()
    parts: tuple[Recipe, ...] = ()


#: How a tensor's values are made, by its metadata and statistics.
ChooseRecipe = Callable[[TensorMeta, TensorStatistics], Recipe]


@dataclass(frozen=True)
class Alias:
    """The tensor lies in another input's storage, `offset` elements behind its beginning; before
    it, where that is negative.
    """

    of: str
    offset: int


@dataclass(frozen=True)
class Input:
    """A tensor the program is given."""

    name: str
    kind: InputKind
    meta: TensorMeta
    recipe: Recipe
    alias: Alias | None = None
    symbols: tuple[int | str, ...] = ()
    stats: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class StockLayer:
    """A stock torch.nn layer: class name and constructor arguments."""

    cls: str
    kwargs: tuple[tuple[str, Value], ...]
    training: bool = True


_ARITHMETIC = tuple("add sub mul div truediv floordiv mod pow matmul".split())
#: Python's operators in a reflected call (`radd`).
_REFLECTED = frozenset(f"r{name}" for name in _ARITHMETIC)
#: What ATen calls Python's operators, where the name is another one.
_ATEN_NAMES = {
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "invert": "bitwise_not",
}


@dataclass(frozen=True)
class Node:
    """One operation. `meta`: of its result(s), if known.

    `recipe` is how to make values like its result's, for a graph in which the result is an input;
    `symbols` are the sizes of that input, as `Input` has them.
    """

    name: str
    op: OperationKind
    target: str
    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()
    meta: Any = None
    block: tuple[int, ...] = ()
    layer: StockLayer | None = None
    recipe: Recipe | None = field(default=None, compare=False)
    symbols: tuple[int | str, ...] = field(default=(), compare=False)

    @property
    def operator(self) -> str:
        """The last part of the target: `silu` of `torch.nn.functional.silu`."""
        return self.target.rpartition(".")[2]

    @property
    def plain_operator(self) -> str:
        """The operator whatever form it has, in ATen's words: `add` of `add_`, of `__radd__` and of
        `operator.iadd`.
        """
        name = self.operator.strip("_")
        if name in OPERATORS_IN_PLACE or name in _REFLECTED:
            name = name[1:]
        return _ATEN_NAMES.get(name, name)

    # A graph of thousands of nodes is pruned thousands of times.
    @functools.cached_property
    def writes(self) -> bool:
        """Whether it changes a tensor that it is given."""
        options = self.layer.kwargs if self.layer is not None else self.kwargs
        return is_write(self.target, self.args, dict(options))

    def list_written(self) -> Iterator[str]:
        """Names of the values that this node changes: those of `out`, or its first argument."""
        if self.writes:
            out = dict(self.kwargs).get("out")
            given = (*self.args, *(value for _, value in self.kwargs), None)
            yield from list_refs(given[0] if out is None else out)

    def list_refs(self) -> Iterator[str]:
        """Names of the values this node reads, with repetitions."""
        for value in self.args:
            yield from list_refs(value)
        for _, value in self.kwargs:
            yield from list_refs(value)

    def map_refs(self, change: Callable[[Ref], Value]) -> Node:
        """The node with every reference replaced."""
        return replace(
            self,
            args=tuple(map_value(value, change) for value in self.args),
            kwargs=tuple((key, map_value(value, change)) for key, value in self.kwargs),
        )

    @property
    def counts(self) -> bool:
        """Whether this is a tensor operation in the sense of the statement count; arithmetic on
        sizes is none.
        """
        if isinstance(self.meta, str) and self.target.startswith(("operator.", "math.")):
            return False
        return self.op in ("function", "method", "module", "apply") and self.target not in _FREE


_FREE = {"operator.getitem", "operator.setitem", "size", "getattr", "dim", "numel", "shape"}


@dataclass(frozen=True)
class Graph:
    """A whole program: inputs, nodes in order, and the values it returns.

    `runs` is what successive calls gave the symbolic sizes, oldest first.
    """

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Ref, ...]
    runs: tuple[tuple[tuple[str, int], ...], ...] = field(default=(), compare=False)

    # A graph of thousands of nodes is asked for names thousands of times.
    @functools.cached_property
    def _by_name(self) -> Mapping[str, Node | Input]:
        return {**{node.name: node for node in self.nodes}, **{i.name: i for i in self.inputs}}

    def list_names(self) -> tuple[str, ...]:
        """The names of all values, inputs first."""
        return (*(item.name for item in self.inputs), *(node.name for node in self.nodes))

    def find_node(self, name: str) -> Node | None:
        """The node of that name, if any."""
        found = self._by_name.get(name)
        return found if isinstance(found, Node) else None

    def find_input(self, name: str) -> Input | None:
        """The input of that name, if any."""
        found = self._by_name.get(name)
        return found if isinstance(found, Input) else None

    def map_users(self) -> dict[str, list[str]]:
        """Name of a value -> names of the nodes that read it, in order.

        What nobody reads is not there.
        """
        found: dict[str, list[str]] = {}
        for node in self.nodes:
            for name in node.list_refs():
                found.setdefault(name, []).append(node.name)
        return found

    @property
    def statements(self) -> int:
        """Tensor operations in `forward`; indexing a tensor is one, taking an item of a tuple is
        not.
        """
        return sum(node.counts or self._indexes(node) for node in self.nodes)

    def _indexes(self, node: Node) -> bool:
        of = node.args[0] if node.args else None
        return (
            node.target in ("operator.getitem", "operator.setitem")
            and isinstance(of, Ref)
            and isinstance(self.find_meta(of.name), TensorMeta)
        )

    def find_meta(self, name: str) -> Any:
        """The metadata of a value by its name.

        Returns:
            TensorMeta for a tensor, a tuple of metadata for several results, the kind of a scalar
            (`int`, `float`), or None where nothing is known.
        """
        item = self.find_input(name)
        if item is not None:
            return item.meta
        node = self.find_node(name)
        return node.meta if node is not None else None


def list_refs(value: Value) -> Iterator[str]:
    """Names referenced anywhere inside an argument."""
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, Seq):
        for item in value.items:
            yield from list_refs(item[1] if value.kind == "dict" else item)


def map_value(value: Value, change: Callable[[Ref], Value]) -> Value:
    """An argument with every reference inside of it replaced by what `change` makes of it."""
    if isinstance(value, Ref):
        return change(value)
    if isinstance(value, Seq):
        if value.kind == "dict":
            return Seq("dict", tuple((key, map_value(item, change)) for key, item in value.items))
        return Seq(value.kind, tuple(map_value(item, change) for item in value.items))
    return value


def map_constants(value: Value, change: Callable[[Any], Any]) -> Value:
    """An argument with every plain constant inside of it replaced by what `change` makes of it.

    References and `Atom`s stay as they are.

    Args:
        change: is given a number, a text, a bool or None, and returns the value for its place.
    """
    if isinstance(value, Seq):
        if value.kind == "dict":
            return Seq(
                "dict", tuple((key, map_constants(item, change)) for key, item in value.items)
            )
        return Seq(value.kind, tuple(map_constants(item, change) for item in value.items))
    if isinstance(value, (Ref, Atom)):
        return value
    result: Value = change(value)
    return result


def fold_scalars(graph: Graph) -> Graph:
    """With dynamic shapes Dynamo passes Python floats (`eps`, `p`) as 0-d tensors read by
    `.item()`: constants again.
    """
    constants: dict[str, Value] = {}
    kept = []
    for node in graph.nodes:
        item = (
            graph.find_input(node.args[0].name)
            if node.args and isinstance(node.args[0], Ref)
            else None
        )
        stats = dict(item.stats) if item is not None else {}
        scalar = item is not None and item.meta.shape == () and item.meta.dtype == "float64"
        if node.op == "method" and node.target == "item" and scalar and "min" in stats:
            constants[node.name] = float(stats["min"])
        else:
            kept.append(node)
    if not constants:
        return graph
    nodes = tuple(node.map_refs(lambda ref: constants.get(ref.name, ref)) for node in kept)
    return replace(graph, nodes=nodes)


def is_impure(node: Node) -> bool:
    """Whether a node has an effect beyond its result.

    Operations in place (`add_`, `__setitem__`, `relu(inplace=True)`), those with `out`, regions and
    switches of grad mode have one.
    """
    if node.op in ("enter", "exit", "grad_mode"):
        return True
    return node.writes or node.operator == "_assert_tensor_metadata"


#: What gives a tensor that lies in the memory of its first argument, or may.
_VIEWS = frozenset(
    "alias as_strided chunk detach diagonal expand expand_as flatten getitem movedim narrow permute"
    " reshape reshape_as select slice split squeeze swapaxes swapdims t tensor_split transpose"
    " unbind unflatten unfold unsqueeze view view_as".split()
)


def find_written_inputs(graph: Graph) -> frozenset[str]:
    """The inputs that the program changes in place, themselves or through a view."""
    lies_in = {item.name: item.name for item in graph.inputs}
    found = set()
    for node in graph.nodes:
        changed = [lies_in[name] for name in node.list_written() if name in lies_in]
        found.update(changed)
        first = node.args[0] if node.args else None
        if len(changed) == 1:
            lies_in[node.name] = changed[0]
        elif node.plain_operator in _VIEWS and isinstance(first, Ref) and first.name in lies_in:
            lies_in[node.name] = lies_in[first.name]
    return frozenset(found)


def give_written_state(graph: Graph) -> Graph:
    """The graph with the parameters and buffers that its nodes change in place as arguments, which
    a repro compares after the call; as it is where there are none.
    """
    written = find_written_inputs(graph)
    inputs = tuple(
        replace(item, kind="input") if item.name in written else item for item in graph.inputs
    )
    return graph if inputs == graph.inputs else replace(graph, inputs=inputs)


def prune(graph: Graph) -> Graph:
    """The graph without nodes and inputs that nothing reads.

    In-place operations stay, and so do the inputs whose storage a kept one views.
    """
    needed = {ref.name for ref in graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in needed or is_impure(node):
            kept.append(node)
            needed.update(node.list_refs())
    kept.reverse()
    kept = _balance(kept)
    aliased = {item.alias.of for item in graph.inputs if item.alias and item.name in needed}
    inputs = tuple(item for item in graph.inputs if item.name in needed or item.name in aliased)
    return replace(graph, inputs=inputs, nodes=tuple(kept))


def _balance(nodes: list[Node]) -> list[Node]:
    """Drops an exit whose enter is gone, and region pairs with nothing in between."""
    names = {node.name for node in nodes}
    nodes = [
        node for node in nodes if node.op != "exit" or all(ref in names for ref in node.list_refs())
    ]
    closed = {ref for node in nodes if node.op == "exit" for ref in node.list_refs()}
    nodes = [node for node in nodes if node.op != "enter" or node.name in closed]
    changed = True
    while changed:
        changed = False
        for index in range(len(nodes) - 1):
            first, second = nodes[index], nodes[index + 1]
            if first.op == "enter" and second.op == "exit" and first.name in second.list_refs():
                del nodes[index : index + 2]
                changed = True
                break
    return nodes
