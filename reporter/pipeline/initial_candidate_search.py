"""The first candidate: the program, or a part of it, as public code that shows the failure in a
warm worker.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from anonymizer.graph.ir import Graph
from anonymizer.graph.repro import ReproAssertion
from anonymizer.source.rewriting import ValueLevel
from collectors.protocol.captured_values import MOST_VALUES
from collectors.protocol.repro_words import Property
from reporter.core.candidate import Candidate
from reporter.core.errors import CannotJudgeError
from reporter.core.kinds import (
    EXPORTERS,
    INDUCTOR_LAYERS,
    WRONG_OUTPUTS,
    Compiler,
    Kind,
    Layer,
)
from reporter.core.settings import IssueOptions
from reporter.execution.control import WITHOUT_COMPILER
from reporter.reduce import early_end, initial_candidates, source_candidates
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.contrast import Refusals
from reporter.reduce.operator_fallback import find_unreached
from reporter.reduce.other_failures import OtherFailures
from reporter.reduce.piece_search import PieceSearch
from reporter.reduce.workers import WorkerSet
from reporter.report.captured_call import CapturedCall
from reporter.whole_model import traced_model
from templates.text import pluralize


@dataclass(frozen=True)
class Sightings:
    """What candidates showed beside the failure: failures of other sorts, and where they fail that
    have to pass.
    """

    others: OtherFailures
    refusals: Refusals


class InitialCandidateSearch:
    """From a captured call to the first candidate that shows the failure.

    `backend` is the user's own as public code, if the failure is in it.
    """

    def __init__(
        self,
        captured: CapturedCall,
        issue: IssueOptions,
        workers: WorkerSet,
        ask: Questions,
        sightings: Sightings,
        say: Callable[[str], None],
    ) -> None:
        self.captured = captured
        self.issue = issue
        self.memory = workers.options.memory
        self.say = say
        self.contrasts = workers.contrasts
        self.pool = workers.pool
        self.ask = ask
        self.others = sightings.others
        self.refusals = sightings.refusals
        self.wanted = sightings.others.wanted
        self.backend = (
            source_candidates.rewrite_backend(captured)
            if captured.verdict.layer == Layer.BACKEND
            else None
        )
        #: Why the source was not rewritten.
        self.unwritten: list[str] = []

    def find(self) -> Candidate:
        """The first candidate; from here on candidates end where the C++ compiler starts, if this
        one shows the failure before.

        Raises:
            CannotJudgeError: no public program shows it.
        """
        for search in self._list_ways():
            found = search()
            if found is not None:
                self._end_early(found)
                return found
        raise CannotJudgeError(self._explain_refusal())

    def _explain_refusal(self) -> str:
        """Why there is no candidate, and what the user may do about it."""
        same = self.refusals.explain()
        if same is not None:
            return same
        graphs = (graph for graph, _ in self.captured.material.captures)
        reasons = sorted({graph["unsupported"] for graph in graphs if "unsupported" in graph})
        reasons += dict.fromkeys((*self.unwritten, *self.ask.unwritten))
        if self.ask.scheduler.out_of_memory:
            reasons.append(
                f"{self.ask.scheduler.out_of_memory} programs needed more than the"
                f" {self.memory:g} GiB of --memory"
            )
        more = f" ({'; '.join(reasons)})" if reasons else ""
        small = [
            name for name, size in self.captured.material.tensors.items() if size <= MOST_VALUES
        ]
        # what fails before a value is read needs none, nor does a graph that is used too often
        without = (Kind.CRASH, Kind.CRASH_ON_RECOMPILE, Kind.HANG, Kind.STALE_GRAPH)
        depends = self.wanted.property in (None, Property.SHAPE)  # values decide no other property
        is_of_values = self.captured.verdict.kind not in without and depends
        if small and is_of_values and not self.issue.allow_values:
            names = ", ".join(small[:8]) + (", …" if len(small) > 8 else "")
            hint = (
                "; if it needs values of yours that may leave, allow them with --allow-values NAME"
                f" (of {names})"
            )
        else:
            hint = ""
        return (
            f"the failure ({self.wanted.describe_kind()}) could not be shown by a program with"
            f" public parts and synthetic values{more}; {self._count_tried()}; the verdict stands,"
            f" but there is no repro to report{hint}"
        )

    def _count_tried(self) -> str:
        """How many programs were run in vain."""
        tried = self.ask.scheduler.counts.settled
        if not tried:
            return "none could be written to be tried"
        return f"{pluralize(tried, 'program')} {'was' if tried == 1 else 'were'} tried"

    def leave_to_eager(self, piece: Candidate, whole: Candidate) -> bool:
        """Whether the fault of a piece does not reach the outputs of the whole: then it goes to the
        other findings, and from here on its operators are left to eager.
        """
        if not self._may_be_unreached(piece.assertion):
            return False
        operators = find_unreached(self.ask, piece, whole)
        if not operators:
            return False
        self.others.keep(self.wanted, piece.render())
        self.ask.set_overrides({"fallback": list(operators)})
        return True

    def _list_ways(self) -> Iterator[Callable[[], Candidate | None]]:
        """Ways to a first candidate, likeliest and cheapest first."""

        def find_in_graphs() -> Candidate | None:
            return self._search_pieces() or self.ask.find_first(self.build_graph_candidates())

        def find_in_source() -> Candidate | None:
            return self._find_alone(self._rewrite_source())

        if self.captured.material.whole is not None:
            yield lambda: self.ask.find_first(
                traced_model.build_candidates(self.captured, self._write_assertion())
            )
            return
        is_source_likelier = self.captured.verdict.layer == Layer.DYNAMO or self._keeps_state()
        yield from (
            (find_in_source, find_in_graphs)
            if is_source_likelier
            else (find_in_graphs, find_in_source)
        )
        yield self._find_with_own_numbers
        yield self._find_script

    def _search_pieces(self) -> Candidate | None:
        """A small piece of a captured graph that shows the failure alone."""
        assertion = self._write_assertion()
        if assertion.property == Property.SIDE_EFFECT:
            return None
        if self._comes_early(assertion):
            self.ask.set_overrides(early_end.ENDS_AT_COMPILER)
        ways = [
            each
            for captured, way in self.captured.material.captures
            for each in initial_candidates.list_divisible_graphs(
                captured, way, assertion, self.captured.verdict.layer
            )
        ]
        wholes = [make(graph) for graph, make in ways]
        for at, (graph, make) in enumerate(ways):
            found = self._find_piece(graph, make, wholes[:at] + wholes[at + 1 :])
            if found is not None:
                return found
        self.ask.set_overrides({})
        return None

    def _find_piece(
        self, graph: Graph, make: Callable[[Graph], Candidate], others: Sequence[Candidate]
    ) -> Candidate | None:
        """A piece that shows the failure alone, by the fault that reaches the outputs; `others` are
        the program in other ways.
        """
        search = PieceSearch(self.ask, make, others, self.captured.verdict.wrong_outputs)
        found = search.find(graph, self.captured.verdict.failure)
        if found is None or not self.leave_to_eager(found, make(graph)):
            return found
        return search.find(graph, self.captured.verdict.failure) or self.ask.find_first(
            [make(graph)]
        )

    def _may_be_unreached(self, assertion: ReproAssertion) -> bool:
        """Whether eager could take over single operators: for wrong values that Inductor makes."""
        is_ours = (
            not self.contrasts and self.backend is None and assertion.compiler == Compiler.COMPILE
        )
        return (
            is_ours
            and assertion.kind in WRONG_OUTPUTS
            and self.captured.verdict.layer in INDUCTOR_LAYERS
        )

    def _comes_early(self, assertion: ReproAssertion) -> bool:
        """Whether candidates may end where the C++ compiler starts; elsewhere, and with a backend
        of the user's own, some have to pass.
        """
        ours = not self.contrasts and self.backend is None
        return ours and early_end.comes_early(self.captured.verdict.failure, assertion)

    def _end_early(self, initial: Candidate) -> None:
        """From here on candidates end where the C++ compiler starts, if the initial one shows the
        failure before.
        """
        if not self.ask.overrides and self._comes_early(initial.assertion):
            with self.ask.override(early_end.ENDS_AT_COMPILER):
                is_shown = self.ask.holds(initial)
            if is_shown:
                self.ask.set_overrides(early_end.ENDS_AT_COMPILER)

    def _write_assertion(self) -> ReproAssertion:
        """The recorded assertion; a backend of the user's own comes along as rewritten code."""
        assertion = self.captured.material.assertion
        assert assertion is not None
        if self.backend is None:
            return assertion
        backend = source_candidates.write_backend(self.backend)
        return replace(
            assertion,
            arguments=(("backend", "custom_backend"), *assertion.arguments),
            prelude="\n\n\n".join(part for part in (assertion.prelude, backend) if part),
        )

    def build_graph_candidates(self) -> Iterator[Candidate]:
        assertion = self._write_assertion()
        if assertion.property == Property.SIDE_EFFECT:
            return  # a graph holds tensors alone
        ways = [
            initial_candidates.build_graph_candidates(
                graph, way, assertion, self.captured.verdict.layer
            )
            for graph, way in self.captured.material.captures
        ]
        if assertion.kind != Kind.CRASH:
            yield from itertools.chain(*ways)
            return
        # values seldom decide on a crash: each way once before any way with other values
        for row in itertools.zip_longest(*ways):
            yield from filter(None, row)

    def _keeps_state(self) -> bool:
        """Whether the failure may need what earlier calls left in buffers, which no graph has."""
        assertion = self._write_assertion()
        if assertion.compiler not in EXPORTERS:
            return False
        content = source_candidates.rewrite_program(self.captured)
        return content is not None and source_candidates.keeps_state(content.program, assertion)

    def _rewrite_source(self) -> Iterator[Candidate]:
        content = source_candidates.rewrite_program(self.captured, say=self.unwritten.append)
        if content is None:
            return
        yield from self._build_source_candidates(content)
        closer = source_candidates.rewrite_program(self.captured, ValueLevel.NOT_FINITE)
        if closer is not None and closer.build_body() != content.build_body():
            yield from self._build_source_candidates(closer)

    def _build_source_candidates(
        self, content: source_candidates.RewrittenProgram
    ) -> Iterator[Candidate]:
        assertion = self._write_assertion()
        for shown, asked in source_candidates.make_judgeable(content, assertion):
            yield from initial_candidates.build_source_candidates(
                shown, asked, self.captured.verdict.layer
            )

    def _find_with_own_numbers(self) -> Candidate | None:
        """The last resort: the rewritten source in which tiny tensors of small whole numbers, such
        as indices, have the program's own values.
        """
        content = source_candidates.rewrite_program(self.captured, ValueLevel.EXACT)
        made_up = source_candidates.rewrite_program(self.captured)
        if content is None or made_up is None or content.build_body() == made_up.build_body():
            return None
        found = self._find_alone(self._build_source_candidates(content))
        if found is not None:
            self.say(
                "made-up values do not show the failure: the repro keeps those of tensors of at"
                " most 16 small whole numbers, which are yours"
            )
        return found

    def _find_script(self) -> Candidate | None:
        """The very last resort: the script itself, rewritten, up to the failing call."""
        assertion = replace(self._write_assertion(), contexts=(), double=False)
        found = self._find_alone(
            candidate
            for content in source_candidates.rewrite_as_scripts(
                self.captured, self.unwritten.append
            )
            for made in (content, content.keep_globals())
            for candidate in initial_candidates.build_source_candidates(
                made, assertion, self.captured.verdict.layer
            )
        )
        if found is not None:
            self.say(
                "the failing call alone does not show the failure: the repro is made from the"
                " statements of the script, rewritten, up to that call"
            )
        return found

    def _find_alone(self, candidates: Iterable[Candidate]) -> Candidate | None:
        """The first rewritten source that shows the failure, and passes without the compiler: state
        that both sides share can make eager differ from eager.
        """

        def passes_alone(candidate: Candidate) -> bool:
            if not candidate.assertion.compares_sides():
                return True
            control = self.pool.submit(candidate.render(), overrides=WITHOUT_COMPILER)
            return control.result().passed

        return self.ask.find_accepted(candidates, passes_alone)
