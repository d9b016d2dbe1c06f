"""What passes from one candidate's compiler cache to another's, and what does not stay."""

from __future__ import annotations

import os
import time
from pathlib import Path

from collectors.worker.slot import Slot


def write(path: Path, text: str, when: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (when, when))
    return path


def test_only_what_the_killed_candidate_wrote_is_deleted(tmp_path: Path) -> None:
    slot, started = Slot(str(tmp_path)), time.time()
    old = write(Path(slot.cache) / "ab" / "old.so", "whole", started - 60)
    new = write(Path(slot.cache) / "cd" / "new.so", "half", started + 1)
    slot.purge(started)
    assert old.exists() and not new.exists()


def test_finished_objects_pass_to_other_places_once(tmp_path: Path) -> None:
    first, second, started = Slot(str(tmp_path / "a")), Slot(str(tmp_path / "b")), time.time()
    write(Path(first.cache) / "ab" / "kernel.so", "code", started + 1)
    write(Path(first.cache) / "ab" / "kernel.cpp", "source", started + 1)
    published = first.find_produced(started)
    second.borrow(published)
    first.borrow(published)
    borrowed = Path(second.cache) / "ab" / "kernel.so"
    assert borrowed.read_text() == "code"
    assert not (borrowed.parent / "kernel.cpp").exists()
    borrowed.unlink()
    second.borrow(published)
    assert not borrowed.exists()
    first.purge(0)
    Slot(str(tmp_path / "c")).borrow(published)
