"""A recorded call whose answers are given by the test: what each rung of the ladder would have
shown.

For rules that no program of `verdict_table` holds by themselves: where exactly a bound lies, and
which of two excuses counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import fields
from pathlib import Path
from typing import Any

from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.judge import judge
from reporter.recording.findings import (
    CallCounts,
    Finding,
    FurtherRuns,
    OriginalCall,
    Recording,
    ScriptEnd,
)
from reporter.recording.questions import CallQuestion
from tests.support.recorded_answers import neutral, rung_of

Json = dict[str, Any]

LIMIT = 100.0
DEADLY = {"outcome": "died", "signal": "SIGSEGV", "detail": "the log"}
STUCK = {
    "outcome": "timeout",
    "detail": 'Thread 0x0:\n  File "/x/site-packages/torch/a.py", line 1 in f',
}


def raises(exception: str = "KeyError", message: str = "no", **more: Any) -> Json:
    """A rung that raised, in torch."""
    frames = [{"file": "torch/a.py", "function": "f", "line": 1, "torch": True}]
    failure = {
        "exception": exception,
        "chain": [exception],
        "message": message,
        "first_line": message,
        "frames": frames,
        "innermost_is_torch": True,
    }
    return {"outcome": "raises", "phase": "forward", "failure": failure, "seconds": 2.0, **more}


def value(where: str = "output 0", **more: Any) -> Json:
    """One tensor that differs by 1 everywhere, which the rule minds."""
    item = {"where": where, "property": "value", "equal": False, "same": False, "tight": False}
    return {**item, "max_abs_error": 1.0, "rms_error": 1.0, **more}


def compared(*values: Json, metadata: tuple[Json, ...] = ()) -> Json:
    """What a rung left behind, held against eager."""
    return {
        "equal": not values and not metadata,
        "same": not metadata and all(item["same"] for item in values),
        "tight": not metadata and all(item["tight"] for item in values),
        "metadata": list(metadata),
        "values": list(values),
    }


EQUAL = compared()
WRONG = compared(value())
WITHIN = compared(value(same=True, tight=True, max_abs_error=1e-7, rms_error=1e-7))


class MadeUp:
    """A call session that answers as it is told: by rung an answer, or a comparison of a rung that
    ran.

    Every other rung is equal.

    `asked` are the questions so far with their limits.
    """

    def __init__(self, rungs: Mapping[str, Json], facts: Json | None = None) -> None:
        self.folder = Path("/nowhere")
        self.asked: list[tuple[Json, float]] = []
        self._rungs = dict(rungs)
        self._facts = facts or {}

    def measured(self) -> list[str]:
        """The rungs that were run, in order."""
        return [rung_of(ask) for ask, _ in self.asked if ask["op"] == "run"]

    def ask_of(self, name: str, op: str = "run") -> Json:
        """The last question about a rung."""
        return [ask for ask, _ in self.asked if ask["op"] == op and rung_of(ask) == name][-1]

    def request(self, question: CallQuestion[Any], timeout: float) -> Any:
        ask = neutral({**question.message})
        for path in ("reference", "actual", "exact", "ties"):
            if ask.get(path):
                ask[path] = Path(ask[path]).name
        if ask["op"] == "run":
            ask["rung"]["snapshot"] = Path(ask["rung"]["snapshot"]).name
        self.asked.append((ask, timeout))
        name = rung_of(ask)
        answer = self._rungs.get(name, EQUAL)
        if ask["op"] == "compare":
            return {"outcome": "ok", "comparison": answer if "equal" in answer else EQUAL}
        if ask["rung"]["how"] == "probe":
            return {"outcome": "ok", "facts": self._facts, "seconds": 0.1}
        if "outcome" in answer:
            return dict(answer)
        ran: Json = {"outcome": "ok", "snapshot": ask["rung"]["snapshot"], "seconds": 2.0}
        return {**ran, "compilations": answer.get("compilations", 0)}

    def submit(self, question: CallQuestion[Any], timeout: float) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(self.request(question, timeout))
        return future

    def close(self) -> None:
        """Nothing is behind it."""


def finding(
    call_session: MadeUp, symptom: str = "differs", options: Json | None = None, **more: Any
) -> Finding:
    """A finding about the made-up call, which Inductor compiled unless `options` say otherwise."""
    if symptom == "differs":
        more = {"comparison": WRONG, "returned": "/nowhere/returned.pt", **more}
    if symptom == "raised":
        more.setdefault("failure", raises()["failure"])
    given = {each.name: more.pop(each.name) for each in fields(OriginalCall) if each.name in more}
    return Finding(0, symptom, call_session, OriginalCall(options or {}, {}, **given), **more)


def recording(*findings: Finding, **facts: Any) -> Recording:
    """A recording of a script that made one compiled call and ended well."""
    given = {"calls": 1, "compiles": 1, "compared": 1, "exit": 0, **facts}
    parts = [
        part(**{each.name: given.pop(each.name) for each in fields(part) if each.name in given})
        for part in (ScriptEnd, CallCounts, FurtherRuns)
    ]
    return Recording(Path("/nowhere"), list(findings), *parts, **given)


def verdict(
    rungs: Mapping[str, Json],
    symptom: str = "differs",
    facts: Json | None = None,
    script: Json | None = None,
    **more: Any,
) -> tuple[Diagnosis, MadeUp]:
    """The verdict on one finding with these answers, and the call session that gave them."""
    call_session = MadeUp(rungs, facts)
    found = judge(
        recording(finding(call_session, symptom, **more), **(script or {})), LIMIT, lambda _: None
    )
    return found, call_session
