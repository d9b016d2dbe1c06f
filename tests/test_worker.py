"""The target side's pieces that need no torch: loading, places, overrides, endings."""

from __future__ import annotations

import ast
import json
import json.decoder
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from collectors import candidate
from collectors.slot import Slot
from collectors.worker_main import load_package
from reporter.reduce.warm_cache import HEADERS, WarmCache, lend_headers, prefill

FOLDER = Path(candidate.__file__).parent
OURS = ("candidate.py", "early_end.py", "slot.py", "worker.py", "worker_main.py")


def write(path: Path, text: str, age: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


@pytest.mark.parametrize("name", OURS)
def test_syntax_is_that_of_python_3_9(name: str) -> None:
    ast.parse((FOLDER / name).read_text(), feature_version=(3, 9))


def test_package_is_loaded_without_a_trace_on_the_path() -> None:
    before = list(sys.path)
    try:
        module = load_package(str(FOLDER), "_private_for_a_test")
        assert list(module.__path__) == [str(FOLDER)]
        assert sys.path == before and "collectors" not in module.__name__
    finally:
        sys.modules.pop("_private_for_a_test", None)


def test_users_modules_win_over_ours(tmp_path: Path) -> None:
    """A candidate run by the entry point imports the user's ``worker``, not the one next to it."""
    write(tmp_path / "worker.py", "name = 'mine'")
    (tmp_path / "run").mkdir()
    (tmp_path / "out").mkdir()
    command = [sys.executable, str(FOLDER / "worker_main.py"), "once", "--folder", str(tmp_path)]
    text = "import worker; print(worker.name)\ntry:\n    import slot\nexcept ImportError: print('no slot')"
    request = json.dumps({"id": 0, "timeout": 9, "text": text}) + "\n"
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, input=request, text=True, env=env, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "stdout").read_text() == "mine\nno slot\n"


def test_purge_deletes_only_what_the_killed_candidate_wrote(tmp_path: Path) -> None:
    slot = Slot(str(tmp_path))
    old = write(Path(slot.cache) / "ab" / "old.so", "whole", age=60)
    new = write(Path(slot.cache) / "cd" / "new.so", "half")
    slot.purge(time.time() - 1)
    assert old.exists() and not new.exists()


def test_finished_objects_pass_to_other_places_once(tmp_path: Path) -> None:
    first, second = Slot(str(tmp_path / "a")), Slot(str(tmp_path / "b"))
    write(Path(first.cache) / "ab" / "kernel.so", "code")
    write(Path(first.cache) / "ab" / "kernel.cpp", "source")
    published = first.produced(time.time() - 1)
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


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"backend": "eager"}, {"backend": "eager", "dynamic": True}),
        ({"mode": None}, {"mode": None, "options": {"a": 1}, "dynamic": True}),
        ({"dynamic": False}, {"mode": "m", "options": {"a": 1}, "dynamic": False}),
        (
            {"backend": "inductor"},
            {"backend": "inductor", "mode": "m", "options": {"a": 1}, "dynamic": True},
        ),
    ],
)
def test_overrides_replace_arguments(arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    def compile(model: object, **given: Any) -> dict[str, Any]:
        return given

    replaced = candidate._overridden(compile, arguments)
    assert replaced(None, mode="m", options={"a": 1}, dynamic=True) == expected


def test_settings_are_found_by_their_full_name() -> None:
    before = json.decoder.FLAGS
    try:
        candidate._set_config("json.decoder.FLAGS", 5)
        assert json.decoder.FLAGS == 5
        with pytest.raises(candidate.Unsupported, match=r"json\.decoder\.NONE"):
            candidate._set_config("json.decoder.NONE", 1)
    finally:
        json.decoder.FLAGS = before


def test_account_of_a_failure_survives_a_broken_exception() -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert candidate.describe(Hostile())["exception"] == "Hostile"


def test_signal_names() -> None:
    assert candidate.signal_name(11) == "SIGSEGV"
    assert candidate.signal_name(200) == "200"


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


def test_what_a_killed_warm_up_left_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "warm"
    folder.mkdir()
    (folder / "half").write_text("x")
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    (folder / "warm-up-in-progress").write_text(str(gone.pid))
    assert WarmCache(folder).claim() == folder
    assert not (folder / "half").exists()
