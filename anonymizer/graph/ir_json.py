"""The graph IR read from the JSON in which the collectors send it; the only place where private
statistics meet the IR.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from anonymizer.graph.expressions import NotPublicError
from anonymizer.graph.ir import (
    Alias,
    Atom,
    ChooseRecipe,
    Graph,
    Input,
    Node,
    Ref,
    Seq,
    StockLayer,
    TensorMeta,
    Value,
    fold_scalars,
    prune,
)
from collectors.protocol.captured_graph import CapturedGraph, GraphInput, GraphOperation
from collectors.protocol.captured_values import (
    Encoded,
    EncodedOperation,
    LayerArgument,
    LayerConstructor,
    ResultLayout,
    TensorStatistics,
)

#: What `read_graph` raises where a captured graph has no program that people can be shown.
UNREADABLE = (NotPublicError, KeyError, ValueError, TypeError, ArithmeticError)


def read_value(data: Encoded) -> Value:
    """An argument from its JSON form: {"ref": name}, {"atom": text}, {"float": text},
    {"device": name}, {"list" | "tuple" | "slice": [...]}, {"dict": {...}}, or a plain constant.
    """
    if not isinstance(data, dict):
        return data
    if "ref" in data:
        return Ref(data["ref"])
    if "atom" in data:
        return Atom(data["atom"])
    if "float" in data:
        return Atom(f'float("{data["float"]}")')
    if "device" in data:
        return Atom(f'torch.device("{data["device"]}")')
    if "list" in data:
        return Seq("list", tuple(map(read_value, data["list"])))
    if "tuple" in data:
        return Seq("tuple", tuple(map(read_value, data["tuple"])))
    if "slice" in data:
        return Seq("slice", tuple(map(read_value, data["slice"])))
    return Seq("dict", tuple((key, read_value(item)) for key, item in data["dict"]))


def read_meta(data: ResultLayout) -> Any:
    """The metadata of a value from its JSON form.

    Args:
        data: {"shape", "stride" (elements), "dtype", "device", "requires_grad"} for a tensor,
            {"scalar": kind}, or a list of these.

    Returns:
        TensorMeta, a tuple of metadata, a scalar's kind, or None.
    """
    if isinstance(data, list):
        return tuple(read_meta(item) for item in data)
    if data is None:
        return None
    if "scalar" in data:
        return str(data["scalar"])
    stride = data.get("stride")
    return TensorMeta(
        tuple(data["shape"]),
        data["dtype"],
        tuple(stride) if stride is not None else None,
        data["device"],
        data["requires_grad"],
    )


def read_operation(item: EncodedOperation, meta: Any) -> Node:
    """One operation, with the metadata of its results, from its JSON form: {"name", "op", "target",
    "args", "kwargs"}.

    Args:
        meta: of its results, as `read_meta` returns it.
    """
    return Node(
        item["name"],
        item["op"],
        item["target"],
        tuple(read_value(value) for value in item["args"]),
        tuple((key, read_value(value)) for key, value in item["kwargs"].items()),
        meta,
    )


def read_layer(data: LayerConstructor, training: bool) -> StockLayer:
    """A stock layer from its JSON form; a list among its arguments becomes a tuple.

    Args:
        data: `class` and `kwargs`, as `read_constructor` of the collectors has them.
        training: the mode that it is called in.
    """
    kwargs = tuple((key, _read_layer_argument(value)) for key, value in data["kwargs"].items())
    return StockLayer(data["class"], kwargs, training)


def _read_layer_argument(value: LayerArgument) -> Value:
    if isinstance(value, list):
        return Seq("tuple", tuple(map(_read_layer_argument, value)))
    return value


def _freeze(stats: TensorStatistics) -> Iterator[tuple[str, Any]]:
    for key, value in stats.items():
        yield key, tuple(value) if isinstance(value, list) else value


def read_graph(data: CapturedGraph, recipe: ChooseRecipe) -> Graph:
    """A captured graph from the JSON that `collectors.dynamo` made.

    Args:
        data: inputs, nodes, outputs and the sizes of successive runs.
        recipe: chooses how a tensor's values are made, from its metadata and statistics.

    Returns:
        The graph without what nobody reads; results of opaque operators are inputs of it.

    Raises:
        NotPublicError: the graph needs what an opaque operator returns besides tensors.
    """
    inputs = tuple(_read_input(item, recipe) for item in data["inputs"])
    nodes = tuple(_read_node(item, recipe) for item in data["nodes"])
    outputs = tuple(value for value in map(read_value, data["outputs"]) if isinstance(value, Ref))
    runs = tuple(tuple(sorted(run.items())) for run in data.get("runs") or ())
    graph = Graph(inputs, nodes, outputs, runs)
    return prune(fold_scalars(_without_opaque(graph, recipe)))


def _read_input(item: GraphInput, recipe: ChooseRecipe) -> Input:
    meta, stats, alias = read_meta(item["meta"]), item.get("stats") or {}, item.get("alias")
    return Input(
        name=item["name"],
        kind=item["kind"],
        meta=meta,
        recipe=recipe(meta, stats),
        alias=Alias(alias["of"], alias["offset"]) if alias else None,
        symbols=tuple(item.get("symbols") or ()),
        stats=tuple(sorted(_freeze(stats))),
    )


def _read_node(item: GraphOperation, recipe: ChooseRecipe) -> Node:
    meta, stats = read_meta(item.get("meta")), item.get("stats") or {}
    module = item.get("module")
    known = isinstance(meta, TensorMeta) and bool(stats)
    return replace(
        read_operation(item, meta),
        block=tuple(item.get("block") or ()),
        layer=read_layer(module, module["training"]) if module else None,
        recipe=recipe(meta, stats) if known else None,
        symbols=tuple(item.get("symbols") or ()),
    )


def _without_opaque(graph: Graph, recipe: ChooseRecipe) -> Graph:
    """The graph with the results of operators that nobody can look into as inputs.

    What fails may have nothing to do with the operator; whether it does the candidate shows.

    Raises:
        NotPublicError: it needs more of them.
    """
    opaque = {node.name for node in graph.nodes if node.op == "opaque"}
    if not opaque:
        return graph
    several = {n.name for n in graph.nodes if n.name in opaque and not _is_tensor(n)}
    fresh: list[Input] = []
    kept: list[Node] = []
    for node in graph.nodes:
        reads = not several.isdisjoint(node.list_refs())
        is_result = node.name in opaque or reads and node.target == "operator.getitem"
        if not is_result:
            if reads:
                raise NotPublicError("a custom operator whose results are no tensors")
            kept.append(node)
        elif _is_tensor(node):
            meta = replace(node.meta, requires_grad=node.meta.requires_grad and node.meta.is_float)
            made = node.recipe or recipe(meta, {})
            fresh.append(Input(node.name, "input", meta, made, symbols=node.symbols))
    outputs = tuple(ref for ref in graph.outputs if any(ref.name == node.name for node in kept))
    if not outputs:
        raise NotPublicError("a custom operator that everything depends on")
    return replace(graph, inputs=(*graph.inputs, *fresh), nodes=tuple(kept), outputs=outputs)


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta, TensorMeta)
