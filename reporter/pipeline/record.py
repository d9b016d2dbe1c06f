"""The first stage of `create`: the script runs, watched; where it fails and no watched call tells
why, it runs again, watched in another entry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from reporter.core.kinds import Backend
from reporter.core.program_account import ProgramAccount
from reporter.core.progress import Progress
from reporter.core.settings import Options, TalkOptions, WorkOptions
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.eager_faults import (
    find_childs_signal,
    find_failing_child,
    may_be_torch,
)
from reporter.diagnose.eager_values import (
    explain_assertion,
    is_own_assertion,
    may_be_eager,
    may_be_rounding,
)
from reporter.diagnose.no_finding import (
    blame_capture,
    blame_program,
    did_script_fail,
    find_childs_assertion,
    have_same_ending,
    may_fail_elsewhere,
    may_fail_uncompiled,
)
from reporter.execution import interpreter
from reporter.execution.compiler_cache import prefill
from reporter.execution.control import DISABLING_VARIABLE
from reporter.pipeline.budget import Budget
from reporter.recording.entry_points import (
    EntryPoint,
    build_program_start,
    refuse_run,
    resolve_entry_point,
)
from reporter.recording.findings import Recording
from reporter.recording.operators import OperatorWatch
from reporter.recording.session import RecordingSession
from reporter.recording.watching import RERUN_NOTES, WatchedProgram, WatchOptions

#: Of the time that is left to a run with a budget: what the script may take.
_SHARE_OF_SCRIPT = 0.4
#: Seconds of a run that puts the ranks' tensors together, and how much longer it may take than the
#: script.
_START, _TIMES_LONGER = 30.0, 4.0
#: Child processes of a script that are watched, one after another.
_MOST_CHILDREN = 4


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
    again = _ScriptReruns(script)
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
    again = _ScriptReruns(script)
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


@dataclass(frozen=True)
class Audience:
    """Who hears of a watched script: what it prints goes to `echo`, and `untrusted` is told how the
    run of a stranger's program ended.
    """

    progress: Progress
    echo: IO[bytes] | None
    untrusted: Callable[[ProgramAccount], None] | None = None


@dataclass(frozen=True)
class WatchedScript:
    """The script as it is run and watched; `folder` holds its working files."""

    entry: EntryPoint
    python: Path
    folder: Path
    work: WorkOptions
    audience: Audience

    def choose_watching(self) -> WatchOptions:
        """How its first run is watched."""
        work = self.work
        return WatchOptions(
            work.timeout,
            reruns=work.jobs,
            isolation="rerun" if work.workers == "spawn" else "fork",
            # with a budget the script's share of it is all that it has
            longest=work.timeout if work.budget else None,
            guarded=self.audience.untrusted is not None,
        )

    def run(self, watching: WatchOptions) -> Recording:
        """Runs it; what it prints is seen."""
        echo, note = self.audience.echo, self.audience.progress.note
        return RecordingSession(self._build_program(), watching, echo, note).run()

    def run_again(self, watching: WatchOptions, **variables: str) -> Recording:
        """Runs it once more, with further environment variables; what it prints has been printed by
        the first run.
        """
        program = self._build_program(**variables)
        return RecordingSession(program, watching, talk=self.audience.progress.note).run()

    def _build_program(self, **variables: str) -> WatchedProgram:
        entry = self.entry
        return WatchedProgram(
            self.python,
            tuple(entry.command),
            entry.cwd,
            self.folder / "cache",
            build_program_start(entry),
            {**entry.build_variables(), **variables},
        )


@dataclass(frozen=True)
class _ScriptReruns:
    """More runs of a script that fails without any fault of a compiled call; `variables` are those
    of the environment that it gets beside its own.
    """

    script: WatchedScript
    variables: Mapping[str, str] = field(default_factory=dict)

    def look_beside_calls(self, recording: Recording) -> Recording:
        """What ends a script none of whose compiled calls fails: an operator of torch, eager mode's
        rounding, the program itself. The given recording, or that of a run that shows more.
        """
        if may_be_torch(recording):
            return self._watch_operator(recording)
        if may_fail_elsewhere(recording):
            recording.further_runs.fails_uncompiled = self.fails_uncompiled(recording)
            if recording.further_runs.fails_uncompiled is False:
                return recording
        if may_be_eager(recording):
            return self.measure_operators(recording)
        if (child := find_childs_assertion(recording)) is not None:
            return self._measure_child(recording, child)
        if may_fail_uncompiled(recording):
            recording.further_runs.fails_uncompiled = self.fails_uncompiled(recording)
            if recording.further_runs.fails_uncompiled:
                return self.measure_uncompiled(recording)
        return recording

    def measure_uncompiled(self, recording: Recording) -> Recording:
        """As `measure_operators`, for a script that fails in the same way with the compiler off;
        what does not end by an assertion of its own is not measured.
        """
        if not is_own_assertion(recording):
            return recording
        uncompiled = replace(self, variables={DISABLING_VARIABLE: "1"})
        return uncompiled.measure_operators(recording)

    def watch_children(self, recording: Recording) -> Recording:
        """The run in which the child process is watched whose calls fail; the given one, with what
        the others' calls showed, where there is none.
        """
        count = len(recording.script.children)
        which = f"the first {_MOST_CHILDREN}" if count > _MOST_CHILDREN else "each"
        self.script.audience.progress.note(
            f"the script starts processes of its own, and {count} of them"
            f" compile{'s' if count == 1 else ''} something: once more for {which} of them"
        )
        for number in recording.script.children[:_MOST_CHILDREN]:
            found = self._run_otherwise(child=number)
            if found.findings:
                recording.close()
                found.script.child = number
                return found
            recording.counts.calls += found.counts.calls
            recording.counts.compiles += found.counts.compiles
            recording.counts.compared += found.counts.compared
            recording.counts.unchecked += found.counts.unchecked
            recording.counts.obstacles |= found.counts.obstacles
            found.close()
        return recording

    def _watch_operator(self, recording: Recording) -> Recording:
        """The run in which the torch function that ends the script is watched; the given one where
        it cannot be found.
        """
        self.script.audience.progress.note(
            "the script fails in torch's own code, and not in a compiled call: twice more, to find"
            " the operator"
        )
        raised = recording.script.exception
        died = raised is None or bool(find_childs_signal(raised["failure"]))
        child = find_failing_child(raised["failure"]) if raised is not None else None
        watch = OperatorWatch(self.script.folder, native=died)
        counted = self._run_otherwise(operators=watch, child=child)
        counted.close()
        if died and child is None and counted.script.exit == recording.script.exit:
            recording.further_runs.died_in = watch.find_last_function()
        last = watch.find_last_call(died)
        if last is None:
            return recording
        if last.differentiated is not None:
            derivative = OperatorWatch(self.script.folder, last.differentiated, "backward")
            found = self._watch(recording, derivative, child)
            if found is not recording:
                return found
        return self._watch(recording, OperatorWatch(self.script.folder, last.number), child)

    def measure_operators(self, recording: Recording) -> Recording:
        """The run with what its operators are off float64; where one of them is wrong, the run in
        which that call is watched.
        """
        self.script.audience.progress.note(
            "the script's own assertion fails, and by no compiled call: once more, each"
            " operator against float64, and derivatives against finite differences"
        )
        watch = OperatorWatch(self.script.folder, measured=True)
        self._run(watch).close()
        recording.further_runs.operators = watch.read_facts()
        if recording.further_runs.operators is None:
            return recording
        if recording.further_runs.operators["wrong"]:
            number = recording.further_runs.operators["wrong"][0]["function"]
            return self._watch(recording, OperatorWatch(self.script.folder, number))
        if recording.further_runs.operators["derivatives"]:
            wrong = recording.further_runs.operators["derivatives"][0]
            watch = OperatorWatch(self.script.folder, wrong["function"], wrong["kind"])
            return self._watch(recording, watch)
        if recording.further_runs.operators["uninitialized"]:
            zeroed = self._run(OperatorWatch(self.script.folder, zeroed=True))
            recording.further_runs.right_with_zeros = zeroed.script.exit == 0
            zeroed.close()
        if may_be_rounding(recording):
            exact = self._run(OperatorWatch(self.script.folder, exact=True))
            recording.further_runs.right_in_float64 = exact.script.exit == 0
            exact.close()
        return recording

    def _measure_child(self, recording: Recording, child: int) -> Recording:
        """The same of a process that the script starts: what is wrong in it, and no more, since
        what explains its assertion may be in another one.
        """
        self.script.audience.progress.note(
            "an assertion fails in a process that the script starts, and by no compiled call: once"
            " more, each of its operators against float64, and those on DTensors against the whole"
            " tensors"
        )
        watch = OperatorWatch(self.script.folder, measured=True, sharded=True)
        watching = self._watch_otherwise(operators=watch, child=child)
        # ranks that do not make the same calls wait for each other
        longest = min(watching.timeout, _START + _TIMES_LONGER * recording.script.seconds)
        watching = replace(watching, timeout=longest, longest=longest)
        self.script.run_again(watching, **self.variables).close()
        facts = watch.read_facts()
        if facts is None:
            return recording
        if facts["sharded"]:
            recording.further_runs.operators = facts
        elif facts["wrong"]:
            number = facts["wrong"][0]["function"]
            return self._watch(recording, OperatorWatch(self.script.folder, number), child)
        return recording

    def fails_uncompiled(self, recording: Recording) -> bool | None:
        """Whether the script ends in the same exception with the compiler switched off; None where
        that run did not come to its end.
        """
        self.script.audience.progress.note(
            "the script fails by no fault of a compiled call: once more, without the compiler"
        )
        watching, child = self.script.choose_watching(), recording.script.child
        if child is not None:
            watching = self._watch_otherwise(child=child)
        found = self.script.run_again(watching, **{DISABLING_VARIABLE: "1"})
        found.close()
        if found.script.stopped or found.unsupported is not None or found.script.exit is None:
            return None
        return have_same_ending(recording.script.exception, found.script.exception)

    def fails_unrounded(self, recording: Recording) -> bool:
        """Whether the script ends in the same exception where the backend is `eager` and compiled
        calls compute just what eager mode does, which is not so of an optimizer's step: Dynamo
        traces the arithmetic of its capturable form.
        """
        self.script.audience.progress.note("once more, with the graphs run by eager mode")
        found = self._run_otherwise(child=recording.script.child, backend=Backend.EAGER.value)
        found.close()
        is_alike = have_same_ending(recording.script.exception, found.script.exception)
        return is_alike and not found.findings

    def _watch(
        self, recording: Recording, watch: OperatorWatch, child: int | None = None
    ) -> Recording:
        found = self._run_otherwise(operators=watch, child=child)
        if not found.findings:
            found.close()
            return recording
        recording.close()
        # that of a child says nothing of how the script ends
        found.script.exception = found.script.exception or recording.script.exception
        found.further_runs.operators = recording.further_runs.operators
        return found

    def _run(self, watch: OperatorWatch) -> Recording:
        return self._run_otherwise(operators=watch)

    def _run_otherwise(
        self,
        operators: OperatorWatch | None = None,
        child: int | None = None,
        backend: str | None = None,
    ) -> Recording:
        """A run in which operators or a child process are watched, or another backend is used."""
        watching = self._watch_otherwise(operators, child, backend)
        return self.script.run_again(watching, **self.variables)

    def _watch_otherwise(
        self,
        operators: OperatorWatch | None = None,
        child: int | None = None,
        backend: str | None = None,
    ) -> WatchOptions:
        """How such a run is watched. A program that is run again up to one call counts the compiled
        calls of its own process alone, so no such run is made.
        """
        return replace(
            self.script.choose_watching(),
            reruns=0,
            isolation="fork",
            operators=operators,
            child=child,
            backend=backend,
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
