"""The private call once more, in a fork of the recorded moment with the tools on.

Everything it writes stays private.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from collectors.protocol.evidence import EvidenceAnswer, EvidenceOptions
from collectors.protocol.words import CallOutcome
from reporter.evidence.interface import CollectorResult, read_answer, trim
from reporter.recording import questions
from reporter.recording.call_session import CallSession, compute_longest_wait
from reporter.report.folder import write_private


@dataclass(frozen=True)
class CallEvidence:
    """What the tools said of the recorded call; their files lie in `folder`."""

    collected: tuple[CollectorResult, ...]
    folder: Path
    seconds: float
    raised: str | None = None

    def summarize(self) -> list[str]:
        """One line per collector, for a terminal."""
        width = max((len(item.name) for item in self.collected), default=0)
        return [
            f"  {item.name:{width}}  "
            + (
                f"{item.bytes / 1024:8.0f} KiB"
                if item.outcome == "ok"
                else f"skipped: {item.reason}"
            )
            for item in self.collected
        ]


def collect_call_evidence(
    call_session: CallSession, folder: Path, budget: float, options: EvidenceOptions | None = None
) -> CallEvidence:
    """What torch's own tools say of a recorded call, asked of its fork server.

    Args:
        folder: is made if need be, and must be private: each tool has a folder in it, and
            `evidence.json` says what came of them.
        budget: seconds for the call with the tools on.
        options: the one function to compile; None: what the program compiles.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    started = time.monotonic()
    asked = call_session.submit(questions.record_evidence(folder, options or {}), budget)
    answer = asked.result(timeout=compute_longest_wait(budget))
    return _read(answer, folder, budget, time.monotonic() - started)


def _read(answer: EvidenceAnswer, folder: Path, budget: float, seconds: float) -> CallEvidence:
    found = answer.get("found")
    if found is None:
        death = questions.describe_death(answer)
        late = not death and answer["outcome"] == CallOutcome.TIMEOUT
        reason = (
            f"not done within {budget:g} s"
            if late
            else f"the process ended with {death or answer['outcome']}"
        )
        found = {
            path.name: {"skipped": reason} for path in sorted(folder.iterdir()) if path.is_dir()
        }
    collected = read_answer(found, folder)
    gone = trim(folder)
    rows = [{**item.to_row(), "facts": item.facts} for item in collected]
    write_private(
        folder / "evidence.json",
        json.dumps(
            {"collectors": rows, "left_out": gone, "raised": answer.get("raised")}, indent=2
        ),
    )
    return CallEvidence(collected, folder, round(seconds, 2), answer.get("raised"))
