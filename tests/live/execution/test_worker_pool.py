"""Candidates in the warm worker of this interpreter: every ending is told apart and none outlives
its own.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.protocol.words import Isolation
from reporter.core.candidate import make_matcher
from reporter.core.kinds import Kind
from reporter.core.signature import Signature
from reporter.execution.fresh_process import run_cold
from reporter.execution.usage import METER
from reporter.execution.worker_pool import WorkerPool, WorkerSettings
from tests.support import interpreter
from tests.support.places import ROOT
from tests.support.scripts import text
from tests.support.waiting import PATIENCE, is_running, until, words_of

#: text, outcome, signal, exit, what the account of the failure must hold
ENDINGS = {
    "passes": ("print('hello')", "passes", None, 0, None),
    "own error": ("raise ValueError('mine')", "fails", None, 1, "ValueError: mine"),
    "assertion": (
        "assert 1 == 2, 'wrong result: x'",
        "fails",
        None,
        1,
        "AssertionError: wrong result: x",
    ),
    "segfault": ("import ctypes; ctypes.string_at(0)", "died", "SIGSEGV", -11, None),
    "abort": ("import os; os.abort()", "died", "SIGABRT", -6, None),
    "cannot judge": ("import sys; sys.exit(125)", "cannot_judge", None, 125, None),
    "exit 3": ("import sys; sys.exit(3)", "fails", None, 3, "SystemExit"),
    "exit text": ("import sys; sys.exit('no')", "fails", None, 1, "SystemExit"),
    "os._exit": ("import os; os._exit(7)", "died", None, 7, None),
    "syntax": ("def", "broken", None, 1, "SyntaxError"),
    "name": ("def f():\n    return y\nf()", "broken", None, 1, "NameError"),
    "unbound": ("def f():\n    print(y)\n    y = 1\nf()", "broken", None, 1, "UnboundLocalError"),
    "import": ("import nosuchmodule", "broken", None, 1, "ModuleNotFoundError"),
    "name error in a library": (
        "import json\njson.loads('1', parse_int=lambda s: eval('nothing', {}))",
        "fails",
        None,
        1,
        "NameError",
    ),
    "memory": (
        "import torch\nkept = []\nwhile True: kept.append(torch.ones(1 << 24))",
        "fails",
        None,
        1,
        "allocate memory",
    ),
    "main module": (text("pool/main_module"), "passes", None, 0, None),
}
OUT_OF_MEMORY: dict[str, str] = {
    "tensors": str(ENDINGS["memory"][0]),
    "objects": "kept = []\nwhile True: kept.append(bytearray(1 << 26))",
    "eager alone": text("pool/eager_alone_has_no_memory"),
    "the C++ library": text("pool/no_memory_in_the_library"),
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where candidates write what a test waits for; they know it by the variable NOTES."""
    return tmp_path_factory.mktemp("notes")


