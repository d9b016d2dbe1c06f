"""The graph IR read from the JSON in which the collectors send it; the only place where private
statistics meet the IR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from anonymizer.graph.expressions import NotPublic
from anonymizer.graph.ir import (
    Alias,
    Atom,
    Graph,
    Input,
    Json,
    Node,
    Recipe,
    Ref,
    Seq,
    StockLayer,
    TensorMeta,
    Value,
    fold_scalars,
    prune,
)


def value_from_json(data: Any) -> Value:
    """An argument from its JSON form: {"ref": name}, {"atom": text}, {"float": text},
    {"device": name}, {"list" | "tuple" | "slice": [...]}, {"dict": {...}}, or a plain constant.
    """
    if not isinstance(data, Mapping):
        return data  # type: ignore[no-any-return]
    if "ref" in data:
        return Ref(data["ref"])
    if "atom" in data:
        return Atom(data["atom"])
    if "float" in data:
        return Atom(f'float("{data["float"]}")')
    if "device" in data:
        return Atom(f'torch.device("{data["device"]}")')
    for kind in ("list", "tuple", "slice"):
        if kind in data:
            return Seq(kind, tuple(value_from_json(item) for item in data[kind]))
    return Seq("dict", tuple((key, value_from_json(item)) for key, item in data["dict"]))


def meta_from_json(data: Any) -> Any:
    """The metadata of a value from its JSON form.

    Args:
        data: {"shape", "stride" (elements), "dtype", "device", "requires_grad"} for a tensor,
            {"scalar": kind}, or a list of these.

    Returns:
        TensorMeta, a tuple of metadata, a scalar's kind, or None.
    """
    if isinstance(data, list):
        return tuple(meta_from_json(item) for item in data)
    if not isinstance(data, Mapping):
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


def _freeze(stats: Json) -> Iterator[tuple[str, Any]]:
    for key, value in stats.items():
        yield key, tuple(value) if isinstance(value, list) else value


def from_json(data: Json, recipe: Callable[[TensorMeta, Json], Recipe]) -> Graph:
    """A captured graph from the JSON that `collectors.dynamo` made.

    Args:
        data: inputs, nodes, outputs and the sizes of successive runs.
        recipe: chooses how a tensor's values are made, from its metadata and statistics.

    Returns:
        The graph without what nobody reads; results of opaque operators are inputs of it.

    Raises:
        NotPublic: the graph needs what an opaque operator returns besides tensors.
    """
    inputs = []
    for item in data["inputs"]:
        meta = meta_from_json(item["meta"])
        alias = item.get("alias")
        inputs.append(
            Input(
                item["name"],
                item["kind"],
                meta,
                recipe(meta, item.get("stats") or {}),
                Alias(alias["of"], alias["offset"]) if alias else None,
                tuple(item.get("symbols") or ()),
                tuple(sorted(_freeze(item.get("stats") or {}))),
            )
        )
    nodes = []
    for item in data["nodes"]:
        module = item.get("module")
        layer = None
        if module:
            kwargs = tuple((key, json_value(value)) for key, value in module["kwargs"].items())
            layer = StockLayer(module["class"], kwargs, module["training"])
        meta = meta_from_json(item.get("meta"))
        known = isinstance(meta, TensorMeta) and bool(item.get("stats"))
        nodes.append(
            Node(
                item["name"],
                item["op"],
                item["target"],
                tuple(value_from_json(value) for value in item["args"]),
                tuple((key, value_from_json(value)) for key, value in item["kwargs"].items()),
                meta,
                tuple(item.get("block") or ()),
                layer,
                recipe(meta, {**item["stats"], "intermediate": True}) if known else None,
                tuple(item.get("symbols") or ()),
            )
        )
    outputs = tuple(
        value for value in map(value_from_json, data["outputs"]) if isinstance(value, Ref)
    )
    runs = tuple(tuple(sorted(run.items())) for run in data.get("runs") or ())
    graph = Graph(tuple(inputs), tuple(nodes), outputs, runs)
    return prune(fold_scalars(_without_opaque(graph, recipe)))


def _without_opaque(graph: Graph, recipe: Callable[[TensorMeta, Json], Recipe]) -> Graph:
    """The graph with the results of operators that nobody can look into as inputs.

    Raises NotPublic if it needs more of them.

    What fails may have nothing to do with the operator; whether it does the candidate shows.
    """
    opaque = {node.name for node in graph.nodes if node.op == "opaque"}
    if not opaque:
        return graph
    several = {n.name for n in graph.nodes if n.name in opaque and not _is_tensor(n)}
    fresh: list[Input] = []
    kept: list[Node] = []
    for node in graph.nodes:
        reads = not several.isdisjoint(node.refs())
        is_result = node.name in opaque or reads and node.target == "operator.getitem"
        if not is_result:
            if reads:
                raise NotPublic("a custom operator whose results are no tensors")
            kept.append(node)
        elif _is_tensor(node):
            meta = replace(node.meta, requires_grad=node.meta.requires_grad and node.meta.is_float)
            made = node.stand_in or recipe(meta, {})
            fresh.append(Input(node.name, "input", meta, made, symbols=node.symbols))
    outputs = tuple(ref for ref in graph.outputs if any(ref.name == node.name for node in kept))
    if not outputs:
        raise NotPublic("a custom operator that everything depends on")
    return replace(graph, inputs=(*graph.inputs, *fresh), nodes=tuple(kept), outputs=outputs)


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta, TensorMeta)


def json_value(value: Any) -> Value:
    """A constructor argument of a stock layer from its JSON form; a list becomes a tuple."""
    if isinstance(value, list):
        return Seq("tuple", tuple(json_value(item) for item in value))
    return value  # type: ignore[no-any-return]
