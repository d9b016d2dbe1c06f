"""One question about a bug — is it there when the program is compiled *this* way? — and two ways to
ask it.

A `Variation` says how to compile, an `Experiment` runs it, a `Trial` says what it showed. "Gone"
means that everything is right; another failure is no answer, since it may only stand in front of
the bug.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from anonymizer.harness.text import let_through
from collectors.protocol.calls import RunAnswer
from collectors.protocol.comparison import Comparison
from collectors.protocol.failure import Failure
from collectors.protocol.repro_words import Property
from collectors.protocol.variation import BisectCount, CallVariation, Overrides, Rung
from collectors.protocol.words import CallOutcome, TorchSettings
from reporter.core.answer import Answer
from reporter.core.candidate import make_matcher
from reporter.core.kinds import (
    CRASHES,
    WRONG_OUTPUTS,
    Backend,
    CandidateOutcome,
    Kind,
    RungOutcome,
    assert_never,
)
from reporter.core.signature import Signature, is_same_crash, sign_crash
from reporter.diagnose.comparisons import DERIVATIVE_ROLES
from reporter.diagnose.details.switches import CompileChanges, ConfigSwitch, Settings
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.rungs import EAGER, EXACT, FALLBACK_RANDOM, OTHER_RUNS, RANDOM_SETTING
from reporter.execution.worker_pool import WorkerPool
from reporter.recording import questions
from reporter.recording.call_session import CallSession
from reporter.recording.side_effects import drop_state, is_state


@dataclass(frozen=True)
class Variation(CompileChanges):
    """One way to compile, as it is sent to the target: the settings of any number of switches
    (`add_switches`), another backend, `bisect` (backend, subsystem, last application or None).
    """

    name: str
    backend: Backend | None = None
    bisect: tuple[str, str, int | None] | None = None
    fresh: bool = True

    def to_message(self) -> CallVariation:
        """The keys that a rung of the fork server and the overrides of a candidate share."""
        found: CallVariation = {"fresh": self.fresh}
        if self.config:
            found["config"] = dict(self.config)
        if self.dynamic is not None:
            found["dynamic"] = self.dynamic
        if self.mode is not None:
            found["mode"] = self.mode
        if self.threads is not None:
            found["threads"] = self.threads
        if self.backend is not None:
            found["backend"] = self.backend
        if self.fallback:
            found["fallback"] = list(self.fallback)
        if self.undecomposed:
            found["undecomposed"] = list(self.undecomposed)
        if self.bisect is not None:
            backend, subsystem, last = self.bisect
            found["bisect"] = {"backend": backend, "subsystem": subsystem, "max": last}
        return found


def add_switches(base: Variation, switches: list[ConfigSwitch]) -> Variation:
    """A variation with some switches turned; of contradicting ones the last counts."""
    name = " and ".join(switch.name for switch in switches) or base.name
    return replace(base.merge(switches), name=name)


@dataclass(frozen=True)
class Trial:
    """What a variation showed.

    `bug`: True, still there; False, gone and all is right; None, cannot be judged. `detail` is
    for people; `outcome` how the run ended, of a rung or of a candidate.
    """

    bug: bool | None
    seconds: float = 0.0
    detail: str = ""
    bisect: BisectCount | None = None
    outcome: RungOutcome | CandidateOutcome | None = None
    #: How many times as long as in eager mode a further call takes.
    relative_time: float | None = None


Experiment = Callable[[Variation], "Future[Trial]"]


def make_call_experiment(diagnosis: Diagnosis, timeout: float, timed: int = 0) -> Experiment:
    """Experiments on the recorded call of a diagnosis, each in a fork of the moment before it.

    Args:
        timed: how many further calls are timed, at most.
    """
    return _CallExperiment(diagnosis, timeout, timed).run


class _CallExperiment:
    """The recorded call of a diagnosis, which is run under variations."""

    def __init__(self, diagnosis: Diagnosis, timeout: float, timed: int) -> None:
        assert diagnosis.basis.finding is not None and diagnosis.basis.ladder is not None
        self.finding, self.ladder = diagnosis.basis.finding, diagnosis.basis.ladder
        self.wanted = diagnosis.signature or Signature(diagnosis.kind)
        self.eager = self.ladder[EAGER]
        self.timeout, self.timed = timeout, timed
        self._numbers = itertools.count()
        # whether the bug was seen with eager's random numbers on both sides
        self._forced = self.ladder[FALLBACK_RANDOM].outcome == RungOutcome.DIFFERS
        runs = [self.ladder[name].run for name in OTHER_RUNS]
        snapshots = [run.snapshot for run in runs if run.snapshot]
        # else no side effect was seen
        self._others = snapshots if len(snapshots) == len(runs) else []

    def run(self, variation: Variation) -> Future[Trial]:
        """The call under a variation, and what it returned compared with what eager did."""
        session, eager = self.finding.call_session, self.eager
        number = f"{self.finding.call}-{next(self._numbers)}"
        path = session.folder / f"vary-{number}-{id(self.ladder)}.pt"
        rung = self._build_rung(variation, path)
        comparison = questions.compare(eager.run.snapshot, str(path), self._build_basis())
        trial: Future[Trial] = Future()
        started = time.monotonic()

        def conclude(run: RunAnswer, compared: Comparison | None) -> None:
            path.unlink(missing_ok=True)
            bug, detail = judge_run(self.wanted, run, compared, eager.failure)
            seconds = round(float(run.get("seconds") or time.monotonic() - started), 2)
            outcome, relative = RungOutcome(run["outcome"]), run.get("relative_time")
            _resolve(trial, Trial(bug, seconds, detail, run.get("bisect"), outcome, relative))

        def compare_run(future: Future[RunAnswer]) -> None:
            answer = future.result()
            if answer["outcome"] != CallOutcome.OK or not eager.ran:
                conclude(answer, None)
                return
            second = session.submit(comparison, self.timeout)
            second.add_done_callback(lambda done: conclude(answer, done.result().get("comparison")))

        session.submit(questions.run(rung), self.timeout).add_done_callback(compare_run)
        return trial

    def _build_rung(self, variation: Variation, path: Path) -> Rung:
        """The variation as a rung that saves its snapshot at `path`."""
        rung: Rung = {
            "how": "compiled",
            "replay": self.finding.original.replay,
            "grads": self.finding.grads,
            "snapshot": str(path),
            "timed": self.timed,
            **cast(Rung, variation.to_message()),
        }
        if self._forced:
            rung["config"] = {RANDOM_SETTING: True, **rung.get("config", {})}
        return rung

    def _build_basis(self) -> questions.ComparisonBasis:
        exact = self.ladder[EXACT]
        return questions.ComparisonBasis(
            exact=exact.run.snapshot if exact.ran else None,
            coarse=bool(self.ladder.facts.get("coarse")),
            random=self.ladder.draws,
            again=self._others,
        )


def judge_run(
    wanted: Signature, run: RunAnswer, comparison: Comparison | None, eager_failure: Failure | None
) -> tuple[bool | None, str]:
    """Whether one run of the recorded call shows the wanted bug.

    Args:
        run: what became of the varied call.
        comparison: of its results with those of eager mode; None where there is none.
        eager_failure: the exception of eager mode; None where it returns.

    Returns:
        True, False, or None where the run says nothing of the bug; and the outcome in a word.
    """
    outcome, kind = RungOutcome(run["outcome"]), wanted.kind
    match outcome:
        case RungOutcome.RAISES:
            return _judge_exception(wanted, run["failure"], eager_failure)
        case RungOutcome.DIED:
            same = kind == Kind.PROCESS_DEATH and run.get("signal") == wanted.signal
            return (True, "dies") if same else (None, "another death")
        case RungOutcome.TIMEOUT:
            return (True, "does not end") if kind == Kind.HANG else (None, "timeout")
        case RungOutcome.SKIPPED:
            return None, "not in this release"
        case RungOutcome.DIFFERS | RungOutcome.ERROR | RungOutcome.BROKEN:
            return None, outcome.value
        case RungOutcome.OK:
            return _judge_return(wanted, comparison)
    assert_never(outcome)


def _judge_return(wanted: Signature, comparison: Comparison | None) -> tuple[bool | None, str]:
    """What a varied call says that returned; `comparison` is that with eager mode."""
    if wanted.kind == Kind.ACCEPTS_INVALID:
        return True, "accepts the call"
    if comparison is None:
        return None, "not compared"
    if wanted.property != Property.SIDE_EFFECT:
        comparison = drop_state(comparison)
    if comparison["same"]:
        return False, "agrees with eager"
    return _judge_difference(wanted, comparison)


def _judge_exception(
    wanted: Signature, failure: Failure, eager_failure: Failure | None
) -> tuple[bool | None, str]:
    """What an exception of the varied call says."""
    if wanted.kind in CRASHES:
        same = is_same_crash(wanted, sign_crash(wanted.kind, None, failure))
        return (True, "raises") if same else (None, "another exception")
    if eager_failure is not None and _refuses(failure, eager_failure):
        return False, "refuses the call as eager does"
    return None, "another exception"


def _judge_difference(wanted: Signature, comparison: Comparison) -> tuple[bool | None, str]:
    """What a varied call says that returned something else than eager mode."""
    if wanted.property == Property.SIDE_EFFECT:
        same = any(map(is_state, comparison["metadata"]))
        return (True, "differs") if same else (None, "differs in another way")
    properties = {item["property"] for item in comparison["metadata"]}
    minded = [item for item in comparison["values"] if not item["same"]]
    if wanted.kind == Kind.WRONG_METADATA:
        same = wanted.property in properties or (wanted.property is None and bool(properties))
    elif wanted.kind == Kind.WRONG_GRADIENT:
        same = any(item["property"] in DERIVATIVE_ROLES for item in minded)
    else:
        same = wanted.kind in WRONG_OUTPUTS and bool(minded)
    return (True, "differs") if same else (None, "differs in another way")


def _refuses(failure: Failure, eager: Failure) -> bool:
    """Whether the compiled call raises for eager's reason: a RuntimeError alone can mean anything.

    The compiler may wrap the exception, and the check it makes may word the reason differently.
    """
    wanted, found = _list_words(eager["first_line"]), _list_words(failure["message"])
    classes = (failure["exception"], *failure.get("chain", ()))
    share = 0.5 if eager["exception"] in classes else 0.75
    return bool(wanted) and len(wanted & found) >= share * len(wanted)


def _list_words(message: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", message.lower()))


def make_pool_experiment(
    pool: WorkerPool, text: str, wanted: Signature, eager_failure: Failure | None = None
) -> Experiment:
    """Experiments on a repro, which has its own assertion, in warm workers.

    Where eager refuses the call, any exception passes the repro's own assertion. Here a variation
    has to refuse it as eager does.

    Args:
        pool: has the time limit of each run.
        text: the complete repro.
        wanted: the failure that counts as the bug.
        eager_failure: the exception with which eager refuses the call.

    Returns:
        What takes a variation and gives a future of its trial; cancelling that ends the run.
    """
    interesting = make_matcher(wanted)
    refused = eager_failure if wanted.kind == Kind.ACCEPTS_INVALID else None
    if refused is not None:
        text = let_through(text)

    def is_gone(answer: Answer) -> bool:
        if refused is None:
            return answer.passed
        return answer.failure is not None and _refuses(answer.failure, refused)

    def run_experiment(variation: Variation) -> Future[Trial]:
        trial: Future[Trial] = Future()

        def judge_run(future: Future[Answer]) -> None:
            if future.cancelled() or future.exception() is not None:
                _resolve(trial, Trial(None, 0.0, "not run"))
                return
            answer = future.result()
            bug = True if interesting(answer) else False if is_gone(answer) else None
            outcome = answer.outcome
            _resolve(trial, Trial(bug, answer.seconds, outcome, answer.bisect, outcome))

        message = variation.to_message()
        if not variation.fresh:  # a worker has no caches, so this is the candidate as it is
            del message["fresh"]
        running = pool.submit(text, overrides=cast(Overrides, message))
        running.add_done_callback(judge_run)
        trial.add_done_callback(lambda done: running.cancel() if done.cancelled() else None)
        return trial

    return run_experiment


def _resolve(trial: Future[Trial], result: Trial) -> None:
    """Answers, unless nobody waits any more."""
    with contextlib.suppress(InvalidStateError):
        trial.set_result(result)


@dataclass(frozen=True)
class SupportedVariations:
    """What a release can vary.

    `settings`: the present values of those it has, or None where nobody asked.
    """

    subsystems: tuple[tuple[str, str], ...]
    settings: TorchSettings | None = None
    changes: Settings = ()


#: The subsystem in which Inductor makes code of operators.
LOWERINGS = "lowerings"
#: Where nobody can ask: what a release lacks among these answers that it does.
USUAL = SupportedVariations(
    (
        (Backend.AOT_EAGER_DECOMP_PARTITION.value, "decomposition"),
        (Backend.INDUCTOR.value, "pre_grad_passes"),
        (Backend.INDUCTOR.value, "joint_graph_passes"),
        (Backend.INDUCTOR.value, "post_grad_passes"),
        (Backend.INDUCTOR.value, LOWERINGS),
    )
)


def ask_supported_variations(
    call_session: CallSession, names: list[str], timeout: float
) -> SupportedVariations:
    """What the release behind a recorded call can vary; `USUAL` where it does not answer.

    Args:
        names: settings of interest, by full name, such as `torch._inductor.config.max_fusion_size`.
        timeout: in seconds.
    """
    answer = call_session.request(questions.list_subsystems(names), timeout)
    if answer["outcome"] != CallOutcome.OK:
        return USUAL
    return SupportedVariations(
        tuple((str(item["backend"]), str(item["subsystem"])) for item in answer["subsystems"]),
        dict(answer["settings"]),
        tuple(answer["changes"].items()),
    )
