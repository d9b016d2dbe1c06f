"""The limits that the kernel is told."""

from __future__ import annotations

import os

import pytest

from reporter.sandbox import Limits
from reporter.sandbox.limits import GIB, MIB


def test_the_kernel_is_told_every_limit_of_a_process() -> None:
    limits = Limits(memory=5 * MIB, cpu=7.9, file=3 * MIB)
    assert limits.list_prlimit_options() == [
        f"--data={5 * MIB}",
        "--cpu=7:12",
        f"--fsize={3 * MIB}",
        "--core=0",
        "--nofile=4096",
    ]


def test_no_cpu_limit_is_below_a_second() -> None:
    """Zero would be no limit at all."""
    assert "--cpu=1:6" in Limits(cpu=0.2).list_prlimit_options()


def test_threads_and_cpu_time_grow_with_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    limits = Limits()
    assert (limits.tasks, limits.cpu) == (384 + 4 * 64, 4 * 600.0)


def test_a_machine_that_does_not_tell_has_one_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    limits = Limits()
    assert (limits.tasks, limits.cpu) == (448, 600.0)


def test_the_limits_that_nobody_chose() -> None:
    limits = Limits()
    assert (MIB, GIB) == (1 << 20, 1 << 30)
    assert (limits.seconds, limits.memory, limits.file) == (120, 8 * GIB, GIB)
    assert (limits.disk, limits.output, limits.flood) == (2 * GIB, 256 * 1024, 64 * MIB)
