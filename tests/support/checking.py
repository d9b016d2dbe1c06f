"""Checks without torch: an engine that answers at once, notes what it was asked, and waits where a
test wants it to.

As a program it is a command to be killed: `python -m tests.support.checking check LOG STOP` carries
out `plan()`, `… bisect LOG STOP REPRO` searches among forty releases, `… install CACHE WHEEL` makes
an environment. Before its question number STOP (from 0) it reads a line from its standard input, so
it cannot come to its end before the test allows it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reporter.bisect.arguments import BisectArguments
from reporter.bisect.bisect import bisect
from reporter.check.check import carry_out
from reporter.check.engine import Keep
from reporter.check.plan import Plan
from reporter.check.subject import CheckSubject
from reporter.check.work import CheckResult, Task
from reporter.core.progress import PlainProgress
from reporter.core.settings import ProcessOptions, TalkOptions
from reporter.environments import index
from reporter.environments.environments import Environments
from reporter.environments.install import Installer
from reporter.environments.release import Release, parse
from reporter.store.database import open_store
from tests.support.places import DATA, ROOT

FIRST_FIXED = 23
_NEVER = 10**6


def lines(path: Path) -> list[str]:
    """The lines of a file that may not be there yet."""
    return path.read_text().splitlines() if path.exists() else []


def result(task: Task, outcome: str = "fixed", **more: Any) -> CheckResult:
    """What a task came to."""
    key, release = task.cell
    return checked(task.subject.name, release, outcome, key=key, **more)


def plan(size: int = 60) -> Plan:
    """Half as many repros, on two releases."""
    subjects = tuple(CheckSubject(f"r{n}", f"k{n}", "pass") for n in range(size // 2))
    return Plan(subjects, (Release("2.6.0"), Release("2.13.0")))


def always_fixed(_: Task) -> str:
    """The outcome of a bug that is nowhere."""
    return "fixed"


def fixed_late(task: Task) -> str:
    """The outcome of a bug that release 2.23 has fixed."""
    minor = int(task.release.label.split(".")[1])
    return "fixed" if minor >= FIRST_FIXED else "reproduces"


def checked(
    repro: str, release: str, outcome: Any, time: str = "2026-11-01T00:00:00+00:00", **more: Any
) -> CheckResult:
    """A result of a repro on a release."""
    usual: dict[str, Any] = {
        "key": repro,
        "torch": release,
        "python": "3.11",
        "detail": "",
        "seconds": 1.0,
        "runs": (1, 1),
        "time": time,
    }
    return CheckResult(repro=repro, release=release, outcome=outcome, **{**usual, **more})


def report(folder: Path, name: str, **verdict: Any) -> Path:
    """A report folder around one of the stored repros."""
    folder.mkdir()
    text = (DATA / "repros" / f"{name}.py").read_text()
    (folder / "repro.py").write_text(text + "\n# of a report\n")
    usual = {"layer": "dynamo", "is_bug": True, "summary": "It fails.", "reproduced": [3, 3]}
    verdict = {**usual, **verdict}
    (folder / "report.json").write_text(json.dumps({"schema_version": 1, "verdict": verdict}))
    return folder


def make_interpreter(python: Path, torch: str | None, git: str | None = None) -> None:
    """A program that says of itself that it is a Python with this torch, None: without one."""
    facts: dict[str, Any] = {
        "version": "3.11.1",
        "python": [3, 11],
        "prefix": str(python.parent / f"prefix-of-{python.name}"),
        "torch": torch,
        "torch_git": git,
        "has_cuda": False,
        "missing": torch is None,
    }
    python.write_text(f"#!/bin/sh\necho 'bugreport-answer:{json.dumps(facts)}'\n")
    python.chmod(0o755)


def make_uv(folder: Path, ending: str) -> Installer:
    """An installer that notes each of its commands in `log`, and then does as `ending` says."""
    uv = folder / "uv"
    uv.write_text(f'#!/bin/sh\necho "$*" >> {folder / "log"}\n{ending}\n')
    uv.chmod(0o755)
    return Installer(uv, folder / "uv-cache")


def rows(path: Path, where: str = "1") -> int:
    """How many results a store has."""
    with open_store(path) as store:
        return int(store.execute(f"SELECT COUNT(*) FROM checks WHERE {where}").fetchone()[0])


class Noting:
    """An engine: each cell is a line of `log` before its result is handed over."""

    def __init__(
        self, log: Path, outcome: Callable[[Task], str] = always_fixed, stop: int = _NEVER
    ) -> None:
        self._log, self._outcome, self._left = log, outcome, stop

    def run(self, tasks: list[Task], keep: Keep) -> None:
        """See `Engine`."""
        with self._log.open("a") as log:
            for task in tasks:
                if self._left == 0 and not sys.stdin.readline():
                    raise SystemExit(3)  # the test has ended without us
                self._left -= 1
                log.write(" ".join(task.cell) + "\n")
                log.flush()
                keep(result(task, self._outcome(task)))


def start(words: list[str | Path], store: Path, stop: int | None = None) -> subprocess.Popen[bytes]:
    """This module as a program with a store; it waits before its question number `stop`."""
    verb, log, *more = map(str, words)
    command = [sys.executable, "-m", "tests.support.checking", verb, log]
    environment = {**os.environ, "BUGREPORT_STORE": str(store)}
    return subprocess.Popen(
        [*command, str(_NEVER if stop is None else stop), *more],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def go_on(process: subprocess.Popen[bytes]) -> None:
    """Lets a command that waits go on to its end."""
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()


def _check(log: str, stop: str) -> None:
    with open_store() as store:
        carry_out(plan(), Noting(Path(log), stop=int(stop)), store, PlainProgress())


def _bisect(log: str, stop: str, repro: str) -> Any:
    offers = tuple(index.Offer(f"2.{n}.0", ((3, 11),), index.PYPI) for n in range(40))
    index.fetch_offers = lambda place=None: offers  # type: ignore[assignment]
    asked = BisectArguments(repro, "2.39.0", "2.0.0", find_fix=True)
    engine = Noting(Path(log), fixed_late, int(stop))
    return bisect(asked, ProcessOptions(jobs=1), TalkOptions(no_input=True), engine).to_json()


def _install(cache: str, _: str, wheel: str) -> int:
    said: list[str] = []
    Environments(Path(cache), said.append).provide(parse(wheel))
    return sum("installing" in line for line in said)


if __name__ == "__main__":
    verbs: dict[str, Callable[..., Any]] = {
        "check": _check,
        "bisect": _bisect,
        "install": _install,
    }
    print(json.dumps(verbs[sys.argv[1]](*sys.argv[2:])))
