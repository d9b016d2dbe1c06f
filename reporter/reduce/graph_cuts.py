"""Graph surgery: the graphs a reduction step may try.

Pure functions; none of them knows whether the result still fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from anonymizer.graph.ir import (
    Atom,
    Graph,
    Input,
    Node,
    Recipe,
    Ref,
    Seq,
    TensorMeta,
    Value,
    prune,
)


def is_tensor(graph: Graph, name: str) -> bool:
    """Whether a value is known to be one tensor."""
    return isinstance(graph.find_meta(name), TensorMeta)


def _choose_recipe(graph: Graph, name: str, meta: TensorMeta) -> Recipe:
    """Values for an intermediate that becomes an input: as it was seen, else an integer keeps the
    range of the input that it comes from.
    """
    node = graph.find_node(name)
    if node is not None and node.recipe is not None:
        return node.recipe
    if meta.is_float or meta.dtype.startswith("complex"):
        return Recipe("randn")
    if meta.dtype == "bool":
        return Recipe("bool")
    producers = {node.name: node for node in graph.nodes}
    pending, seen = [name], set()
    while pending:
        current = pending.pop(0)
        item = graph.find_input(current)
        if item is not None and item.meta.dtype == meta.dtype and item.recipe.kind == "randint":
            return item.recipe
        if current in producers and current not in seen:
            seen.add(current)
            pending.extend(producers[current].list_refs())
    return Recipe("randint", 0, 2)


def convert_to_input(graph: Graph, name: str, meta: TensorMeta) -> Input:
    """An input that stands for an intermediate, under the same name.

    Its values are those that were seen; else random ones, of which integers keep the range of the
    input that they come from.

    Args:
        graph: where `name` is computed.
        meta: shape, dtype and device of it; it requires a gradient only where it is of floats.
    """
    node = graph.find_node(name)
    meta = replace(meta, requires_grad=meta.requires_grad and meta.is_float)
    symbols = node.symbols if node is not None else ()
    return Input(name, "input", meta, _choose_recipe(graph, name, meta), symbols=symbols)


def cut_inputs(graph: Graph, names: Iterable[str]) -> Graph | None:
    """The graph with some of its values turned into inputs (fed synthetically), their producers
    dropped if unused.

    Args:
        names: of values; None is returned where one is not known to be a tensor.
    """
    fresh: list[Input] = []
    replaced: dict[str, str] = {}
    for name in names:
        meta = graph.find_meta(name)
        if not isinstance(meta, TensorMeta):
            return None
        new = f"c{name}"
        fresh.append(replace(convert_to_input(graph, name, meta), name=new))
        replaced[name] = new

    def change(ref: Ref) -> Value:
        return Ref(replaced.get(ref.name, ref.name))

    nodes = tuple(node.map_refs(change) for node in graph.nodes if node.name not in replaced)
    outputs = tuple(ref for ref in graph.outputs if ref.name not in replaced)
    if not outputs:
        return None
    return prune(Graph((*graph.inputs, *fresh), nodes, outputs, graph.runs))


def select_prefix(graph: Graph, length: int) -> Graph | None:
    """The first nodes of a graph; what the rest would have read, and what was an output already, is
    returned. Regions that are open at the end are closed.

    Args:
        length: the number of nodes.

    Returns:
        None where none of them gives a tensor.
    """
    nodes = graph.nodes[:length]
    open_regions = [node for node in nodes if node.op == "enter"]
    closed = {ref for node in nodes if node.op == "exit" for ref in node.list_refs()}
    tail = [
        Node(f"exit_{node.name}", "exit", "exit", (Ref(node.name),))
        for node in reversed(open_regions)
        if node.name not in closed
    ]
    later = {name for node in graph.nodes[length:] for name in node.list_refs()} | {
        ref.name for ref in graph.outputs
    }
    live = [node.name for node in nodes if node.name in later and is_tensor(graph, node.name)]
    if not live:
        live = [node.name for node in nodes if is_tensor(graph, node.name)][-1:]
    if not live:
        return None
    return prune(
        Graph(graph.inputs, (*nodes, *tail), tuple(Ref(name) for name in live), graph.runs)
    )


def select_suffix(graph: Graph, start: int) -> Graph | None:
    """The last nodes of a graph; the tensors they read from before become inputs.

    Args:
        start: the index of the first of them.

    Returns:
        None where none of them is an output.
    """
    dropped = graph.nodes[:start]
    names = {node.name for node in dropped}
    read = {name for node in graph.nodes[start:] for name in node.list_refs()}
    scalars = {n.name for n in dropped if n.name in read and not is_tensor(graph, n.name)}
    kept = scalars | {node.name for node in dropped if node.op == "enter"}
    wanted = [
        ref
        for node in graph.nodes
        if node.name in kept or node.name not in names
        for ref in node.list_refs()
    ]
    cuts = [
        name for name in dict.fromkeys(wanted) if name in names - kept and is_tensor(graph, name)
    ]
    nodes = tuple(n for n in graph.nodes if n.name in kept or n.name in cuts or n.name not in names)
    outputs = tuple(ref for ref in graph.outputs if ref.name not in names)
    if not outputs:
        return None
    whole = replace(graph, nodes=nodes, outputs=outputs)
    return cut_inputs(whole, cuts) if cuts else prune(whole)


def are_alike(graph: Graph, one: str, two: str) -> bool:
    """Whether the values `one` and `two` of a graph are tensors of the same shape and dtype."""
    a, b = graph.find_meta(one), graph.find_meta(two)
    return (
        isinstance(a, TensorMeta)
        and isinstance(b, TensorMeta)
        and (a.shape, a.dtype) == (b.shape, b.dtype)
    )


def substitute(graph: Graph, old: str, new: str) -> Graph | None:
    """The graph without a node, whose readers read another value.

    Args:
        old: the name of the node.
        new: the name of the value; `are_alike` says whether it fits.

    Returns:
        None if no node's result is left as an output.
    """

    def change(ref: Ref) -> Value:
        return Ref(new) if ref.name == old else ref

    nodes = tuple(node.map_refs(change) for node in graph.nodes if node.name != old)
    outputs = tuple(dict.fromkeys(Ref(new) if ref.name == old else ref for ref in graph.outputs))
    made = {node.name for node in nodes}
    if not any(ref.name in made for ref in outputs):
        return None
    return prune(Graph(graph.inputs, nodes, outputs, graph.runs))


def replace_input(graph: Graph, old: Input, new: Input) -> Graph:
    """The graph with the input `old` replaced by `new`; it is found by its name."""
    inputs = tuple(new if item.name == old.name else item for item in graph.inputs)
    return replace(graph, inputs=inputs)


def widen_range(graph: Graph, name: str) -> Graph | None:
    """The same with a new integer input in a wider range that leaves zero out; None where the input
    is something else.
    """
    item = graph.find_input(name)
    if item is None or item.recipe.kind != "randint":
        return None
    return replace_input(graph, item, replace(item, recipe=Recipe("randint", 1, 100)))


def fix_sizes(graph: Graph) -> Graph:
    """The graph with symbolic input sizes fixed."""
    return replace(graph, inputs=tuple(replace(item, symbols=()) for item in graph.inputs), runs=())


def retype(graph: Graph, dtypes: Mapping[str, str], device: str | None) -> Graph:
    """The graph with dtypes replaced wherever they are named, and all on one device.

    Args:
        dtypes: old -> new, by their names in torch ("bfloat16").
        device: such as "cpu"; None: each tensor stays where it is.
    """

    def retype_meta(of: TensorMeta) -> TensorMeta:
        return replace(of, dtype=dtypes.get(of.dtype, of.dtype), device=device or of.device)

    def retype_atom(value: Value) -> Value:
        if isinstance(value, Atom):
            kind, _, name = value.text.partition(".")
            if kind == "torch" and name in dtypes:
                return Atom(f"torch.{dtypes[name]}")
            if device and value.text.startswith("torch.device("):
                return Atom(f'torch.device("{device}")')
        if isinstance(value, Seq) and value.kind != "dict":
            return Seq(value.kind, tuple(retype_atom(item) for item in value.items))
        return value

    return replace(
        graph,
        inputs=tuple(replace(item, meta=retype_meta(item.meta)) for item in graph.inputs),
        nodes=tuple(
            replace(
                node,
                args=tuple(retype_atom(value) for value in node.args),
                kwargs=tuple((key, retype_atom(value)) for key, value in node.kwargs),
                meta=retype_meta(node.meta) if isinstance(node.meta, TensorMeta) else node.meta,
            )
            for node in graph.nodes
        ),
    )
