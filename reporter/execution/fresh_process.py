"""Runs a candidate as the reader of a report would: a fresh process, an empty folder, an empty
cache.

Nothing of the warm worker is left: none of its environment variables, no fork, no override. What
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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from collectors.protocol.candidates import (
    ANSWER_FILE,
    MEASUREMENTS_FILE,
    CandidateRequest,
    MeasurementLine,
)
from collectors.protocol.failure import name_signal, read_tail
from collectors.protocol.repro_words import CANNOT_JUDGE_HERE
from reporter.core.answer import Answer
from reporter.core.kinds import CandidateOutcome
from reporter.core.tokens import remove_credentials
from reporter.execution.compiler_cache import HEADERS, lend_headers, link_headers, prefill
from reporter.execution.launch import WORKER_MAIN, build_repro_variables, kill_group
from reporter.execution.preloaded_process import PreloadedProcess
from reporter.execution.usage import METER

#: Leaders of the process groups that run now; a thread blocked in one cannot end it.
_RUNNING: set[int] = set()
_ENDINGS: dict[int, CandidateOutcome] = {
    0: CandidateOutcome.PASSES,
    CANNOT_JUDGE_HERE: CandidateOutcome.CANNOT_JUDGE,
}


@dataclass(frozen=True)
class FreshResult:
    """How a fresh process ended, and what it measured, as far as it came."""

    answer: Answer
    measurements: tuple[MeasurementLine, ...]


def run_fresh(
    by: Path | PreloadedProcess,
    request: CandidateRequest,
    warm_cache: Path | None = None,
    env: Mapping[str, str] | None = None,
    into: Path | None = None,
) -> FreshResult:
    """Runs a candidate in a process of its own that writes its failure down.

    Args:
        by: the interpreter of a really cold process, or what forks one.
        warm_cache: a warm-up's cache whose toolchain checks are used.
        env: in place of this process's environment, for a really cold one.
        into: a new or empty folder for what torch's debugging tools said: `found`, with their
            files, and `answer.json`, if the process wrote one.

    Raises:
        OSError: the preloaded process cannot fork, or the folder cannot be written.
    """
    with _make_fresh_folder(env, warm_cache) as (folder, variables):
        if isinstance(by, PreloadedProcess):
            answer = _fork(by, folder, request, warm_cache)
        else:
            command = [str(by), str(WORKER_MAIN), "once", "--folder", str(folder)]
            said = json.dumps(request) + "\n"
            answer = _run(command, folder, variables, request["timeout"], said)
        if into is not None:
            (folder / "out" / "found").mkdir(exist_ok=True)
            into.mkdir(parents=True, exist_ok=True)
            for path in (folder / "out" / "found", folder / "out" / ANSWER_FILE):
                if path.exists():
                    shutil.move(path, into / path.name)
        return FreshResult(answer, tuple(_read_measurements(folder / "out")))


def run_cold(
    python: Path,
    text: str,
    timeout: float,
    env: Mapping[str, str] | None = None,
    describe: bool = False,
    warm_cache: Path | None = None,
) -> Answer:
    """Runs `python repro.py` in an empty folder with an empty cache.

    Without `describe` exactly that happens and the answer has no `failure`; with it the same text
    runs as `__main__` of a fresh interpreter that writes its failure down.

    Args:
        text: the complete repro.
        timeout: in seconds.
        env: the environment in place of this process's; credentials are taken out of both.
        describe: whether the failure is written down.
        warm_cache: the cache of a warm-up, whose toolchain checks and headers are used; None: the
            process makes its own.
    """
    if describe:
        return run_fresh(
            python, {"id": 0, "text": text, "timeout": timeout}, warm_cache, env
        ).answer
    with _make_fresh_folder(env, warm_cache) as (folder, variables):
        (folder / "run" / "repro.py").write_text(text, encoding="utf-8")
        return _run([str(python), "repro.py"], folder, variables, timeout)


@contextlib.contextmanager
def _make_fresh_folder(
    env: Mapping[str, str] | None, warm_cache: Path | None
) -> Iterator[tuple[Path, dict[str, str]]]:
    """An empty folder with an empty cache, and the environment for a process in it."""
    variables = build_repro_variables(os.environ) if env is None else remove_credentials(env)
    with tempfile.TemporaryDirectory(prefix="cold-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        for part in ("run", "out", "cache"):
            (folder / part).mkdir()
        prefill(folder / "cache", warm_cache)
        variables["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "cache")
        # what a killed compiler leaves goes with the folder
        variables["TMPDIR"] = str(folder / "out")
        lend_headers(folder / "out", warm_cache)
        yield folder, variables


def _fork(
    preloaded: PreloadedProcess, folder: Path, request: CandidateRequest, warm_cache: Path | None
) -> Answer:
    # where a process that forks looks for them
    link_headers(folder / "cache" / HEADERS, warm_cache)
    started = time.monotonic()
    code = preloaded.run(folder, request)
    return _read_answer(folder / "out", code, started)


def _run(
    command: list[str], folder: Path, env: Mapping[str, str], timeout: float, said: str = ""
) -> Answer:
    started = time.monotonic()
    code = run_process(command, folder / "run", env, timeout, folder / "out", said)
    return _read_answer(folder / "out", code, started)


def run_process(
    command: list[str], cwd: Path, env: Mapping[str, str], timeout: float, out: Path, said: str = ""
) -> int | None:
    """Runs a process of the target and kills it with all that it started.

    Args:
        timeout: seconds.
        out: the folder for the files `stdout` and `stderr`.
        said: what it reads from its standard input.

    Returns:
        the exit code, or minus the number of a signal; None where it took too long.
    """
    with (out / "stdout").open("wb") as stdout, (out / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        METER.add(processes=1)
        _RUNNING.add(process.pid)
        try:
            process.communicate(said.encode(), timeout)
            return process.returncode
        except subprocess.TimeoutExpired:
            return None
        finally:
            kill_group(process.pid)
            process.wait()
            _RUNNING.discard(process.pid)


def stop_all() -> None:
    """Kill every fresh process that runs now: whoever waits for one gets its answer (a death) at
    once.
    """
    for pid in tuple(_RUNNING):
        kill_group(pid)


def _read_answer(out: Path, code: int | None, started: float) -> Answer:
    """The answer of a process that ended with `code`, as `run_process` returns it."""
    texts = {
        "stdout": read_tail(out / "stdout"),
        "stderr": read_tail(out / "stderr"),
        "seconds": round(time.monotonic() - started, 3),
    }
    stack = read_tail(out / "stack")
    if code is None:
        ending = {"outcome": CandidateOutcome.TIMEOUT, "detail": stack, "exit": -signal.SIGKILL}
        return Answer.from_json({**ending, **texts})
    if code < 0:
        ending = {"outcome": CandidateOutcome.DIED, "detail": stack, "exit": code}
        return Answer.from_json({**ending, "signal": name_signal(-code), **texts})
    try:
        written = json.loads((out / ANSWER_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        written = {"outcome": _ENDINGS.get(code, CandidateOutcome.FAILS), "exit": code}
    METER.add(compilations=written.get("compilations", 0))
    return Answer.from_json({**written, **texts})


def _read_measurements(out: Path) -> Iterator[MeasurementLine]:
    with contextlib.suppress(OSError):
        for line in (out / MEASUREMENTS_FILE).read_text("utf-8").splitlines():
            with contextlib.suppress(ValueError):  # the process ended while writing
                yield json.loads(line)
