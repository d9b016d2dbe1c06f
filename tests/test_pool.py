"""Candidates in the warm worker of this interpreter: every ending is told apart and none outlives its own."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reporter.candidate import judge
from reporter.errors import CannotJudgeError
from reporter.reduce.pool import Answer, WorkerPool, run_cold
from reporter.signature import Signature, of_crash

pytest.importorskip("torch")

PYTHON = Path(sys.executable)
COMPILED = """
import torch

def repro(x):
    return (x * {0}).relu() + 1

def main():
    x = torch.ones(40, 40)
    assert torch.equal(torch.compile(repro)(x), repro(x)), "wrong result: output 0"

if __name__ == "__main__":
    main()
"""
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
    "main module": (
        "import sys, os, inspect, __main__\n"
        "def f(): pass\n"
        "assert sys.argv == ['repro.py'] and __name__ == '__main__' and __main__.f is f\n"
        "assert sys.path[0] == os.getcwd() and os.listdir('.') == ['repro.py']\n"
        "assert inspect.getsource(f) == 'def f(): pass\\n'\n"
        "assert not any('collectors' in entry for entry in sys.path)\n"
        "assert sys.stdin.read() == '' and 'MY_TOKEN' not in os.environ\n",
        "passes",
        None,
        0,
        None,
    ),
}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    env = {**os.environ, "MY_TOKEN": "not for candidates"}
    folder = tmp_path_factory.mktemp("pool")
    with WorkerPool(PYTHON, 2, env, folder, memory_limit=1 << 30) as made:
        assert made.submit("pass").result(200).outcome == "passes"
        yield made


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def worker_pid(pool: WorkerPool) -> int:
    assert pool._process is not None
    return pool._process.popen.pid


@pytest.mark.parametrize("name", ENDINGS)
def test_ending(pool: WorkerPool, name: str) -> None:
    text, outcome, signal_name, code, said = ENDINGS[name]
    answer = pool.submit(text, timeout=30).result(60)
    assert (answer.outcome, answer.signal, answer.exit) == (outcome, signal_name, code), answer
    if said is None:
        assert answer.failure is None
    else:
        assert answer.failure is not None
        account = answer.failure
        assert said in "{exception}: {message}".format(**account)
    assert answer.stdout == ("hello\n" if name == "passes" else "")


OUT_OF_MEMORY: dict[str, str] = {
    "tensors": str(ENDINGS["memory"][0]),
    "objects": "kept = []\nwhile True: kept.append(bytearray(1 << 26))",
    "eager alone": "import sys, torch\ntry:\n    torch.ones(1 << 30)\n"
    "except Exception as error:\n    print('eager fails here:', error)\n    sys.exit(125)",
    "the C++ library": "import sys, torch\n"
    "sys.stderr.write('terminate called after throwing an instance of std::bad_alloc')\n"
    "sys.stderr.flush()\nimport os; os.abort()",
}


@pytest.mark.parametrize("name", OUT_OF_MEMORY)
def test_running_out_of_memory_is_an_answer_and_no_bug(pool: WorkerPool, name: str) -> None:
    answer = pool.submit(OUT_OF_MEMORY[name], timeout=30).result(60)
    assert answer.out_of_memory, answer
    assert answer.outcome in ("fails", "cannot_judge", "died")
    wanted = [
        Signature("process_death", signal="SIGABRT"),
        Signature("crash", exception="RuntimeError", message="no valid layout"),
        Signature("crash", exception="RuntimeError"),
        Signature("wrong_result"),
        Signature("hang"),
    ]
    assert not any(judge(signature)(answer) for signature in wanted)
    small = pool.submit("import torch; torch.ones(1 << 20)").result(60)
    assert small.outcome == "passes" and not small.out_of_memory


def test_a_program_whose_bug_is_the_memory_it_takes_is_recognised() -> None:
    failure = {
        "exception": "RuntimeError",
        "first_line": "DefaultCPUAllocator: can't allocate memory: you tried to allocate 7 bytes",
        "message": "DefaultCPUAllocator: can't allocate memory: you tried to allocate 7 bytes",
        "innermost_is_torch": True,
    }
    answer = Answer("fails", failure)
    assert answer.out_of_memory
    assert judge(of_crash("crash", "inductor", failure))(answer)


def test_a_death_of_another_cause_still_counts(pool: WorkerPool) -> None:
    answer = pool.submit(ENDINGS["abort"][0]).result(60)
    assert judge(Signature("process_death", signal="SIGABRT"))(answer)


def test_endless_loop_is_stopped_and_its_stack_is_told(pool: WorkerPool) -> None:
    text = "import subprocess, os\nsubprocess.Popen(['sleep', '987'])\ndef spin():\n    while True: pass\nspin()"
    started = time.monotonic()
    answer = pool.submit(text, timeout=3).result(60)
    assert answer.outcome == "timeout" and answer.signal is None
    assert 2.5 < time.monotonic() - started < 10
    assert "in spin" in answer.detail
    assert not subprocess.run(
        ["pgrep", "-f", "^sleep 987$"], capture_output=True, check=False
    ).stdout


def test_compiles_with_all_threads_and_without_earlier_results(pool: WorkerPool) -> None:
    threads = (
        "import torch; print(torch.get_num_threads(), torch._dynamo.utils.counters, torch.rand(1))"
    )
    told = pool.submit(threads).result(60).stdout
    cold = run_cold(PYTHON, "import torch; print(torch.get_num_threads())", 100).stdout
    assert told.split()[0] == cold.strip() and "{}" in told
    assert pool.submit(threads).result(60).stdout == told
    assert pool.submit(COMPILED.format(2)).result(120).outcome == "passes"


def test_overrides_reach_torch_compile_and_the_configs(pool: WorkerPool) -> None:
    text = COMPILED.format(3).replace(
        "torch.compile(repro)", "torch.compile(repro, backend='nosuch', mode='max-autotune')"
    )
    assert pool.submit(text).result(60).outcome == "fails"
    assert pool.submit(text, overrides={"backend": "eager"}).result(60).outcome == "passes"
    name = "torch._inductor.config.cpp.threads"
    show = "import torch._inductor.config as c; print(c.cpp.threads)"
    assert pool.submit(show, overrides={"config": {name: 7}}).result(60).stdout == "7\n"
    unknown = pool.submit(show, overrides={"config": {"torch._inductor.config.no": 1}}).result(60)
    assert unknown.outcome == "cannot_judge"


def test_candidates_do_not_depend_on_those_before(pool: WorkerPool) -> None:
    texts = {
        "poison": "import torch\ntorch.relu = torch.Tensor.relu = None\ntorch.set_num_threads(1)\n"
        "torch.manual_seed(5)\nimport torch._dynamo.config as c\nc.suppress_errors = True\n"
        "open('left', 'w').close()",
        "clean": COMPILED.format(4) + "    import os; print(torch.rand(1).item(), os.listdir('.'))",
        "bad": COMPILED.format(4).replace("+ 1", "+ torch.compiler.is_compiling()"),
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
            for name, answer in ((name, future.result(120)) for name, future in futures)
        }
    assert len(seen) == len(texts), sorted(map(str, seen))
    outcomes = {name: outcome for name, outcome, *_ in seen}
    expected = {"poison": "passes", "clean": "passes", "segfault": "died", "none": "broken"}
    assert expected.items() <= outcomes.items()


def test_cancelled_candidate_is_killed_and_its_place_is_free(pool: WorkerPool) -> None:
    futures = [pool.submit("while True: pass", timeout=100) for _ in range(2)]
    time.sleep(0.5)
    assert all(future.cancel() for future in futures)
    assert pool.submit("pass").result(5).outcome == "passes"
    time.sleep(0.2)
    assert children(worker_pid(pool)) == []


def test_large_texts_and_large_output_do_not_block(pool: WorkerPool) -> None:
    text = "#" * 3_000_000 + "\nraise ValueError('v' * 3_000_000)"
    futures = [pool.submit(text) for _ in range(4)]
    assert {future.result(60).outcome for future in futures} == {"fails"}


def test_worker_killed_from_outside_is_replaced(pool: WorkerPool) -> None:
    pool.submit("pass").result(60)
    before, starts = worker_pid(pool), pool.starts
    future = pool.submit("import time; time.sleep(1.5); print('done')")
    time.sleep(0.5)
    (candidate,) = children(before)
    os.kill(before, signal.SIGKILL)
    assert future.result(120).stdout == "done\n"
    assert worker_pid(pool) != before and pool.starts == starts + 1
    assert not Path(f"/proc/{candidate}").exists()


def test_candidate_that_kills_its_worker_is_blamed_alone(pool: WorkerPool) -> None:
    killer = "import os, signal, time; time.sleep(0.3); os.kill(os.getppid(), signal.SIGKILL); time.sleep(9)"
    guilty, innocent = pool.submit(killer), pool.submit("import time; time.sleep(0.6)")
    assert innocent.result(180).outcome == "passes"
    answer = guilty.result(180)
    assert answer.outcome == "died" and "twice" in answer.detail


def test_nothing_survives_the_death_of_the_host(tmp_path: Path) -> None:
    host = tmp_path / "host.py"
    host.write_text(
        "import os, sys\nfrom pathlib import Path\nfrom reporter.reduce.pool import WorkerPool\n"
        f"pool = WorkerPool(Path(sys.executable), 1, os.environ, Path({str(tmp_path)!r}), warm_backend='eager')\n"
        "future = pool.submit('print(1, flush=True)\\nwhile True: pass', timeout=500)\n"
        "import time\n"
        "while not (pool._flying and list(pool._flying.values())[0].pid): time.sleep(0.05)\n"
        "print(pool._process.popen.pid, list(pool._flying.values())[0].pid, flush=True)\n"
        "time.sleep(500)\n"
    )
    root = str(Path(__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, str(host)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert process.stdout is not None
    pids = [int(word) for word in process.stdout.readline().split()]
    assert len(pids) == 2 and all(Path(f"/proc/{pid}").exists() for pid in pids)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_interpreter_that_cannot_run_candidates_is_told(tmp_path: Path) -> None:
    missing = tmp_path / "nopython"
    told = pytest.raises(CannotJudgeError, match="cannot run candidates")
    with WorkerPool(missing, 1, {}, tmp_path / "a") as broken, told:
        broken.submit("pass").result(30)
    fake = tmp_path / "fakepython"
    fake.write_text("#!/bin/sh\necho 'no torch here' >&2\nexit 1\n")
    fake.chmod(0o755)
    told = pytest.raises(CannotJudgeError, match="no torch here")
    with WorkerPool(fake, 1, dict(os.environ), tmp_path / "b") as broken, told:
        broken.submit("pass").result(30)


def test_time_limit_follows_the_first_run(tmp_path: Path) -> None:
    with WorkerPool(PYTHON, 1, {}, tmp_path) as unused:
        assert unused.time_limit == 300
        unused.first_seconds = 0.5
        assert unused.time_limit == 20
        unused.first_seconds = 30
        assert unused.time_limit == 95


@pytest.mark.slow
def test_spawned_workers_answer_the_same(tmp_path: Path) -> None:
    with WorkerPool(
        PYTHON, 1, dict(os.environ), tmp_path, warm_backend="eager", isolation="spawn"
    ) as spawned:
        for name in ("own error", "segfault", "cannot judge", "syntax", "main module"):
            text, outcome, signal_name, code, _ = ENDINGS[name]
            answer = spawned.submit(text, timeout=30).result(120)
            assert (answer.outcome, answer.signal, answer.exit) == (
                outcome,
                signal_name,
                code,
            ), answer
        assert spawned.submit("while True: pass", timeout=1).result(60).outcome == "timeout"


@pytest.mark.releases
@pytest.mark.parametrize(
    "release", sorted(Path(os.environ.get("BUGREPORT_TEST_ENVS", "/")).glob("*/bin/python"))
)
def test_forks_compile_and_differentiate_in_every_release(release: Path, tmp_path: Path) -> None:
    text = COMPILED.format(3).replace(
        "torch.ones(40, 40)", "torch.ones(400, 400, requires_grad=True)"
    )
    text = text.replace(
        "if __name__",
        "    torch.compile(repro)(x).sum().backward()\n    print(x.grad[0, 0].item())\n\nif __name__",
    )
    with WorkerPool(release, 1, dict(os.environ), tmp_path) as pool:
        answer = pool.submit(text).result(300)
        assert (answer.outcome, answer.stdout) == ("passes", "3.0\n"), answer
        assert pool.submit("raise OSError(5)").result(60).outcome == "fails"


@pytest.mark.parametrize("name", ["own error", "segfault", "cannot judge", "exit 3"])
def test_cold_run_is_the_plain_command(name: str) -> None:
    text, outcome, signal_name, code, _ = ENDINGS[name]
    answer = run_cold(PYTHON, text, 60)
    assert (answer.outcome, answer.signal, answer.exit) == (outcome, signal_name, code)
    assert answer.failure is None


def test_cold_run_can_describe_the_failure_and_is_stopped_in_time() -> None:
    answer = run_cold(PYTHON, "raise ValueError('mine')", 60, describe=True)
    assert answer.outcome == "fails" and answer.exit == 1
    assert answer.failure is not None and answer.failure["exception"] == "ValueError"
    variables = "import os; print([n for n in os.environ if n.startswith(('TORCHINDUCTOR_F', 'PYTHONHASH'))])"
    assert run_cold(PYTHON, variables, 60, describe=True).stdout == "[]\n"
    assert run_cold(PYTHON, "while True: pass", 1).outcome == "timeout"


def test_answer_survives_json() -> None:
    answer = Answer("died", {"exception": "E"}, "SIGSEGV", -11, "o", "e", "d", 1.5)
    assert Answer.from_json(answer.to_json()) == answer


def test_a_fresh_process_does_not_survive_the_death_of_the_host(tmp_path: Path) -> None:
    """What hangs would else keep a core busy for ever."""
    note = tmp_path / "pid"
    text = f"import os\nopen({str(note)!r}, 'w').write(str(os.getpid()))\nwhile True: pass\n"
    host = tmp_path / "host.py"
    host.write_text(
        "import sys\nfrom pathlib import Path\nfrom reporter.reduce.cold import run_cold\n"
        f"run_cold(Path(sys.executable), {text!r}, 500, None, True)\n"
    )
    root = str(Path(__file__).parents[1])
    process = subprocess.Popen([sys.executable, str(host)], env={**os.environ, "PYTHONPATH": root})
    deadline = time.monotonic() + 60
    while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    pid = int(note.read_text())
    process.kill()
    process.wait()
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Whether a process is there and no zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
