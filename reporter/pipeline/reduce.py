"""The fourth stage of `create`: the search for the smallest public program that shows the failure,
by nothing but complete candidate texts in warm workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from anonymizer.graph.ir import Graph
from anonymizer.graph.repro import ReproCheck
from anonymizer.graph.values import MOST_VALUES
from collectors.protocol import SIDE_EFFECT
from reporter.core.candidate import Candidate, make_matcher
from reporter.core.errors import CannotJudgeError
from reporter.core.formatting import count_lines
from reporter.core.kinds import (
    INDUCTOR_LAYERS,
    WRONG_OUTPUTS,
    CandidateOutcome,
    Compiler,
    Kind,
    Layer,
)
from reporter.execution.control import WITHOUT_COMPILER
from reporter.execution.journal import Journal
from reporter.pipeline.run import Run
from reporter.reduce import early_end, initial_candidates, rounds, source_candidates
from reporter.reduce.accepted_candidates import AcceptedCandidates
from reporter.reduce.contrast import Refusals
from reporter.reduce.other_failures import OtherFailures
from reporter.reduce.questions import Questions
from reporter.reduce.reach import find_unreached
from reporter.reduce.scheduler import Counts, Scheduler, SearchListener, SearchSettings
from reporter.reduce.slices import Slices
from reporter.reduce.workers import WorkerSet
from reporter.report.captured_call import CapturedCall
from reporter.whole_model import traced_model
from reporter.whole_model.source_model import Difference

#: Of the time that is left to a run with a budget: what the search may take, and in it a candidate
#: where none has ended. Verification comes after it.
_SHARE_OF_SEARCH, _SHARE_OF_CANDIDATE = 0.6, 0.2
#: Seconds that the search gets without a budget, at least.
_LEAST_SEARCH = 300.0
#: Seconds after which a candidate counts as one that hangs, where none has ended before; a fresh
#: process gets three times that.
SHORTEST_HANG = 20.0


@dataclass(frozen=True)
class ReducedProgram:
    """The smallest candidate found in warm workers, and what the search knows beside it.

    Attributes:
        captured: what the search started from.
        accepted: every candidate that showed the failure, each smaller than the one before.
        others: failures of other sorts that candidates showed.
        history: (candidates settled, tensor operations, lines), each time the program got smaller.
        different: how a whole model differs from stock layers.
        own_backend: whether it is compiled by a backend of the user's own.
    """

    captured: CapturedCall
    candidate: Candidate
    accepted: AcceptedCandidates
    others: OtherFailures
    counts: Counts
    history: tuple[tuple[int, int, int], ...]
    different: Difference | None = None
    own_backend: bool = False


class ProgramSearch:
    """From a captured call to the smallest candidate, in warm workers.

    `on_smaller` gets each program that shows the failure as the search goes on, with its size.
    """

    def __init__(
        self,
        captured: CapturedCall,
        run: Run,
        workers: WorkerSet,
        journal: Journal | None,
        on_smaller: Callable[[Candidate, str], None] = lambda _, __: None,
    ) -> None:
        assert captured.verdict.signature is not None and captured.material.check is not None
        self.captured = captured
        self.work, self.issue = run.work, run.issue
        self.progress = run.progress
        self.contrasts = workers.contrasts
        self.pool = workers.pool
        self.as_whole = captured.material.whole is not None
        self.wanted = captured.verdict.signature
        self.backend = (
            source_candidates.rewrite_backend(captured)
            if captured.verdict.layer == Layer.BACKEND
            else None
        )
        self.others = OtherFailures(self.wanted)
        self.size = ""
        #: Why the source was not rewritten.
        self.unwritten: list[str] = []
        self.refusals = Refusals(self.contrasts, make_matcher(self.wanted))
        #: (candidates settled, tensor operations, lines), each time the program got smaller
        self.history: list[tuple[int, int, int]] = []
        self.scheduler = Scheduler(
            workers.pool,
            make_matcher(self.wanted),
            journal,
            [contrast.stage for contrast in self.contrasts],
            SearchListener(self._count, self.others.note, self.refusals.add),
            SearchSettings(
                max_seconds=run.limit_to_budget(self._search_limit(), _SHARE_OF_SEARCH),
            ),
        )
        self.accepted = AcceptedCandidates()
        self.ask = Questions(self.scheduler, self._shrunk)
        self._on_smaller = on_smaller
        patience = run.limit_to_budget(workers.pool.patience, _SHARE_OF_CANDIDATE)
        if captured.verdict.kind == Kind.HANG:
            patience = SHORTEST_HANG
        workers.pool.patience = min(workers.pool.patience, max(SHORTEST_HANG, patience))

    def reduce(self) -> ReducedProgram:
        """The smallest public program that shows the failure in a warm worker.

        Raises CannotJudgeError if no public program shows it.
        """
        self.progress.stage("rewrite", "rebuilding the failing program from stock layers")
        seed = self._seed()
        self._end_early(seed)
        self.progress.stage(
            "sizes" if self.as_whole else "reduce", f"from {rounds.describe_size(seed)}"
        )
        reduced = (
            traced_model.replace_private_numbers(seed, self.ask)
            if self.as_whole
            else self._reduce(seed)
        )
        reduced = self._extend_to_reach(seed, reduced)
        self.ask.set_overrides({})  # what is reported to pass from here on went all the way
        if self.scheduler.exhausted:
            self.progress.note(
                f"the search has ended at its limit of {self.scheduler.counts.seconds:.0f} s: the"
                " program may not be the smallest; a longer --timeout gives it more time"
            )
        different = None
        if self.as_whole:
            self.progress.stage("needs", "what the model needs beside stock layers to fail")
            different = traced_model.find_difference(self.captured, reduced, self.ask)
        return ReducedProgram(
            captured=self.captured,
            candidate=reduced,
            accepted=self.accepted,
            others=self.others,
            counts=self.scheduler.counts,
            history=tuple(self.history),
            different=different,
            own_backend=self.backend is not None,
        )

    def _count(self, counts: Counts) -> None:
        self.progress.update(counts.settled, self.size)

    def _shrunk(self, candidate: Candidate) -> None:
        self.accepted.add(candidate)
        self.size = rounds.describe_size(candidate)
        lines = count_lines(candidate.text())
        self.history.append(
            (self.scheduler.counts.settled, source_candidates.count_statements(candidate), lines)
        )
        self._on_smaller(candidate, self.size)
        self.progress.update(self.scheduler.counts.settled, self.size)

    def _search_limit(self) -> float:
        """Seconds for the search without a budget. A hang has taken its limit once already, and
        half of it for the verdict; each candidate that hangs takes long, too.
        """
        limit = self.work.timeout
        if self.captured.verdict.kind == Kind.HANG:
            return max(limit / 2, 3 * SHORTEST_HANG)
        return max(_LEAST_SEARCH, 2 * limit) * (1 + len(self.contrasts))

    def _seed(self) -> Candidate:
        for search in self._sources():
            found = search()
            if found is not None:
                return found
        same = self.refusals.sentence()
        if same is not None:
            raise CannotJudgeError(same)
        graphs = (graph for graph, _ in self.captured.material.captures)
        reasons = sorted({graph["unsupported"] for graph in graphs if "unsupported" in graph})
        reasons += dict.fromkeys((*self.unwritten, *self.ask.unwritten))
        if self.scheduler.out_of_memory:
            reasons.append(
                f"{self.scheduler.out_of_memory} programs needed more than the"
                f" {self.work.memory:g} GiB of --memory"
            )
        more = f" ({'; '.join(reasons)})" if reasons else ""
        small = [
            name for name, size in self.captured.material.tensors.items() if size <= MOST_VALUES
        ]
        # what fails before a value is read needs none, nor does a graph that is used too often
        without = (Kind.CRASH, Kind.CRASH_ON_RECOMPILE, Kind.HANG, Kind.STALE_GRAPH)
        depends = self.wanted.property in (None, "shape")  # values decide no other property
        is_of_values = self.captured.verdict.kind not in without and depends
        if small and is_of_values and not self.issue.allow_values:
            names = ", ".join(small[:8]) + (", …" if len(small) > 8 else "")
            hint = (
                "; if it needs values of yours that may leave, allow them with --allow-values NAME"
                f" (of {names})"
            )
        else:
            hint = ""
        raise CannotJudgeError(
            f"the failure ({self.wanted.sort()}) could not be shown by a program with public parts"
            f" and synthetic values{more}; the verdict stands, but there is no repro to"
            f" report{hint}"
        )

    def _sources(self) -> Iterator[Callable[[], Candidate | None]]:
        """Ways to a first candidate, likeliest and cheapest first."""

        def graphs() -> Candidate | None:
            return self._slice() or self.ask.find_first(self._graphs())

        def sources() -> Candidate | None:
            return self._first_alone(self._rewritten())

        if self.as_whole:
            yield lambda: self.ask.find_first(
                traced_model.build_candidates(self.captured, self._check())
            )
            return
        yield from (
            (sources, graphs) if self.captured.verdict.layer == Layer.DYNAMO else (graphs, sources)
        )
        yield self._with_own_numbers
        yield self._as_script

    def _slice(self) -> Candidate | None:
        """A small piece of a captured graph that shows the failure alone."""
        check = self._check()
        if check.property == SIDE_EFFECT:
            return None
        if self._comes_early(check):
            self.ask.set_overrides(early_end.ENDS_AT_COMPILER)
        for captured, way in self.captured.material.captures:
            for graph, make in initial_candidates.list_slices(
                captured, way, check, self.captured.verdict.layer
            ):
                found = self._piece(graph, make)
                if found is not None:
                    return found
        self.ask.set_overrides({})
        return None

    def _piece(self, graph: Graph, make: Callable[[Graph], Candidate]) -> Candidate | None:
        """A piece that shows the failure alone. One whose fault does not reach the outputs goes to
        the other findings, and from then on its operators are left to eager.
        """
        slices = Slices(self.ask, make)
        found = slices.find(graph, self.captured.verdict.failure)
        if found is None or not self._may_be_unreached(found.check):
            return found
        operators = find_unreached(self.ask, found, make(graph))
        if not operators:
            return found
        self.others.keep(self.wanted, found.text())
        self.ask.set_overrides({"fallback": list(operators)})
        return slices.find(graph, self.captured.verdict.failure) or self.ask.find_first(
            [make(graph)]
        )

    def _extend_to_reach(self, seed: Candidate, reduced: Candidate) -> Candidate:
        """The reduced candidate, or that of the fault which reaches what the seed returns."""
        whole, part = seed.content, reduced.content
        is_smaller = isinstance(whole, Graph) and isinstance(part, Graph) and whole != part
        if not is_smaller or self.ask.overrides or not self._may_be_unreached(reduced.check):
            return reduced
        operators = find_unreached(self.ask, reduced, seed)
        if not operators:
            return reduced
        self.others.keep(self.wanted, reduced.text())
        self.ask.set_overrides({"fallback": list(operators)})
        return self._reduce(seed)

    def _may_be_unreached(self, check: ReproCheck) -> bool:
        """Whether eager could take over single operators: for wrong values that Inductor makes."""
        is_ours = not self.contrasts and self.backend is None and check.compiler == Compiler.COMPILE
        return (
            is_ours
            and check.kind in WRONG_OUTPUTS
            and self.captured.verdict.layer in INDUCTOR_LAYERS
        )

    def _comes_early(self, check: ReproCheck) -> bool:
        """Whether candidates may end where the C++ compiler starts; elsewhere, and with a backend
        of the user's own, some have to pass.
        """
        ours = not self.contrasts and self.backend is None
        return ours and early_end.comes_early(self.captured.verdict.failure, check)

    def _end_early(self, seed: Candidate) -> None:
        """From here on candidates end where the C++ compiler starts, if the seed shows the failure
        before.
        """
        if not self.ask.overrides and self._comes_early(seed.check):
            with self.ask.override(early_end.ENDS_AT_COMPILER):
                is_shown = self.ask.holds(seed)
            if is_shown:
                self.ask.set_overrides(early_end.ENDS_AT_COMPILER)

    def _check(self) -> ReproCheck:
        """The recorded check; a backend of the user's own comes along as rewritten code."""
        check = self.captured.material.check
        assert check is not None
        if self.backend is None:
            return check
        backend = source_candidates.write_backend(self.backend)
        return replace(
            check,
            arguments=(("backend", "custom_backend"), *check.arguments),
            prelude="\n\n\n".join(part for part in (check.prelude, backend) if part),
        )

    def _graphs(self) -> Iterator[Candidate]:
        check = self._check()
        if check.property == SIDE_EFFECT:
            return  # a graph holds tensors alone
        for graph, way in self.captured.material.captures:
            yield from initial_candidates.build_graph_candidates(
                graph, way, check, self.captured.verdict.layer
            )

    def _rewritten(self) -> Iterator[Candidate]:
        content = source_candidates.rewrite_program(self.captured, say=self.unwritten.append)
        if content is not None:
            yield from self._show(content)

    def _show(self, content: source_candidates.RewrittenProgram) -> Iterator[Candidate]:
        check = self._check()
        for shown, asked in source_candidates.make_judgeable(content, check):
            yield from initial_candidates.build_source_candidates(
                shown, asked, self.captured.verdict.layer
            )

    def _with_own_numbers(self) -> Candidate | None:
        """The last resort: the rewritten source in which tiny tensors of small whole numbers, such
        as indices, have the program's own values.
        """
        content = source_candidates.rewrite_program(self.captured, exact=True)
        made_up = source_candidates.rewrite_program(self.captured)
        if content is None or made_up is None or content.body() == made_up.body():
            return None
        found = self._first_alone(self._show(content))
        if found is not None:
            self.progress.note(
                "made-up values do not show the failure: the repro keeps those of tensors of at"
                " most 16 small whole numbers, which are yours"
            )
        return found

    def _as_script(self) -> Candidate | None:
        """The very last resort: the script itself, rewritten, up to the failing call."""
        content = source_candidates.rewrite_script(self.captured, say=self.unwritten.append)
        if content is None:
            return None
        check = replace(self._check(), contexts=(), double=False)
        found = self._first_alone(
            initial_candidates.build_source_candidates(content, check, self.captured.verdict.layer)
        )
        if found is not None:
            self.progress.note(
                "the failing call alone does not show the failure: the repro is made from the"
                " statements of the script, rewritten, up to that call"
            )
        return found

    def _first_alone(self, candidates: Iterable[Candidate]) -> Candidate | None:
        """The first rewritten source that shows the failure, and passes without the compiler: state
        that both sides share can make eager differ from eager.
        """

        def passes_alone(candidate: Candidate) -> bool:
            if not candidate.check.compares_sides():
                return True
            control = self.pool.submit(candidate.text(), overrides=WITHOUT_COMPILER)
            return control.result().outcome == CandidateOutcome.PASSES

        return self.ask.find_accepted(candidates, passes_alone)

    def _reduce(self, seed: Candidate) -> Candidate:
        with self.ask.give_up_on_stall():
            if isinstance(seed.content, Graph):
                reduced = rounds.reduce_graph(seed, self.ask)
            else:
                reduced = source_candidates.reduce_source(seed, self.ask)
        if self.backend is not None:
            # a backend that we have mutilated has failures of its own
            self.others.listening = False
            reduced = source_candidates.reduce_backend(reduced, self.backend, self.ask)
            self.others.listening = True
        return reduced
