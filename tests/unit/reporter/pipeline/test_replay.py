"""The recorded call of a report, again: whole programs from a recording that was kept as data, run
by an interpreter whose answer a test gives.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.created import command
from tests.support.places import DATA

RECORDING = DATA / "recordings" / "foobar.json"
_PYTHON = """\
#!/bin/sh
if [ "$1" = "-c" ]; then echo 'bugreport-answer:{facts}'; exit 0; fi
cat > /dev/null
[ "$2" = "once" ] && cp {answer} "$4/out/answer.json"
exit {code}
"""
FACTS = {
    "version": "3.11.1",
    "python": [3, 11],
    "prefix": "/opt/python",
    "torch": "2.13.0",
    "torch_git": None,
    "has_cuda": False,
}


def interpreter(folder: Path, answer: dict[str, object]) -> Path:
    """Something that says it has torch, and answers every program alike."""
    (folder / "answer.json").write_text(json.dumps(answer))
    python = folder / "python"
    code = answer.get("exit", 1)
    python.write_text(
        _PYTHON.format(facts=json.dumps(FACTS), answer=folder / "answer.json", code=code)
    )
    python.chmod(0o755)
    return python


def kept(folder: Path, part: str = "verdict", **changes: object) -> Path:
    """A report folder with nothing but its recording, of which a part is changed."""
    (folder / "report" / "private").mkdir(parents=True)
    recording = json.loads(RECORDING.read_text())
    recording["call"][part].update(changes)
    (folder / "report" / "private" / "recording.json").write_text(json.dumps(recording))
    return folder / "report"


FAILURE = json.loads(RECORDING.read_text())["call"]["verdict"]["failure"]
OTHER = {**FAILURE, "exception": "KeyError", "first_line": "another one", "frames": []}
ANSWERS = [
    ({"outcome": "fails", "exit": 1, "failure": FAILURE}, "reproduces", 1),
    ({"outcome": "fails", "exit": 1, "failure": OTHER}, "different", 0),
    ({"outcome": "passes", "exit": 0}, "fixed", 0),
    ({"outcome": "cannot_judge", "exit": 125}, "cannot_judge", 125),
]


@pytest.mark.parametrize(("answer", "outcome", "code"), ANSWERS, ids=[row[1] for row in ANSWERS])
def test_what_the_whole_programs_do_is_the_outcome(
    answer: dict[str, object], outcome: str, code: int, tmp_path: Path
) -> None:
    """The first that fails as before is enough; where none does, all of them are run."""
    report = kept(tmp_path)
    words = ("--json", "--python", interpreter(tmp_path, answer), report)
    done = command("replay", *words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    rows = json.loads(done.stdout)["results"]
    assert {row["outcome"] for row in rows} == {outcome}
    assert (len(rows) == 1) is (outcome == "reproduces")
    program = Path(rows[0]["path"])
    assert program.parent == report / "private" / "replay"
    assert program.stat().st_mode & 0o077 == 0
    # the whole call, before any reduction, and in nobody's words
    text = program.read_text()
    assert "_foobar" in text and text.count("linear(") + text.count("nn.Linear") >= 5
    assert "tower" not in text


def test_a_recording_without_a_failure_has_nothing_to_replay(tmp_path: Path) -> None:
    report = kept(tmp_path, signature=None)
    done = command("replay", report, cwd=tmp_path)
    assert done.returncode == 2 and "a recording without a failure" in done.stderr


def test_a_recording_of_which_nothing_can_be_written_names_the_repro(tmp_path: Path) -> None:
    captures = [[{"unsupported": "a stream"}, {"replay": False}]]
    report = kept(tmp_path, "material", captures=captures, gathered=None)
    python = interpreter(tmp_path, {"outcome": "passes", "exit": 0})
    done = command("replay", "--python", python, report, cwd=tmp_path)
    assert done.returncode == 2 and str(report / "repro.py") in done.stderr


def test_a_folder_without_a_recording_is_named(tmp_path: Path) -> None:
    done = command("replay", tmp_path, cwd=tmp_path)
    assert done.returncode == 2 and str(tmp_path) in done.stderr
    assert "Traceback" not in done.stderr
