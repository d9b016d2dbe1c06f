"""Pieces of a graph as programs of their own: what they read from outside becomes inputs, what is read outside is returned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from anonymizer.ir import Graph, Node, Ref, TensorMeta, prune
from reporter.reduce.cuts import cut_inputs


def parts(graph: Graph) -> Iterator[Graph]:
    """The blocks of a graph by module path, innermost last to first, then every run of ten nodes; as graphs of their own."""
    blocks: dict[tuple[int, ...], list[int]] = {}
    for index, node in enumerate(graph.nodes):
        for depth in range(1, len(node.block) + 1):
            blocks.setdefault(node.block[:depth], []).append(index)
    regions = [
        (
            start,
            next(
                (i for i, n in enumerate(graph.nodes) if n.op == "exit" and node.name in n.refs()),
                start,
            ),
        )
        for start, node in enumerate(graph.nodes)
        if node.op == "enter"
    ]
    spans = [(a, b + 1) for a, b in regions]
    spans += sorted(
        {(i[0], i[-1] + 1) for i in blocks.values()}, key=lambda span: (span[1] - span[0], span[0])
    )
    spans += [
        (start, min(start + 10, len(graph.nodes))) for start in range(0, len(graph.nodes), 10)
    ]
    seen = set()
    for span in spans:
        if span not in seen and span[1] - span[0] > 0:
            seen.add(span)
            part = piece(graph, *span)
            if part is not None and part.statements:
                yield part


def piece(graph: Graph, start: int, stop: int) -> Graph | None:
    """Nodes `start` to `stop` as a program: what they read from outside becomes inputs, what is read outside is returned."""
    inside = graph.nodes[start:stop]
    names = {node.name for node in inside}
    opened = [node for node in inside if node.op == "enter"]
    exits = {ref for node in inside if node.op == "exit" for ref in node.refs()}
    tail = tuple(
        Node(f"x{n.name}", "exit", "exit", (Ref(n.name),))
        for n in reversed(opened)
        if n.name not in exits
    )
    inside = tuple(
        node for node in inside if node.op != "exit" or all(ref in names for ref in node.refs())
    )
    later = {ref for node in graph.nodes[stop:] for ref in node.refs()} | {
        ref.name for ref in graph.outputs
    }
    outputs = tuple(
        Ref(n.name) for n in inside if n.name in later and isinstance(n.meta, TensorMeta)
    )
    if not outputs:
        return None
    outside = {node.name for node in graph.nodes[:start]}
    read = [ref for node in inside for ref in node.refs() if ref in outside]
    scalars = [
        name for name in dict.fromkeys(read) if not isinstance(graph.meta_of(name), TensorMeta)
    ]
    kept = tuple(node for node in graph.nodes[:start] if node.name in scalars)
    cuts = [name for name in dict.fromkeys(read) if name not in scalars]
    whole = replace(
        graph,
        nodes=(*(n for n in graph.nodes[:start] if n in kept or n.name in cuts), *inside, *tail),
        outputs=outputs,
    )
    made = cut_inputs(whole, cuts) if cuts else prune(whole)
    return made
