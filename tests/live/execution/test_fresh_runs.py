"""Forks of a preloaded process show what a really cold process shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

from reporter.core.answer import Answer
from reporter.core.kinds import CandidateOutcome, Kind, Layer
from reporter.evidence.repro_evidence import TOOLS, ShownFailure, WatchedRun, collect_evidence
from reporter.execution.fresh_runs import FreshRuns
from reporter.execution.preloaded_process import PreloadedProcess
from tests.support import interpreter
from tests.support.scripts import text
from tests.support.waiting import PATIENCE, is_running, until

#: Every way in which a program can end, and what depends on a process being new.
PROGRAMS = {
    "passes": "print('hello')",
    "raises": "raise ValueError('mine')",
    "assertion": "assert 1 == 2, 'wrong result: x'",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "abort": "import os; os.abort()",
    "cannot judge": "import sys; sys.exit(125)",
    "exit 3": "import sys; sys.exit(3)",
    "broken": "def",
    "compiled": text("pool/compiled"),
    "nothing of torch was used": text("fresh/unused_torch"),
    "threads": "import torch; torch.ones(1 << 20).sum(); print(torch.get_num_threads())",
    "main thread": "import threading as t; print(t.current_thread() is t.main_thread())",
    "arguments": "import sys; print(__name__, __file__.rsplit('/')[-1], sys.argv)",
}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshRuns]:
    warm_cache = tmp_path_factory.mktemp("warm")
    with PreloadedProcess(interpreter.COLD, warm_cache) as preloaded:
        runs = FreshRuns(interpreter.COLD, warm_cache, preloaded)
        runs.prepare(inductor=True)
        yield runs


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n == "compiled" else n for n in PROGRAMS],
)
def test_a_fork_ends_as_a_cold_process_does(fresh: FreshRuns, name: str) -> None:
    cold, again = (run(PROGRAMS[name], PATIENCE) for run in (fresh.run_cold, fresh.run_fresh))
    assert facts(again) == facts(cold)


def test_each_run_has_random_numbers_of_its_own(fresh: FreshRuns) -> None:
    program = "import random, torch; print(random.random(), torch.rand(1).item())"
    drawn = [fresh.run_fresh(program, PATIENCE).stdout.split() for _ in range(2)]
    assert all(one != other for one, other in zip(*drawn, strict=True))


def test_no_run_knows_of_another(fresh: FreshRuns) -> None:
    leaves = "import builtins, os; builtins.left = 1; open('left', 'w'); os.environ['LEFT'] = '1'"
    finds = (
        "import builtins, os; "
        "assert not (hasattr(builtins, 'left') or os.listdir() != ['repro.py'])"
        "; assert 'LEFT' not in os.environ"
    )
    assert fresh.run_fresh(leaves, PATIENCE).outcome == "passes"
    assert fresh.run_fresh(finds, PATIENCE).outcome == "passes"


def test_the_control_run_saves_and_loads_the_module_with_a_state_of_its_own(
    fresh: FreshRuns,
) -> None:
    program = """import io
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
    def forward(self, x):
        self.count += 1
        return x + 1, "text"
def reload(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)
made = Model()
exported = torch.export.export(made, (torch.ones(2),))
loaded = reload(exported).module()
loaded(torch.ones(2))
print(exported.module() is made, type(loaded) is Model, made.count.item(), loaded.count.item())
"""
    assert fresh.run_control(program, PATIENCE).stdout == "True True 0.0 1.0\n"


def test_the_control_run_compiles_nothing(fresh: FreshRuns) -> None:
    program = text("fresh/is_compiled")
    assert fresh.run_control(program, PATIENCE).stdout == "False\n"
    assert fresh.run_fresh(program, PATIENCE).stdout == "True\n"


def test_a_fork_that_takes_too_long_is_killed_with_all_that_it_started(
    fresh: FreshRuns,
) -> None:
    for limit in (1, 8, 64, 256):  # a busy machine may not get to the loop in time
        answer = fresh.run_fresh(text("pool/endless"), limit)
        assert answer.outcome == "timeout" and answer.signal is None
        if answer.stdout:
            break
    until(lambda: not is_running(int(answer.stdout)), "the end of what it started")


def test_what_a_fork_leaves_running_ends_with_it(fresh: FreshRuns) -> None:
    program = "import subprocess; print(subprocess.Popen(['sleep', '1000']).pid)"
    answer = fresh.run_fresh(program, PATIENCE)
    assert answer.outcome == "passes"
    until(lambda: not is_running(int(answer.stdout)), "the end of what it started")


def test_what_a_program_forks_says_nothing_of_its_end(fresh: FreshRuns) -> None:
    program = """\
import os
if os.fork() == 0:
    raise ValueError("of the child")
os.wait()
os._exit(0)
"""
    for run in (fresh.run_cold, fresh.run_fresh):
        answer = run(program, PATIENCE)
        assert (answer.outcome, answer.failure) == ("passes", None)


def test_without_its_template_a_run_is_cold(tmp_path: Path) -> None:
    with PreloadedProcess(Path(os.devnull), tmp_path) as preloaded:  # which is no interpreter
        runs = FreshRuns(interpreter.COLD, tmp_path, preloaded)
        assert runs.run_fresh("print('hello')", PATIENCE).stdout == "hello\n"


def facts(answer: Answer) -> tuple[object, ...]:
    account = answer.failure or {"exception": None, "message": None}
    told = (account["exception"], account["message"])
    return (answer.outcome, answer.signal, answer.exit, answer.stdout, *told)


def test_a_run_with_the_debugging_tools_on_ends_alike_and_leaves_what_they_say(
    fresh: FreshRuns, tmp_path: Path
) -> None:
    program = (
        "import torch; x = torch.ones(2)\n"
        "assert torch.compile(torch.sin, backend='eager')(x).sum() > 5, 'wrong result: output 0'"
    )
    into = tmp_path / "watched"
    assert facts(fresh.run_watched(program, PATIENCE, TOOLS, into)) == facts(
        fresh.run_fresh(program, PATIENCE)
    )
    shown = ShownFailure(Kind.WRONG_RESULT, Layer.INDUCTOR)
    found = collect_evidence(
        WatchedRun(Path(os.devnull), program, 0.0, watched=into), shown, tmp_path / "kept"
    )
    outcomes = {item.name: item.outcome for item in found.collected}
    assert outcomes["logs"] == outcomes["trace"] == outcomes["explain"] == "ok"
    assert '["repro.py", ' in found.trace and (tmp_path / "kept" / "logs").is_dir()


def test_what_is_stopped_ends_at_once_and_nothing_follows_it(tmp_path: Path) -> None:
    runs = FreshRuns(interpreter.COLD, tmp_path)
    said = tmp_path / "said"
    program = f"import time; open({str(said)!r}, 'w').close(); time.sleep({10 * PATIENCE})"
    with ThreadPoolExecutor(max_workers=1) as threads:
        running = threads.submit(runs.run_cold, program, 10 * PATIENCE)
        until(said.exists)
        runs.stop()
        assert running.result(PATIENCE).outcome == CandidateOutcome.DIED
    with pytest.raises(CancelledError):
        runs.run_fresh("pass", PATIENCE)
