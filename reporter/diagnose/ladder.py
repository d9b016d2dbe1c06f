"""The ladder: one recorded call under eager, float64 and each backend, in the order that localizes
a fault.

Rungs run in forks of the moment before the call. What explains a difference away
(`fallback_random`, `emulate_precision_casts`, a last-bit change of the inputs, a fresh compile) is
measured only when there is one.
"""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from collectors.protocol.calls import EagerFacts, RunAnswer
from collectors.protocol.comparison import Comparison
from collectors.protocol.failure import Failure
from collectors.protocol.variation import Rung
from collectors.protocol.words import CallPhase
from reporter.core.kinds import (
    BELOW_INDUCTOR,
    CUSTOM,
    Backend,
    Compiler,
    RungOutcome,
    Symptom,
    assert_never,
)
from reporter.diagnose.comparisons import describe, drop_metadata
from reporter.diagnose.rungs import (
    AGAIN,
    AS_GIVEN,
    COMPILED,
    EAGER,
    EXACT,
    EXPORT,
    ONNX_RUNTIME,
    OTHER_RUNS,
    PACKAGE,
    REFINED,
    RUNGS,
    SCRIPT,
    TORCH_COMPILE,
)
from reporter.recording import questions, side_effects
from reporter.recording.call_session import compute_longest_wait
from reporter.recording.findings import Finding

_ENDED_BY_OTHERS = (RungOutcome.DIED, RungOutcome.TIMEOUT)


@dataclass(frozen=True)
class RungDeath:
    """How a rung died or was stopped: its signal, and Python's stacks."""

    signal: str | None = None
    stack: str = ""


@dataclass(frozen=True)
class RungRun:
    """What is known of a rung's run.

    `snapshot` is the file of its results, `seconds` are wall time, `compilations` the frames that
    Dynamo compiled for it, `phase` that of the call in which it failed.
    """

    snapshot: str | None = None
    seconds: float = 0.0
    compilations: int = 0
    phase: CallPhase = ""


@dataclass(frozen=True)
class MeasuredRung:
    """What one rung showed, and beside it how it died and what is known of its run."""

    name: str
    outcome: RungOutcome
    detail: str = ""
    comparison: Comparison | None = None
    failure: Failure | None = None
    death: RungDeath = RungDeath()
    run: RungRun = RungRun()

    @property
    def ran(self) -> bool:
        """Came to its end, whatever its result is."""
        return self.outcome in (RungOutcome.OK, RungOutcome.DIFFERS)

    @property
    def agrees(self) -> bool:
        """Came to its end and, once it was compared with eager, agrees with it by the receiving
        side's rule.
        """
        return self.outcome == RungOutcome.OK


@dataclass
class Ladder:
    """The rungs measured so far, by name, in order, and the facts of a probed eager run."""

    rungs: dict[str, MeasuredRung] = field(default_factory=dict)
    facts: EagerFacts = field(default_factory=EagerFacts)

    def __getitem__(self, name: str) -> MeasuredRung:
        return self.rungs.get(name) or MeasuredRung(name, RungOutcome.SKIPPED)

    @property
    def draws(self) -> bool:
        """Whether eager drew random numbers, torch's or others'."""
        return bool(self.facts.get("random") or self.facts.get("streams"))

    @property
    def device(self) -> str:
        """The device that the call computes on: cuda if eager had any tensor there."""
        return "cuda" if self.facts.get("cuda") else "cpu"


class _PendingRung:
    """A rung under way, with a clock for what dies or is stopped and so cannot tell its own
    seconds.
    """

    def __init__(self, answer: Future[RunAnswer]) -> None:
        self.answer = answer
        self.started = self.ended = time.monotonic()
        answer.add_done_callback(self._end)

    def _end(self, _: Future[RunAnswer]) -> None:
        self.ended = time.monotonic()

    @property
    def seconds(self) -> float:
        """Wall time from the request to the answer; meaningful once there is one."""
        return self.ended - self.started


