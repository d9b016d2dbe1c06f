"""What a recorded call answered to the questions of a judgment: noted once with a real torch, then
read from a file.

`Noting` is a call session that writes down what another call session is asked and what it answers;
`Answering` is one that answers from such notes. A `Case` file holds the facts of a recording, the
notes, and the diagnosis that was made from them. What belongs to the machine (folders, addresses,
seconds) is made the same for all, so that a file changes only where torch or the tool does.
"""

from __future__ import annotations

import json
import re
import sys
import sysconfig
from collections.abc import Callable, Mapping
from concurrent import futures
from concurrent.futures import Future
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from reporter.core.errors import CannotJudgeError
from reporter.diagnose.diagnosis import Diagnosis
from reporter.recording.findings import CallCounts, Finding, OriginalCall, Recording, ScriptEnd
from reporter.recording.questions import CallQuestion
from tests.support.places import DATA
from tests.support.waiting import PATIENCE

Json = dict[str, Any]

HOME = DATA / "verdicts"
#: Of the run as a whole, what a verdict may look at.
_SCRIPT = ("exit", "stopped", "exception", "unusable", "other_processes")
_COUNTS = ("calls", "compiles", "compared", "unchecked")
_FACTS = ("unsupported", "rejected")
_FAILURE = (
    "exception",
    "message",
    "first_line",
    "frames",
    "innermost_is_torch",
)
_MOST_OF_MESSAGE = 300
_FRAMES = 8
_STACK = 10
#: Seconds below this are those of the machine.
_QUICK = 60.0
_SOME_SECONDS = 0.5
_COMPILING = re.compile(r"torch/_dynamo/convert_frame|torch/_inductor/|triton/compiler/")


class NotRecordedError(AssertionError):
    """A question that the notes have no answer to."""


class Noting:
    """A call session that notes what is asked of another one, in the order of the questions."""

    def __init__(self, call_session: Any, notes: list[Json]) -> None:
        self.folder = call_session.folder
        self._call_session = call_session
        self._notes = notes
        self._asked: list[Future[Any]] = []

    def submit(self, question: CallQuestion[Any], timeout: float) -> Future[Any]:
        note: Json = {"ask": {**question.message}}
        self._notes.append(note)
        answered: Future[Any] = Future()
        self._asked.append(answered)

        def write_down(done: Future[Any]) -> None:
            # before anyone hears of it: who waits for a future may go on before its callbacks ran
            if (error := done.exception()) is not None:
                answered.set_exception(error)
                return
            note["answer"] = dict(done.result())
            answered.set_result(done.result())

        self._call_session.submit(question, timeout).add_done_callback(write_down)
        return answered

    def request(self, question: CallQuestion[Any], timeout: float) -> Any:
        return self.submit(question, timeout).result(timeout=timeout + 60)

    def wait(self) -> None:
        """Waits for answers that the verdict did not wait for: one from notes asks for all."""
        futures.wait(self._asked, PATIENCE)

    def close(self) -> None:
        self._call_session.close()


class Answering:
    """A call session that answers from notes; where the same was asked more than once, in the order
    of the answers.

    `asked` are the questions so far with their limits. `edit` may change an answer, given the
    question.
    """

    def __init__(
        self, notes: list[Json], name: str, edit: Callable[[Json, Json], Json] | None = None
    ) -> None:
        self.folder = Path()
        self.asked: list[tuple[Json, float]] = []
        self._name = name
        self._edit = edit or (lambda ask, answer: answer)
        self._answers: dict[str, list[Json]] = {}
        for note in notes:
            self._answers.setdefault(_key(note["ask"]), []).append(note["answer"])

    def request(self, question: CallQuestion[Any], timeout: float) -> Any:
        ask = neutral({**question.message})
        self.asked.append((ask, timeout))
        answers = self._answers.get(_key(ask))
        if not answers:
            raise NotRecordedError(
                f"the recording {self._name} has no answer to {_key(ask)}; "
                "if the judgment is to ask this, "
                "`make test-matrix` asks torch, checks every verdict and writes the recordings anew"
            )
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return self._edit(ask, json.loads(json.dumps(answer)))

    def submit(self, question: CallQuestion[Any], timeout: float) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(self.request(question, timeout))
        return future

    def close(self) -> None:
        """Nothing is behind it."""


def _key(ask: Json) -> str:
    """A question, whether it leaves out what is not wanted or says so."""
    said = {name: value for name, value in ask.items() if value not in (None, False)}
    return json.dumps(said, sort_keys=True)


