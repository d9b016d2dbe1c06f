"""Whatever ends a check, the store is whole and the same command goes on: nothing lost, nothing done twice, nothing counted twice."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reporter.errors import UsageError
from reporter.progress import PlainProgress
from reporter.releases import runs
from reporter.releases.check import carried_out
from reporter.releases.engine import Keep
from reporter.releases.environments import Environments, Place
from reporter.releases.plan import Plan
from reporter.releases.pools import Pools
from reporter.releases.release import Release, parse
from reporter.releases.subject import Subject
from reporter.releases.work import Bench, Check, Task
from reporter.signature import Signature
from reporter.store.database import opened
from tests.wheels import make_shelf

ROOT = Path(__file__).resolve().parents[1]
REPROS = Path(__file__).parent / "data" / "repros"


class Slowly:
    """An engine that needs no torch: every cell is fixed, after a moment; it notes what it was asked to do."""

    def __init__(self, log: Path, pause: float = 0.0, limit: int = 10**6) -> None:
        self._log, self._pause, self._limit = log, pause, limit

    def run(self, tasks: list[Task], keep: Keep) -> None:
        with self._log.open("a") as log:
            for task in tasks[: self._limit]:
                time.sleep(self._pause)
                log.write(" ".join(task.cell) + "\n")
                log.flush()
                keep(result(task))


def result(task: Task, outcome: str = "fixed") -> Check:
    name, (key, release) = task.subject.name, task.cell
    return Check(name, key, release, release, "3.11", outcome, "", 0.1, (1, 1))  # type: ignore[arg-type]


def plan(size: int = 60) -> Plan:
    subjects = tuple(Subject(f"r{n}", f"k{n}", "pass") for n in range(size // 2))
    return Plan(subjects, (Release("2.6.0"), Release("2.13.0")))


DRIVER = """
import sys
from pathlib import Path
from reporter.progress import PlainProgress
from reporter.releases.check import carried_out
from reporter.store.database import opened
from tests.wheels import make_shelf
from tests.test_check_interrupted import Slowly, plan
with opened() as store:
    carried_out(plan(), Slowly(Path(sys.argv[1]), 0.01), store, PlainProgress())
