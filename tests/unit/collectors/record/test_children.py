"""Processes that a program spawns: they begin as the spec says, and outlive the tool."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.entry import bootstrap
from collectors.protocol.starting import CHILD_ENDED
from collectors.record.children import FirstCompileWatcher, follow_run
from collectors.record.watched_callable import WatchedCallable

ROOT = Path(bootstrap.__file__).parents[2]
PROGRAM = """\
import multiprocessing, os, signal, sys
sys.path.insert(0, {root!r})
from collectors.record import children
children.number_children({spec!r}, {{"folder": {folder!r}}}, children.Parent())


def work(number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGSEGV)


if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    started = [context.Process(target=work, args=(number,)) for number in range(2)]
    for process in started:
        process.start()
        process.join()
    print([process.exitcode for process in started])
"""


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_children_go_on_without_the_tool_and_the_signal_that_ends_one_is_noted(
    tmp_path: Path, method: str
) -> None:
    program = tmp_path / "program.py"
    gone = str(tmp_path / "gone" / "spec.json")
    program.write_text(
        PROGRAM.format(root=str(ROOT), spec=gone, folder=str(tmp_path), method=method)
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "[0, -11]\n"
    assert [path.name for path in tmp_path.glob(f"{CHILD_ENDED}*")] == [f"{CHILD_ENDED}1"]
    assert (tmp_path / f"{CHILD_ENDED}1").read_text() == "11"


NESTED = """\
import multiprocessing, os, sys
sys.path.insert(0, {root!r})
from collectors.record import children
children.number_children({spec!r}, {{"folder": {folder!r}}}, children.Parent())
fork = multiprocessing.get_context("fork")


def inner():
    os.abort()


def work():
    process = multiprocessing.get_context({method!r}).Process(target=inner)
    process.start()
    process.join()
    os._exit(5 if process.exitcode == -6 else 1)


if __name__ == "__main__":
    from multiprocessing import forkserver
    forkserver.set_forkserver_preload(["json"])
    forkserver.ensure_running()  # no process is started yet
    process = fork.Process(target=work)
    process.start()
    process.join()
    print(process.exitcode)
"""


# a copy of a process cannot ask its fork server, with or without the tool
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_only_the_programs_own_children_have_numbers(tmp_path: Path, method: str) -> None:
    program = tmp_path / "program.py"
    gone = str(tmp_path / "gone" / "spec.json")
    text = NESTED.format(root=str(ROOT), spec=gone, folder=str(tmp_path), method=method)
    program.write_text(text)
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "5\n", done.stderr
    assert list(tmp_path.glob(f"{CHILD_ENDED}*")) == []


class Process:
    """Stands for one of multiprocessing, in the process itself."""

    def __init__(self, run: Callable[[], None]) -> None:
        self.run = run


def raise_it() -> None:
    raise KeyError("no")


def hand_it_on() -> None:
    try:
        raise_it()
    except KeyError:
        sys.exit(1)


@pytest.mark.parametrize("run", [raise_it, hand_it_on])
def test_the_exception_of_a_process_is_its_own(run: Callable[[], None]) -> None:
    process = Process(run)
    ending = follow_run(process)
    with pytest.raises((KeyError, SystemExit)):
        process.run()
    assert ending["exception"] is not None and ending["exception"]["class"] == "KeyError"


def end_well() -> None:
    try:
        raise_it()
    except KeyError:
        sys.exit(0)


@pytest.mark.parametrize("run", [sys.exit, end_well])
def test_an_end_that_was_asked_for_is_no_exception(run: Callable[[], None]) -> None:
    process = Process(run)
    ending = follow_run(process)
    with pytest.raises(SystemExit):
        process.run()
    assert ending["exception"] is None


def test_a_compiled_call_is_made_where_the_tools_folder_has_gone(tmp_path: Path) -> None:
    watcher = FirstCompileWatcher(str(tmp_path / "gone" / "compiled-by-0"))
    assert watcher.call(WatchedCallable(len, {}), len, ([1],), {}) == 1
