"""Nothing is lost on Ctrl-C or kill -9: a run goes on from its folder, without the script and without repeating candidates."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.created import SCRIPTS, bugreport

torch = pytest.importorskip("torch", reason="the user's interpreter needs torch")


@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL]
)
def test_an_interrupted_run_is_resumed(how: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text((SCRIPTS / "toy.py").read_text())
    folder = tmp_path / "report"
    command = [sys.executable, "-m", "reporter", "create", "--no-input", "--python", sys.executable]
    process = subprocess.Popen(
        [*command, "-o", str(folder), str(script)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a suite that a shell started in the background would hand down an ignored Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    journal = folder / "private" / "journal.jsonl"
    deadline = time.monotonic() + 240
    while not (journal.exists() and journal.read_text().count("\n") >= 3):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.05)
    process.send_signal(how)
    _, talk = process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    if how == signal.SIGINT:
        assert "Traceback" not in talk.split("bugreport:")[-1] and "--resume" in talk
    assert {path.name for path in folder.iterdir()} == {"private"}
    assert folder.joinpath("private").stat().st_mode & 0o777 == 0o700
    known = journal.read_text().splitlines()
    script.unlink()  # the second half never needs it again
    done = bugreport("create", "--json", "--no-input", "--resume", folder, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"]["layer"] == "backend"
    assert (folder / "issue.md").exists()
    after = (folder / "private" / "journal.jsonl").read_text().splitlines()
    keys = [json.loads(line).get("key") for line in after[1:]]
    assert after[: len(known) - 1] == known[: len(known) - 1]  # kept, but for a torn last line
    assert len(keys) == len(set(keys))  # nothing was asked twice


def test_a_machine_without_a_compiler_is_no_bug(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\ntorch.compile(lambda x: x.sin() + 1)(torch.ones(8))\n")
    environment = {**os.environ, "PATH": "/nonexistent", "CXX": "no-such-compiler"}
    done = subprocess.run(
        [sys.executable, "-m", "reporter", "diagnose", "--python", sys.executable, str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 125, done.stdout + done.stderr
    assert "no working C++ compiler" in done.stderr
