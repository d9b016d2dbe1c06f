"""The second half of a run: from a recording to a reduced, verified repro, by nothing but complete
candidate texts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from anonymizer.graph import boilerplate
from anonymizer.graph.boilerplate import (
    AOTI,
    COMPILE,
    EAGER,
    EXPORT,
    SIDE_EFFECT,
    ReproBody,
    ReproCheck,
)
from anonymizer.graph.ir import Graph
from anonymizer.graph.values import MOST_VALUES
from reporter.core.answer import Answer
from reporter.core.candidate import Candidate, judge
from reporter.core.errors import CannotJudgeError
from reporter.core.formatting import format_program
from reporter.core.kinds import CRASHES, INDUCTOR_LAYERS, WRONG_OUTPUTS, Backend, Kind, Layer
from reporter.core.operators import operators
from reporter.core.plain import Json
from reporter.diagnose.details.culprit import SearchBudget, SuspectedBug, find
from reporter.diagnose.details.experiment import pool_experiment
from reporter.diagnose.details.switches import SWITCHES as LAYERS
from reporter.diagnose.stacks import raised_while_running
from reporter.evidence.repro import TOOLS
from reporter.execution.control import needs_control
from reporter.execution.journal import Journal
from reporter.pipeline.extras import Extras
from reporter.pipeline.measurements import FinalText, measure
from reporter.pipeline.run import FRESH_PROCESSES, Run
from reporter.publish.result import BuiltRepro, Measurements
from reporter.reduce import early_end, initial_candidates, rounds, source_candidates
from reporter.reduce.accepted import Accepted
from reporter.reduce.contrast import Refusals, verify
from reporter.reduce.other_failures import Other, Others
from reporter.reduce.questions import Questions
from reporter.reduce.reach import unreached
from reporter.reduce.scheduler import Counts, Scheduler, SearchListener, SearchSettings
from reporter.reduce.slices import Slices
from reporter.reduce.workers import WorkerSet
from reporter.report.recorded_call import Recorded
from reporter.report.sections import CulpritSection
from reporter.verify.ablation import ablation
from reporter.verify.neighbours import NeighbourResult, find_neighbours
from reporter.verify.numbers import numbers_left, private_numbers, with_generic_numbers
from reporter.verify.plain import PlainSearch
from reporter.whole_model import traced_model
from reporter.whole_model.source_model import Difference
from templates.wording import (
    EAGER_SUMMARIES,
    EFFECT_SUMMARY,
    EXPORT_SUMMARIES,
    RUNNING_SUMMARY,
    SUMMARIES,
)

#: Of the time that is left to a run with a budget: what the search may take, and in it a candidate
#: where none has ended. Verification comes after it.
_SHARE_OF_SEARCH, _SHARE_OF_CANDIDATE = 0.6, 0.2
#: Seconds for the search of the culprit on the reduced repro.
CULPRIT_BUDGET = 60.0
#: For the programs next to the repro: a share of the seconds that the rest took, at least and at
#: most so many.
_SHARE_OF_NEIGHBOURS = 0.2
_LEAST_FOR_NEIGHBOURS, _MOST_FOR_NEIGHBOURS = 10.0, 30.0
#: Seconds after which a candidate counts as one that hangs, where none has ended before; a fresh
#: process gets three times that.
_HANGS = 20.0


@dataclass(frozen=True)
class Reduced:
    """The smallest candidate found, and how it differs from stock."""

    candidate: Candidate
    different: Difference | None = None


@dataclass(frozen=True)
class Verified:
    """The final text and what fresh processes showed of it: here (`cold`), and elsewhere."""

    reduced: Reduced
    text: str
    #: The same program in the harness, which the pictures are measured with.
    harness: str
    parts: tuple[ReproBody, ReproCheck]
    cold: tuple[Answer, ...]
    hits: int
    differs_from: tuple[Json, ...]
    #: Numbers of the private program without which the failure is not there.
    needed: frozenset[float]


class ReproBuilder:
    """From a recording to a repro; the stages are called in the order in which they stand here.

    `on_smaller` gets each program that shows the failure as the search goes on, with its size.
    """

    def __init__(
        self,
        recorded: Recorded,
        run: Run,
        workers: WorkerSet,
        journal: Journal | None,
        on_smaller: Callable[[Candidate, str], None] = lambda _, __: None,
    ) -> None:
        assert recorded.signature is not None and recorded.check is not None
        self.recorded = recorded
        self.options = run.options
        self.within = run.within
        self.progress = run.progress
        self.folder = run.folder
        #: With torch's own tools on: folders with what they found, by the text that ran.
        self.watched: dict[str, Path] = {}
        self.pool = workers.pool
        self.warm = workers.warm
        self.fresh = workers.fresh
        self.places = workers.places
        self.as_whole = recorded.whole is not None
        self.wanted = recorded.signature
        is_private = not self.as_whole and not run.options.keep_source
        self.private = private_numbers(recorded) if is_private else frozenset()
        self.backend = (
            source_candidates.backend(recorded) if recorded.layer == Layer.BACKEND else None
        )
        self.others = Others(self.wanted)
        self.size = ""
        self.refusals = Refusals(self.places, judge(self.wanted))
        self.started = time.monotonic()
        self.begun = run.started
        self.history: list[tuple[int, int, int]] = []
        self.scheduler = Scheduler(
            self.pool,
            judge(self.wanted),
            journal,
            [place.stage for place in self.places],
            SearchListener(self._count, self.others.note, self.refusals.add),
            SearchSettings(
                self.options.seed,
                max_seconds=run.within(self._search_limit(), _SHARE_OF_SEARCH),
            ),
        )
        self.accepted = Accepted()
        self.ask = Questions(self.scheduler, self._shrunk)
        self._on_smaller = on_smaller
        patience = run.within(self.pool.patience, _SHARE_OF_CANDIDATE)
        if recorded.kind == Kind.HANG:
            patience = _HANGS
        self.pool.patience = min(self.pool.patience, max(_HANGS, patience))

    def _search_limit(self) -> float:
        """Seconds for the search without a budget. A hang has taken its limit once already, and
        half of it for the verdict; each candidate that hangs takes long, too.
        """
        limit = self.options.timeout
        if self.recorded.kind == Kind.HANG:
            return max(limit / 2, 3 * _HANGS)
        return max(600.0, 4 * limit) * (1 + len(self.places))

    def _count(self, counts: Counts) -> None:
        self.progress.update(counts.settled, self.size)

    def _shrunk(self, candidate: Candidate) -> None:
        self.accepted.add(candidate)
        self.size = rounds.size_of(candidate)
        lines = sum(1 for line in candidate.text().splitlines() if line.strip())
        self.history.append(
            (self.scheduler.counts.settled, source_candidates.statements(candidate), lines)
        )
        self._on_smaller(candidate, self.size)
        self.progress.update(self.scheduler.counts.settled, self.size)

    def reduce(self) -> Reduced:
        """The smallest public program that shows the failure in a warm worker.

        Raises CannotJudgeError if no public program shows it.
        """
        self.progress.stage("rewrite", "rebuilding the failing program from stock layers")
        seed = self._seed()
        self._end_early(seed)
        self.progress.stage("sizes" if self.as_whole else "reduce", f"from {rounds.size_of(seed)}")
        reduced = (
            traced_model.generic_numbers(seed, self.ask) if self.as_whole else self._reduce(seed)
        )
        reduced = self._reached(seed, reduced)
        self.ask.overrides = {}  # what is reported to pass from here on went all the way
        different = None
        if self.as_whole:
            self.progress.stage("needs", "what the model needs beside stock layers to fail")
            different = traced_model.differs_from_stock(self.recorded, reduced, self.ask)
        return Reduced(reduced, different)

    def verify(self, reduced: Reduced) -> Verified:
        """The formatted text in fresh processes, here and in each interpreter it must pass in.

        Where warm workers alone show the smallest candidate, the smallest one that fresh processes
        show takes its place. Raises CannotJudgeError if there is none.
        """
        self.fresh.prepare(self._compiles_with_inductor(reduced.candidate.check))
        verified = self._verified(reduced)
        if verified.hits:
            return verified
        if all(answer.outcome == "timeout" for answer in verified.cold):
            raise CannotJudgeError(
                f"none of {FRESH_PROCESSES} fresh processes came to an end in time, so the reduced"
                " program is not reported; give them longer with --timeout"
            )
        self.progress.note(
            "the smallest program fails in warm workers alone: looking for the smallest one that"
            " fresh processes show"
        )
        earlier = self.accepted.last_that(self._is_shown_cold)
        if earlier is not None:
            verified = self._verified(replace(reduced, candidate=earlier))
        if not verified.hits:
            raise CannotJudgeError(
                f"the reduced program fails in warm workers but in none of {FRESH_PROCESSES} fresh"
                " processes, so it is not reported; the candidates are kept in the private folder"
            )
        return verified

    def _is_shown_cold(self, candidate: Candidate) -> bool:
        text = format_program(candidate.text())
        return judge(self.wanted)(self.fresh.again(text, self._limit()))

    def _verified(self, reduced: Reduced) -> Verified:
        """One candidate in fresh processes; without `hits` where none of them shows the failure."""
        harness, parts = format_program(reduced.candidate.text()), reduced.candidate.parts()
        self.progress.stage("plain form", "the statements that people write")
        needed: frozenset[float] = frozenset()
        if not self.places:
            plain, needed = with_generic_numbers(parts, self.private, self.pool, judge(self.wanted))
            if plain != parts:
                harness, parts = format_program(boilerplate.render(*plain)), plain
        search = PlainSearch(self.pool, judge(self.wanted), self.places, self.as_whole)
        found = search.find(parts, reduced.candidate.draws)
        self.progress.stage("verify", f"{FRESH_PROCESSES} fresh processes")
        text, hits = harness, 0
        cold: tuple[Answer, ...] = ()
        if found is not None:
            text, harness, parts = found.text, found.harness, found.parts
            cold, hits = self._fresh(text)
        if hits < FRESH_PROCESSES:  # the harness may show it more surely
            judged = self._fresh(harness)
            if found is None or judged[1] > hits:
                text, (cold, hits) = harness, judged
        # a failure that comes and goes has to stay away there as often as it was looked for here
        runs = 1 if hits == FRESH_PROCESSES else FRESH_PROCESSES
        differs_from = verify(self.places, text, runs, self.options.jobs) if hits else ()
        return Verified(reduced, text, harness, parts, cold, hits, differs_from, needed)

    @staticmethod
    def _compiles_with_inductor(check: ReproCheck) -> bool:
        backend = dict(check.arguments).get("backend", repr(Backend.INDUCTOR.value))
        return check.compiler == COMPILE and backend == repr(Backend.INDUCTOR.value)

    def _fresh(self, text: str) -> tuple[tuple[Answer, ...], int]:
        """What fresh processes showed of a text, and how often it was the failure; never where its
        control run does not pass.
        """
        cold, control = self._cold(text)
        if control is not None and control.outcome != "passes":
            return cold, 0
        return cold, sum(judge(self.wanted)(answer) for answer in cold)

    def measure(self, verified: Verified, extras: Extras) -> BuiltRepro:
        """What the report says beside the repro, all of it measured on the final text."""
        text, cold, reduced = verified.text, verified.cold, verified.reduced
        # the harness judges each row with float64, which a plain comparison does not
        harness = verified.harness
        check = reduced.candidate.check
        rows: tuple[Json, ...] = ()
        rows = extras.measure(
            "ablation",
            f"seen in {verified.hits} of {FRESH_PROCESSES}",
            lambda: tuple(ablation(self.pool, harness, check, self.wanted)),
            (),
        )
        culprit = extras.measure(
            "culprit", "the pass or operator at fault", lambda: self._culprit(harness, check), None
        )
        near: tuple[NeighbourResult, ...] = ()
        if self._has_neighbours():
            near = extras.measure(
                "neighbours",
                "other dtypes, sizes, layouts and operators",
                lambda: tuple(
                    find_neighbours(
                        self.pool, judge(self.wanted), verified.parts, self._for_neighbours()
                    )
                ),
                (),
            )
        summary = public_summary(self.recorded, cold, check.compiler)
        shown = extras.measure(
            "test and pictures",
            "from the final text",
            lambda: self._measurements(verified, summary),
            None,
        )
        others: tuple[Other, ...] = ()
        if self.others.all():
            others = extras.measure(
                "other findings",
                "fresh processes",
                lambda: self.others.shown_again(
                    Path(self.recorded.python), 4 * self.pool.time_limit, self.warm
                ),
                (),
            )
        return BuiltRepro(
            candidate=reduced.candidate,
            text=text,
            harness=harness,
            signature=replace(self.wanted),
            cold=cold,
            reproduced=(verified.hits, len(cold)),
            ablation=rows,
            culprit=culprit,
            counts=self.scheduler.counts,
            others=tuple(replace(other, text=format_program(other.text)) for other in others),
            unverified=self.others.all(),
            seconds=round(time.monotonic() - self.started, 1),
            differs_from=verified.differs_from,
            different=reduced.different,
            history=(
                *self.history,
                (self.scheduler.counts.settled, *_size(reduced.candidate, text)),
            ),
            summary=summary,
            measured=shown,
            neighbours=near,
            numbers_left=numbers_left(text, verified.needed),
        )

    def _measurements(self, verified: Verified, summary: str) -> Measurements:
        """The regression test, verified, and the numbers of the pictures, all from the final
        program.
        """
        seconds = max(answer.seconds for answer in verified.cold)
        verdict = {
            "kind": str(self.wanted.kind),
            "layer": str(self.recorded.layer),
            "summary": summary,
        }
        subject = FinalText(
            verified.text,
            verified.harness,
            {"verdict": verdict, "repro": {"operators": operators(verified.harness)}},
            self.fresh,
            self.pool,
            tuple(self.places),
            judge(self.wanted),
        )
        return measure(subject, self._limit(), seconds, self.options.jobs)

    # -- seeds -------------------------------------------------------------------------------------

    def _seed(self) -> Candidate:
        for search in self._sources():
            found = search()
            if found is not None:
                return found
        same = self.refusals.sentence()
        if same is not None:
            raise CannotJudgeError(same)
        reasons = sorted(
            {graph["unsupported"] for graph, _ in self.recorded.captures if "unsupported" in graph}
        )
        if self.scheduler.out_of_memory:
            reasons.append(
                f"{self.scheduler.out_of_memory} programs needed more than the"
                f" {self.options.memory:g} GiB of --memory"
            )
        more = f" ({'; '.join(reasons)})" if reasons else ""
        small = [name for name, size in self.recorded.tensors.items() if size <= MOST_VALUES]
        # what fails before a value is read needs none
        crashes = (Kind.CRASH, Kind.CRASH_ON_RECOMPILE, Kind.HANG)
        is_effect = self.wanted.property == SIDE_EFFECT
        is_of_values = self.recorded.kind not in crashes and not is_effect
        if small and is_of_values and not self.options.allow_values:
            names = ", ".join(small[:8]) + (", …" if len(small) > 8 else "")
            hint = (
                "; if it needs values of yours that may leave, allow them with --allow-values NAME"
                f" (of {names})"
            )
        else:
            hint = ""
        raise CannotJudgeError(
            f"the failure ({self.wanted.text()}) could not be shown by a program with public parts"
            f" and synthetic values{more}; the verdict stands, but there is no repro to"
            f" report{hint}"
        )

    def _sources(self) -> Iterator[Callable[[], Candidate | None]]:
        """Ways to a first candidate, likeliest and cheapest first."""

        def graphs() -> Candidate | None:
            return self._slice() or self.ask.first(self._graphs())

        def sources() -> Candidate | None:
            return self.ask.first(self._rewritten())

        if self.as_whole:
            yield lambda: self.ask.first(traced_model.candidates(self.recorded, self._check()))
            return
        yield from (sources, graphs) if self.recorded.layer == Layer.DYNAMO else (graphs, sources)
        yield self._with_own_numbers

    def _with_own_numbers(self) -> Candidate | None:
        """The last resort: the rewritten source in which tiny tensors of small whole numbers, such
        as indices, have the program's own values.
        """
        content = source_candidates.program(self.recorded, exact=True)
        made_up = source_candidates.program(self.recorded)
        if content is None or made_up is None or content.body() == made_up.body():
            return None
        found = self.ask.first(self._shown(content))
        if found is not None:
            self.progress.note(
                "made-up values do not show the failure: the repro keeps those of tensors of at"
                " most 16 small whole numbers, which are yours"
            )
        return found

    def _slice(self) -> Candidate | None:
        """A small piece of a captured graph that shows the failure alone."""
        check = self._check()
        if check.property == SIDE_EFFECT:
            return None
        if self._comes_early(check):
            self.ask.overrides = early_end.ENDS_AT_COMPILER
        for captured, way in self.recorded.captures:
            for graph, make in initial_candidates.slices(captured, way, check, self.recorded.layer):
                found = self._piece(graph, make)
                if found is not None:
                    return found
        self.ask.overrides = {}
        return None

    def _piece(self, graph: Graph, make: Callable[[Graph], Candidate]) -> Candidate | None:
        """A piece that shows the failure alone. One whose fault does not reach the outputs goes to
        the other findings, and from then on its operators are left to eager.
        """
        slices = Slices(self.ask, make)
        found = slices.find(graph, self.recorded.failure)
        if found is None or not self._may_be_unreached(found.check):
            return found
        operators = unreached(self.ask, found, make(graph))
        if not operators:
            return found
        self.others.keep(self.wanted, found.text())
        self.ask.overrides = {"fallback": list(operators)}
        return slices.find(graph, self.recorded.failure) or self.ask.first([make(graph)])

    def _reached(self, seed: Candidate, reduced: Candidate) -> Candidate:
        """The reduced candidate, or that of the fault which reaches what the seed returns."""
        whole, part = seed.content, reduced.content
        is_smaller = isinstance(whole, Graph) and isinstance(part, Graph) and whole != part
        if not is_smaller or self.ask.overrides or not self._may_be_unreached(reduced.check):
            return reduced
        operators = unreached(self.ask, reduced, seed)
        if not operators:
            return reduced
        self.others.keep(self.wanted, reduced.text())
        self.ask.overrides = {"fallback": list(operators)}
        return self._reduce(seed)

    def _may_be_unreached(self, check: ReproCheck) -> bool:
        """Whether eager could take over single operators: for wrong values that Inductor makes."""
        is_ours = not self.places and self.backend is None and check.compiler == COMPILE
        return is_ours and check.kind in WRONG_OUTPUTS and self.recorded.layer in INDUCTOR_LAYERS

    def _comes_early(self, check: ReproCheck) -> bool:
        """Whether candidates may end where the C++ compiler starts; elsewhere, and with a backend
        of the user's own, some have to pass.
        """
        ours = not self.places and self.backend is None
        return ours and early_end.comes_early(self.recorded.failure, check)

    def _end_early(self, seed: Candidate) -> None:
        """From here on candidates end where the C++ compiler starts, if the seed shows the failure
        before.
        """
        if not self.ask.overrides and self._comes_early(seed.check):
            self.ask.overrides = early_end.ENDS_AT_COMPILER
            if not self.ask.holds(seed):
                self.ask.overrides = {}

    def _check(self) -> ReproCheck:
        """The recorded check; a backend of the user's own comes along as rewritten code."""
        check = self.recorded.check
        assert check is not None
        if self.backend is None:
            return check
        backend = source_candidates.backend_text(self.backend)
        return replace(
            check,
            arguments=(("backend", "custom_backend"), *check.arguments),
            prelude="\n\n\n".join(part for part in (check.prelude, backend) if part),
        )

    def _graphs(self) -> Iterator[Candidate]:
        check = self._check()
        if check.property == SIDE_EFFECT:
            return  # a graph holds tensors alone
        for graph, way in self.recorded.captures:
            yield from initial_candidates.graph_candidates(graph, way, check, self.recorded.layer)

    def _rewritten(self) -> Iterator[Candidate]:
        say = self.progress.note if self.options.verbose else lambda _: None
        content = source_candidates.program(self.recorded, say=say)
        if content is not None:
            yield from self._shown(content)

    def _shown(self, content: source_candidates.Rewritten) -> Iterator[Candidate]:
        check = self._check()
        for shown in source_candidates.shown(content, check):
            yield from initial_candidates.source_candidates(shown, check, self.recorded.layer)

    # -- reduction and verification ----------------------------------------------------------------

    def _reduce(self, seed: Candidate) -> Candidate:
        if isinstance(seed.content, Graph):
            reduced = rounds.reduce_graph(seed, self.ask)
        else:
            reduced = source_candidates.reduce_source(seed, self.ask)
        if self.backend is not None:
            self.others.listening = (
                False  # a backend that we have mutilated has failures of its own
            )
            reduced = source_candidates.reduce_backend(reduced, self.backend, self.ask)
            self.others.listening = True
        return reduced

    def _cold(self, text: str) -> tuple[tuple[Answer, ...], Answer | None]:
        """What fresh processes show of a text, one of them really cold; and its control run, for a
        text that needs one.
        """
        limit = self._limit()
        # what hangs is waited for, and that costs the same for three
        is_hang = self.recorded.kind == Kind.HANG
        jobs = FRESH_PROCESSES if is_hang else min(FRESH_PROCESSES, self.options.jobs)
        with ThreadPoolExecutor(max_workers=jobs) as threads:
            runs = [threads.submit(self.fresh.cold, text, limit)]
            if self.options.evidence and not self.options.quick and not is_hang:
                runs.append(threads.submit(self._watched, text, limit))
            for _ in range(FRESH_PROCESSES - len(runs)):
                runs.append(threads.submit(self.fresh.again, text, limit))
            control = None
            if needs_control(text):
                control = threads.submit(self.fresh.control, text, limit)
            answers = tuple(run.result() for run in runs)
            return answers, control.result() if control is not None else None

    def _watched(self, text: str, limit: float) -> Answer:
        """A fresh process with torch's own tools on, whose evidence is kept; an ordinary one where
        they change what comes of it.
        """
        folder = self.folder / f"watched-{len(self.watched)}"
        answer = self.fresh.watched(text, limit, TOOLS, folder)
        if not judge(self.wanted)(answer):
            return self.fresh.again(text, limit)
        if folder.is_dir():
            self.watched[text] = folder
        return answer

    def _limit(self) -> float:
        """Seconds for a fresh process.

        One that hangs takes all of them, so it gets what tells it from a slow one.
        """
        ample = max(self.options.timeout, 4 * self.pool.time_limit)
        if self.recorded.kind == Kind.HANG:
            return max(_HANGS, self.within(min(ample, 3 * self.pool.time_limit)))
        return ample

    def _has_neighbours(self) -> bool:
        """Whether other programs are tried; of what hangs each would take the whole limit."""
        is_hang = self.recorded.kind == Kind.HANG
        return not (self.as_whole or is_hang or self.backend is not None)

    def _for_neighbours(self) -> float:
        """Seconds for the programs next to the repro."""
        share = _SHARE_OF_NEIGHBOURS * (time.monotonic() - self.begun)
        return self.within(max(_LEAST_FOR_NEIGHBOURS, min(_MOST_FOR_NEIGHBOURS, share)))

    def _culprit(self, text: str, check: ReproCheck) -> CulpritSection | None:
        """The pass or operator at fault and the settings that avoid it, measured on the repro
        itself.
        """
        layer = self.wanted.layer
        if layer is None or layer not in LAYERS or check.compiler != COMPILE:
            return None
        mode = dict(check.arguments).get("mode", "").strip("'\"") or None
        return find(
            pool_experiment(self.pool, text, self.wanted),
            SuspectedBug(layer, self.wanted.kind, mode=mode),
            SearchBudget(self.within(CULPRIT_BUDGET), self.options.jobs),
            self.progress.note if self.options.verbose else lambda _: None,
        )


