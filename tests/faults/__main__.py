"""Ends a process of a run at each of its stages, runs the same command again, and prints what came
of it.

`python -m tests.faults` tries a sample that has every command, stage and victim; `all` tries all
points, and `FIRST LAST` those of a range. A point is a command, one of the run's own lines of talk,
who is ended, and how long after the line. The run that follows must come to the same verdict and
the same program as one that nothing disturbed; processes and temporary folders that are left are
counted. `file`, `check --all`, `bisect` and `triage --search` have their points in tests/e2e.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.places import ROOT
from tests.support.scripts import text

VICTIMS = {
    "tool": "reporter",
    "script": "bootstrap.py",
    "supervisor": "supervisor.py",
    "worker": "worker_main.py",
    "Ctrl-C": "reporter",
    "Ctrl-C twice": "reporter",
}
DELAYS = (0.0, 0.5)
COMMANDS = ("diagnose", "create --quick", "create", "anonymize")
#: What the talk says when a stage begins; the points are those that a run really has.
STAGES = ("record", "diagnose", "capture", "rewrite", "reduce", "verify", "ablation", "leak check")
#: Of the sample, each so many of all points, in an order that leaves out no stage and no victim.
EACH = 4
#: Seconds until all that a run has started has to be gone.
PATIENCE = 30.0
MARK = "BUGREPORT_FAULT_POINT"


@dataclass(frozen=True)
class Point:
    """One fault."""

    command: str
    stage: str
    victim: str
    delay: float


@dataclass
class Row:
    """What came of it: `met` if there was somebody to end at that moment."""

    point: Point
    met: bool = False
    same_verdict: bool = False
    same_program: bool = False
    processes: int = 0
    folders: list[str] = field(default_factory=list)
    cores: int = 0
    codes: tuple[int, int] = (0, 0)
    said: str = ""


class Place:
    """Home, temporary folder and report of one point; the caches are everybody's."""

    def __init__(self, folder: Path, caches: Path) -> None:
        self.folder, self.report = folder, folder / "report"
        self.temporary = folder / "tmp"
        for name in ("home", "tmp", "job"):
            (folder / name).mkdir(parents=True)
        self.script = folder / "job" / "script.py"
        self.script.write_text(text("toy"), encoding="utf-8")
        self.environment = {
            **os.environ,
            MARK: folder.name,
            "HOME": str(folder / "home"),
            "TMPDIR": str(self.temporary),
            "XDG_CACHE_HOME": str(caches),
            "XDG_CONFIG_HOME": str(folder / "home"),
            "XDG_DATA_HOME": str(folder / "home"),
            "XDG_STATE_HOME": str(folder / "home"),
        }

    def start(self, command: str, *more: str) -> subprocess.Popen[str]:
        """The command, as a user starts it."""
        words = [*command.split(), "--json", "--no-input", "--python", sys.executable]
        if command != "diagnose" and "--resume" not in more:
            words += ["-o", str(self.report), "--force"]
        program = [] if "--resume" in more else [str(self.script)]
        return subprocess.Popen(
            [sys.executable, "-m", "reporter", *words, *more, *program],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def processes(self) -> Iterator[tuple[int, str]]:
        """What this point's runs have started and is alive."""
        mark = f"{MARK}={self.folder.name}\0".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if mark in (entry / "environ").read_bytes():
                        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                        if words:
                            yield int(entry.name), words.decode(errors="replace")
                except OSError:
                    continue

    def result(self, document: str) -> tuple[object, str]:
        """Verdict and program."""
        try:
            verdict = json.loads(document)["verdict"]
        except (ValueError, KeyError, TypeError):
            return None, ""
        repro = self.report / "repro.py"
        program = repro.read_text() if repro.exists() else ""
        return (verdict["kind"], verdict["layer"], verdict["signature"]), program


def disturb(point: Point, process: subprocess.Popen[str], place: Place) -> bool:
    """Waits for the point's moment and ends its victim; whether there was one."""
    assert process.stderr is not None
    for line in process.stderr:
        if f"] {point.stage}" in line:
            break
    else:
        return False
    time.sleep(point.delay)
    if point.victim in ("tool", "Ctrl-C", "Ctrl-C twice"):
        number = signal.SIGKILL if point.victim == "tool" else signal.SIGINT
        for _ in range(2 if point.victim == "Ctrl-C twice" else 1):
            if process.poll() is not None:
                return False
            process.send_signal(number)
            time.sleep(0.2)
        return True
    wanted = VICTIMS[point.victim]
    for pid, words in place.processes():
        is_supervisor = "supervisor.py" in words
        if wanted in words and is_supervisor == (point.victim == "supervisor"):
            try:
                os.kill(pid, signal.SIGKILL)
                return True
            except ProcessLookupError:
                continue
    return False


def attempt(point: Point, folder: Path, caches: Path, expected: tuple[object, str]) -> Row:
    """One fault, and the same command again."""
    place, row = Place(folder, caches), Row(point)
    process = place.start(point.command)
    row.met = disturb(point, process, place)
    document, said = process.communicate(timeout=900)
    row.said = (said.strip().splitlines() or [""])[-1][:160]
    row.processes = left(place)
    recorded = place.report / "private" / "recording.json"
    # a run that lived through it has nothing left to go on with
    goes_on = recorded.exists() and process.returncode != 0
    again = place.start(point.command, *(["--resume", str(place.report)] if goes_on else []))
    document, _ = again.communicate(timeout=900)
    row.codes = process.returncode, again.returncode
    verdict, program = place.result(document)
    row.same_verdict, row.same_program = verdict == expected[0], program == expected[1]
    row.processes += left(place)
    row.folders = sorted(
        path.name
        for path in place.temporary.iterdir()
        if path.name.startswith(("br-", "bugreport"))
    )
    row.cores = sum(1 for path in folder.rglob("core*") if path.is_file())
    return row


def left(place: Place) -> int:
    """How many processes are still there after a while, which are ended then."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        found = list(place.processes())
        if not found:
            return 0
        time.sleep(0.2)
    for pid, words in found:
        print(f"  left: {pid} {words[:120]}", flush=True)
        os.kill(pid, signal.SIGKILL)
    return len(found)


def points() -> list[Point]:
    """All of them; those of a stage that a command does not have are not met."""
    found = itertools.product(COMMANDS, STAGES, VICTIMS, DELAYS)
    return [Point(*each) for each in found if each[0] != "diagnose" or each[1] in STAGES[:2]]


def sample() -> list[Point]:
    """A part of the points: each pair of a stage and a victim is there with some command and
    delay.
    """
    every = points()
    chosen = []
    for command in COMMANDS:
        rows = [point for point in every if point.command == command]
        first = COMMANDS.index(command) % EACH
        # one delay of each pair, and of these pairs every other one, shifted with the command
        chosen += [p for n, p in enumerate(rows) if (n + n // (EACH * len(DELAYS))) % EACH == first]
    return chosen


def main() -> int:
    """Exit code 0 if every run after a fault came to the same end and left nothing."""
    words = sys.argv[1:3]
    chosen = points() if words else sample()
    if words and words != ["all"]:
        chosen = chosen[slice(*map(int, words))]
    rows = []
    with tempfile.TemporaryDirectory(prefix="brf-") as name:
        base, expected = Path(name), {}
        (base / "caches").mkdir()
        for number, point in enumerate(chosen):
            if point.command not in expected:
                place = Place(base / f"whole-{len(expected)}", base / "caches")
                document, said = place.start(point.command).communicate(timeout=1800)
                expected[point.command] = place.result(document)
                if expected[point.command][0] is None:
                    sys.exit(f"{point.command} does not come to an end by itself: {said[-400:]}")
            folder = base / f"point-{number}"
            row = attempt(point, folder, base / "caches", expected[point.command])
            rows.append(row)
            show(row)
            shutil.rmtree(folder, ignore_errors=True)
    met = [row for row in rows if row.met]
    print(
        f"{len(met)} of {len(rows)} points met; same verdict {sum(r.same_verdict for r in met)},"
        f" same program {sum(r.same_program for r in met)}; left behind:"
        f" {sum(r.processes for r in rows)} processes, {sum(len(r.folders) for r in rows)} folders,"
        f" {sum(r.cores for r in rows)} core files"
    )
    whole = all(r.same_verdict and r.same_program for r in met)
    return 0 if whole and not any(r.processes or r.folders or r.cores for r in rows) else 1


def show(row: Row) -> None:
    """One line of the table."""
    point, good = row.point, {True: "same", False: "OTHER"}
    print(
        f"{point.command:14} {point.stage:11} {point.victim:13} +{point.delay:<4}"
        f" {'met' if row.met else '-':4} verdict {good[row.same_verdict]:6} program"
        f" {good[row.same_program]:6} processes {row.processes} folders {len(row.folders)}"
        f" codes {row.codes[0]} {row.codes[1]}  {row.said}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
