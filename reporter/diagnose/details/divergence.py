"""The divergence profile: at which operation of the graph do eager and compiled first part?

Prefixes of the call's Dynamo graph are measured in forks of the moment before the call. A prefix
that agrees clears what it is computed from; one that differs makes everything it is computed from
suspect. So the search goes down the graph, not down the list: it ends at an operation that differs
while all it reads agrees.
"""

from __future__ import annotations

import json
import math
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import TimeoutError as Unanswered
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from collectors.protocol.graphs import DivergenceRequest, GraphNode, NumberedGraph, PrefixLine
from reporter.core.kinds import Backend
from reporter.recording import questions
from reporter.recording.call_session import CallSession, compute_longest_wait
from reporter.recording.findings import Finding
from reporter.report.sections.details import DivergencePoint, DivergenceSection

_SPACED = 12
_OUTPUTS = 6
_GRAPHS = 6
_PUBLIC = re.compile(r"(torch|Tensor|operator|math)\.[A-Za-z_][\w.]*|getattr|int|float|max|min|len")


def describe(found: DivergenceSection) -> str:
    """One or two plain sentences."""
    what = "the gradients of eager and compiled" if found.grads else "eager and compiled"
    point = next((p for p in found.points if p.position == found.first), None)
    if point is None:
        return _describe_agreement(found, what)
    name = point.operator or "an operation without a public name"
    text = (
        f"{what} first part at operation {point.position + 1} of {found.of}, {name}:"
        f" {_describe_numbers(point)}"
    )
    if not found.complete:
        text += "; not everything before it could be measured"
    later = sum(p.same for p in found.points if p.position > point.position)
    if later:
        text += f"; {later} of the later operations measured agree"
    return text + "."


def _describe_agreement(found: DivergenceSection, what: str) -> str:
    if not found.points:
        return f"No operation of the graph, of {found.of}, could be measured alone."
    count = len(found.points)
    text = f"{what} agree after {count} of the graph's {found.of} operations"
    if found.whole:
        text += (
            ", although the whole graph differs: the fault needs what follows, by fusion or in"
            " the backward pass"
        )
    elif found.whole is False:
        text += " and after the whole graph, within what rounding allows"
    return text + ("." if found.complete else "; not everything could be measured.")


def drop_nonfinite_numbers(found: DivergenceSection) -> DivergenceSection:
    """What a report has: null for a number that is not finite."""

    def make_finite(point: DivergencePoint) -> DivergencePoint:
        numbers = structs.asdict(point).items()
        gone = [n for n, value in numbers if isinstance(value, float) and not math.isfinite(value)]
        return structs.replace(point, **dict.fromkeys(gone))

    return structs.replace(found, points=tuple(map(make_finite, found.points)))


def _describe_numbers(point: DivergencePoint) -> str:
    if point.max_abs_error is None:
        return "another shape or no value"
    if point.error_vs_fp64 is not None:
        return (
            f"max abs error {point.max_abs_error:.3g}, off float64 by {point.error_vs_fp64:.3g} "
            f"where eager is off by {point.eager_error_vs_fp64:.3g}"
        )
    return (
        f"max abs error {point.max_abs_error:.3g} in {point.mismatched} of {point.elements} values"
    )


@dataclass(frozen=True)
class PrefixSettings:
    """How a graph up to one of its operations is compiled and compared.

    `grads` compares gradients in place of results; `backend` replaces the call's own; `config`
    holds torch settings by their qualified names, such as
    `torch._inductor.config.fallback_random`.
    """

    grads: bool = False
    backend: Backend | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DivergenceBudget:
    """What a profile may cost: `seconds` for everything, `timeout` seconds for one fork, of
    which `jobs` run side by side.
    """

    seconds: float
    timeout: float
    jobs: int