@pytest.fixture(scope="module")
def pool(notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    env = {**os.environ, "MY_TOKEN": "not for candidates", "NOTES": str(notes)}
    folder = tmp_path_factory.mktemp("pool")
    with WorkerPool(interpreter.WARM, 2, env, folder, WorkerSettings(memory_limit=1 << 29)) as made:
        assert made.submit("pass").result(PATIENCE).outcome == "passes"
        yield made


def noting(script: str, note: str) -> str:
    """A script that writes its process id, and that of its worker, to the file `note`."""
    return text(script).replace('"NOTE"', repr(note))


def compiled(factor: int) -> str:
    """A program that inductor compiles, and no other test's."""
    return text("pool/compiled").replace("x * 2", f"x * {factor}")


@pytest.mark.parametrize("name", ENDINGS)
def test_each_ending_is_told_apart(pool: WorkerPool, name: str) -> None:
    program, outcome, signal_name, code, said = ENDINGS[name]
    answer = pool.submit(program).result(PATIENCE)
    assert (answer.outcome, answer.signal, answer.exit) == (outcome, signal_name, code), answer
    if said is None:
        assert answer.failure is None
    else:
        assert answer.failure is not None
        account = answer.failure
        assert said in "{exception}: {message}".format(**account)
    assert answer.stdout == ("hello\n" if name == "passes" else "")


def test_what_a_candidate_uses_is_counted(pool: WorkerPool) -> None:
    pool.submit("pass").result(PATIENCE)  # the worker has started
    before = METER.read()
    pool.submit(compiled(41)).result(PATIENCE)
    used = METER.read() - before
    assert (used.compilations, used.processes) == (1, 1)
    assert used.cpu > 0


def test_the_account_of_a_failure_survives_a_broken_exception(pool: WorkerPool) -> None:
    answer = pool.submit(text("pool/hostile_exception")).result(PATIENCE)
    assert answer.outcome == "fails" and answer.failure is not None
    assert answer.failure["exception"] == "Hostile"


@pytest.mark.parametrize("name", OUT_OF_MEMORY)
def test_running_out_of_memory_is_an_answer_and_no_bug(pool: WorkerPool, name: str) -> None:
    answer = pool.submit(OUT_OF_MEMORY[name]).result(PATIENCE)
    assert answer.out_of_memory, answer
    assert answer.outcome in ("fails", "cannot_judge", "died")
    wanted = [
        Signature(Kind.PROCESS_DEATH, signal="SIGABRT"),
        Signature(Kind.CRASH, exception="RuntimeError", message="no valid layout"),
        Signature(Kind.CRASH, exception="RuntimeError"),
        Signature(Kind.WRONG_RESULT),
        Signature(Kind.HANG),
    ]
    assert not any(make_matcher(signature)(answer) for signature in wanted)
    small = pool.submit("import torch; torch.ones(1 << 20)").result(PATIENCE)
    assert small.outcome == "passes" and not small.out_of_memory


def test_a_death_of_another_cause_still_counts(pool: WorkerPool) -> None:
    answer = pool.submit(str(ENDINGS["abort"][0])).result(PATIENCE)
    assert make_matcher(Signature(Kind.PROCESS_DEATH, signal="SIGABRT"))(answer)


def test_an_endless_loop_is_stopped_with_all_that_it_started_and_its_stack_is_told(
    pool: WorkerPool,
) -> None:
    """It never ends by itself.

    Where the machine does not even get to the loop in time, it is given more of it.
    """
    for limit in (1, 8, 64, 256):
        answer = pool.submit(text("pool/endless"), timeout=limit).result(limit + PATIENCE)
        assert answer.outcome == "timeout" and answer.signal is None
        if answer.stdout:
            started = int(answer.stdout)
            until(lambda: not is_running(started), "the end of what it started")  # noqa: B023
        if "in spin" in answer.detail:
            break
    assert answer.stdout and "in spin" in answer.detail


def test_a_candidate_compiles_with_all_threads_and_without_earlier_results(
    pool: WorkerPool,
) -> None:
    threads = (
        "import torch; print(torch.get_num_threads(), torch._dynamo.utils.counters, torch.rand(1))"
    )
    told = pool.submit(threads).result(PATIENCE).stdout
    count = "import torch; print(torch.get_num_threads())"
    cold = run_cold(interpreter.WARM, count, PATIENCE).stdout
    assert told.split()[0] == cold.strip() and "{}" in told
    assert pool.submit(threads).result(PATIENCE).stdout == told
    assert pool.submit(compiled(2)).result(PATIENCE).outcome == "passes"


def test_overrides_reach_torch_compile_and_the_configs(pool: WorkerPool) -> None:
    program = compiled(3).replace(
        "torch.compile(repro)", "torch.compile(repro, backend='nosuch', mode='max-autotune')"
    )
    assert pool.submit(program).result(PATIENCE).outcome == "fails"
    eager = pool.submit(program, overrides={"backend": "eager"}).result(PATIENCE)
    assert eager.outcome == "passes"
    name = "torch._inductor.config.cpp.threads"
    show = "import torch._inductor.config as c; print(c.cpp.threads)"
    shown = pool.submit(show, overrides={"config": {name: 7}}).result(PATIENCE)
    assert shown.stdout == "7\n"
    config = {"torch._inductor.config.no": 1}
    unknown = pool.submit(show, overrides={"config": config}).result(PATIENCE)
    assert unknown.outcome == "cannot_judge"
    misspelled: Any = {"slowly": True}
    refused = pool.submit(show, overrides=misspelled).result(PATIENCE)
    assert (refused.outcome, refused.detail) == ("cannot_judge", "no override is called slowly")


def test_candidates_do_not_depend_on_those_before(pool: WorkerPool) -> None:
    texts = {
        "poison": text("pool/poison"),
        "clean": compiled(4) + "    import os; print(torch.rand(1).item(), os.listdir('.'))",
        "bad": compiled(4).replace("+ 1", "+ torch.compiler.is_compiling()"),
        "segfault": "import ctypes; ctypes.string_at(0)",
        "none": "x",
    }
    seen = set()
    for seed in range(3):
        order = list(texts) * 2
        random.Random(seed).shuffle(order)
        futures = [(name, pool.submit(texts[name])) for name in order]
        seen |= {
            (name, answer.outcome, answer.signal, answer.exit, answer.stdout)
            for name, answer in ((name, future.result(PATIENCE)) for name, future in futures)
        }
    assert len(seen) == len(texts), sorted(map(str, seen))
    outcomes = {name: outcome for name, outcome, *_ in seen}
    expected = {"poison": "passes", "clean": "passes", "segfault": "died", "none": "broken"}
    assert expected.items() <= outcomes.items()


def test_a_cancelled_candidate_is_killed_and_its_place_is_free(
    pool: WorkerPool, notes: Path
) -> None:
    names = ("first", "second")
    futures = [pool.submit(noting("pool/never_ends", name), timeout=1e6) for name in names]
    pids = [int(words_of(notes / name, 2)[0]) for name in names]
    assert all(is_running(pid) for pid in pids)
    assert all(future.cancel() for future in futures)
    assert pool.submit("pass").result(PATIENCE).outcome == "passes"
    until(lambda: not any(is_running(pid) for pid in pids), "the end of the candidates")


def test_large_texts_and_large_output_do_not_block(pool: WorkerPool) -> None:
    program = "#" * 3_000_000 + "\nraise ValueError('v' * 3_000_000)"
    futures = [pool.submit(program) for _ in range(4)]
    assert {future.result(PATIENCE).outcome for future in futures} == {"fails"}


def test_a_worker_killed_from_outside_is_replaced(pool: WorkerPool, notes: Path) -> None:
    pool.submit("pass").result(PATIENCE)
    starts = pool.starts
    future = pool.submit(noting("pool/ends_the_second_time", "outside"), timeout=1e6)
    candidate, before = map(int, words_of(notes / "outside", 2))
    os.kill(before, signal.SIGKILL)
    assert future.result(PATIENCE).stdout == "done\n"
    after = int(words_of(notes / "outside", 4)[3])
    assert after != before and pool.starts == starts + 1
    until(lambda: not is_running(candidate), "the end of the candidate that it left")


def test_a_candidate_that_kills_its_worker_is_blamed_alone(pool: WorkerPool) -> None:
    guilty = pool.submit(text("pool/kills_its_worker"), timeout=1e6)
    innocent = pool.submit(noting("pool/ends_the_second_time", "innocent"), timeout=1e6)
    assert innocent.result(PATIENCE).outcome == "passes"
    answer = guilty.result(PATIENCE)
    assert answer.outcome == "died" and "twice" in answer.detail


def test_nothing_survives_the_death_of_the_host(tmp_path: Path) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", text("pool/host"), interpreter.WARM, tmp_path],
        stdin=subprocess.PIPE,
        cwd=ROOT,
    )
    assert host.stdin is not None
    host.stdin.write(text("pool/never_ends").encode())
    host.stdin.close()
    pids = list(map(int, words_of(tmp_path / "NOTE", 2)))
    assert all(is_running(pid) for pid in pids)
    host.kill()
    host.wait()
    until(lambda: not any(is_running(pid) for pid in pids), "the end of worker and candidate")


