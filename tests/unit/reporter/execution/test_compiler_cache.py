"""The cache of a warm-up outlives it, and no file that may be half written is ever lent."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from reporter.execution.compiler_cache import (
    HEADERS,
    WarmCache,
    is_ready,
    lend_headers,
    prefill,
)


def test_a_warm_cache_is_lent_only_when_it_is_complete(tmp_path: Path) -> None:
    warm = WarmCache(tmp_path / "warm")
    folder = warm.claim()
    assert folder is not None and WarmCache(folder).claim() is None  # somebody lives there
    (folder / "ab").mkdir()
    (folder / "ab" / "check.so").write_text("x")
    (folder / HEADERS).mkdir()
    for name in ("c1.h", "c1.h.gch"):
        (folder / HEADERS / name).write_text("x")
    prefill(tmp_path / "early", folder)
    lend_headers(tmp_path / "early-tmp", folder)
    assert not list((tmp_path / "early").iterdir()) and not (tmp_path / "early-tmp").exists()
    warm.release()
    prefill(tmp_path / "late", folder)
    lend_headers(tmp_path / "late-tmp", folder)
    assert (tmp_path / "late" / "ab" / "check.so").exists()
    lent = sorted(path.name for path in (tmp_path / "late-tmp").glob("torchinductor_*/*/*"))
    assert lent == ["c1.h", "c1.h.gch"]


def test_what_is_whole_is_lent_while_another_warm_up_is_under_way(tmp_path: Path) -> None:
    first = WarmCache(tmp_path / "warm")
    folder = first.claim()
    assert folder is not None
    for name in (Path("ab", "check.so"), Path(HEADERS, "c1.h.gch")):
        (folder / name).parent.mkdir()
        (folder / name).write_text("x")
    first.release()
    assert is_ready(folder)
    second = WarmCache(folder)
    assert second.claim() == folder
    (folder / "ab" / "half.so").write_text("x")
    third = WarmCache(folder)
    assert third.claim() is None
    lent = third.borrow(tmp_path / "own")
    found = sorted(str(path.relative_to(lent)) for path in lent.rglob("*") if path.is_file())
    assert found == ["ab/check.so", f"{HEADERS}/c1.h.gch"]


def test_what_a_killed_warm_up_left_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "warm"
    folder.mkdir()
    (folder / "half").write_text("x")
    gone = subprocess.Popen(["true"])
    gone.wait()
    (folder / "warm-up-in-progress").write_text(str(gone.pid))
    assert WarmCache(folder).claim() == folder
    assert not (folder / "half").exists()


def test_a_warm_up_of_another_machine_with_the_same_home_is_let_be_for_an_hour(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "warm"
    folder.mkdir()
    (folder / "theirs").write_text("x")
    gone = subprocess.Popen(["true"])
    gone.wait()
    marker = folder / "warm-up-in-progress"
    marker.write_text(f"{gone.pid} another.host.example")
    assert WarmCache(folder).claim() is None and (folder / "theirs").exists()
    os.utime(marker, (0, time.time() - 3700))
    assert WarmCache(folder).claim() == folder and not (folder / "theirs").exists()


def test_the_compiled_header_of_kernels_is_linked_where_it_is_wanted(tmp_path: Path) -> None:
    warm = WarmCache(tmp_path / "warm")
    folder = warm.claim()
    assert folder is not None
    (folder / "ab").mkdir()
    for name in ("prefix.h", "prefix.h.gch"):
        (folder / "ab" / name).write_text("x")
    warm.release()
    prefill(tmp_path / "cold", folder)
    prefill(tmp_path / "rungs", folder, with_prefix=True)
    assert [path.name for path in (tmp_path / "cold" / "ab").iterdir()] == ["prefix.h"]
    assert (tmp_path / "rungs" / "ab" / "prefix.h.gch").stat().st_nlink == 2
