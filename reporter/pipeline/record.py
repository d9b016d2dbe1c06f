"""The first stage of `create`: the script runs, watched; where it fails and no watched call tells
why, it runs again, watched in another entry.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import IO

from reporter.core.program_account import ProgramAccount
from reporter.core.progress import Progress
from reporter.core.settings import Options, TalkOptions
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.eager_values import explain_assertion
from reporter.diagnose.no_finding import (
    blame_capture,
    blame_program,
    did_script_fail,
    may_fail_uncompiled,
)
from reporter.diagnose.script_reruns import ScriptReruns
from reporter.execution import interpreter
from reporter.execution.compiler_cache import prefill
from reporter.pipeline.budget import Budget
from reporter.recording.entry_points import refuse_run, resolve_entry_point
from reporter.recording.findings import Recording
from reporter.recording.watched_script import Audience, WatchedScript
from reporter.recording.watching import RERUN_NOTES

#: Of the time that is left to a run with a budget: what the script may take.
_SHARE_OF_SCRIPT = 0.4


def record_program(
    script: WatchedScript, warm_cache: Path, seen: Recording | None = None
) -> Recording:
    """Runs the script once, watched, and refuses what no verdict can be made of.

    Args:
        script: what is run.
        warm_cache: the folder of the warm-up cache, from which the run's compiler cache is filled.
        seen: the recording of a program that ran by itself; then nothing is run.

    Returns:
        A recording that is the caller's to close; where this raises, it is closed.

    Raises:
        UsageError: the input cannot be used.
        CannotJudgeError: the program has ended its own watcher.
    """
    prefill(
        (script.folder if seen is None else seen.folder) / "cache", warm_cache, with_prefix=True
    )
    if seen is None:
        script.audience.progress.begin_stage(
            "record", "running the script once, every compiled call next to eager"
        )
    recording = seen or record(script)
    try:
        refuse_run(script.entry, recording)
    except BaseException:
        recording.close()
        raise
    return recording


def record(script: WatchedScript) -> Recording:
    """Watches the script; where it fails and no watched call tells why, once more with every call
    watched.

    Raises:
        UsageError: the interpreter has no torch that can be used.
    """
    for note in script.entry.notes:
        script.audience.progress.note(note)
    recording = _watch_script(script)
    again = ScriptReruns(script)
    if recording.script.children and not recording.findings:
        recording = again.watch_children(recording)
    return recording if recording.findings else again.look_beside_calls(recording)


def _watch_script(script: WatchedScript) -> Recording:
    """The run of the script; where no fork can repeat its calls, or a failure may be in one that
    was not compared, another one that is watched accordingly.
    """
    progress, untrusted = script.audience.progress, script.audience.untrusted
    watching = script.choose_watching()
    recording = script.run(watching)
    if _may_lack_torch(recording):
        interpreter.probe(script.python)  # says so
    if untrusted is not None:
        untrusted(_build_account(recording))
    note = RERUN_NOTES.get(recording.unsupported or "")
    if note is not None:
        progress.note(note)
        recording.close()
        watching = replace(watching, isolation="rerun")
        recording = script.run(watching)
    skipped = recording.counts.calls - recording.counts.compared - recording.counts.unchecked
    if did_script_fail(recording) and not recording.findings and skipped > 0:
        progress.note(
            f"the script fails, and {skipped} of its compiled calls were not compared: once more,"
            " all of them"
        )
        recording.close()
        recording = script.run(replace(watching, every_call=True))
    return recording


def _may_lack_torch(recording: Recording) -> bool:
    """Whether the script may have failed since its torch cannot be imported."""
    raised, ended = recording.script.exception, recording.script.ended
    if recording.counts.calls or recording.findings or not did_script_fail(recording):
        return False
    if raised is None:
        return ended is not None and ended < 0
    return raised["raised_in_torch"] or raised["class"] in ("ImportError", "ModuleNotFoundError")


def blame(
    script: WatchedScript, recording: Recording, excused: Diagnosis
) -> tuple[Recording, Diagnosis | None]:
    """The verdict on a script that says it fails, though its compiled calls differ from eager by
    rounding only (`excused`): rounding has to explain that failure.

    It does not where the script ends in the same exception with the compiler switched off, unless
    that is rounding, too; nor where the captured graphs are run by eager mode, which rounds alike.

    Returns:
        The recording that the verdict is about: the given one, or the one in which an operator is
        watched that is wrong without the compiler. That one is still to be judged: None.

    Raises:
        UsageError: the entry point cannot be run again.
    """
    if not may_fail_uncompiled(recording):
        return recording, excused
    again = ScriptReruns(script)
    recording.further_runs.fails_uncompiled = again.fails_uncompiled(recording)
    if recording.further_runs.fails_uncompiled:
        found = again.measure_uncompiled(recording)
        if found is not recording:
            return found, None
        return recording, explain_assertion(recording) or blame_program(recording, excused)
    if again.fails_unrounded(recording):
        return recording, blame_capture(recording, excused)
    return recording, excused


def _build_account(recording: Recording) -> ProgramAccount:
    """How a stranger's program ended, as its supervisor saw it and as it says itself."""
    raised = recording.script.exception
    return ProgramAccount(
        exit=recording.script.ended,
        said=recording.script.exit,
        exception=raised["class"] if raised else "",
        calls=recording.counts.calls,
        compared=recording.counts.compared,
        reached=tuple(recording.reached),
    )


def watch_script(
    options: Options, python: Path, folder: Path, progress: Progress, budget: Budget
) -> WatchedScript:
    """The program that was named, which has its share of what is left of the budget.

    Args:
        options: name it, and its time limit in seconds.
        python: the interpreter that it runs in.
        folder: for the files of the recording.
        progress: is told what it does.

    Raises:
        UsageError: it cannot be run.
    """
    seconds = budget.limit(options.timeout, _SHARE_OF_SCRIPT)
    return WatchedScript(
        resolve_entry_point(options, python),
        python,
        folder,
        replace(options, timeout=seconds),
        Audience(progress, _find_echo(options), options.untrusted),
    )


def _find_echo(talk: TalkOptions) -> IO[bytes] | None:
    """Where the script's prints go: its usual place, or stderr when stdout belongs to a JSON
    document.
    """
    return getattr(sys.stderr if talk.json else sys.stdout, "buffer", None)
