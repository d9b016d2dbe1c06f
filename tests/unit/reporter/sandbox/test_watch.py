"""How much a tree of processes takes, asked of processes that this test starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from reporter.sandbox import watch
from tests.support.waiting import until

MIB = 2**20
#: Two processes that share what the first one wrote.
SHARES = (
    "import os, sys; kept = bytearray(b'x' * (32 << 20)); os.fork();"
    " print(end='.', flush=True); sys.stdin.read()"
)
THREADS = """
import sys, threading
for _ in range(3): threading.Thread(target=threading.Event().wait, daemon=True).start()
print(end="..", flush=True); sys.stdin.read()
"""


@contextmanager
def started(program: str) -> Iterator[int]:
    """A Python that has printed two dots, and ends with its input."""
    command = [sys.executable, "-IS", "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.read(2) == b".."
        yield process.pid
        process.stdin.close()


def test_processes_and_their_threads_are_counted() -> None:
    with started(THREADS) as pid:
        until(lambda: watch.measure_usage(pid).tasks == 4, "three threads")
        assert watch.measure_usage(pid).pids == (pid,)
        assert pid in watch.measure_usage(os.getpid()).pids


def test_children_belong_to_the_tree_and_shared_pages_count_in_each() -> None:
    with started(SHARES) as pid:
        found = watch.measure_usage(pid)
        assert found.pids[0] == pid and len(found.pids) == found.tasks == 2
        assert 64 * MIB <= found.memory < 200 * MIB
        assert 32 * MIB <= watch.measure_proportional_memory(found.pids) < 64 * MIB


def test_a_process_that_is_gone_takes_nothing() -> None:
    with started(SHARES) as pid:
        pass
    assert watch.measure_usage(pid) == watch.Usage(0, 0, ())
    assert watch.measure_proportional_memory((pid,)) == 0


def test_a_users_tasks_are_those_of_nobody_else() -> None:
    with started(SHARES):
        assert watch.count_tasks(os.getuid()) >= 3
    assert watch.count_tasks(2**31 - 7) == 0


def test_a_machine_is_full_below_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "FLOOR", 1.1)
    assert watch.is_machine_full()
    monkeypatch.setattr(watch, "FLOOR", 0.0)
    assert not watch.is_machine_full()


def test_the_floor_is_a_small_part_of_the_memory() -> None:
    assert watch.FLOOR == 0.03


@pytest.mark.parametrize(
    ("blocks", "free", "is_full"),
    [
        (1000, 0, True),
        (1000, 9, True),
        (1000, 10, False),
        (1000, 999, False),
        (100_000, 999, True),
        (100_000, 1000, False),
        (0, 0, False),
    ],
)
def test_a_disk_is_full_with_less_than_a_hundredth_free(
    blocks: int, free: int, is_full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def statvfs(path: str) -> SimpleNamespace:
        asked.append(path)
        return SimpleNamespace(f_blocks=blocks, f_bavail=free)

    monkeypatch.setattr(os, "statvfs", statvfs)
    assert watch.is_disk_full(17, "/tmp") is is_full
    assert asked == ["/proc/17/root/tmp"]


def test_a_disk_of_a_process_that_is_gone_is_not_full(monkeypatch: pytest.MonkeyPatch) -> None:
    def statvfs(path: str) -> SimpleNamespace:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "statvfs", statvfs)
    assert not watch.is_disk_full(17, "/tmp")
