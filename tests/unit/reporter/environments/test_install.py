"""The commands of an installer, and what is told of one that failed."""

from __future__ import annotations

from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from reporter.check.pools import Pools
from reporter.check.subject import CheckSubject
from reporter.check.work import Task, TaskRunner
from reporter.core.errors import CannotJudgeError, InstallerEndedError
from reporter.environments import index
from reporter.environments.environments import Environments
from reporter.environments.install import (
    choose_numpy,
    find_reason,
    list_plainer_builds,
)
from reporter.environments.release import Release
from tests.support.checking import lines, make_uv
from tests.support.waiting import until


def test_numpy_is_one_that_the_release_can_use() -> None:
    wanted = ["2.0.1", "2.2.2", "2.3.0", "2.3.0.dev20240301", "2.13.0", "2.15.0+cpu"]
    assert [choose_numpy(version) for version in wanted] == ["numpy<2"] * 2 + ["numpy"] * 4


@pytest.mark.parametrize(
    ("ending", "error", "tried"),
    [
        ("kill -INT $$", InstallerEndedError, 1),  # Ctrl-C reaches all processes of a terminal
        ("exit 130", InstallerEndedError, 1),
        ("kill -KILL $$", InstallerEndedError, 1),
        ("exit 1", CannotJudgeError, 2),
    ],
)
def test_nothing_is_tried_in_place_of_an_installation_that_a_signal_has_ended(
    ending: str, error: type[CannotJudgeError], tried: int, tmp_path: Path
) -> None:
    installer = make_uv(tmp_path, ending)
    with pytest.raises(CannotJudgeError) as caught:
        installer.install(tmp_path / "python", Release("2.6.0", version="2.6.0"))
    assert type(caught.value) is error and len(lines(tmp_path / "log")) == tried


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TaskRunner:
    """One whose installer begins and never ends; it has no index to ask."""
    monkeypatch.setattr(index, "fetch_offers", lambda place=None: ())
    installer = make_uv(tmp_path, "[ $1 = python ] || exec sleep 600")
    return TaskRunner(Environments(tmp_path / "cache", installer=installer), Pools())


RELEASE = Release("2.6.0", version="2.6.0", index="https://example.org/simple")
TASK = Task(CheckSubject("r", "k", "pass"), RELEASE)


def count_installations(folder: Path) -> int:
    return sum(line.startswith("venv") for line in lines(folder / "log"))


def test_a_check_that_is_stopped_ends_its_installation_and_begins_no_other(
    runner: TaskRunner, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as threads:
        # the second one waits for the environment that the first one makes
        checks = [threads.submit(runner.perform, TASK) for _ in range(2)]
        until(lambda: count_installations(tmp_path))
        runner.stop()
    assert [type(check.exception()) for check in checks] == [CancelledError] * 2
    assert count_installations(tmp_path) == 1
    assert not list((tmp_path / "cache").glob("*/"))


def test_a_check_that_is_stopped_does_not_wait_for_the_installation_of_another_command(
    runner: TaskRunner, tmp_path: Path
) -> None:
    said: list[str] = []
    runner.environments.say = said.append
    (tmp_path / "cache").mkdir()
    with FileLock(tmp_path / "cache" / f"{RELEASE.folder_name}.lock"):
        with ThreadPoolExecutor(1) as threads:
            check = threads.submit(runner.perform, TASK)
            until(lambda: said)
            runner.stop()
        assert isinstance(check.exception(), CancelledError) and len(said) == 1
    assert count_installations(tmp_path) == 0


def test_the_build_for_this_machine_is_tried_before_the_plain_one() -> None:
    plain = Release("2.6.0", version="2.6.0")
    assert [item.backend for item in list_plainer_builds(plain)] == ["auto", None]
    named = Release("2.6.0", version="2.6.0", backend="cu124")
    assert list(list_plainer_builds(named)) == [named]


SAID = [
    ("error: No space left on device (os error 28)", "the disk is full"),
    ("error: Failed to fetch: `https://x/`\n  Caused by: dns error", "the index cannot be reached"),
    (
        "  × No solution found: Because there is no version of torch==9.9.9",
        "no wheel of it fits this machine",
    ),
    ("cause: error sending request for url\n  cause: operation timed out", "the index does not"),
    ("THESE PACKAGES DO NOT MATCH THE HASHES", "what the index sent is not the whole wheel"),
    ("Wheel version does not match filename (2 != 3)", "the index sent a wheel of something else"),
    ("", "the installer gave no reason"),
]


@pytest.mark.parametrize(("output", "words"), SAID)
def test_why_an_installation_failed_is_told_in_a_line(output: str, words: str) -> None:
    assert find_reason(output).startswith(words) and "\n" not in find_reason(output)


def test_the_login_of_an_index_is_not_told() -> None:
    told = find_reason("error: Failed to fetch: `https://me:secret@example.org/simple/torch/`")
    assert "`https://example.org/simple/torch/`" in told and "secret" not in told
