"""An issue is a repro without an exit code: what it says goes wrong is what its program has to
show, and it runs in the sandbox.

Reading the issue and judging its program are triage's (`reporter.triage`), so `check` and `triage`
never disagree. A run that raises in torch as the issue states is enough; anything else needs the
verdict of `diagnose`: most programs of issues print their results and check nothing, or assert what
need not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from pathlib import Path

from reporter.check.judging import Decision
from reporter.check.subject import CheckSubject, IssueOrigin, read_subject
from reporter.core.errors import DamagedEnvironmentError, UsageError
from reporter.core.kinds import CheckOutcome
from reporter.environments.cache_folder import choose_variables
from reporter.execution import interpreter
from reporter.execution.interpreter import InterpreterInfo
from reporter.sandbox import bubblewrap
from reporter.store.reports import compute_key
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.preview import Prompt
from reporter.tracker.repository import resolve_issue
from reporter.triage.attempt import AttemptOutcome, Attempts, RunLimits, run
from reporter.triage.cpu_port import replace_devices
from reporter.triage.decision import decide, fails_as_stated, lacks_device
from reporter.triage.reading.repro_selection import Refusal, extract
from reporter.triage.reading.stated_failure import Match, StatedFailure, read_stated
from reporter.triage.reading.thread import Thread, fetch, read_file
from reporter.triage.result import Status
from reporter.triage.sandboxed_verdict import CommandVerdict, judge
from reporter.triage.service import show
from reporter.triage.triage import find_missing_devices, find_missing_modules

#: Files that hold an issue: its text, or what `gh issue view --json` writes.
_TEXTS = (".md", ".markdown", ".json")
OUTCOMES: dict[Status, CheckOutcome] = {
    Status.REPRODUCES: CheckOutcome.REPRODUCES,
    Status.NOT_REPRODUCED: CheckOutcome.FIXED,
    Status.DIFFERENT: CheckOutcome.DIFFERENT,
    Status.NO_BUG: CheckOutcome.CANNOT_JUDGE,
    Status.NOT_ACTIONABLE: CheckOutcome.CANNOT_JUDGE,
    Status.CANNOT_JUDGE: CheckOutcome.CANNOT_JUDGE,
}


def is_issue(name: str) -> bool:
    """Whether a word of the command line means an issue: an address, OWNER/REPO#N, or a file that
    holds one.

    Raises:
        UsageError: GH_HOST holds no host.
    """
    path = Path(name)
    return path.suffix.lower() in _TEXTS if path.exists() else resolve_issue(name) is not None


def resolve_subject(name: str, trust: bool = False, user: Prompt | None = None) -> CheckSubject:
    """The repro that a word means, whatever it is: a file, a report folder, or an issue.

    Args:
        name: a path, an issue's address, or `OWNER/REPO#N`.
        trust: an issue's program is to run without a sandbox.
        user: with `trust`, is shown that program first, and asked; None: nobody is.

    Raises:
        UsageError: there is no such thing, or it cannot be read.
        CannotJudgeError: somebody who was asked did not want the code to run.
        TrackerError, AuthenticationError: the tracker gives no answer.
    """
    return _fetch_issue(name, trust, user) if is_issue(name) else read_subject(name)


def _fetch_issue(name: str, trust: bool = False, user: Prompt | None = None) -> CheckSubject:
    """The program of an issue. `user` sees the code before it runs without a sandbox.

    Raises:
        UsageError, CannotJudgeError, TrackerError, AuthenticationError: as `resolve_subject` does.
    """

    address = resolve_issue(name)
    if address is None:
        return build_thread_subject(read_file(Path(name)), trust, user)
    with TrackerSession(address.repository.host, token_needed=False) as session:
        return build_thread_subject(fetch(session, address), trust, user)


def build_thread_subject(
    thread: Thread, trust: bool = False, user: Prompt | None = None
) -> CheckSubject:
    """The program of a thread, and what the thread says goes wrong; without a program a subject
    that cannot be judged.
    """

    says, found = read_stated(thread), extract(thread)
    issue = str(thread.address or "")
    if isinstance(found, Refusal):
        return CheckSubject(
            thread.name,
            compute_key(thread.name),
            "",
            torch=_parse_version(says.torch),
            origin=IssueOrigin(issue, says),
            problem=found.reason,
        )
    if trust and user is not None:
        show(found, user)
    origin = IssueOrigin(issue, says, found.modules, trust=trust)
    # the same text is judged in another way where it stands in another issue
    key = compute_key(f"{thread.name}\n{found.text}")
    return CheckSubject(
        thread.name, key, found.text, torch=_parse_version(says.torch), origin=origin
    )


def judge_issue(
    subject: CheckSubject,
    python: Path,
    limits: RunLimits,
    stopped: Callable[[], bool] = lambda: False,
) -> Decision:
    """What an issue's program shows in one interpreter.

    Where it needs a device that is not there, it is judged on the CPU, and only a failure as stated
    counts there.

    Args:
        subject: one with an `origin`, which states the failure.
        python: the interpreter, which has a torch.
        limits: of each run: seconds, and GiB.
        stopped: is asked after the runs and after the diagnosis.

    Returns:
        The outcome with its sentence. It cannot be judged where packages or devices are missing.

    Raises:
        CannotJudgeError: there is no sandbox.
        DamagedEnvironmentError: `python` cannot be used.
        CancelledError: `stopped` is set.
    """

    origin = subject.origin
    assert origin is not None
    if not limits.trust:
        bubblewrap.find_bwrap()
    info, packages = _probe(python, origin.modules, limits.trust)
    if packages:
        return _refuse(f"it needs packages that are not there: {', '.join(packages)}")
    devices = ", ".join(find_missing_devices([info], subject.text, limits.trust))
    text = replace_devices(subject.text) if devices else subject.text
    if text is None:
        return _refuse(f"it needs {devices}, and the sandbox shows no such device")
    runs, verdict = _run_and_judge(text, origin.stated, info, limits, stopped)
    status, sentence = decide(origin.stated, [runs], verdict)
    devices = devices or ("a device that is not there" if lacks_device([runs]) else "")
    if devices and not fails_as_stated(status, [runs]):
        return _refuse(f"it needs {devices}; on the CPU: {sentence}")
    return _build_decision(status, sentence, runs)


def _probe(python: Path, modules: Sequence[str], trust: bool) -> tuple[InterpreterInfo, list[str]]:
    """The interpreter, and those of the modules that it does not have."""
    try:
        info = interpreter.probe(python, choose_variables(python))
        return info, find_missing_modules(info, modules, trust)
    except UsageError as error:
        raise DamagedEnvironmentError(str(error)) from None


def _refuse(reason: str) -> Decision:
    return Decision(CheckOutcome.CANNOT_JUDGE, reason)


def _run_and_judge(
    text: str,
    says: StatedFailure,
    info: InterpreterInfo,
    limits: RunLimits,
    stopped: Callable[[], bool],
) -> tuple[Attempts, CommandVerdict | None]:
    """The runs of the program as it was posted, and the tool's verdict where they do not say it
    all.
    """
    runs = run(info, text, says, limits)
    if stopped():
        raise CancelledError
    shown = runs.decisive
    # an assertion may compare what may differ, such as roundings in half precision
    enough = shown.match == Match.SAME and not shown.failure.startswith("AssertionError")
    if enough or shown.outcome in (AttemptOutcome.STOPPED, AttemptOutcome.CANNOT_JUDGE):
        return runs, None
    verdict = judge("diagnose", info, text, limits)
    if stopped():
        raise CancelledError
    return runs, verdict


def _build_decision(status: Status, sentence: str, runs: Attempts) -> Decision:
    outcome = OUTCOMES[status]
    counted = {
        CheckOutcome.REPRODUCES: runs.same or runs.failed,
        CheckOutcome.DIFFERENT: runs.failed,
    }
    hits = counted.get(outcome, runs.of - runs.failed)
    failure = runs.decisive.failure if hits and outcome in counted else ""
    # where no run failed and the verdict alone tells, that is one run which showed it
    shown = (hits, runs.of) if hits else (1, 1)
    return Decision(outcome, (failure or sentence)[:300], None, shown)


def _parse_version(said: str | None) -> str | None:
    """The release that an issue is about, as far as it is one that can be asked for."""
    from packaging.version import InvalidVersion, Version

    try:
        return None if said is None else str(Version(said))
    except InvalidVersion:
        return None
