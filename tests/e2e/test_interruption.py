"""Nothing is lost on Ctrl-C or kill -9: a run goes on from its folder, without the script and
without repeating candidates.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reporter.report.folder import write_report
from tests.support import interpreter
from tests.support.created import bugreport
from tests.support.places import ROOT
from tests.support.scripts import script, text
from tests.support.waiting import PATIENCE, until


def start(*words: str) -> subprocess.Popen[str]:
    """The tool in a process that Ctrl-C reaches; a suite that a shell started in the background
    would hand down an ignored one.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "reporter", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL]
)
def test_an_interrupted_run_is_resumed(how: signal.Signals, tmp_path: Path) -> None:
    program = tmp_path / "script.py"
    program.write_text(text("toy"))
    folder = tmp_path / "report"
    words = ["create", "--no-input", "--python", str(interpreter.WARM), "-o", str(folder)]
    journal = folder / "private" / "journal.jsonl"
    with start(*words, str(program)) as process:
        until(lambda: len(lines(journal)) >= 3 or process.poll() is not None)
        process.send_signal(how)
        _, talk = process.communicate(timeout=PATIENCE)
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL), talk
    if how == signal.SIGINT:
        assert "Traceback" not in talk.split("bugreport:")[-1] and "--resume" in talk
    assert {path.name for path in folder.iterdir()} == {"private"}
    assert folder.joinpath("private").stat().st_mode & 0o777 == 0o700
    known = lines(journal)
    program.unlink()  # the second half never needs it again
    done = bugreport("create", "--json", "--no-input", "--resume", folder, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"]["layer"] == "backend"
    assert (folder / "issue.md").exists()
    after = lines(journal)
    keys = [json.loads(line).get("key") for line in after[1:]]
    assert after[: len(known) - 1] == known[: len(known) - 1]  # kept, but for a torn last line
    assert len(keys) == len(set(keys))  # nothing was asked twice


@pytest.mark.slow
def test_a_report_that_is_being_replaced_stays_whole(tmp_path: Path) -> None:
    program = tmp_path / "script.py"
    program.write_text(text("toy"))
    old = {"report.json": '{"schema_version": 1, "verdict": {}}', "issue.md": "edited by hand"}
    folder = write_report(tmp_path / "report", old, {"recording.json": "of another program"})
    words = ["create", "--no-input", "--python", str(interpreter.WARM), "-o", str(folder)]
    journal = folder / "private" / "unfinished" / "journal.jsonl"
    with start(*words, "--force", str(program)) as process:
        until(lambda: len(lines(journal)) >= 3 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, talk = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and f"--resume {folder} --force" in talk, talk
    assert (folder / "issue.md").read_text() == old["issue.md"]
    assert (folder / "private" / "recording.json").read_text() == "of another program"
    program.unlink()
    resume = ["create", "--json", "--no-input", "--resume", folder]
    assert "earlier report" in bugreport(*resume, cwd=tmp_path).stderr
    done = bugreport(*resume, "--force", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (folder / "issue.md").read_text() != old["issue.md"]
    assert "unfinished" not in {path.name for path in (folder / "private").iterdir()}
    assert json.loads((folder / "private" / "recording.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["ablation", "details"])
def test_ctrl_c_after_the_verification_writes_the_report_with_what_is_known(
    stage: str, tmp_path: Path
) -> None:
    """The ablation goes on beside the verification, and may have its rows by then."""
    program = tmp_path / "script.py"
    program.write_text(text("toy"))
    folder = tmp_path / "report"
    words = ["create", "--no-input", "--python", str(interpreter.WARM), "-o", str(folder)]
    with start(*words, str(program)) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if f"] {stage}: " in line:
                process.send_signal(signal.SIGINT)
                break
        _, talk = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, talk
    report = json.loads((folder / "report.json").read_text())
    assert report["repro"]["verified_cold"] and "test and pictures" in report["not_measured"]
    told = (folder / "issue.md").read_text().partition("Not measured: ")[2]
    assert all(name in told for name in report["not_measured"])


@pytest.mark.slow
def test_a_quick_report_has_no_more_than_verdict_and_repro(tmp_path: Path) -> None:
    program = tmp_path / "script.py"
    program.write_text(text("toy"))
    folder = tmp_path / "report"
    words = ("--no-input", "--python", interpreter.WARM, "-o", folder)
    done = bugreport("create", "--quick", "--json", *words, program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["verdict"]["reproduced"] == [3, 3]
    assert {"ablation", "test and pictures"} <= set(report["not_measured"])
    assert report["ladder"] == [] and "culprit" not in report


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def diagnosed(program: Path, python: Path, **more: str) -> tuple[int, str]:
    """Exit code and talk of `bugreport diagnose` with other variables set."""
    done = subprocess.run(
        [sys.executable, "-m", "reporter", "diagnose", "--python", str(python), str(program)],
        cwd=ROOT,
        env={**os.environ, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_a_machine_without_a_compiler_is_no_bug() -> None:
    program = script("interruption/compiles")
    # torch has looked for a compiler before a warm interpreter runs anything
    code, talk = diagnosed(program, interpreter.COLD, PATH="/nonexistent", CXX="no-such-compiler")
    assert code == 125 and "no working C++ compiler" in talk, talk
