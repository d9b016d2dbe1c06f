"""Whatever ends a check, the store is whole and the same command goes on: nothing lost, nothing
done twice, nothing counted twice.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reporter.check.check import carry_out
from reporter.cli.main import run
from reporter.core.errors import UsageError
from reporter.core.progress import PlainProgress
from reporter.environments import index
from reporter.store.database import open_store
from tests.support import interpreter
from tests.support.checking import (
    FIRST_FIXED,
    Noting,
    go_on,
    lines,
    plan,
    rows,
    start,
)
from tests.support.places import DATA, ROOT
from tests.support.waiting import PATIENCE, until
from tests.support.wheels import make_wheels

REPROS = DATA / "repros"


def killed(words: list[str | Path], store: Path, log: Path, more: int, after: float) -> None:
    """Kills a command some time after it has begun with something new; it would wait before its
    question number `more`.
    """
    known = len(lines(log))
    with start(words, store, stop=more) as process:
        until(lambda: len(lines(log)) > known or process.poll() is not None)
        time.sleep(after)
        assert process.poll() is None
        process.kill()
    assert process.returncode == -signal.SIGKILL


def integrity(path: Path) -> str:
    with open_store(path) as store:
        return str(store.execute("PRAGMA integrity_check").fetchone()[0])


def unfinished(path: Path) -> int:
    with open_store(path) as store:
        return int(store.execute("SELECT COUNT(*) FROM runs WHERE finished IS NULL").fetchone()[0])


def runs_of(path: Path) -> int:
    with open_store(path) as store:
        return int(store.execute("SELECT COUNT(DISTINCT run) FROM checks").fetchone()[0])


def test_killed_at_random_moments_it_goes_on_where_it_was(tmp_path: Path) -> None:
    path, log = tmp_path / "store", tmp_path / "log"
    chance = random.Random(0)
    kills = 4
    for _ in range(kills):
        killed(["check", log], path, log, 12, chance.random() * 0.05)
    with start(["check", log], path) as process:
        assert process.wait(timeout=PATIENCE) == 0
    asked = lines(log)
    # a kill may lose the one result that was not stored yet, never one that was
    assert len(set(asked)) == 60 and len(asked) <= 60 + kills
    assert integrity(path) == "ok"
    assert (rows(path), runs_of(path), unfinished(path)) == (60, 1, 0)


def test_a_search_that_is_killed_at_random_moments_goes_on(tmp_path: Path) -> None:
    repro, log, store = tmp_path / "repro.py", tmp_path / "log", tmp_path / "store"
    repro.write_text("raise SystemExit(0)\n")
    chance = random.Random(3)
    kills = 3
    for _ in range(kills):
        killed(["bisect", log, repro], store, log, 2, chance.random() * 0.05)
    with start(["bisect", log, repro], store) as process:
        document = json.loads(process.communicate(timeout=PATIENCE)[0])
    assert process.returncode == 0
    assert [document[end]["torch"] for end in ("before", "after")] == [
        f"2.{FIRST_FIXED - 1}.0",
        f"2.{FIRST_FIXED}.0",
    ]
    asked = lines(log)
    # two ends and log2(39) halvings; a kill may cost the one answer that was not stored yet
    assert len(set(asked)) <= 8 and len(asked) <= len(set(asked)) + kills
    assert integrity(store) == "ok" and unfinished(store) == 0


def test_two_commands_at_once_and_every_cell_counts_once(tmp_path: Path) -> None:
    path, logs = tmp_path / "store", [tmp_path / f"log{n}" for n in range(2)]
    with start(["check", logs[0]], path, stop=1) as one, start(["check", logs[1]], path, 1) as two:
        until(lambda: all(map(lines, logs)) or one.poll() is not two.poll())
        for process in (one, two):  # both are at it
            go_on(process)
        assert [process.wait(timeout=PATIENCE) for process in (one, two)] == [0, 0]
    with open_store(path) as store:
        counts = "SELECT COUNT(*), COUNT(DISTINCT key || release) FROM checks GROUP BY run"
        assert [tuple(row) for row in store.execute(counts)] == [(60, 60)] * 2
    assert unfinished(path) == 0


def test_a_store_that_cannot_be_used_does_not_stop_a_single_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "store").mkdir()
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")  # nobody listens there
    index.fetch_offers.cache_clear()
    code = run(["check", "--json", "--torch", "9.9.9", str(REPROS / "right.py")])
    said = capsys.readouterr()
    assert code == 125, said.err
    assert json.loads(said.out)["results"][0]["outcome"] == "cannot_judge"
    assert "nothing is kept of this check" in said.err


def command(tmp_path: Path, *words: str | Path) -> subprocess.Popen[str]:
    """`bugreport check`, with its store and its temporary files in `tmp_path`; Ctrl-C reaches
    it.
    """
    environment = {
        **os.environ,
        "BUGREPORT_STORE": str(tmp_path / "store"),
        "TMPDIR": str(tmp_path),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "reporter", "check", *map(str, words)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a suite that a shell started in the background would hand down an ignored Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_ctrl_c_ends_what_runs_and_says_so(tmp_path: Path) -> None:
    repro, began = tmp_path / "hangs.py", tmp_path / "began"
    repro.write_text(f"import pathlib, time\npathlib.Path({str(began)!r}).touch()\n{HANGS}")
    process = command(tmp_path, "--fresh", repro, "--python", interpreter.WARM)
    with process:
        until(lambda: began.exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        talk = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130 and "interrupted" in talk and "Traceback" not in talk
    assert not list(tmp_path.glob("cold-*")) and rows(tmp_path / "store") == 0


@pytest.mark.parametrize("kills", [[3], pytest.param([1, 3], marks=pytest.mark.slow)])
def test_kill_9_of_the_real_thing(tmp_path: Path, kills: list[int]) -> None:
    """Repros in real workers: killed when so many results are stored and one repro does not end,
    then left to come to its end.
    """
    repros, gate = tmp_path / "repros", tmp_path / "gate"
    repros.mkdir()
    for number in range(5):
        text = (REPROS / ("right.py" if number % 2 else "crash.py")).read_text()
        (repros / f"r{number}.py").write_text(text + f"\n# {number}\n")
    (repros / "r5.py").write_text(GATE.format(gate=gate) + (REPROS / "right.py").read_text())
    words = ["--all", "--json", "-j2", repros, "--python", interpreter.WARM]
    for enough in kills:
        with command(tmp_path, *words) as process:
            while stored(tmp_path) < enough and process.poll() is None:
                time.sleep(0.02)
            assert process.poll() is None
            process.kill()
    gate.touch()
    with command(tmp_path, *words) as process:
        output, talk = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, talk
    outcomes = [row["outcome"] for row in json.loads(output)["results"]]
    assert sorted(outcomes) == ["fixed"] * 3 + ["reproduces"] * 3
    path = tmp_path / "store"
    assert integrity(path) == "ok" and (rows(path), runs_of(path)) == (6, 1)


def stored(tmp_path: Path) -> int:
    path = tmp_path / "store"
    return rows(path) if path.exists() else 0


HANGS = "while True:\n    time.sleep(1)\n"
GATE = """\
import os
import time