def find_divergence(
    source: Finding | CallSession,
    settings: PrefixSettings,
    budget: DivergenceBudget,
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> DivergenceSection | None:
    """Where eager and compiled first part, in public words and with numbers as they are; None if
    there is no graph to look at.

    Args:
        source: the recorded call; a finding also says whether the earlier calls come before it.
        settings: how prefixes of its graphs are compiled and compared.
        budget: seconds for everything and for one fork, and forks at a time.
        say: gets what is being compared.
        clock: gives seconds; the budget is of that clock.

    Returns:
        Errors of the first graph that differs, by position from 0; they may be infinite or NaN.
    """
    call_session, replay = (
        (source.call_session, source.original.replay)
        if isinstance(source, Finding)
        else (source, False)
    )
    deadline = clock() + budget.seconds
    runs = PrefixRuns(call_session, replay, settings)
    nodes = questions.measure_divergence(
        {"op": "divergence", "ask": "nodes", "replay": replay, "config": dict(settings.config)}
    )
    answer = call_session.request(nodes, min(budget.timeout, budget.seconds))
    graphs = [graph for graph in answer.get("graphs") or () if graph["nodes"]]
    if not graphs:
        return None

    def compute_time_left() -> float:
        return deadline - clock()

    searches = [
        _GraphSearch(runs, graph, budget, compute_time_left, say) for graph in graphs[:_GRAPHS]
    ]
    return _choose_first_to_differ(searches).search()


def _choose_first_to_differ(searches: Sequence[_GraphSearch]) -> _GraphSearch:
    """The search in the first graph that differs as a whole; the last one's if none does."""
    for each in searches if len(searches) > 1 else ():
        each.measure([None])
        if each.whole:
            return each
    return searches[-1]


@dataclass(frozen=True)
class PrefixRuns:
    """Where prefixes are measured, and how; with `replay` the earlier calls are made first."""

    call_session: CallSession
    replay: bool
    settings: PrefixSettings


class _GraphSearch:
    """Measures prefixes of one graph, each once, while `compute_time_left` gives seconds.

    `whole`: whether the uncut graph differs.
    """

    def __init__(
        self,
        runs: PrefixRuns,
        graph: NumberedGraph,
        budget: DivergenceBudget,
        time_left: Callable[[], float],
        say: Callable[[str], None],
    ) -> None:
        self.runs = runs
        self.graph = graph
        self.budget = budget
        self.time_left = time_left
        self.say = say
        self.points: dict[int, DivergencePoint] = {}
        self.tried: set[int | None] = set()
        self.whole: bool | None = None

    @property
    def nodes(self) -> list[GraphNode]:
        return self.graph["nodes"]

    def search(self) -> DivergenceSection:
        """Spaced positions first, then ever closer to where the difference begins."""
        self.measure(self._choose_spread())
        while (near := self._find_suspects() - self.tried) and self.time_left() > 0:
            self.measure(_space_evenly(sorted(near), self.budget.jobs))
        first = self._find_first()
        if first is None:
            self.measure([None])
        return DivergenceSection(
            points=tuple(self.points[position] for position in sorted(self.points)),
            first=first,
            of=len(self.nodes),
            operator=None if first is None else self.points[first].operator,
            complete=bool(self.points)
            and not self._find_suspects()
            and set(self._choose_spread()) <= self.tried,
            grads=self.runs.settings.grads,
            whole=self.whole,
            failed=len(self.tried - {None} - set(self.points)),
        )

    def _list_usable(self) -> list[int]:
        backward = self.runs.settings.grads
        return [
            i
            for i, node in enumerate(self.nodes)
            if node["measurable"] and (node["differentiable"] or not backward)
        ]

    def _choose_spread(self) -> list[int]:
        usable = self._list_usable()
        ends = [i for i in self.graph["outputs"] if i in usable]
        return sorted(
            {*_space_evenly(usable, _SPACED), *usable[-1:], *_space_evenly(ends, _OUTPUTS)}
        )

    def _find_first(self) -> int | None:
        return min((i for i, point in self.points.items() if not point.same), default=None)

    def _find_suspects(self) -> set[int]:
        """What may differ before the first position that does: what it is computed from, less what
        agreement cleared.

        An operation that writes in place may reach whatever comes after it; only its own readers
        clear it.
        """
        first = self._find_first()
        if first is None:
            return set()
        writers = {i for i in range(first) if self.nodes[i]["writes"]}
        above = _find_ancestors(self.nodes, {first, *writers}) | writers
        agree = {i for i, point in self.points.items() if point.same and i < first}
        cleared = agree | _find_ancestors(self.nodes, agree)
        usable = set(self._list_usable())
        return (above & usable) - cleared - {first}

    # -- asking ------------------------------------------------------------------------------------

    def measure(self, positions: Iterable[int | None]) -> None:
        """Measures positions (None: the whole graph) side by side, as far as the time goes."""
        todo = [i for i in positions if i not in self.tried]
        # what ran before a later graph, or an earlier call, has left its traces: one fork for each
        # position then
        alone = self.graph["graph"] > 0 or self.runs.replay
        count = len(todo) if alone else min(self.budget.jobs, len(todo))
        chunks = [todo[i::count] for i in range(count)]
        while chunks and self.time_left() > 0:
            now, chunks = chunks[: self.budget.jobs], chunks[self.budget.jobs :]
            for rest in self._measure_round(now):
                chunks.append(rest)

    def _measure_round(self, chunks: Sequence[list[int | None]]) -> list[list[int | None]]:
        """Runs chunks side by side. Returns what forks that ended early had still to do."""
        limit = max(1.0, min(self.budget.timeout * max(map(len, chunks)), self.time_left()))
        coarse = ("torch.float16", "torch.bfloat16")
        since = next((i for i, node in enumerate(self.nodes) if node["dtype"] in coarse), None)
        running = []
        for chunk in chunks:
            shown = ", ".join("all" if i is None else str(i + 1) for i in chunk)
            self.say(f"graph up to operation {shown} of {len(self.nodes)}")
            path = self.runs.call_session.folder / f"divergence-{uuid.uuid4().hex}.jsonl"
            request: DivergenceRequest = {
                "op": "divergence",
                "ask": "measure",
                "replay": self.runs.replay,
                "config": dict(self.runs.settings.config),
                "grads": self.runs.settings.grads,
                "backend": self.runs.settings.backend,
                "graph": self.graph["graph"],
                "positions": list(chunk),
                "coarse_from": since,
                "results": str(path),
            }
            measured = self.runs.call_session.submit(questions.measure_divergence(request), limit)
            running.append((chunk, path, measured))
        rest: list[list[int | None]] = []
        for chunk, path, future in running:
            try:
                future.result(timeout=compute_longest_wait(limit))
            except Unanswered:
                pass
            begun = self._read(path.read_text() if path.exists() else "")
            remaining = [i for i in chunk if i not in begun]
            self.tried |= set(begun)
            if remaining and begun:  # a fork that has not even begun would not the next time either
                rest.append(remaining)
            path.unlink(missing_ok=True)
        return rest

    def _read(self, text: str) -> list[int | None]:
        """Takes the results of one fork; returns the positions it began."""
        begun: list[int | None] = []
        for line in text.splitlines():
            try:
                found: PrefixLine = json.loads(line)
            except ValueError:  # the fork ended while writing
                continue
            position = found["position"]
            if found.get("begun"):
                begun.append(position)
            elif "same" in found and position is None:
                self.whole = not found["same"]
            elif "same" in found and position is not None:
                self.points[position] = self._build_point(position, found)
        return begun

    def _build_point(self, position: int, found: PrefixLine) -> DivergencePoint:
        name = self.nodes[position]["operator"]
        return DivergencePoint(
            position=position,
            operator=name if name and _PUBLIC.fullmatch(name) else None,
            max_abs_error=found.get("max_abs_error"),
            max_ulp=found.get("max_ulp"),
            error_vs_fp64=found.get("error_vs_fp64"),
            eager_error_vs_fp64=found.get("eager_error_vs_fp64"),
            same=found["same"],
            mismatched=found.get("mismatched"),
            elements=found.get("elements"),
        )


def _find_ancestors(nodes: Sequence[GraphNode], positions: Iterable[int]) -> set[int]:
    """Everything the given positions are computed from, themselves not included unless one feeds
    another.
    """
    found: set[int] = set()
    waiting = list(positions)
    while waiting:
        for read in nodes[waiting.pop()]["inputs"]:
            if read not in found:
                found.add(read)
                waiting.append(read)
    return found


def _space_evenly(items: Sequence[int], count: int) -> list[int]:
    """About `count` of the items, evenly spaced and away from the ends."""
    if len(items) <= count:
        return list(items)
    return [items[(2 * i + 1) * len(items) // (2 * count)] for i in range(count)]
