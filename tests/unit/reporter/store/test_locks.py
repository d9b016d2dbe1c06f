"""Locks that end with whoever has them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path

import pytest

from reporter.core.errors import UsageError
from reporter.store import locks
from reporter.store.locks import lock, name_lock_file, try_lock


def test_a_lock_whose_file_goes_with_it_is_never_held_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others come while its holder takes the file away, and after that."""
    path, held = tmp_path / "lock", list[bool]()
    unlink = os.unlink
    with contextlib.ExitStack() as others:

        def come_and_unlink(name: Path) -> None:
            monkeypatch.undo()
            held.append(others.enter_context(try_lock(path)))
            unlink(name)

        with try_lock(path) as is_held:
            assert is_held
            monkeypatch.setattr(os, "unlink", come_and_unlink)
        held.append(others.enter_context(try_lock(path)))
        held.append(others.enter_context(try_lock(path)))
        assert held.count(True) == 1
    assert not path.exists()


def test_a_lock_that_was_opened_before_its_file_went_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, flock = tmp_path / "lock", fcntl.flock

    def come_late(descriptor: int, how: int) -> None:
        monkeypatch.undo()
        path.unlink()
        flock(descriptor, how)

    monkeypatch.setattr("fcntl.flock", come_late)
    with try_lock(path) as is_held, try_lock(path) as is_held_again:
        assert is_held and not is_held_again


def test_where_no_lock_can_be_made_none_is_held(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with try_lock(tmp_path / "file" / "lock") as is_held:
        assert not is_held


def never() -> None:
    raise AssertionError("nobody has this lock")


def test_a_lock_that_is_held_is_waited_for_and_this_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    waits: list[float] = []
    paths = [tmp_path / "deep" / "one", tmp_path / "deep" / "two"]
    held = lock(paths[1:], never)
    held.__enter__()

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            held.__exit__(None, None, None)

    monkeypatch.setattr(locks.time, "sleep", sleep)
    with lock(paths, lambda: said.append("waiting")):
        assert (said, waits) == (["waiting"], [0.1] * 3)
    with lock(paths, never):
        pass


def test_a_lock_is_taken_again_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyError), lock([tmp_path / "one"], never):
        raise KeyError
    with lock([tmp_path / "one"], never):
        pass


def test_only_its_user_may_touch_a_lock(tmp_path: Path) -> None:
    with lock([tmp_path / "locks" / "one"], never):
        for path, mode in (("locks", 0o700), ("locks/one", 0o600)):
            assert stat.S_IMODE(os.stat(tmp_path / path).st_mode) == mode


def test_a_lock_that_cannot_be_made_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    wanted = r"the lock .*file/one cannot be made \(.+\); make that folder writable"
    with pytest.raises(UsageError, match=wanted), lock([tmp_path / "file" / "one"], never):
        pass


def test_each_subject_has_a_lock_of_its_own_beside_the_store(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite3"
    one = name_lock_file(store, "a", "b")
    assert one.parent == tmp_path / "store.sqlite3.locks" and len(one.name) == 16
    assert one == name_lock_file(store, "a", "b")
    others = [name_lock_file(store, *words) for words in (("ab",), ("b", "a"), ("a",), ())]
    assert len({one, *others}) == 5