class LadderRunner:
    """Measures rungs of one finding on demand; each rung once.

    A rung gets `timeout` seconds, up to twice as many where the script's own call ended after a
    good part of them; at most `at_once` rungs run side by side. `own_call_shows_it`: whether the
    script's own call ended as its repetitions do; it may have been stopped before.
    """

    def __init__(
        self,
        finding: Finding,
        timeout: float,
        progress: Callable[[str], None],
        at_once: int = 2,
    ) -> None:
        self.finding = finding
        self.at_once = at_once
        self.own_call_shows_it = True
        ended = finding.symptom != Symptom.HANG
        # what took the script long takes a fork beside others longer, and is no hang
        self.timeout = (
            max(timeout, min(2 * timeout, 2 * finding.original.seconds)) if ended else timeout
        )
        self.progress = progress
        self.ladder = Ladder()
        #: The message with the fixes of dynamic shapes that `REFINED` tries.
        self.fixes = ""
        self._ahead: dict[str, _PendingRung] = {}
        self._waiting: dict[str, Rung] = {}
        self._exact: str | None = None
        self._ties: str | None = None

    def measure_basics(self) -> Ladder:
        """Eager, eager again, facts, float64: what the program is without a compiler."""
        eager = self._run(EAGER)
        self.progress(AGAIN)
        again = self._run(AGAIN)
        if again.ran and eager.ran:
            self._judge(again)
        path = self._make_path("probe")
        probe = questions.run({"how": "probe", "snapshot": path})
        self.ladder.facts = (
            self.finding.call_session.request(probe, self.timeout).get("facts") or {}
        )
        self._ties = path if self.ladder.facts.get("ties") else None
        if eager.ran:
            exact = self._run(EXACT)
            self._exact = exact.run.snapshot if exact.ran else None
        return self.ladder

    def find_own_rung(self) -> str:
        """The name of the user's backend, `custom` for a callable; for an exported program that of
        what made it.
        """
        match self.finding.original.compiler:
            case Compiler.EXPORT:
                return EXPORT
            case Compiler.AOTI:
                return PACKAGE
            case Compiler.ONNX:
                return ONNX_RUNTIME
            case Compiler.EAGER:
                return EAGER
            case Compiler.COMPILE:
                backend = self.finding.original.options.get("backend", Backend.INDUCTOR.value)
                if isinstance(backend, dict):
                    return CUSTOM
                return str(backend)
        assert_never(self.finding.original.compiler)

    def list_backends(self) -> tuple[str, ...]:
        """The backends up to the user's own, the lowest first: each goes through the steps of the
        one before it. Of a backend that is none of these, `eager` and itself.
        """
        own = self.find_own_rung()
        backends = [backend.value for backend in (*BELOW_INDUCTOR, Backend.INDUCTOR)]
        if own in backends:
            return tuple(backends[: backends.index(own) + 1])
        return (Backend.EAGER.value, own)

    def measure(self, name: str) -> MeasuredRung:
        """Measures one rung of `RUNGS` (or the user's own backend) once, and compares it with
        eager.
        """
        if name in self.ladder.rungs:
            return self.ladder.rungs[name]
        self.progress(name)
        return self._judge(self._run(name))

    def start_ahead(self, names: Iterable[str]) -> None:
        """Starts rungs side by side, as many as may run at once; `measure` then waits for them one
        by one.
        """
        for name in names:
            if name not in self.ladder.rungs and name not in self._ahead:
                self._waiting.setdefault(name, self._build_rung(name))
        self._start_waiting()

    def _start_waiting(self) -> None:
        """Starts what waits, in order, while there is room."""
        for name in list(self._waiting):
            if sum(not pending.answer.done() for pending in self._ahead.values()) >= self.at_once:
                return
            self._ahead[name] = self._submit(name, self._waiting.pop(name))

    def _build_rung(self, name: str) -> Rung:
        if name not in RUNGS and name not in AS_GIVEN and name != self.find_own_rung():
            raise ValueError(f"there is no rung {name}")
        rung: Rung = RUNGS.get(name) or {"how": "compiled"}
        if name == EXPORT and self.finding.original.compiler != Compiler.EXPORT:
            rung = {"how": "compiled", "steps": []}
        if name == Backend.INDUCTOR and self.find_own_rung() != Backend.INDUCTOR:
            rung = RUNGS[TORCH_COMPILE]
        if name == REFINED and self.fixes:
            rung = {**rung, "refine": self.fixes}
        replay = self.finding.original.replay and rung["how"] == "compiled"
        return {**rung, "replay": replay and rung.get("replay", True)}

    def judge_own_call(self) -> MeasuredRung | None:
        """The script's own compiled call, judged again with everything that is known by now; None
        if it did not return.
        """
        returned = self.finding.returned
        if returned is None or not self.ladder[EAGER].ran:
            return None
        return self._judge(MeasuredRung(SCRIPT, RungOutcome.OK, run=RungRun(returned)))

    def take_finding_from(self, repeated: MeasuredRung) -> None:
        """The finding becomes what a repetition of the call showed, which raised or returned what
        eager does not; the script's own call, which was stopped before, did not show it.
        """
        raised = repeated.outcome == RungOutcome.RAISES
        self.finding = replace(
            self.finding,
            symptom=Symptom.RAISED if raised else Symptom.DIFFERS,
            failure=repeated.failure,
            comparison=repeated.comparison,
        )
        self.own_call_shows_it = False

    def repeat_call(self, count: int) -> list[MeasuredRung]:
        """The user's compiled call, `count` more times side by side, to tell a flaky failure from a
        steady one.
        """
        for number in range(count):
            name = f"repeat {number + 1}"
            self.progress(name)
            fresh = self.finding.grads or number % 2
            self._waiting[name] = self._build_rung(self.find_own_rung() if fresh else COMPILED)
        self._start_waiting()
        names = [f"repeat {number + 1}" for number in range(count)]
        return [self._judge(self._run(name)) for name in names]

    def _make_path(self, name: str) -> str:
        return str(
            self.finding.call_session.folder / f"rung-{self.finding.call}-{name}-{id(self)}.pt"
        )

    def _submit(self, name: str, rung: Rung) -> _PendingRung:
        wanted: Rung = {**rung, "snapshot": self._make_path(name), "grads": self.finding.grads}
        return _PendingRung(self.finding.call_session.submit(questions.run(wanted), self.timeout))

    def _run(self, name: str) -> MeasuredRung:
        if name not in self._ahead:
            waiting = self._waiting.pop(name, None)
            self._ahead[name] = self._submit(name, waiting or self._build_rung(name))
        pending = self._ahead.pop(name)
        answer = pending.answer.result(timeout=compute_longest_wait(self.timeout))
        self._start_waiting()
        outcome = RungOutcome(answer["outcome"])
        failure = answer.get("failure")
        detail = (
            f"{failure['exception']}: {failure['first_line']}"
            if failure
            else questions.describe_death(answer)
        )
        stack = str(answer.get("detail") or "") if outcome in _ENDED_BY_OTHERS else ""
        run = RungRun(
            answer.get("snapshot"),
            round(float(answer.get("seconds") or pending.seconds), 2),
            answer.get("compilations", 0),
            answer.get("phase") or "",
        )
        death = RungDeath(answer.get("signal"), stack)
        measured = MeasuredRung(name, outcome, detail[:300], failure=failure, death=death, run=run)
        self.ladder.rungs[name] = measured
        return measured

    def _judge(self, rung: MeasuredRung) -> MeasuredRung:
        reference = self.ladder[EAGER]
        if not (rung.ran and reference.ran):
            return rung

        def ask(again: Sequence[str]) -> Comparison | None:
            basis = questions.ComparisonBasis(
                exact=self._exact,
                coarse=bool(self.ladder.facts.get("coarse")),
                ties=self._ties,
                random=self.ladder.draws,
                again=again,
            )
            question = questions.compare(reference.run.snapshot, rung.run.snapshot, basis)
            return self.finding.call_session.request(question, self.timeout).get("comparison")

        comparison = side_effects.settle(ask(()), self._run_others, ask)
        same = comparison is None or comparison["same"]
        judged = replace(
            rung,
            outcome=RungOutcome.OK if same else RungOutcome.DIFFERS,
            detail=describe(comparison),
            comparison=comparison,
        )
        self.ladder.rungs[rung.name] = judged
        return judged

    def compare_exact(self) -> Comparison | None:
        """Eager held against its own run in float64, as if that were the reference."""
        eager, exact = self.ladder[EAGER], self.ladder[EXACT]
        reference, subject = exact.run.snapshot, eager.run.snapshot
        if not (eager.ran and exact.ran and reference and subject):
            return None
        basis = questions.ComparisonBasis(exact=reference)
        question = questions.compare(reference, subject, basis)
        found = self.finding.call_session.request(question, self.timeout).get("comparison")
        values = drop_metadata(found) if found is not None else None
        self.ladder.rungs[EXACT] = replace(exact, comparison=values, detail=describe(values))
        return values

    def _run_others(self) -> tuple[str, ...] | None:
        """The snapshots of the other eager runs; None if one of them fails."""
        rungs = self.ladder.rungs
        others = [rungs.get(name) or self._run(name) for name in OTHER_RUNS]
        snapshots = tuple(other.run.snapshot for other in others if other.run.snapshot)
        return snapshots if len(snapshots) == len(others) else None


def describe_reference(ladder: Ladder) -> str:
    """What the compared numbers were held against, in words that name nothing of the program."""
    exact = ladder[EXACT]
    if exact.ran:
        return "eager in float64, dtypes named inside the program and autocast included"
    failed = exact.failure["exception"] if exact.failure else exact.outcome
    if exact.failure and not hasattr(builtins, failed):
        failed = "an exception of its own"  # whose name may be private
    return f"there is no float64 reference, since the program fails in float64 ({failed})"
