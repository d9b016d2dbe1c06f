"""Triage of one issue, from its text to a suggested answer; nothing is sent here.

A status is claimed by what ran: the program as it was posted, then the tool's own judgment of it,
then the reduced program in fresh processes. Where the two disagree the text says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from reporter.core.errors import UsageError
from reporter.core.settings import InterpreterOptions
from reporter.environments.cache_folder import choose_variables
from reporter.execution import interpreter
from reporter.execution.interpreter import InterpreterInfo
from reporter.sandbox import make_sandbox
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.repository import Repository
from reporter.triage.attempt import (
    FAILED_BY_ITSELF,
    AttemptOutcome,
    Attempts,
    RunLimits,
    run,
)
from reporter.triage.cpu_port import replace_devices
from reporter.triage.decision import (
    choose_best_run,
    decide,
    fails_as_stated,
    lacks_device,
    state_judged_failure,
)
from reporter.triage.observers import ends_otherwise
from reporter.triage.reading.repro_selection import Refusal, Repro, extract, find_devices
from reporter.triage.reading.stated_failure import Match, StatedFailure, read_stated
from reporter.triage.reading.thread import Thread
from reporter.triage.result import MinimalRepro, Status, Triage
from reporter.triage.sandboxed_verdict import CommandVerdict, judge
from reporter.triage.similar_issues import add_duplicates
from reporter.triage.suggestions import render_comment, suggest_labels

_HAS = """
import importlib.util, sys
def found(name):
    try: return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError): return False
