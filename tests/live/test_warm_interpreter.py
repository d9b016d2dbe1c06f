"""The warm interpreter of the tests stands for the real one: where it does not, the tests of the
product prove nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support import interpreter

#: Seconds after which a process that should have ended has not.
PATIENCE = 180


def run(
    python: Path, *words: str | Path, text: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *words], input=text, capture_output=True, text=True, timeout=PATIENCE, env=env
    )


PROGRAM = """
import atexit, json, os, sys
print(json.dumps({
    "argv": sys.argv, "first": sys.path[0], "name": __name__, "file": globals().get("__file__"),
    "cwd": os.getcwd(), "word": os.environ.get("A_WORD"), "read": sys.stdin.read(),
    "main": sys.modules["__main__"].__dict__ is globals(), "prefix": sys.prefix,
    "executable": sys.executable, "bytecode": sys.dont_write_bytecode,
}))
atexit.register(print, "the end")
print("to stderr", file=sys.stderr)
"""


@pytest.mark.parametrize("way", ["file", "-c", "-m"])
def test_a_program_finds_what_it_would_find_in_a_fresh_process(way: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = {
        "file": ["program.py", "a", "--b"],
        "-c": ["-c", PROGRAM, "a"],
        "-m": ["-m", "program", "a"],
    }[way]
    env = {**os.environ, "A_WORD": "said", "PYTHONDONTWRITEBYTECODE": "1"}
    ends = []
    # the first use of an environment may be a fresh process, what follows is a fork
    for python in (interpreter.COLD, interpreter.WARM, interpreter.WARM):
        done = subprocess.run(
            [python, *words], cwd=tmp_path, env=env, input="given", capture_output=True, text=True
        )
        ends.append((done.returncode, done.stdout, done.stderr))
    assert ends[0] == ends[1] == ends[2]
    assert ends[0][1].endswith("the end\n")


ENDINGS = {
    "returns": "pass",
    "exits": "import sys; sys.exit(7)",
    "says why it exits": "import sys; sys.exit('no')",
    "raises": "def f():\n    raise ValueError('no')\nf()",
    "aborts": "import os; os.abort()",
    "is killed": "import os; os.kill(os.getpid(), 9)",
    "leaves without a word": "import os; os._exit(3)",
    "is interrupted": "raise KeyboardInterrupt",
}


@pytest.mark.parametrize("text", ENDINGS.values(), ids=ENDINGS)
def test_a_program_ends_as_it_would_in_a_fresh_process(text: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(text)
    ends = [run(python, script) for python in (interpreter.COLD, interpreter.WARM)]
    assert ends[0].returncode == ends[1].returncode
    assert ends[0].stderr == ends[1].stderr


def test_what_cannot_be_forked_is_given_to_the_real_interpreter() -> None:
    done = run(interpreter.WARM, "-I", "-c", "import sys; print(sys.flags.isolated)")
    assert done.stdout == "1\n"


def test_a_descriptor_is_passed_on_under_its_number() -> None:
    reading, writing = os.pipe()
    code = f"import os; os.write({writing}, b'heard'); os.close({writing})"
    process = subprocess.Popen([interpreter.WARM, "-c", code], pass_fds=[writing])
    os.close(writing)
    with open(
        reading, "rb"
    ) as stream:  # ends when the program has closed it, and nobody else holds it
        assert stream.read() == b"heard"
    assert process.wait(PATIENCE) == 0


def test_a_second_program_sees_nothing_of_the_first() -> None:
    change = (
        "import torch, os; torch._dynamo.config.cache_size_limit = 1; torch.set_num_threads(1); "
        "os.environ['LEFT'] = 'behind'; "
        "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))"
    )
    look = (
        "import torch, os; print(torch._dynamo.config.cache_size_limit, os.environ.get('LEFT'), "
        "dict(torch._dynamo.utils.counters), torch.get_num_threads())"
    )
    before = run(interpreter.WARM, "-c", look).stdout
    assert run(interpreter.WARM, "-c", change).returncode == 0
    assert run(interpreter.WARM, "-c", look).stdout == before != ""


def test_random_numbers_are_not_those_of_the_program_before() -> None:
    code = "import torch, random; print(torch.rand(1).item(), random.random())"
    assert run(interpreter.WARM, "-c", code).stdout != run(interpreter.WARM, "-c", code).stdout


@pytest.mark.slow
def test_the_temporary_folder_of_who_asked_first_may_go(tmp_path: Path) -> None:
    code = "import torch._inductor.codecache as c; print(c._HEADER_DIR)"
    for number in range(3):  # the first is a fresh process, then comes a server
        folder = tmp_path / str(number)
        folder.mkdir()
        env = {**os.environ, "PYTORCH_OF_THIS_TEST": "1", "TMPDIR": str(folder)}
        headers = run(interpreter.WARM, "-c", code, env=env).stdout.strip()
    assert Path(headers).is_relative_to(interpreter.session())


@pytest.mark.slow
def test_a_variable_that_torch_reads_at_import_is_heeded() -> None:
    code = "import torch._inductor.config as c; print(c.fx_graph_cache, c.compile_threads)"
    env = {
        **os.environ,
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    for _ in range(3):  # the first is a fresh process, those after it have a server of their own
        assert run(interpreter.WARM, "-c", code, env=env).stdout == "False 1\n"


def test_whoever_kills_what_was_started_ends_the_program(tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = (
        f"import os, time; open({str(started)!r} + '~', 'w').write(str(os.getpid())); "
        f"os.rename({str(started)!r} + '~', {str(started)!r}); time.sleep(1000)"
    )
    process = subprocess.Popen([interpreter.WARM, "-c", code], start_new_session=True)
    until(started.exists)
    pid = int(started.read_text())
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait(PATIENCE) == -signal.SIGKILL
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_signal_reaches_the_program(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        "print('ready', flush=True)\nwhile True:\n    time.sleep(0.1)"
    )
    process = subprocess.Popen([interpreter.WARM, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.terminate()
    assert process.wait(PATIENCE) == 5


def test_many_programs_run_at_once() -> None:
    ends: list[str] = []

    def one(number: int) -> None:
        ends.append(run(interpreter.WARM, "-c", f"print({number})").stdout)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, ends)) == list(range(12))


def until(condition: object) -> None:
    """Waits for an event that is certain to come, whatever else the machine does."""
    assert callable(condition)
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
