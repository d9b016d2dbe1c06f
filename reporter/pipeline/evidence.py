"""`bugreport evidence`: the script's failing call, or its last, once more with torch's own tools
on; what they write stays here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from collectors.protocol.evidence import EvidenceOptions
from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.json_values import Json
from reporter.core.progress import open_progress
from reporter.core.settings import Options
from reporter.evidence.call_evidence import CallEvidence, collect_call_evidence
from reporter.pipeline.budget import Budget
from reporter.pipeline.record import record, watch_script
from reporter.pipeline.run import open_working_folder, prepare
from reporter.recording.call_session import CallSession
from reporter.recording.findings import Recording

DEFAULT_FOLDER = "bugreport-evidence"


@dataclass(frozen=True)
class EvidenceResult:
    """What was collected, and where it lies."""

    evidence: CallEvidence
    exit_code: int = 0

    def to_json(self) -> Json:
        """A row for each collector, with its facts."""
        rows = [{**item.to_row(), "facts": dict(item.facts)} for item in self.evidence.collected]
        return {
            "schema_version": 1,
            "folder": str(self.evidence.folder),
            "raised": self.evidence.raised,
            "collectors": rows,
        }

    def summarize(self) -> list[str]:
        """A line for each collector, and the folder."""
        return [*self.evidence.summarize(), f"private, not to be sent: {self.evidence.folder}"]


def collect(options: Options, function: str | None) -> EvidenceResult:
    """Runs the script once, recorded, then its failing call with the tools on.

    `function` names the one function that Dynamo compiles.

    Raises:
        UsageError: the script, the interpreter or the output folder cannot be used.
        CannotJudgeError: no call can be asked.
    """
    python = prepare(options).path
    folder = (options.output or options.cwd / DEFAULT_FOLDER).absolute()
    if folder.exists():
        raise UsageError(f"{folder} exists already; choose another folder with --output")
    with open_progress(options) as progress, open_working_folder() as name:
        progress.begin_stage("record", "running the script once, every compiled call next to eager")
        recording = record(watch_script(options, python, Path(name), progress, Budget()))
        try:
            progress.begin_stage("evidence", "the call once more, with torch's own tools")
            wanted: EvidenceOptions = {"function": function} if function else {}
            return EvidenceResult(
                collect_call_evidence(
                    _choose_call_session(recording), folder, options.timeout, wanted
                )
            )
        finally:
            recording.close()


def _choose_call_session(recording: Recording) -> CallSession:
    """The failing call, else the last one that was watched."""
    if recording.findings:
        return recording.findings[0].call_session
    if recording.last_calls:
        return recording.last_calls[-1].call_session
    raise CannotJudgeError("the script made no compiled call that can be repeated")
