"""The repro as its reader runs it, `python repro.py` with an empty cache, several times, in the
sandbox.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from collectors.protocol.repro_words import DISABLING_VARIABLE
from reporter.core.json_values import Json
from reporter.core.kinds import Word, assert_never
from reporter.execution.compiler_cache import HEADERS, link_headers, name_warm_folder, prefill
from reporter.execution.interpreter import InterpreterInfo
from reporter.sandbox import Limits, Sandbox, SandboxResult, make_sandbox
from reporter.sandbox.limits import GIB
from reporter.tracker.plain_text import clean_text
from reporter.triage.reading.stated_failure import (
    Match,
    StatedFailure,
    StatedSymptom,
    compare,
    find_exceptions,
    pick_exception,
)


class AttemptOutcome(Word):
    """What one run of a posted program showed."""

    #: Exit code 0.
    PASSES = "passes"
    #: Another exit code.
    FAILS = "fails"
    #: A signal ended it.
    DIES = "dies"
    #: It was stopped after its time.
    HANGS = "hangs"
    #: Another limit of the sandbox ended it.
    STOPPED = "stopped"
    #: It says so itself (exit code 125).
    CANNOT_JUDGE = "cannot_judge"


#: Ends that are a failure; and those of them that a program comes to by itself.
FAILED = frozenset({AttemptOutcome.FAILS, AttemptOutcome.DIES, AttemptOutcome.HANGS})
FAILED_BY_ITSELF = FAILED - {AttemptOutcome.HANGS}
#: Seconds for one run of what was posted, by the receiving side's rules, where it is to hang.
_RUN_SECONDS = 120.0
#: GiB that torch itself takes.
_FOR_TORCH = 4
#: Ends after which nothing more is run, as one as stated: a limit is met again.
_ENOUGH = (AttemptOutcome.STOPPED, AttemptOutcome.CANNOT_JUDGE)
#: Where a sandbox shows what a warm-up found out, read-only.
SEED = "/seed"
#: Lends the run what a warm-up found out about the C++ compiler; the cache stays its own.
_LEND = f"""
for part in {SEED}/??; do
    [ -d "$part" ] && cp -r "$part" "$TORCHINDUCTOR_CACHE_DIR"/ 2>/dev/null
