"""`check` and `bisect` of an issue: its program runs in the sandbox, and what it has to show is what the issue says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reporter.errors import CannotJudgeError
from reporter.releases.check import Request, check
from reporter.releases.foreign import is_issue, judged, of_thread
from reporter.releases.plan import Wish
from reporter.releases.release import Release
from reporter.releases.work import Check, Task
from reporter.sandbox import bubblewrap
from reporter.settings import Options
from reporter.triage.thread import read_file
from tests.created import bugreport
from tests.github.conftest import Somebody, tracker
from tests.github.tracker import Tracker

__all__ = ["tracker"]

ISSUES = Path(__file__).parent / "data" / "issues"
LOUD = """Compiling fails with a SystemError.

```python
import os, torch
print(torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)))
raise SystemError("%s" % os.path.exists(r"{home}"))
```

```
SystemError: False
```
"""


def needs_bubblewrap() -> None:
    try:
        bubblewrap.program()
    except CannotJudgeError as error:
        pytest.skip(str(error))


def test_what_is_an_issue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("pytorch/pytorch#1", "https://github.com/a/b/issues/3", "x.org/a/b#1"):
        assert is_issue(name)
    (tmp_path / "issue.md").write_text("text")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b#1").write_text("a file of this name goes before the issue")
    assert is_issue("issue.md") and not any(map(is_issue, ("repro.py", "a/b#1", "gone.md", "a")))


def test_it_travels_as_plain_data() -> None:
    subject = of_thread(read_file(ISSUES / "triu_min.md"))
    task = Task(subject, Release("2.6.0"))
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
    assert subject.foreign is not None and subject.foreign.stated.raised


def test_an_issue_is_fetched_and_its_program_stays_in_the_sandbox(
    tracker: Tracker, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    needs_bubblewrap()
    tracker.add_issue("It fails", LOUD.format(home=tmp_path))
    tracker.add_issue("It fails too", "No code at all.")
    names = ("pytorch/pytorch#1", "https://github.com/pytorch/pytorch/issues/2")
    wish = Wish(python=(sys.executable,))
    found = check(Request(names, wish, person=Somebody()), Options(no_input=True, jobs=1))
    assert [row.outcome for row in found.results] == ["reproduces", "cannot_judge"]
    assert found.results[0].detail == "SystemError: False"  # it did not see our files
    assert found.results[1].detail.startswith("no repro found")
    assert [row.issue for row in found.results] == ["pytorch/pytorch#1", "pytorch/pytorch#2"]
    assert tracker.count("issues/create-comment") == 0


def test_code_that_is_to_be_trusted_is_shown_before_it_runs(tmp_path: Path) -> None:
    person = Somebody(["n"])
    thread = read_file(ISSUES / "triu_min.md")
    with pytest.raises(CannotJudgeError, match="was not run"):
        of_thread(thread, trust=True, person=person)
    assert "import torch" in person.said
    subject = of_thread(thread, trust=True, person=Somebody(["y"]))
    assert subject.foreign is not None and subject.foreign.trust


def test_without_a_sandbox_it_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    subject = of_thread(read_file(ISSUES / "triu_min.md"))
    with pytest.raises(CannotJudgeError, match="bubblewrap is missing"):
        judged(subject, Path(sys.executable), timeout=60, memory=4, jobs=1)


HANGS = """It hangs forever when compiled.

```python
import pathlib, time, torch
torch.compile(lambda x: x + 1, backend="eager")
while True:
    time.sleep(1)
```
"""


@pytest.mark.slow
def test_ctrl_c_ends_what_runs_in_the_sandbox(tmp_path: Path) -> None:
    """Not only the run that is under way: an issue is run several times."""
    pytest.importorskip("torch")
    needs_bubblewrap()
    (tmp_path / "hangs.md").write_text(HANGS)
    environment = {**os.environ, "TMPDIR": str(tmp_path), "BUGREPORT_STORE": str(tmp_path / "s")}
    command = [sys.executable, "-m", "reporter", "check", str(tmp_path / "hangs.md")]
    process = subprocess.Popen(
        [*command, "--python", sys.executable, "--timeout", "600"],
        cwd=Path(__file__).parents[1],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not list(tmp_path.glob("bugreport-sandbox-*/repro.py")):
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    talk = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and "interrupted" in talk and "Traceback" not in talk
    assert not list(tmp_path.glob("bugreport-sandbox-*"))


#: Issue, and what its program shows release by release.
REAL = [
    ("triu_min.md", {"v26": "reproduces", "v213": "fixed"}),
    ("min_uint8.json", {"v213": "reproduces"}),
    ("any_uint8.md", {"v26": "reproduces"}),
    ("divide_zero.md", {"v26": "reproduces", "v213": "fixed"}),
    ("half_threshold.md", {"v213": "cannot_judge"}),  # what it shows is no bug
]


@pytest.mark.releases
@pytest.mark.parametrize(("name", "outcomes"), REAL)
def test_real_issues_on_real_releases(
    name: str, outcomes: dict[str, str], tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
    needs_bubblewrap()
    places = [word for env in outcomes for word in ("--python", str(release_python(env)))]
    done = bugreport("check", "--json", ISSUES / name, *places, cwd=tmp_path, timeout=3000)
    rows: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    assert [row["outcome"] for row in rows] == list(outcomes.values()), rows
    assert done.returncode == (1 if "reproduces" in outcomes.values() else 125)
    assert all(Check.from_json(row).issue == "" for row in rows)


@pytest.mark.releases
def test_what_fixed_an_issue(tmp_path: Path, release_python: Callable[[str], Path]) -> None:
    needs_bubblewrap()
    places = [w for env in ("v26", "v213") for w in ("--python", str(release_python(env)))]
    words = ["bisect", "--json", "--find-fix", ISSUES / "triu_min.md", *places]
    done = bugreport(*words, cwd=tmp_path, timeout=3000)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["found"], done.stderr
    assert [found[end]["torch"] for end in ("before", "after")] == ["2.6.0", "2.13.0"]


@pytest.mark.releases
@pytest.mark.skipif(
    not os.environ.get("BUGREPORT_TEST_INSTALL"),
    reason="installs torch from the index, several GB; set BUGREPORT_TEST_INSTALL",
)
def test_triage_runs_on_releases_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_bubblewrap()
    monkeypatch.setenv("BUGREPORT_RELEASES", os.environ["BUGREPORT_TEST_INSTALL"])
    words = ["triage", "--json", "--quick", "--torch", "2.6.0", "--torch", "2.8.0"]
    done = bugreport(*words, ISSUES / "triu_min.md", cwd=tmp_path, timeout=3000)
    document = json.loads(done.stdout)
    assert (done.returncode, document["status"]) == (0, "reproduces"), done.stderr
    runs = [(run["torch"].partition("+")[0], run["outcome"]) for run in document["runs"]]
    # vectorised code fails to compile on both
    assert runs == [("2.6.0", "fails"), ("2.8.0", "fails")]