"""


def start(log: Path, store: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "BUGREPORT_STORE": str(store)}
    command = [sys.executable, "-c", DRIVER, str(log)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)


def rows(path: Path, where: str = "1") -> int:
    with opened(path) as store:
        return int(store.execute(f"SELECT COUNT(*) FROM checks WHERE {where}").fetchone()[0])


def finished(path: Path) -> bool:
    with opened(path) as store:
        found = store.execute("SELECT COUNT(*) FROM runs WHERE finished IS NOT NULL").fetchone()
    return bool(found[0])


def test_killed_at_random_moments_it_goes_on_where_it_was(tmp_path: Path) -> None:
    path, log = tmp_path / "store", tmp_path / "log"
    chance = random.Random(0)
    kills = 0
    while True:
        process = start(log, path)
        begun = rows(path) if path.exists() else 0
        while process.poll() is None and kills < 4:
            if path.exists() and rows(path) > begun:
                time.sleep(chance.random() * 0.3)
                process.kill()
                kills += process.wait() == -signal.SIGKILL
            time.sleep(0.02)
        # one that was killed after its last word is complete, and the same command would begin anew
        if process.wait(timeout=60) == 0 or finished(path):
            break
    assert kills >= 1
    asked = log.read_text().splitlines()
    # a kill may lose the one result that was not stored yet, never one that was
    assert len(set(asked)) == 60 and len(asked) <= 60 + kills
    with opened(path) as store:
        assert store.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert store.execute("SELECT COUNT(*), COUNT(DISTINCT run) FROM checks").fetchone()[:] == (
            60,
            1,
        )
        assert store.execute("SELECT COUNT(*) FROM runs WHERE finished IS NULL").fetchone()[0] == 0


def test_two_commands_at_once_and_every_cell_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "store"
    both = [start(tmp_path / f"log{n}", path) for n in range(2)]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    with opened(path) as store:
        counts = "SELECT run, COUNT(*), COUNT(DISTINCT key || release) FROM checks GROUP BY run"
        assert {row[1:] for row in map(tuple, store.execute(counts))} == {(60, 60)}
        assert store.execute("SELECT COUNT(*) FROM runs WHERE finished IS NULL").fetchone()[0] == 0


def test_a_full_disk_is_said_and_costs_nothing_that_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = tmp_path / "store", tmp_path / "log"
    monkeypatch.setenv("BUGREPORT_STORE", str(path))
    with pytest.raises(UsageError, match=r"full.*make room"), opened(path) as store:
        pages = store.execute("PRAGMA page_count").fetchone()[0]
        store.execute(
            f"PRAGMA max_page_count = {pages + 3}"
        )  # what SQLite says is that of a full disk
        carried_out(plan(400), Slowly(log), store, PlainProgress())
    kept = rows(path)
    assert 0 < kept < 400
    with opened(path) as store:
        found = carried_out(plan(400), Slowly(log), store, PlainProgress())
    assert len(found.results) == 400 and rows(path) == 400
    assert len(log.read_text().splitlines()) <= 401


def test_a_second_result_of_a_cell_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "store"
    tasks = plan(4).tasks({})
    with opened(path) as store, runs.begun(store, path, ["a"], "check") as run:
        assert runs.keep(store, run.id, result(tasks[0]))
        assert not runs.keep(store, run.id, result(tasks[0], "reproduces"))
        assert [check.outcome for check in runs.results(store, run.id)] == ["fixed"]


def test_what_changed_since_the_last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    seen: list[list[str | None]] = []

    class Engine(Slowly):
        def __init__(self, *outcomes: str) -> None:
            self._outcomes = outcomes

        def run(self, tasks: list[Task], keep: Keep) -> None:
            seen.append([task.expected for task in tasks])
            for task, outcome in zip(tasks, self._outcomes):
                keep(result(task, outcome))

    changed = []
    with opened() as store:
        for outcomes in (
            ("reproduces", "fixed"),
            ("cannot_judge", "fixed"),
            ("fixed", "fixed"),
            ("fixed", "reproduces"),
        ):
            found = carried_out(plan(2), Engine(*outcomes), store, PlainProgress())
            changed.append([(c.before, c.check.outcome) for c in found.changes])
    assert changed == [[], [], [("reproduces", "fixed")], [("fixed", "reproduces")]]
    # what cannot be judged is no news: the last judgement stays the expectation
    assert seen == [[None, None], ["reproduces", "fixed"], ["reproduces", "fixed"], ["fixed"] * 2]


def test_a_store_that_cannot_be_used_does_not_stop_a_single_check(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    environment = {**os.environ, "BUGREPORT_STORE": str(tmp_path / "store")}
    command = [sys.executable, "-m", "reporter", "check", "--json", "--torch", "9.9.9"]
    environment["UV_OFFLINE"] = "1"
    done = subprocess.run(
        [*command, str(REPROS / "right.py")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 125, done.stderr
    assert json.loads(done.stdout)["results"][0]["outcome"] == "cannot_judge"
    assert "nothing is kept of this check" in done.stderr


HANGS = """
import time

while True:
    time.sleep(1)