def _size(candidate: Candidate, text: str) -> tuple[int, int]:
    return source_candidates.statements(candidate), sum(
        1 for line in text.splitlines() if line.strip()
    )


#: Sentences of their own, by what makes the callable.
_SUMMARIES_OF: Mapping[str, Mapping[str, str]] = {
    EXPORT: EXPORT_SUMMARIES,
    AOTI: EXPORT_SUMMARIES,
    EAGER: EAGER_SUMMARIES,
}


def public_summary(recorded: Recorded, cold: Sequence[Answer], compiler: str = COMPILE) -> str:
    """The verdict in one sentence that holds nothing measured on the private program."""
    shown = next((answer.failure for answer in cold if answer.failure), None)
    failure = shown if recorded.kind in CRASHES else recorded.failure
    values = {
        "exception": failure["exception"] if failure else None,
        "property": recorded.signature.property if recorded.signature else "metadata",
        "signal": next((answer.signal for answer in cold if answer.signal), "a signal"),
    }
    if recorded.kind == Kind.WRONG_METADATA and values["property"] == SIDE_EFFECT:
        return EFFECT_SUMMARY
    is_crash = recorded.kind == Kind.CRASH and compiler == COMPILE
    if is_crash and failure is not None and raised_while_running(failure):
        return RUNNING_SUMMARY.format(**values)
    patterns = {**SUMMARIES, **_SUMMARIES_OF.get(compiler, {})}
    return patterns[recorded.kind].format(**values)