while not os.path.exists("{gate}"):
    time.sleep(0.05)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 kB, where the user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)], capture_output=True
    )
    if done.returncode != 0:
        pytest.skip("no right to mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_is_really_full(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = small_disk / "store", tmp_path / "log"
    monkeypatch.setenv("BUGREPORT_STORE", str(path))
    with pytest.raises(UsageError, match="make room"), open_store(path) as store:
        (small_disk / "filler").write_bytes(b"x" * 200_000)
        carry_out(plan(2000), Noting(log), store, PlainProgress())
    (small_disk / "filler").unlink()
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    kept = rows(path)
    assert 0 < kept < 2000
    with open_store(path) as store:
        assert store.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        found = carry_out(plan(2000), Noting(log), store, PlainProgress())
    assert len(found.results) == rows(path) == 2000
    assert len(lines(log)) <= 2001


@pytest.mark.slow
def test_a_cache_on_a_disk_that_is_full_or_read_only(small_disk: Path, tmp_path: Path) -> None:
    """The environment that lies there serves; one that would have to be made is said, and costs no
    other.
    """
    wheels = make_wheels(tmp_path / "wheels", "2.98.0", "2.99.0")
    environment = {
        **os.environ,
        "BUGREPORT_STORE": str(tmp_path / "store"),
        "BUGREPORT_RELEASES": str(small_disk),
        "UV_FIND_LINKS": str(tmp_path / "wheels"),
        "UV_NO_INDEX": "1",
    }
    command = [sys.executable, "-m", "reporter"]
    (tmp_path / "repro.py").write_text("import torch\nassert torch.__version__ == '2.98.0'\n")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *words], cwd=ROOT, env=environment, capture_output=True, text=True
        )

    full = run("releases", "add", str(wheels["2.98.0"]))
    assert full.returncode == 125 and "the disk is full" in full.stdout, full.stdout + full.stderr
    subprocess.run(["mount", "-o", "remount,size=400m", str(small_disk)], check=True)
    assert "no environment is cached yet" in run("releases").stdout
    made = run("releases", "add", str(wheels["2.98.0"]))
    assert made.returncode == 0, made.stdout + made.stderr
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    places = [word for wheel in wheels.values() for word in ("--torch", str(wheel))]
    done = run("check", "--json", "--fresh", str(tmp_path / "repro.py"), *places)
    rows = json.loads(done.stdout)["results"]
    outcomes = {row["torch"]: row["outcome"] for row in rows}
    assert outcomes == {"2.98.0": "fixed", "2.99.0": "cannot_judge"}, done.stderr
    assert done.returncode == 0 and "cannot be used" in rows[1]["detail"]
