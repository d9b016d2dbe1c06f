"""The second stage of `create`: a verdict on the recorded calls, and what is measured beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from reporter.core.errors import CannotJudgeError
from reporter.core.kinds import ROUNDED
from reporter.diagnose.details.diagnosis_details import DetailLimits, DiagnosisDetails, gather
from reporter.diagnose.details.own_assertions import asserts_itself
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.judge import judge
from reporter.diagnose.no_finding import did_script_fail
from reporter.pipeline.record import blame
from reporter.pipeline.run import Run
from reporter.recording.entry_points import read_own_texts, resolve_entry_point
from reporter.recording.findings import Recording
from templates.text import pluralize

#: Of the time that is left to a run with a budget: what one rung may take.
_SHARE_OF_RUNG = 0.2
#: Why calls cannot be repeated, by what the recorder names.
_UNSUPPORTED = {
    "ranks": (
        "the script is one of several processes of a group, and its calls cannot be repeated"
        " without the others; start it alone, with a WORLD_SIZE of 1"
    ),
}


@dataclass(frozen=True)
class DiagnosedRun:
    """The verdict on a recorded run and what is known beside it.

    `doubtful` asks for a closer look at parts of the graph.
    """

    recording: Recording
    diagnosis: Diagnosis
    details: DiagnosisDetails
    doubtful: bool

    @property
    def reported_diagnosis(self) -> Diagnosis:
        """The remark in place of "all agrees", where there is one."""
        return self.details.remark_diagnosis or self.diagnosis


def diagnose_recording(run: Run, recording: Recording) -> DiagnosedRun:
    """The verdict on a recorded run.

    Raises:
        CannotJudgeError: its calls cannot be repeated.
        UsageError: the script cannot be run again.
    """
    options, progress = run.options, run.progress
    is_reported, python = run.goal.output is not None, run.interpreters.own.path
    if recording.unsupported and not recording.findings:
        raise CannotJudgeError(_UNSUPPORTED[recording.unsupported])
    what = "compiled or exported" if recording.counts.exports else "compiled"
    calls = pluralize(recording.counts.calls, f"{what} call")
    watching = (
        f"watching added {recording.script.overhead:.1f} s of {recording.script.seconds:.1f} s"
    )
    progress.begin_stage("diagnose", f"{calls}, {watching}")
    limit = run.budget.limit(options.timeout / 2, _SHARE_OF_RUNG)
    diagnosis = judge(recording, limit, run.say, options.rungs, options.jobs)
    doubtful = _is_doubtful(diagnosis, recording)
    if doubtful:
        recording, blamed = blame(run.watch_script(), recording, diagnosis)
        diagnosis = blamed or judge(recording, limit, run.say, options.rungs, options.jobs)
        doubtful = diagnosis.kind in ROUNDED and diagnosis.basis.finding is not None
    if options.as_request and is_reported:
        diagnosis = diagnosis.as_request()
    progress.begin_stage("capture" if is_reported else "details", diagnosis.summary)
    limits = DetailLimits(limit, options.jobs, not (is_reported or doubtful or options.quick))
    measure = partial(
        gather,
        diagnosis,
        recording,
        say=run.say,
        checked=asserts_itself(read_own_texts(resolve_entry_point(options, python))),
    )
    try:
        details = measure(limits)
    except KeyboardInterrupt:
        progress.note("interrupted: the verdict is said without what was still measured")
        details = measure(replace(limits, thorough=False))
    return DiagnosedRun(recording, diagnosis, details, doubtful)


def _is_doubtful(diagnosis: Diagnosis, recording: Recording) -> bool:
    """Whether rounding excuses the whole call of a script that itself says it fails: a part of the
    graph may be wrong.
    """
    excused = not diagnosis.is_bug and diagnosis.kind in ROUNDED
    return excused and bool(recording.findings) and did_script_fail(recording)
