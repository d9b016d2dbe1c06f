"""Pieces of a graph as programs of their own, each kind once, and many of them side by side in one
program (a batch).

A deep model repeats itself: two thousand operations are some thirty different ones. So the question
whether one operation alone shows a failure costs a program of thirty operations, however deep the
model is, and a search for it takes questions that grow with the logarithm of thirty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from anonymizer.graph.ir import (
    Graph,
    Input,
    Node,
    Ref,
    TensorMeta,
    Value,
    map_value,
)
from reporter.reduce.graph_cuts import convert_to_input

#: Longest way back from an operation to what it is computed from that a piece takes along.
_REACH = 3
#: Levels before those of operations with what feeds them: what is named, and each operation alone.
BEFORE_CONES = _REACH + 1
#: How large a level's pieces may be together, measured by the graph: cutting down the whole costs
#: about three times that.
_SHARES = {2: 2.0, 3: 1.0}
_BLOCKS = 0.7
#: What nearly every model has.
_USUAL = frozenset(
    "add sub mul div linear matmul bmm mm addmm conv1d conv2d relu gelu silu sigmoid tanh softmax"
    " layer_norm batch_norm dropout embedding view reshape flatten permute transpose unsqueeze"
    " squeeze expand contiguous split chunk cat stack scaled_dot_product_attention".split()
)
_RUN = 10


class PieceExtractor:
    """Cuts pieces out of one graph; each in time that depends on the piece, not on the graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.position = {node.name: index for index, node in enumerate(graph.nodes)}
        self.users = graph.map_users()
        self.returned = {ref.name for ref in graph.outputs}
        self.regions: dict[str, tuple[str, ...]] = {}
        self.exits: dict[str, str] = {}
        opened: list[str] = []
        for node in graph.nodes:
            if node.op == "exit":
                closed = [name for name in node.list_refs() if name in opened]
                self.exits.update(dict.fromkeys(closed, node.name))
                opened = [name for name in opened if name not in closed]
            self.regions[node.name] = tuple(opened)
            if node.op == "enter":
                opened.append(node.name)

    def list_regions(self) -> list[list[str]]:
        """The names of the nodes in each region."""
        found: dict[str, list[str]] = {}
        for name, regions in self.regions.items():
            for start in regions:
                found.setdefault(start, []).append(name)
        return list(found.values())

    def extract(self, names: Iterable[str]) -> Graph | None:
        """The named nodes as a program under generated names, equal for equal pieces; None if it
        would return nothing.

        What they read from outside becomes inputs, what is read outside is returned. Sizes and
        tuples come along, and so do the regions (autocast) that the nodes stand in.
        """
        inside = self._close_over(names)
        nodes = [
            self.graph.nodes[position]
            for position in sorted(self.position[name] for name in inside)
        ]
        outputs = self._list_outputs(nodes, inside)
        if not outputs:
            return None
        inputs: dict[str, Input] = {}
        for ref in [name for node in nodes for name in node.list_refs()]:
            if ref not in inside and ref not in inputs:
                found = self._find_input(ref)
                if found is None:
                    return None
                for item in found:
                    inputs.setdefault(item[0], item[1])
        return _make_canonical(inputs, nodes, outputs)

    def _close_over(self, names: Iterable[str]) -> set[str]:
        """The names with what they cannot be without: producers of what is no tensor, items of
        tuples, regions.
        """
        inside: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            node = self.graph.find_node(name)
            if node is None or name in inside:
                continue
            inside.add(name)
            pending += [ref for ref in node.list_refs() if not self._is_tensor(ref)]
            pending += [
                region
                for start in self.regions[name]
                for region in (start, self.exits.get(start, start))
            ]
            if isinstance(node.meta, tuple):
                items = (self.graph.find_node(user) for user in self.users.get(name, ()))
                pending += [
                    item.name for item in items if item and item.target == "operator.getitem"
                ]
        return inside

    def _is_tensor(self, name: str) -> bool:
        return isinstance(self.graph.find_meta(name), TensorMeta)

    def _list_outputs(self, nodes: Sequence[Node], inside: Collection[str]) -> list[str]:
        tensors = [node.name for node in nodes if self._is_tensor(node.name)]
        read = [
            name
            for name in tensors
            if name in self.returned or any(user not in inside for user in self.users.get(name, ()))
        ]
        if read:
            return read
        changed = [name for node in nodes for name in node.list_written()]
        return tensors[-1:] or [name for name in changed if self._is_tensor(name)][:1]

    def _find_input(self, name: str) -> list[tuple[str, Input]] | None:
        """What stands for a value from outside: an input as it is (with the one it is a view of),
        or a stand-in.
        """
        item = self.graph.find_input(name)
        if item is not None:
            owner = self.graph.find_input(item.alias.of) if item.alias else None
            return [(each.name, each) for each in (owner, item) if each is not None]
        meta = self.graph.find_meta(name)
        if not isinstance(meta, TensorMeta):
            return None
        return [(name, convert_to_input(self.graph, name, meta))]


def _make_canonical(
    inputs: dict[str, Input], nodes: Sequence[Node], outputs: Sequence[str]
) -> Graph:
    """The graph under names that depend on its structure alone, without where it stood and what was
    measured there.
    """
    names = {name: f"i{number}" for number, name in enumerate(inputs)}
    names.update({node.name: f"n{number}" for number, node in enumerate(nodes)})
    return _rename(
        Graph(
            tuple(replace(item, stats=()) for item in inputs.values()),
            tuple(replace(node, block=()) for node in nodes),
            tuple(Ref(name) for name in outputs),
        ),
        names,
    )


