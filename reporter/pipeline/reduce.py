"""The fourth stage of `create`: the search for the smallest public program that shows the failure,
by nothing but complete candidate texts in warm workers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from anonymizer.graph.ir import Graph
from reporter.core.candidate import Candidate, make_matcher
from reporter.core.formatting import count_lines
from reporter.core.kinds import Kind
from reporter.core.progress import Progress
from reporter.core.settings import IssueOptions
from reporter.execution.journal import Journal
from reporter.pipeline.budget import Budget
from reporter.pipeline.capture import CapturedProgram
from reporter.pipeline.initial_candidate_search import InitialCandidateSearch, Sightings
from reporter.reduce import rounds, source_candidates
from reporter.reduce.accepted_candidates import AcceptedCandidates
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.contrast import Refusals
from reporter.reduce.other_failures import OtherFailures
from reporter.reduce.scheduler import Counts, Scheduler, SearchListener, SearchSettings
from reporter.reduce.workers import WorkerSet
from reporter.report.captured_call import CapturedCall
from reporter.whole_model import traced_model
from reporter.whole_model.generic_numbers import replace_private_numbers
from reporter.whole_model.source_model import Difference

#: Of the time that is left to a run with a budget: what the search may take, and in it a candidate
#: where none has ended. Verification comes after it.
_SHARE_OF_SEARCH, _SHARE_OF_CANDIDATE = 0.6, 0.2
#: Seconds that the search gets without a budget, at least.
_LEAST_SEARCH = 300.0
#: Seconds after which a candidate counts as one that hangs, where none has ended before; a fresh
#: process gets three times that.
SHORTEST_HANG = 20.0
#: Larger programs that are tried under the default backend, at most.
_MOST_WHOLES = 6


@dataclass(frozen=True)
class SearchLog:
    """What the search saw on its way.

    Attributes:
        accepted: every candidate that showed the failure, each smaller than the one before.
        others: failures of other sorts that candidates showed.
        history: (candidates settled, tensor operations, lines), each time the program got smaller.
    """

    accepted: AcceptedCandidates
    others: OtherFailures
    counts: Counts
    history: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class ReducedProgram:
    """The smallest candidate found in warm workers.

    Attributes:
        origin: what the search started from.
        different: how a whole model differs from stock layers.
        own_backend: whether it is compiled by a backend of the user's own.
    """

    origin: CapturedProgram
    candidate: Candidate
    search: SearchLog
    different: Difference | None = None
    own_backend: bool = False

    @property
    def captured(self) -> CapturedCall:
        """What the program was made from."""
        return self.origin.call


@dataclass(frozen=True)
class SearchNotes:
    """What is said and kept of a search while it goes on: stages and counts, each answer in the
    journal, and each program that shows the failure, with its size.
    """

    progress: Progress
    journal: Journal | None
    on_smaller: Callable[[Candidate, str], None]


class ProgramSearch:
    """From a captured call to the smallest candidate, in warm workers."""

    def __init__(
        self,
        origin: CapturedProgram,
        issue: IssueOptions,
        workers: WorkerSet,
        budget: Budget,
        notes: SearchNotes,
    ) -> None:
        captured = origin.call
        assertion = captured.material.assertion
        assert captured.verdict.signature is not None and assertion is not None
        self.origin = origin
        self.captured = captured
        self.workers = workers
        self.budget = budget
        self.progress = notes.progress
        self.as_whole = captured.material.whole is not None
        shows = make_matcher(captured.verdict.signature)
        self.others = OtherFailures(captured.verdict.signature, assertion.list_seeds())
        self.size = ""
        refusals = Refusals(workers.contrasts, shows)
        #: (candidates settled, tensor operations, lines), each time the program got smaller
        self.history: list[tuple[int, int, int]] = []
        self.scheduler = Scheduler(
            workers.pool,
            shows,
            notes.journal,
            [contrast.test for contrast in workers.contrasts],
            SearchListener(self._report_counts, self.others.note, refusals.add),
            SearchSettings(budget.limit(self._compute_limit(), _SHARE_OF_SEARCH)),
        )
        self.accepted = AcceptedCandidates()
        self.ask = Questions(self.scheduler, self._note_smaller)
        self._on_smaller = notes.on_smaller
        sightings = Sightings(self.others, refusals)
        self.initial_search = InitialCandidateSearch(
            captured, issue, workers, self.ask, sightings, self.progress.note
        )

    def reduce(self) -> ReducedProgram:
        """The smallest public program that shows the failure in a warm worker.

        Raises:
            CannotJudgeError: no public program shows it.
        """
        self.progress.begin_stage("rewrite", "rebuilding the failing program from stock layers")
        self._limit_patience()
        initial = self.initial_search.find()
        self.progress.begin_stage(
            "sizes" if self.as_whole else "reduce", f"from {rounds.describe_size(initial)}"
        )
        reduced = (
            replace_private_numbers(initial, self.ask) if self.as_whole else self._reduce(initial)
        )
        reduced = self._extend_to_reach(initial, reduced)
        self.ask.set_overrides({})  # what is reported to pass from here on went all the way
        if self.scheduler.exhausted:
            self.progress.note(
                f"the search has ended at its limit of {self.scheduler.counts.seconds:.0f} s: the"
                " program may not be the smallest; a longer --timeout gives it more time"
            )
        different = None
        if self.as_whole:
            self.progress.begin_stage("needs", "what the model needs beside stock layers to fail")
            different = traced_model.find_difference(self.captured, reduced, self.ask)
        return ReducedProgram(
            origin=self.origin,
            candidate=reduced,
            search=SearchLog(
                self.accepted, self.others, self.scheduler.counts, tuple(self.history)
            ),
            different=different,
            own_backend=self.initial_search.backend is not None,
        )

    def _report_counts(self, counts: Counts) -> None:
        self.progress.update(counts.settled, self.size)

    def _note_smaller(self, candidate: Candidate) -> None:
        self.accepted.add(candidate)
        self.size = rounds.describe_size(candidate)
        lines = count_lines(candidate.render())
        self.history.append(
            (self.scheduler.counts.settled, source_candidates.count_statements(candidate), lines)
        )
        self._on_smaller(candidate, self.size)
        self.progress.update(self.scheduler.counts.settled, self.size)

    def _compute_limit(self) -> float:
        """Seconds for the search without a budget. A hang has taken its limit once already, and
        half of it for the verdict; each candidate that hangs takes long, too.
        """
        limit = self.workers.options.timeout
        if self.captured.verdict.kind == Kind.HANG:
            return max(limit / 2, 3 * SHORTEST_HANG)
        return max(_LEAST_SEARCH, 2 * limit) * (1 + len(self.workers.contrasts))

    def _limit_patience(self) -> None:
        """From here on, verification included, the workers wait no longer for a candidate than the
        budget and the kind of failure allow.
        """
        pool = self.workers.pool
        patience = self.budget.limit(pool.patience, _SHARE_OF_CANDIDATE)
        if self.captured.verdict.kind == Kind.HANG:
            patience = SHORTEST_HANG
        pool.limit_patience(max(SHORTEST_HANG, patience))

    def _extend_to_reach(self, initial: Candidate, reduced: Candidate) -> Candidate:
        """The reduced candidate, or that of the fault which reaches what the first returns."""
        whole, part = initial.content, reduced.content
        is_smaller = isinstance(whole, Graph) and isinstance(part, Graph) and whole != part
        if (
            not is_smaller
            or self.ask.overrides
            or not self.initial_search.leave_to_eager(reduced, initial)
        ):
            return reduced
        return self._reduce(initial)

    def _leave_quicker_backend(self, initial: Candidate, reduced: Candidate) -> Candidate:
        """The reduced program, or one under the default backend where the user has that one, too,
        and it does not show the failure of the reduced one.
        """
        assertion = self.captured.material.assertion
        assert assertion is not None
        if assertion.read_backend() is not None:
            return reduced
        options = itertools.chain([initial], self.initial_search.build_graph_candidates())
        first_ones = itertools.islice(options, _MOST_WHOLES)
        return rounds.reduce_under_default_backend(reduced, first_ones, self.ask)

    def _reduce(self, initial: Candidate) -> Candidate:
        with self.ask.give_up_on_stall():
            if isinstance(initial.content, Graph):
                reduced = self._leave_quicker_backend(
                    initial, rounds.reduce_graph(initial, self.ask)
                )
            else:
                reduced = source_candidates.reduce_source(initial, self.ask)
        if self.initial_search.backend is not None:
            # a backend that we have mutilated has failures of its own
            self.others.listening = False
            reduced = source_candidates.reduce_backend(
                reduced, self.initial_search.backend, self.ask
            )
            self.others.listening = True
        return reduced