def test_a_fresh_process_can_describe_the_failure() -> None:
    answer = run_cold(interpreter.WARM, "raise ValueError('mine')", PATIENCE, describe=True)
    assert answer.outcome == "fails" and answer.exit == 1
    assert answer.failure is not None and answer.failure["exception"] == "ValueError"


USES_A_DEVICE = """
import torch
assert not torch.cuda.is_initialized() or torch.cuda.is_available()
x = torch.arange(4.0, device="cuda" if torch.cuda.is_available() else "cpu")
assert torch.compile(torch.relu)(x).sum() == 6
"""


def test_forks_of_a_process_that_compiled_nothing_answer_the_same(tmp_path: Path) -> None:
    """What runs candidates that compute on a GPU, which the warm process must not have used."""
    settings = WorkerSettings(None)
    with WorkerPool(interpreter.WARM, 2, dict(os.environ), tmp_path, settings) as pool:
        asked = {name: pool.submit(ENDINGS[name][0]) for name in SPAWNED}
        device = pool.submit(USES_A_DEVICE).result(PATIENCE)
        for name, answer in asked.items():
            _, outcome, signal_name, code, _ = ENDINGS[name]
            found = answer.result(PATIENCE)
            assert (found.outcome, found.signal, found.exit) == (outcome, signal_name, code), found
    assert device.outcome == "passes", device


