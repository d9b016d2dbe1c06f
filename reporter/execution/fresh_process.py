"""Runs a candidate as the reader of a report would: a fresh process, an empty folder, an empty
cache.

Nothing of the warm worker is left: none of its environment variables, no fork, no override.  What
is believed about a repro is what is seen here.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from collectors.protocol import CandidateRequest, MeasurementLine, MeasurementRequest, Overrides
from reporter.core.answer import (
    MAIN,
    Answer,
    AnswerOutcome,
    clean_environment,
    tail,
)
from reporter.core.signals import signal_name
from reporter.execution.compiler_cache import HEADERS, lend_headers, link_headers, prefill
from reporter.execution.launch import kill_group
from reporter.execution.preloaded import PreloadedProcess
from reporter.execution.usage import METER

#: Leaders of the process groups that run now; a thread blocked in one cannot end it.
_RUNNING: set[int] = set()
_ENDINGS: dict[int, AnswerOutcome] = {0: "passes", 125: "cannot_judge"}


def run_cold(
    python: Path,
    text: str,
    timeout: float,
    env: Mapping[str, str] | None = None,
    describe: bool = False,
    tmp: Path | None = None,
    warm: Path | None = None,
) -> Answer:
    """Run ``python repro.py`` in an empty folder with an empty cache; ``timeout`` in seconds.

    Without ``describe`` exactly that happens and the answer has no ``failure``; with it the same
    text runs as ``__main__`` of a fresh interpreter that writes its failure down.  ``tmp`` is
    where the folders are made; ``warm`` is a warm-up's cache whose toolchain checks are used.
    """
    with _fresh(env, tmp, warm) as (folder, base):
        if describe:
            command = [str(python), str(MAIN), "once", "--folder", str(folder)]
            described: CandidateRequest = {"id": 0, "text": text, "timeout": timeout}
            request = json.dumps(described) + "\n"
        else:
            (folder / "run" / "repro.py").write_text(text, encoding="utf-8")
            command, request = [str(python), "repro.py"], ""
        return _run(command, request, folder, base, timeout)


def look_cold(
    python: Path, text: str, timeout: float, wanted: MeasurementRequest, warm: Path | None = None
) -> list[MeasurementLine]:
    """What `collectors.dynamo.measurements` finds of a repro in a fresh process; as far as it came,
    if the process died or took too long.
    """
    with _fresh(None, None, warm) as (folder, base):
        command = [str(python), str(MAIN), "once", "--folder", str(folder)]
        request: CandidateRequest = {
            "id": 0,
            "text": text,
            "timeout": timeout,
            "measure": wanted,
        }
        _run(command, json.dumps(request) + "\n", folder, base, timeout)
        return _read_measurements(folder)


def run_forked(
    preloaded: PreloadedProcess,
    text: str,
    timeout: float,
    warm: Path,
    overrides: Overrides | None = None,
) -> Answer:
    """The same in a fork of a preloaded process, with ``describe``.

    Raises OSError where that cannot fork.
    """
    with _fresh(None, None, warm) as (folder, _):
        described: CandidateRequest = {"id": 0, "text": text, "timeout": timeout}
        return _fork(preloaded, folder, {**described, "overrides": overrides or {}}, warm)


def watch_forked(
    preloaded: PreloadedProcess,
    text: str,
    timeout: float,
    warm: Path,
    tools: Sequence[str],
    into: Path,
) -> Answer:
    """`run_forked` with torch's debugging tools on.

    Args:
        tools: their names.
        into: a new folder for the process's own `answer.json`, if it wrote one, and for `found`,
            where the tools' files lie.

    Raises:
        OSError: the preloaded process cannot fork, or the folder cannot be written.
    """
    with _fresh(None, None, warm) as (folder, _):
        described: CandidateRequest = {"id": 0, "text": text, "timeout": timeout}
        answer = _fork(preloaded, folder, {**described, "tools": list(tools)}, warm)
        into.mkdir(parents=True)
        for name in ("answer.json", "found"):
            if (folder / "out" / name).exists():
                shutil.move(folder / "out" / name, into / name)
        return answer


def look_forked(
    preloaded: PreloadedProcess, text: str, timeout: float, wanted: MeasurementRequest, warm: Path
) -> list[MeasurementLine]:
    """`look_cold` in a fork of a preloaded process. Raises OSError where that cannot fork."""
    with _fresh(None, None, warm) as (folder, _):
        described: CandidateRequest = {"id": 0, "text": text, "timeout": timeout}
        _fork(preloaded, folder, {**described, "measure": wanted}, warm)
        return _read_measurements(folder)


def _fork(
    preloaded: PreloadedProcess, folder: Path, request: CandidateRequest, warm: Path
) -> Answer:
    link_headers(folder / "cache" / HEADERS, warm)  # where a process that forks looks for them
    started = time.monotonic()
    code = preloaded.run(folder, request, request["timeout"])
    seconds = round(time.monotonic() - started, 3)
    return _answer(folder / "out", -signal.SIGKILL if code is None else code, code is None, seconds)


def _read_measurements(folder: Path) -> list[MeasurementLine]:
    lines: list[MeasurementLine] = []
    with contextlib.suppress(OSError):
        for line in (folder / "out" / "measurements.jsonl").read_text("utf-8").splitlines():
            with contextlib.suppress(ValueError):  # the process ended while writing
                lines.append(json.loads(line))
    return lines


@contextlib.contextmanager
def _fresh(
    env: Mapping[str, str] | None, tmp: Path | None, warm: Path | None
) -> Iterator[tuple[Path, dict[str, str]]]:
    """An empty folder with an empty cache, and the environment for a process in it."""
    base = clean_environment(os.environ if env is None else env)
    with tempfile.TemporaryDirectory(prefix="cold-", dir=tmp) as name:
        folder = Path(name).resolve()
        for part in ("run", "out", "cache"):
            (folder / part).mkdir()
        prefill(folder / "cache", warm)
        base["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "cache")
        base["TMPDIR"] = str(folder / "out")  # what a killed compiler leaves goes with the folder
        lend_headers(folder / "out", warm)
        yield folder, base


def stop_all() -> None:
    """Kill every fresh process that runs now: whoever waits for one gets its answer (a death) at
    once.
    """
    for pid in tuple(_RUNNING):
        kill_group(pid)


def _run(
    command: list[str], request: str, folder: Path, env: Mapping[str, str], timeout: float
) -> Answer:
    out = folder / "out"
    started = time.monotonic()
    timed_out = False
    with (out / "stdout").open("wb") as stdout, (out / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            command,
            cwd=folder / "run",
            env=env,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        METER.add(processes=1)
        _RUNNING.add(process.pid)
        try:
            process.communicate(request.encode(), timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            kill_group(process.pid)
            process.wait()
            _RUNNING.discard(process.pid)
    seconds = round(time.monotonic() - started, 3)
    return _answer(out, process.returncode, timed_out, seconds)


def _answer(out: Path, code: int, timed_out: bool, seconds: float) -> Answer:
    texts = {"stdout": tail(out / "stdout"), "stderr": tail(out / "stderr"), "seconds": seconds}
    stack = tail(out / "stack")
    if timed_out:
        return Answer.from_json({"outcome": "timeout", "detail": stack, "exit": code, **texts})
    if code < 0:
        name = signal_name(-code)
        return Answer.from_json(
            {"outcome": "died", "signal": name, "exit": code, "detail": stack, **texts}
        )
    try:
        written = json.loads((out / "answer.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        written = {"outcome": _ENDINGS.get(code, "fails"), "exit": code}
    METER.add(compilations=written.get("compilations", 0))
    return Answer.from_json({**written, **texts})