"""


def test_ctrl_c_ends_what_runs_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    environment = {
        **os.environ,
        "BUGREPORT_STORE": str(tmp_path / "store"),
        "TMPDIR": str(tmp_path),
    }
    command = [sys.executable, "-m", "reporter", "check", "--fresh", str(tmp_path / "hangs.py")]
    process = subprocess.Popen(
        [*command, "--python", sys.executable],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("cold-*/run/repro.py")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    talk = process.communicate(timeout=30)[1]
    assert process.returncode == 130 and "interrupted" in talk and "Traceback" not in talk
    assert not list(tmp_path.glob("cold-*")) and rows(tmp_path / "store") == 0


@pytest.mark.slow
def test_kill_9_of_the_real_thing(tmp_path: Path) -> None:
    """Ten repros in real workers, killed at random moments until a run comes to its end."""
    pytest.importorskip("torch")
    repros = tmp_path / "repros"
    repros.mkdir()
    for number in range(10):
        text = (REPROS / ("right.py" if number % 2 else "crash.py")).read_text()
        (repros / f"r{number}.py").write_text(text + f"\n# {number}\n")
    environment = {**os.environ, "BUGREPORT_STORE": str(tmp_path / "store")}
    command = [sys.executable, "-m", "reporter", "check", "--all", "--json", str(repros)]
    command += ["--python", sys.executable]
    chance = random.Random(1)
    code = None
    for _ in range(6):
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            output, _ = process.communicate(timeout=10 + chance.random() * 20)
            code = process.returncode
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    if code is None:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True)
        code, output = done.returncode, done.stdout
    assert code == 1
    outcomes = [row["outcome"] for row in json.loads(output)["results"]]
    assert sorted(outcomes) == ["fixed"] * 5 + ["reproduces"] * 5
    connection = sqlite3.connect(tmp_path / "store")
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert connection.execute("SELECT COUNT(*), COUNT(DISTINCT run) FROM checks").fetchone() == (
        10,
        1,
    )
    connection.close()


def test_what_cannot_have_changed_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    here = Release("/usr/bin/python", python="/usr/bin/python")
    final, nightly = (parse(version) for version in ("2.6.0", "2.16.0.dev20261101"))
    cpu = parse("2.6.0", backend="cpu")
    subjects = plan(4).subjects
    asked = []
    with opened() as store:
        for releases, skip in (
            ((final, nightly, here), False),
            ((final, nightly, here), True),  # what is no release may be another one by now
            ((final, nightly, here), False),
            ((cpu,), True),  # another build than the one that was judged
        ):
            log = tmp_path / f"log{len(asked)}"
            log.touch()
            found = carried_out(
                Plan(subjects, releases, skip=skip), Slowly(log), store, PlainProgress()
            )
            assert len(found.results) == len(releases) * 2 and not found.changes
            assert {check.outcome for check in found.results} == {"fixed"}
            asked.append(sorted({line.split()[1] for line in log.read_text().splitlines()}))
    three = ["/usr/bin/python", "2.16.0.dev20261101", "2.6.0"]
    assert asked == [three, three[:2], three, ["2.6.0"]]


TWINS = [
    ("2.16.0.dev20261102+cpu", "3.11.9", "c0ffee", True),
    ("2.16.0.dev20261102+cu126", "3.11.9", "c0ffee", False),
    ("2.16.0.dev20261102+cpu", "3.12.1", "c0ffee", False),
    ("2.16.0.dev20261102+cpu", "3.11.9", "another", False),
    ("2.16.0.dev20261102+cpu", "3.11.9", None, False),
]


@pytest.mark.parametrize(("build", "python", "git", "is_twin"), TWINS)
def test_a_build_from_a_commit_that_was_judged_is_not_judged_again(
    build: str, python: str, git: str | None, is_twin: bool, tmp_path: Path
) -> None:
    shown = Signature("crash", exception="E", message="m")
    seen = Check(
        "r", "k", "2.16.0.dev20261101", "2.16.0.dev20261101", "3.11.7", "reproduces", "E: m", 9.0,
        (1, 1), "2.16.0.dev20261101+cpu", "c0ffee", shown,
    )  # fmt: skip
    release = parse("2.16.0.dev20261102")
    place = Place(release.label, tmp_path / "gone", build, python, git, False)
    homes = Environments(tmp_path)
    homes._known[release] = place
    task = Task(Subject("r", "k", "pass"), release, fresh=True, alike=(seen,))
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
    with Bench(homes, Pools()) as bench:
        found = bench.perform(task)
    if is_twin:
        assert (found.outcome, found.signature, found.seconds) == ("reproduces", shown, 0.0)
        assert found.build == build and "2.16.0.dev20261101+cpu" in found.detail
    else:
        assert (
            found.outcome == "cannot_judge"
        )  # it would have run, and there is nothing to run it with


BISECT = """
import json, sys
from pathlib import Path
from reporter.releases import bisect, index
from reporter.settings import Options
from tests.test_check_interrupted import Until
index.offers = lambda place=None: tuple(index.Offer(f"2.{n}.0", ((3, 11),), index.PYPI) for n in range(40))
request = bisect.Request(sys.argv[2], good="2.39.0", bad="2.0.0", find_fix=True)
found = bisect.bisect(request, Options(jobs=1, no_input=True), Until(Path(sys.argv[1]), 23))
print(json.dumps(found.to_json()))
"""


class Until(Slowly):
    """The same where every release before 2.N fails."""

    def __init__(self, log: Path, fixed_in: int) -> None:
        super().__init__(log)
        self._fixed_in = fixed_in

    def run(self, tasks: list[Task], keep: Keep) -> None:
        with self._log.open("a") as log:
            for task in tasks:
                time.sleep(0.2)
                log.write(" ".join(task.cell) + "\n")
                log.flush()
                minor = int(task.release.label.split(".")[1])
                keep(result(task, "fixed" if minor >= self._fixed_in else "reproduces"))


def test_a_search_that_is_killed_at_random_moments_goes_on(tmp_path: Path) -> None:
    repro, log = tmp_path / "repro.py", tmp_path / "log"
    repro.write_text("raise SystemExit(0)\n")
    environment = {**os.environ, "BUGREPORT_STORE": str(tmp_path / "store")}
    command = [sys.executable, "-c", BISECT, str(log), str(repro)]
    chance = random.Random(3)
    kills = 0
    while True:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        before = len(log.read_text().splitlines()) if log.exists() else 0
        while process.poll() is None and kills < 3:
            if log.exists() and len(log.read_text().splitlines()) > before:
                time.sleep(chance.random() * 0.2)
                process.kill()
                kills += process.wait() == -signal.SIGKILL
            time.sleep(0.01)
        output = process.communicate(timeout=120)[0]
        if process.returncode == 0:
            break
    document = json.loads(output)
    assert kills == 3
    assert [document[end]["torch"] for end in ("before", "after")] == ["2.22.0", "2.23.0"]
    asked = log.read_text().splitlines()
    # two ends and log2(39) halvings; a kill may cost the one answer that was not stored yet
    assert len(set(asked)) <= 8 and len(asked) <= len(set(asked)) + kills
    with opened(tmp_path / "store") as store:
        assert store.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert store.execute("SELECT COUNT(*) FROM runs WHERE finished IS NULL").fetchone()[0] == 0
        assert store.execute("SELECT COUNT(DISTINCT run) FROM checks").fetchone()[0] == 1


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


@pytest.mark.slow
def test_a_disk_that_is_really_full(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = small_disk / "store", tmp_path / "log"
    monkeypatch.setenv("BUGREPORT_STORE", str(path))
    with pytest.raises(UsageError, match="make room"), opened(path) as store:
        (small_disk / "filler").write_bytes(b"x" * 200_000)
        carried_out(plan(2000), Slowly(log), store, PlainProgress())
    (small_disk / "filler").unlink()
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    kept = rows(path)
    assert 0 < kept < 2000
    with opened(path) as store:
        assert store.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        found = carried_out(plan(2000), Slowly(log), store, PlainProgress())
    assert len(found.results) == rows(path) == 2000
    assert len(log.read_text().splitlines()) <= 2001


@pytest.mark.slow
def test_a_cache_on_a_disk_that_is_full_or_read_only(small_disk: Path, tmp_path: Path) -> None:
    """The environment that lies there serves; one that would have to be made is said, and costs no other."""
    wheels = make_shelf(tmp_path / "wheels", "2.98.0", "2.99.0")
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
    outcomes = {row["release"]: row["outcome"] for row in rows}
    assert outcomes == {"2.98.0": "fixed", "2.99.0": "cannot_judge"}, done.stderr
    assert done.returncode == 0 and "cannot be used" in rows[1]["detail"]