print(*[name for name in sys.argv[1:] if not found(name)])
"""
#: Plain runs that may still end as the watched one did, where none has.
_MORE_RUNS = 2


class MessageSink(Protocol):
    """Who is told how things go."""

    def say(self, line: str) -> None:
        """One line."""


@dataclass(frozen=True)
class TriageRequest:
    """How to triage: what each run may take, the interpreters, and whether to reduce as well."""

    limits: RunLimits
    interpreters: tuple[InterpreterInfo, ...]
    quick: bool = False
    runs: int = 3


def probe_interpreters(
    usual: InterpreterOptions, pythons: Sequence[Path]
) -> tuple[InterpreterInfo, ...]:
    """The interpreters of --python, each asked; without any the one that other commands take.

    Raises:
        UsageError: one cannot be used.
    """
    chosen = [replace(usual, python=path) for path in pythons] or [usual]
    found: dict[str, InterpreterInfo] = {}
    for each in chosen:
        python = interpreter.find(each)
        info = interpreter.probe(python, choose_variables(python))
        found.setdefault(str(info.path), info)
    return tuple(found.values())


def triage(
    thread: Thread,
    wanted: TriageRequest,
    user: MessageSink,
    session: TrackerSession | None = None,
    repository: Repository | None = None,
) -> Triage:
    """Judges one issue.

    Args:
        thread: the issue as it was read, or a text in its place.
        user: is told of each run, and of lines of the repro that want care.
        session, repository: where known issues are looked for; None: nowhere.

    Raises:
        CannotJudgeError: there is no sandbox and the code was not trusted.
    """
    says = read_stated(thread)
    found, lacking = _select_runnable(extract(thread), wanted)
    if isinstance(found, Refusal):
        why = f"{_capitalize(found.reason)}."
        return _answer(Triage(thread, Status.NOT_ACTIONABLE, why, says, refusal=found))
    for flag in found.flags:
        user.say(f"careful: line {flag.line} of the repro: {flag.kind}: {flag.what}")
    runs = []
    for info in wanted.interpreters:
        user.say(f"running the repro with torch {info.torch}")
        runs.append(run(info, found.text, says, wanted.limits, wanted.runs))
    if lacks_device(runs):
        lacking = lacking or Refusal("needs_hardware", "it needs a device that is not there")
        judged = None
    else:
        judged = _judge_repro(found, runs, wanted, user)
    runs, control = _observe(found, says, runs, judged, wanted, user)
    status, sentence = decide(says, runs, judged, control)
    result = Triage(
        thread=thread,
        status=status,
        sentence=sentence,
        stated=says,
        repro=found,
        runs=tuple(runs),
        judged=judged,
        contained=not wanted.limits.trust,
        control=control,
    )
    if lacking is not None and not fails_as_stated(status, runs):
        return _answer(_without_device(result, lacking))
    minimal = _confirm_minimal(judged, wanted, user) if judged is not None else None
    result = replace(result, minimal=minimal, notes=_list_notes(thread, says, runs))
    result = replace(result, labels=suggest_labels(result))
    if judged is not None and judged.is_bug:
        result = add_duplicates(result, session, repository)
    return _answer(result)


def _select_runnable(
    found: Repro | Refusal, wanted: TriageRequest
) -> tuple[Repro | Refusal, Refusal | None]:
    """What can be run here, and what the machine lacks for the program as it was posted."""
    if isinstance(found, Refusal):
        return found, None
    lacking = _find_obstacle(found, wanted)
    return (_move_to_cpu(found, lacking), lacking) if lacking is not None else (found, None)


def _judge_repro(
    repro: Repro, runs: Sequence[Attempts], wanted: TriageRequest, user: MessageSink
) -> CommandVerdict | None:
    """The tool's own, with the interpreter that shows most; none where a limit ended the
    program.
    """
    number = choose_best_run(runs)
    if runs[number].decisive.outcome == AttemptOutcome.STOPPED:
        return None
    verb: Literal["diagnose", "create"] = "diagnose" if wanted.quick else "create"
    user.say(f"judging it with torch {runs[number].torch} ({verb} in the sandbox)")
    return judge(verb, wanted.interpreters[number], repro.text, wanted.limits)


def _observe(
    repro: Repro,
    says: StatedFailure,
    runs: Sequence[Attempts],
    judged: CommandVerdict | None,
    wanted: TriageRequest,
    user: MessageSink,
) -> tuple[list[Attempts], Attempts | None]:
    """The second observer of a verdict: more plain runs, where none has ended as the watched one,
    and one without the compiler of a program that fails.
    """
    number, found = choose_best_run(runs), list(runs)
    if judged is None or judged.kind is None:
        return found, None
    info = wanted.interpreters[number]
    for _ in range(_MORE_RUNS):
        if ends_otherwise(found[number], judged):
            more = run(info, repro.text, says, wanted.limits, 1)
            attempts = (*found[number].attempts, *more.attempts)
            found[number] = replace(found[number], attempts=attempts)
    if found[number].decisive.outcome not in FAILED_BY_ITSELF:
        return found, None
    user.say(f"running the repro with torch {info.torch}, without the compiler")
    control = run(info, repro.text, says, wanted.limits, 1, compiled=False)
    return found, control


def _without_device(result: Triage, lacking: Refusal) -> Triage:
    """On the CPU only a failure as stated counts: what else happened there says nothing about the
    device.
    """
    said = result.sentence
    reason = f"{lacking.reason}; on the CPU {said[:1].lower()}{said[1:].rstrip('.')}"
    return replace(
        result, status=Status.NOT_ACTIONABLE, sentence=f"{_capitalize(reason)}.", refusal=lacking
    )


def _find_obstacle(repro: Repro, wanted: TriageRequest) -> Refusal | None:
    """Hardware and packages that this machine lacks."""
    devices = find_missing_devices(wanted.interpreters, repro.text, wanted.limits.trust)
    if devices:
        return Refusal(
            "needs_hardware", f"it needs {', '.join(devices)}, and the sandbox shows no such device"
        )
    for info in wanted.interpreters:
        missing = find_missing_modules(info, repro.modules, wanted.limits.trust)
        if missing:
            return Refusal(
                "needs_packages",
                f"it needs packages that the interpreter with torch {info.torch} does not have:",
                tuple(missing),
            )
    return None


def find_missing_devices(
    interpreters: Iterable[InterpreterInfo], text: str, trusted: bool
) -> tuple[str, ...]:
    """The kinds of device that a program names and would not see, such as `cuda`.

    The sandbox shows none. A program that runs without it sees CUDA where one of the interpreters
    does; a program that names another kind as well is said to lack all of them.
    """
    needed = find_devices(text)
    has_cuda = trusted and any(info.has_cuda for info in interpreters)
    return () if has_cuda and needed == ("cuda",) else needed


def find_missing_modules(info: InterpreterInfo, modules: Sequence[str], trusted: bool) -> list[str]:
    """The modules that an interpreter does not have where the program will run: neither the folders
    of `PYTHONPATH` nor those of an editable installation are seen in the sandbox.

    Raises:
        UsageError: it cannot be asked.
        CannotJudgeError: there is no sandbox, and it is not `trusted`.
    """
    names = [name for name in modules if name.isidentifier()]
    command = [str(info.path), "-c", _HAS, *names]
    with make_sandbox(command, python=info.path, trust=trusted) as sandbox:
        result = sandbox.run()
    if result.exit != 0:
        raise UsageError(
            f"{info.path} cannot be asked for its packages; choose another with --python PATH"
        )
    return result.stdout.split()


def _move_to_cpu(repro: Repro, lacking: Refusal) -> Repro | Refusal:
    """The repro for the CPU, where only a device is lacking and it can be moved."""
    text = replace_devices(repro.text) if lacking.kind == "needs_hardware" else None
    if text is None:
        return lacking
    devices_of = ", ".join(find_devices(repro.text))
    return replace(
        repro, text=text, changes=(*repro.changes, f"moved from {devices_of} to the CPU")
    )


def _confirm_minimal(
    judged: CommandVerdict, wanted: TriageRequest, user: MessageSink
) -> MinimalRepro | None:
    """The reduced program, if fresh processes of ours show the judged failure of it: the run that
    wrote it may have said anything.
    """
    failure = state_judged_failure(judged)
    if not judged.repro.text or failure is None:
        return None
    seen = {}
    for info in wanted.interpreters:
        user.say(f"running the reduced program with torch {info.torch}")
        shown = run(info, judged.repro.text, failure, wanted.limits, 1).decisive
        if shown.match in (Match.SAME, Match.UNCLEAR):
            seen[info.torch] = AttemptOutcome.FAILS
        elif shown.outcome == AttemptOutcome.PASSES:
            seen[info.torch] = AttemptOutcome.PASSES
        else:  # such as a release that lacks what it calls
            seen[info.torch] = AttemptOutcome.CANNOT_JUDGE
    if AttemptOutcome.FAILS not in seen.values():
        return None
    return MinimalRepro(judged.repro.text, judged.repro.statements, judged.repro.operators, seen)


def _is_of_release(torch: str, stated: str) -> bool:
    """Whether a version of torch is the stated one, or one of a stated series (`2.1`)."""
    return f"{torch.split('+')[0]}.".startswith(f"{stated.split('+')[0]}.")


def _list_notes(thread: Thread, says: StatedFailure, runs: Sequence[Attempts]) -> tuple[str, ...]:
    notes = []
    if thread.status.state == "closed":
        notes.append("the issue is closed")
    if says.torch and not any(_is_of_release(item.torch, says.torch) for item in runs):
        notes.append(
            f"the issue is about torch {says.torch}, which is none of the interpreters; give one"
            " with --python"
        )
    flaky = [item for item in runs if 0 < item.failed < item.of]
    notes += [
        f"flaky with torch {item.torch}: {item.failed} of {item.of} runs failed" for item in flaky
    ]
    return tuple(notes)


def _answer(result: Triage) -> Triage:
    if not result.labels:
        result = replace(result, labels=suggest_labels(result))
    return replace(result, comment=render_comment(result))


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