def _rename(graph: Graph, names: dict[str, str]) -> Graph:
    def change(ref: Ref) -> Value:
        return Ref(names[ref.name])

    inputs = tuple(
        replace(
            item,
            name=names[item.name],
            alias=replace(item.alias, of=names[item.alias.of]) if item.alias else None,
        )
        for item in graph.inputs
    )
    nodes = tuple(replace(node.map_refs(change), name=names[node.name]) for node in graph.nodes)
    outputs = tuple(ref for old in graph.outputs if isinstance(ref := map_value(old, change), Ref))
    return replace(graph, inputs=inputs, nodes=nodes, outputs=outputs)


def merge_pieces(pieces: Sequence[Graph]) -> Graph:
    """All pieces in one graph that returns what each of them returns."""
    if len(pieces) == 1:
        return pieces[0]
    parts = [
        _rename(
            piece,
            {name: f"{name}q{number}" for name in piece.list_names()},
        )
        for number, piece in enumerate(pieces)
    ]
    return Graph(
        tuple(item for part in parts for item in part.inputs),
        tuple(node for part in parts for node in part.nodes),
        tuple(ref for part in parts for ref in part.outputs),
    )


def list_piece_levels(
    graph: Graph, named: Collection[str] = (), wrong_outputs: Collection[int] = ()
) -> Iterator[list[Graph]]:
    """Ever larger pieces, each kind once: operations, operations with what feeds them, then the
    model's own blocks; in each level the suspicious ones first.

    Args:
        named: operators, by the last part of their name; those come first, with ever more of what
            feeds them.
        wrong_outputs: the positions of outputs that are wrong, if that is known.

    Yields:
        The pieces of a level, each a graph of its own; a level may be empty.
    """
    extractor = PieceExtractor(graph)
    seen: set[Graph] = set()
    operations = _sort_by_suspicion(graph, wrong_outputs)
    suspects = [node for node in operations if node.plain_operator in named]
    for reach in range(1, _REACH + 1):
        yield _extract_distinct(
            extractor, (_list_cone(graph, node, reach) for node in suspects), seen
        )
    yield _extract_distinct(
        extractor, ([node.name] for node in operations), seen
    )  # no more than the graph
    for reach in range(2, _REACH + 1):
        cones = (_list_cone(graph, node, reach) for node in operations)
        yield _keep_affordable(graph, _extract_distinct(extractor, cones, seen), _SHARES[reach])
    for blocks in _list_blocks(graph):
        yield _keep_affordable(graph, _extract_distinct(extractor, blocks, seen), _BLOCKS)


def _sort_by_suspicion(graph: Graph, wrong_outputs: Collection[int]) -> list[Node]:
    """The operations: first those that no right output is computed from, and among them those that
    not every model has in float32, since what all users run is seldom wrong.
    """
    right = [ref.name for at, ref in enumerate(graph.outputs) if at not in wrong_outputs]
    cleared: set[str] = set()
    if wrong_outputs and max(wrong_outputs) < len(graph.outputs):
        pending = right
        while pending:
            name = pending.pop()
            node = graph.find_node(name)
            if node is not None and name not in cleared:
                cleared.add(name)
                pending += node.list_refs()
    operations = [node for node in graph.nodes if node.counts]
    return sorted(operations, key=lambda node: (node.name in cleared, _is_usual(node)))


def _is_usual(node: Node) -> bool:
    is_single = isinstance(node.meta, TensorMeta) and node.meta.dtype == "float32"
    return is_single and node.plain_operator in _USUAL


def list_larger_pieces(graph: Graph) -> Iterator[Graph]:
    """Larger pieces one by one, each kind once: autocast regions, the model's blocks, the smallest
    first, runs of ten nodes.
    """
    extractor = PieceExtractor(graph)
    names = [node.name for node in graph.nodes]
    blocks = sorted((block for level in _list_blocks(graph) for block in level), key=len)
    runs = [names[start : start + _RUN] for start in range(0, len(names), _RUN)]
    yield from _extract_distinct(extractor, [*extractor.list_regions(), *blocks, *runs], set())


def _extract_distinct(
    extractor: PieceExtractor, groups: Iterable[Collection[str]], seen: set[Graph]
) -> list[Graph]:
    found = []
    for group in groups:
        piece = extractor.extract(group)
        if piece is not None and piece.statements and piece not in seen:
            seen.add(piece)
            found.append(piece)
    return found


def _keep_affordable(graph: Graph, pieces: list[Graph], share: float) -> list[Graph]:
    """The pieces, or none of them if together they are too large a share of the graph."""
    size = sum(piece.statements for piece in pieces)
    return pieces if size <= share * graph.statements else []


def _list_cone(graph: Graph, node: Node, reach: int) -> list[str]:
    """A node and what it is computed from, `reach` operations deep."""
    names, edge = [node.name], [node]
    for _ in range(reach - 1):
        read = [graph.find_node(name) for one in edge for name in one.list_refs()]
        edge = [one for one in read if one is not None and one.name not in names]
        names += [one.name for one in edge]
    return names


def _list_blocks(graph: Graph) -> Iterator[list[list[str]]]:
    """Sub-modules by their depth in the module tree, the innermost first."""
    blocks: dict[tuple[int, ...], list[str]] = {}
    for node in graph.nodes:
        for depth in range(1, len(node.block) + 1):
            blocks.setdefault(node.block[:depth], []).append(node.name)
    for depth in sorted({len(path) for path in blocks}, reverse=True):
        yield [names for path, names in blocks.items() if len(path) == depth]