SPAWNED = ("segfault", "own error", "cannot judge", "syntax", "main module")


@pytest.fixture(scope="module")
def spawning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    """Each of its candidates is a process that imports torch itself, as on systems where a fork is
    unsafe.
    """
    folder = tmp_path_factory.mktemp("spawning")
    given = WorkerSettings("eager", isolation="spawn")
    with WorkerPool(interpreter.WARM, 1, dict(os.environ), folder, given) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("name", SPAWNED)
def test_a_spawned_worker_answers_the_same(spawning: WorkerPool, name: str) -> None:
    program, outcome, signal_name, code, _ = ENDINGS[name]
    answer = spawning.submit(program).result(PATIENCE)
    assert (answer.outcome, answer.signal, answer.exit) == (outcome, signal_name, code), answer


@pytest.mark.slow
def test_the_process_made_ready_beside_a_candidate_outlives_it(spawning: WorkerPool) -> None:
    """PDEATHSIG follows the thread that started a process, and a candidate has one of its own."""
    for _ in range(3):
        answer = spawning.submit("import time; time.sleep(0.3)").result(PATIENCE)
        assert answer.outcome == "passes", answer


@pytest.mark.slow
def test_a_spawned_candidate_that_does_not_end_is_stopped(spawning: WorkerPool) -> None:
    answer = spawning.submit("while True: pass", timeout=1).result(PATIENCE)
    assert answer.outcome == "timeout"


CACHES = """
import torch._functorch.config as functorch
import torch._inductor.config
{}
print(torch._inductor.config.fx_graph_cache, functorch.enable_autograd_cache)
"""


@pytest.mark.parametrize("isolation", ("fork", "spawn"))
def test_a_candidate_has_the_compilers_caches_where_its_failure_is_theirs(
    isolation: Isolation, tmp_path: Path
) -> None:
    settings = WorkerSettings(isolation=isolation)
    with WorkerPool(Path(interpreter.WARM), 1, dict(os.environ), tmp_path, settings) as pool:
        on = CACHES.format("torch._inductor.config.fx_graph_cache = True")
        assert pool.submit(CACHES.format("")).result().stdout == "False False\n"
        assert pool.submit(on).result().stdout == "True True\n"
        assert pool.submit(CACHES.format("")).result().stdout == "False False\n"