done
headers="$TMPDIR/torchinductor_$USER/{HEADERS}"
if [ -d {SEED}/{HEADERS} ]; then
    mkdir -p "$headers" && ln -s {SEED}/{HEADERS}/*.h* "$headers"/
fi
exec "$@"
"""


@dataclass(frozen=True)
class Attempt:
    """One run.

    `match`: whether it failed as the issue states; `failure` is its last exception, on one line.
    `exit` is its exit code, negative for a signal; None where a limit ended it.
    """

    outcome: AttemptOutcome
    match: Match | None
    failure: str
    stderr: str
    seconds: float
    detail: str = ""
    exit: int | None = None

    @property
    def rank(self) -> int:
        """Its place among the runs to show: one that failed as stated is the first."""
        return (Match.SAME, Match.UNCLEAR, Match.DIFFERENT, None).index(self.match)


@dataclass(frozen=True)
class Attempts:
    """All runs under one interpreter. `same` of `of` failed as stated, `failed` at all."""

    torch: str
    python: str
    attempts: tuple[Attempt, ...]

    @property
    def of(self) -> int:
        """The number of runs."""
        return len(self.attempts)

    @property
    def same(self) -> int:
        """The number of runs that failed as the issue states."""
        return sum(attempt.match == Match.SAME for attempt in self.attempts)

    @property
    def failed(self) -> int:
        """The number of runs that failed, died or did not end, as stated or otherwise."""
        return sum(attempt.outcome in FAILED for attempt in self.attempts)

    @property
    def decisive(self) -> Attempt:
        """The run to show: one that failed as stated, else one that failed, else the first."""
        return min(self.attempts, key=lambda attempt: attempt.rank)

    def to_json(self) -> Json:
        """The entry of the document."""
        shown = self.decisive
        return {
            "torch": self.torch,
            "python": self.python,
            "runs": self.of,
            "failed": self.failed,
            "as_stated": self.same,
            "outcome": shown.outcome,
            "match": shown.match,
            "failure": shown.failure,
            "detail": shown.detail,
            "seconds": round(sum(attempt.seconds for attempt in self.attempts), 1),
        }


@dataclass(frozen=True)
class RunLimits:
    """What runs of a posted program may take: `timeout` in seconds and `memory` in GiB for each,
    `jobs` at a time; with `trust` there is no sandbox.
    """

    timeout: float
    memory: float
    jobs: int
    trust: bool = False


def run(
    info: InterpreterInfo,
    text: str,
    says: StatedFailure,
    limits: RunLimits,
    times: int = 3,
    compiled: bool = True,
) -> Attempts:
    """Runs a posted program once, and where that leaves a doubt `times` times: it passed where a
    failure is stated, or failed otherwise.

    A program that checks nothing ends well each time, so it tells as much in one run.

    Args:
        text: the program, as it was posted.
        says: the failure that the issue states; a stated hang gets less time.
        limits: of each run: seconds, and GiB beside what torch needs.
        times: runs at most.
        compiled: False: the compiler is switched off.

    Raises:
        CannotJudgeError: there is no sandbox.
    """
    tells = (
        says.sort in (StatedSymptom.RAISES, StatedSymptom.DIES, StatedSymptom.HANGS)
        or "assert" in text
        or "raise" in text
    )
    seconds = (
        min(limits.timeout, _RUN_SECONDS) if says.sort == StatedSymptom.HANGS else limits.timeout
    )
    with tempfile.TemporaryDirectory(prefix="lent-") as name:
        lent, warm = Path(name), name_warm_folder(info.path)
        prefill(lent, warm)
        link_headers(lent / HEADERS, warm)
        folders = {SEED: lent} if not limits.trust and any(lent.iterdir()) else {}
        command = [str(info.path), "repro.py"]
        with make_sandbox(
            ["sh", "-c", _LEND, "lend", *command] if folders else command,
            python=info.path,
            files={"repro.py": text},
            limits=Limits(seconds=seconds, memory=int((limits.memory + _FOR_TORCH) * GIB)),
            folders=folders,
            variables={} if compiled else {DISABLING_VARIABLE: "1"},
            trust=limits.trust,
        ) as sandbox:
            attempts = _repeat(sandbox, says, times if tells else 1)
    return Attempts(info.torch, info.version, attempts)


def _repeat(sandbox: Sandbox, says: StatedFailure, times: int) -> tuple[Attempt, ...]:
    """Runs until nothing is in doubt, `times` times at most."""
    attempts: list[Attempt] = []
    for _ in range(times):
        attempts.append(_build_attempt(sandbox.run(), says, sandbox.contents.view.shown))
        if attempts[0].match == Match.SAME or attempts[0].outcome in _ENOUGH:
            break
        if attempts[0].outcome == AttemptOutcome.HANGS and len(attempts) > 1:
            break
    return tuple(attempts)


def _build_attempt(result: SandboxResult, wanted: StatedFailure, shown: Sequence[str]) -> Attempt:
    stderr = _strip_places(clean_text(result.stderr), shown)
    outcome = _classify_outcome(result)
    match: Match | None = None
    if outcome in FAILED:
        match = compare(wanted, result.signal, outcome == AttemptOutcome.HANGS, stderr)
    last = pick_exception(find_exceptions(stderr)) or next(iter(find_exceptions(stderr)[-1:]), None)
    failure = result.signal or ""
    if outcome == AttemptOutcome.FAILS:
        failure = (
            f"{last.name}: {last.message}".rstrip(": ") if last else f"exit code {result.exit}"
        )
    code = result.exit
    if result.signal is not None:
        code = -getattr(signal, result.signal, 0) or None
    return Attempt(
        outcome=outcome,
        match=match,
        failure=failure,
        stderr=stderr[-8000:],
        seconds=result.seconds,
        detail=result.detail,
        exit=code,
    )


def _strip_places(text: str, shown: Sequence[str]) -> str:
    """The text without where on this machine the interpreters are, which may name its user."""
    for path in sorted(shown, key=len, reverse=True):
        if not path.startswith(("/usr", "/etc", "/sys", "/lib")):
            text = text.replace(path, f"/env/{Path(path).name}")
    return text


def _classify_outcome(result: SandboxResult) -> AttemptOutcome:
    match result.ending:
        case "timeout":
            return AttemptOutcome.HANGS
        case "signal":
            return AttemptOutcome.DIES
        case "memory" | "tasks" | "disk" | "cpu" | "flood":
            return AttemptOutcome.STOPPED
        case "exited":
            if result.exit == 0:
                return AttemptOutcome.PASSES
            return AttemptOutcome.CANNOT_JUDGE if result.exit == 125 else AttemptOutcome.FAILS
    assert_never(result.ending)
