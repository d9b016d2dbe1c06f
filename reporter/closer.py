"""A closer look where rounding noise may hide a bug: each block of the graph alone, judged against float64 on its own inputs.

In a deep half-precision model the noise of the layers before is larger than the fault of one; fed directly, a faulty
block stands out by orders of magnitude. Nothing found means that the excuse stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from anonymizer import values
from anonymizer.emit import NotPublic
from anonymizer.harness import Check
from anonymizer.ir import Graph, Node, Ref, TensorMeta, from_json, prune
from reporter.candidate import Candidate
from reporter.progress import Progress
from reporter.recorded import Recorded
from reporter.reduce.passes import Questions, cut_inputs
from reporter.reduce.pool import WorkerPool
from reporter.reduce.scheduler import Scheduler
from reporter.candidate import judge
from reporter.signature import Signature

_LAYERS = (("eager", "dynamo"), ("aot_eager", "aot_autograd"), ("aot_eager_decomp_partition", "decomposition"))


def closer_look(recorded: Recorded, pool: WorkerPool, progress: Progress) -> Recorded:
    """The recording with a bug's verdict if one block shows one by itself, else unchanged."""
    if recorded.check is None:
        return recorded
    progress.stage("closer look", "blocks of the graph one by one, each against float64")
    backward = recorded.check.backward != "none"
    kinds = ("wrong_gradient", "wrong_result") if backward else ("wrong_result",)
    for kind in kinds:
        check = replace(recorded.check, kind=kind, backward="randn" if kind == "wrong_gradient" else "none", double=True)
        found = _search(recorded, pool, check)
        if found is not None:
            return _convicted(recorded, pool, found, kind)
    return recorded


def _search(recorded: Recorded, pool: WorkerPool, check: Check) -> Candidate | None:
    ask = Questions(Scheduler(pool, judge(Signature(check.kind))), lambda _: None)
    for graph_json, way in recorded.captures:
        if "unsupported" in graph_json or way.get("replay"):
            continue
        try:
            graph = from_json(graph_json, values.recipe_for("plain"))
        except (NotPublic, KeyError, ValueError, TypeError):
            continue
        for backend in ("aot_eager", None):
            arguments = (("backend", repr(backend)),) if backend else check.arguments
            found = ask.first(Candidate(part, replace(check, arguments=arguments)) for part in parts(graph))
            if found is not None:
                return found
    return None


def parts(graph: Graph) -> Iterator[Graph]:
    """The blocks of a graph by module path, innermost last to first, then every run of ten nodes; as graphs of their own."""
    blocks: dict[tuple[int, ...], list[int]] = {}
    for index, node in enumerate(graph.nodes):
        for depth in range(1, len(node.block) + 1):
            blocks.setdefault(node.block[:depth], []).append(index)
    regions = [
        (start, next((i for i, n in enumerate(graph.nodes) if n.op == "exit" and node.name in n.refs()), start))
        for start, node in enumerate(graph.nodes)
        if node.op == "enter"
    ]
    spans = [(a, b + 1) for a, b in regions]
    spans += sorted({(i[0], i[-1] + 1) for i in blocks.values()}, key=lambda span: (span[1] - span[0], span[0]))
    spans += [(start, min(start + 10, len(graph.nodes))) for start in range(0, len(graph.nodes), 10)]
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
    tail = tuple(Node(f"x{n.name}", "exit", "exit", (Ref(n.name),)) for n in reversed(opened) if n.name not in exits)
    inside = tuple(node for node in inside if node.op != "exit" or all(ref in names for ref in node.refs()))
    later = {ref for node in graph.nodes[stop:] for ref in node.refs()} | {ref.name for ref in graph.outputs}
    outputs = tuple(Ref(n.name) for n in inside if n.name in later and isinstance(n.meta, TensorMeta))
    if not outputs:
        return None
    outside = {node.name for node in graph.nodes[:start]}
    read = [ref for node in inside for ref in node.refs() if ref in outside]
    scalars = [name for name in dict.fromkeys(read) if not isinstance(graph.meta_of(name), TensorMeta)]
    kept = tuple(node for node in graph.nodes[:start] if node.name in scalars)
    cuts = [name for name in dict.fromkeys(read) if name not in scalars]
    whole = replace(graph, nodes=(*(n for n in graph.nodes[:start] if n in kept or n.name in cuts), *inside, *tail), outputs=outputs)
    made = cut_inputs(whole, cuts) if cuts else prune(whole)
    return made


def _convicted(recorded: Recorded, pool: WorkerPool, found: Candidate, kind: str) -> Recorded:
    """The verdict, with the layer that the block's own runs under each backend show."""
    layer = "inductor"
    wanted = Signature(kind)
    for backend, name in _LAYERS:
        if judge(wanted)(pool.submit(found.text(), overrides={"backend": backend}).result()):
            layer = name
            break
    graph = found.content
    assert isinstance(graph, Graph)
    what = "gradients" if kind == "wrong_gradient" else "values"
    summary = (
        f"The compiled program returns wrong {what}: over the whole program the error hides in rounding noise, but a block of "
        f"{graph.statements} operation{'s' if graph.statements != 1 else ''} shows it alone, far from float64 where eager is not."
    )
    return replace(
        recorded,
        kind=kind,
        layer=layer,
        is_bug=True,
        summary=summary,
        signature=Signature(kind, layer),
        check=found.check,
    )
