"""What a pool does before, and without, a worker that can run anything."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from collectors.protocol.variation import Overrides
from reporter.core.errors import CannotJudgeError
from reporter.execution.worker_pool import WorkerPool, WorkerSettings
from tests.support.waiting import PATIENCE


def test_an_interpreter_that_is_not_there_is_told(tmp_path: Path) -> None:
    told = pytest.raises(CannotJudgeError, match="cannot run candidates")
    with WorkerPool(tmp_path / "nopython", 1, {}, tmp_path / "a") as broken, told:
        broken.submit("pass").result(PATIENCE)


def test_an_interpreter_that_cannot_run_candidates_is_told_in_its_own_words(tmp_path: Path) -> None:
    fake = tmp_path / "fakepython"
    fake.write_text("#!/bin/sh\necho 'no torch here' >&2\nexit 1\n")
    fake.chmod(0o755)
    told = pytest.raises(CannotJudgeError, match="no torch here")
    with WorkerPool(fake, 1, dict(os.environ), tmp_path / "b") as broken, told:
        broken.submit("pass").result(PATIENCE)


def test_a_fault_of_the_pool_itself_is_told_to_whoever_waits(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with WorkerPool(Path(sys.executable), 1, {}, tmp_path / "file") as pool:
        for _ in range(2):  # one that is there when it fails, and one after it
            with pytest.raises(CannotJudgeError, match="any more: FileExistsError: .*file"):
                pool.submit("pass").result(PATIENCE)


def test_what_no_worker_tells_is_named(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text(COUNTING.format(python=sys.executable).replace('id=asked["id"]', "id=77"))
    fake.chmod(0o755)
    with WorkerPool(fake, 1, {}, tmp_path / "a") as pool:
        found = pool.submit("pass").result(PATIENCE)
    assert found.detail.startswith("the worker died with it twice: it told what no worker tells")


def test_the_time_limit_follows_the_first_run(tmp_path: Path) -> None:
    with WorkerPool(Path(sys.executable), 1, {}, tmp_path) as unused:
        assert unused.time_limit == 300
        unused.first_seconds = 0.5
        assert unused.time_limit == 20
        package = "torch._inductor.aoti_compile_and_package(exported)"
        assert (unused.choose_limit("fn(x)"), unused.choose_limit(package)) == (20, 60)
        unused.first_seconds = 30
        assert unused.time_limit == 95


#: Speaks as a worker does: every answer has its number; a text that says so does not end in time.
COUNTING = """\
#!{python}
import json, os, sys
fd = {{name: int(sys.argv[sys.argv.index(name) + 1]) for name in ("--requests", "--answers")}}
tell = lambda **message: os.write(fd["--answers"], json.dumps(message).encode() + b"\\n")
tell(ready={{"cpu": 0.0}})
for number, line in enumerate(os.fdopen(fd["--requests"])):
    asked = json.loads(line)
    outcome = "timeout" if "endless" in asked["text"] else "passes"
    tell(id=asked["id"], outcome=outcome, detail=str(number), cpu=0.0, seconds=0.0)
"""


def test_a_question_that_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text(COUNTING.format(python=sys.executable))
    fake.chmod(0o755)
    asked: list[tuple[str, Overrides]] = [
        ("pass", {}),
        ("pass", {}),
        ("pass", {"dynamic": True}),
        ("pass", {"dynamic": True}),
        ("endless", {}),
        ("endless", {}),  # which may end another time
        ("pass", {}),
    ]
    for remembers, numbers in ((True, "0011230"), (False, "0123456")):
        settings = WorkerSettings(remembers=remembers)
        with WorkerPool(fake, 1, {}, tmp_path / str(remembers), settings) as pool:
            found = [pool.submit(text, None, how).result(PATIENCE).detail for text, how in asked]
        assert "".join(found) == numbers