def rung_of(ask: Json) -> str:
    """The name of the rung that a question is about: the one that is run, or compared with
    eager.
    """
    path = ask["rung"]["snapshot"] if ask["op"] == "run" else ask["actual"]
    found = re.fullmatch(r"rung-\d+-(.*)\.pt", path)
    return found.group(1) if found else "script"


@dataclass
class Recorded:
    """The facts of a recording, its findings, what their call sessions answered, and the diagnosis
    as data.
    """

    name: str
    facts: Json
    findings: list[Json]
    notes: list[Json]
    diagnosis: Json | None = None

    def recording(self, edit: Callable[[Json, Json], Json] | None = None) -> Recording:
        """The recording, with a call session that answers from the notes; a verdict can be reached
        from it without torch.
        """
        call_session = Answering(self.notes, self.name, edit)
        findings = [
            _read_finding(json.loads(json.dumps(item)), call_session) for item in self.findings
        ]
        facts = json.loads(json.dumps(self.facts, sort_keys=True))
        script, counts = ScriptEnd(**facts.pop("script")), CallCounts(**facts.pop("counts"))
        return Recording(Path(), findings, script, counts, **facts)

    def save(self) -> None:
        """Writes the file, with a line for each question."""
        HOME.mkdir(exist_ok=True)
        parts = {
            "facts": json.dumps(self.facts, sort_keys=True),
            "findings": _lines(self.findings),
            "notes": _lines(self.notes),
            "diagnosis": json.dumps(self.diagnosis, indent=1),
        }
        text = ",\n".join(f'"{name}": {part}' for name, part in parts.items())
        (HOME / f"{self.name}.json").write_text("{" + text + "}\n", encoding="utf-8")


def _read_finding(item: Json, call_session: Answering) -> Finding:
    """A finding of a file, where what belongs to the call stands beside what it showed."""
    original = {
        each.name: item.pop(each.name) for each in fields(OriginalCall) if each.name in item
    }
    return Finding(call_session=call_session, original=OriginalCall(**original), **item)


def _lines(items: list[Json]) -> str:
    return (
        "[\n" + ",\n".join(json.dumps(item, sort_keys=True) for item in items) + "\n]"
        if items
        else "[]"
    )


def load(name: str) -> Recorded:
    """The recording of a script."""
    path = HOME / f"{name}.json"
    if not path.exists():
        raise NotRecordedError(f"there is no recording of {name}; `make test-matrix` makes it")
    return Recorded(name, **json.loads(path.read_text(encoding="utf-8")))


def noting(recording: Recording) -> tuple[Recording, list[Json]]:
    """The same recording with call sessions that note what they are asked, and their notes."""
    notes: list[Json] = []
    findings = [
        replace(one, call_session=Noting(one.call_session, notes)) for one in recording.findings
    ]
    return replace(recording, findings=findings), notes


def recorded(name: str, recording: Recording, notes: list[Json]) -> Recorded:
    """What is kept of a recording and of its labs' notes."""
    facts: Json = {field: getattr(recording, field) for field in _FACTS}
    facts["script"] = {field: getattr(recording.script, field) for field in _SCRIPT}
    facts["counts"] = {field: getattr(recording.counts, field) for field in _COUNTS}
    findings = []
    for finding in recording.findings:
        assert isinstance(finding.call_session, Noting)
        finding.call_session.wait()
        item = {
            each.name: getattr(part, each.name)
            for part in (finding, finding.original)
            for each in fields(part)
            if each.name not in ("call_session", "original", "seconds", "context", "frames")
        }
        findings.append({**item, "context": {}, "seconds": _seconds(finding.original.seconds)})
    folders = {str(recording.folder): "", str(recording.folder.resolve()): ""}
    return Recorded(
        name, neutral(facts, folders), neutral(findings, folders), neutral(notes, folders)
    )


def _seconds(seconds: float) -> float:
    return _SOME_SECONDS if seconds < _QUICK else round(seconds, -1)


def neutral(data: Any, folders: Mapping[str, str] | None = None) -> Any:
    """JSON-able data without what differs between two runs or machines, and without what no verdict
    is made from.
    """
    if isinstance(data, dict):
        if "exception" in data and "frames" in data:
            data = _failure(data)
        kept = {key: neutral(value, folders) for key, value in data.items()}
        if "outcome" in kept:
            kept.pop("id", None)
            kept.pop("answer", None)
            if kept.get("seconds"):
                kept["seconds"] = _seconds(kept["seconds"])
            if kept["outcome"] in ("died", "timeout") and "detail" in kept:
                kept["detail"] = _stack(kept["detail"])
        return kept
    if isinstance(data, (list, tuple)):
        return [neutral(item, folders) for item in data]
    return _text(data, folders or {}) if isinstance(data, str) else data


def _failure(failure: Json) -> Json:
    kept = {key: failure[key] for key in _FAILURE if key in failure}
    kept["message"] = str(kept.get("message", "")).partition("\n")[0][:_MOST_OF_MESSAGE]
    kept["frames"] = [frame for frame in failure["frames"] if frame["torch"]][-_FRAMES:] + [
        {**frame, "file": Path(frame["file"]).name}
        for frame in failure["frames"][-1:]
        if not frame["torch"]
    ]
    return kept


def _stack(text: str) -> str:
    """Of each thread's stack torch's innermost frames, and below them one that tells whether it was
    compiling.
    """
    lines, frames = [], 0
    for line in text.splitlines():
        if not line.startswith("  File "):
            if re.match(r"(Fatal|Current thread|Thread)", line):
                lines.append(line)
                frames = 0
            continue
        if "/torch/" not in line and "/triton/" not in line:
            if frames == 0:
                lines.append(line)
            continue
        frames += 1
        if frames <= _STACK or _COMPILING.search(line):
            lines.append(line)
    return "\n".join(lines)


_MACHINE = {
    sysconfig.get_paths()["purelib"]: "site-packages",
    sysconfig.get_paths()["stdlib"]: "lib",
    str(Path(sys.executable).parent.parent): "venv",
}


def _text(text: str, folders: Mapping[str, str]) -> str:
    for folder, name in {**folders, **_MACHINE}.items():
        text = text.replace(f"{folder}/", f"{name}/" if name else "")
    text = re.sub(r"\S*/job/", "job/", text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x0", text)
    text = re.sub(r"(rung-\d+-.*)-\d{6,}\.pt$", r"\1.pt", text)  # the number of the runner
    return re.sub(r'"/[^"]*/', '"', text)  # other files in a stack


def outcome(recording: Recording, judge: Callable[[Recording], Diagnosis]) -> Json:
    """The diagnosis as data, or the reason why there can be none."""
    try:
        diagnosis = judge(recording)
    except CannotJudgeError as error:
        return {"kind": "cannot_judge", "layer": "none", "is_bug": False, "summary": str(error)}
    return as_data(diagnosis)


def as_data(diagnosis: Diagnosis) -> Json:
    """Everything a diagnosis says.

    What it only hands on (a failure, a comparison) stands there by the name of its source.
    """
    finding, ladder = diagnosis.basis.finding, diagnosis.basis.ladder
    signature, place = diagnosis.signature, diagnosis.torch_frame
    data = {
        "kind": diagnosis.kind,
        "layer": diagnosis.layer,
        "is_bug": diagnosis.is_bug,
        "summary": diagnosis.summary,
        "signature": signature.to_json() if signature else None,
        "cited": diagnosis.basis.cited,
        "reproduced": diagnosis.basis.reproduced,
        "place": asdict(place) if place else None,
        "failure": _source(diagnosis, "failure"),
        "comparison": _source(diagnosis, "comparison"),
        "finding": [finding.call, finding.symptom] if finding else None,
        "facts": sorted(name for name, value in ladder.facts.items() if value) if ladder else None,
        "ladder": [_rung(asdict(rung)) for rung in ladder.rungs.values()] if ladder else None,
    }
    return dict(json.loads(json.dumps(data)))


def _source(diagnosis: Diagnosis, kind: str) -> str | None:
    value = getattr(diagnosis, kind)
    if value is None:
        return None
    if value == getattr(diagnosis.basis.finding, kind, None):
        return "the finding's own"
    rungs = diagnosis.basis.ladder.rungs.values() if diagnosis.basis.ladder else ()
    return next((rung.name for rung in rungs if getattr(rung, kind) == value), "of its own")


def _rung(rung: Json) -> Json:
    """A rung by what it says, without its parts; what is empty is left out."""
    rung = {**rung.pop("death"), **rung.pop("run"), **rung}
    said: Json = {
        **rung,
        "comparison": bool(rung["comparison"]),
        "failure": rung["failure"] and rung["failure"]["exception"],
        "stack": len(rung["stack"].splitlines()),
        "snapshot": rung["snapshot"] and neutral(rung["snapshot"]),
        "seconds": round(rung["seconds"], 1),
    }
    return {key: value for key, value in said.items() if value}
