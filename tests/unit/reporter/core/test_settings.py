"""Where a setting can come from, which place wins, and what is said about a value that cannot be
used.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reporter.core import setting_sources as module
from reporter.core.errors import UsageError
from reporter.core.setting_sources import resolve
from reporter.core.settings import Options, list_settings


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project below which the run happens, and a user file beside it."""
    monkeypatch.setattr(module, "find_user_file", lambda: tmp_path / "user" / "config.toml")
    monkeypatch.delenv("BUGREPORT_EVIDENCE")  # what all other tests share
    (tmp_path / "user").mkdir()
    (tmp_path / "project" / "deep").mkdir(parents=True)
    return tmp_path


def write_project(places: Path, text: str) -> None:
    (places / "project" / "pyproject.toml").write_text(f"[tool.bugreport]\n{text}\n")


def write_user(places: Path, text: str) -> None:
    (places / "user" / "config.toml").write_text(text)


def resolved(places: Path, **flags: object) -> Options:
    return resolve(flags, None, (), cwd=places / "project" / "deep")


def test_each_place_beats_the_next(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolved(places).seed == 0
    write_user(places, "seed = 1")
    assert resolved(places).seed == 1
    write_project(places, "seed = 2")
    assert resolved(places).seed == 2
    monkeypatch.setenv("BUGREPORT_SEED", "3")
    assert resolved(places).seed == 3
    assert resolved(places, seed="4").seed == 4


def test_a_place_that_is_silent_leaves_the_word_to_the_next(places: Path) -> None:
    write_user(places, "seed = 1\njobs = 5")
    write_project(places, "seed = 2")
    options = resolved(places, seed=None)
    assert (options.seed, options.jobs) == (2, 5)


def test_an_empty_variable_is_unset(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUGREPORT_SEED", "")
    assert resolved(places).seed == 0


def test_the_script_and_what_is_meant_for_one_run_only_come_from_the_command_line(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MODULE", "RESUME", "SUMMARY", "FORCE", "SCRIPT", "ARGS", "CWD"):
        monkeypatch.setenv(f"BUGREPORT_{name}", "1")
    assert resolved(places) == Options(cwd=places / "project" / "deep")


READS: list[tuple[str, object, object]] = [
    ("jobs", "3", 3),
    ("jobs", 3, 3),
    ("seed", "7", 7),
    ("timeout", "0.5", 0.5),
    ("timeout", 60, 60.0),
    ("json", "yes", True),
    ("json", False, False),
    ("no_input", "0", False),
    ("repo", "pytorch/pytorch", "pytorch/pytorch"),
    ("memory", "0.5", 0.5),
    ("workers", "spawn", "spawn"),
    ("differs_from", ["/a/python", "python3.12"], (Path("/a/python"), Path("python3.12"))),
    ("differs_from", "/a/python:/b", (Path("/a/python"), Path("/b"))),
]


@pytest.mark.parametrize(("name", "value", "expected"), READS)
def test_a_value_is_read_from_text_and_from_toml(
    name: str, value: object, expected: object, places: Path
) -> None:
    assert getattr(resolved(places, **{name: value}), name) == expected


REFUSALS: list[tuple[str, object]] = [
    ("jobs", "0"),
    ("jobs", "2.5"),
    ("jobs", 2.5),
    ("jobs", True),
    ("jobs", "many"),
    ("seed", "-1"),
    ("seed", str(2**63)),
    ("timeout", "0"),
    ("timeout", "nan"),
    ("timeout", "inf"),
    ("timeout", ["1"]),
    ("json", "maybe"),
    ("python", ""),
    ("python", 3),
    ("repo", " "),
    ("memory", "0"),
    ("memory", "much"),
    ("workers", "threads"),
    ("differs_from", []),
    ("differs_from", "/a::/b"),
    ("differs_from", ["/a", 3]),
    ("differs_from", 3),
]


@pytest.mark.parametrize(("name", "value"), REFUSALS)
def test_unusable_values_are_refused_by_name(name: str, value: object, places: Path) -> None:
    with pytest.raises(UsageError) as caught:
        resolved(places, **{name: value})
    assert str(caught.value).startswith(
        f"{list_settings()[name].long_flag} is {value!r}, but must be "
    )


def test_a_refusal_names_the_place(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_user(places, "jobs = 0")
    with pytest.raises(UsageError, match=r"^jobs in .*user.config\.toml is 0, but"):
        resolved(places)
    write_project(places, "jobs = 'x'")
    with pytest.raises(UsageError, match=r"^jobs in \[tool\.bugreport\] of .*pyproject\.toml is"):
        resolved(places)
    monkeypatch.setenv("BUGREPORT_JOBS", "-1")
    with pytest.raises(UsageError, match=r"^BUGREPORT_JOBS is '-1', but"):
        resolved(places)


FILES: list[tuple[str, str]] = [
    ("keep-sources = true", "has no setting 'keep-sources'; there is keep-source"),
    ("summary = 'x'", "has no setting 'summary'; there is "),
    ("jobs = ", "cannot be read as TOML"),
]


@pytest.mark.parametrize(("text", "message"), FILES)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(
    text: str, message: str, places: Path
) -> None:
    write_project(places, text)
    with pytest.raises(UsageError) as caught:
        resolved(places)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_tools_in_the_project_file_are_none_of_our_business(places: Path) -> None:
    (places / "project" / "pyproject.toml").write_text("[tool.black]\nline-length = 100\n")
    assert resolved(places).seed == 0


def test_only_the_nearest_project_counts(places: Path) -> None:
    write_project(places, "seed = 2")
    (places / "project" / "deep" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert resolved(places).seed == 0


def test_paths_are_relative_to_the_place_that_names_them(places: Path) -> None:
    write_project(places, "output = 'out'")
    project = places / "project"
    assert resolved(places).output == project / "out"
    assert resolved(places, output="out").output == project / "deep" / "out"
    assert resolved(places, output="/tmp/out").output == Path("/tmp/out")


def test_each_of_several_paths_is_relative_to_the_place_that_names_it(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(places, "differs-from = ['envs/old', 'python3.9']")
    project = places / "project"
    assert resolved(places).differs_from == (project / "envs" / "old", Path("python3.9"))
    monkeypatch.setenv("BUGREPORT_DIFFERS_FROM", "old:./new")
    assert resolved(places).differs_from == (Path("old"), project / "deep" / "new")
    assert resolved(places, differs_from=["/x"]).differs_from == (Path("/x"),)


def test_a_bare_command_name_is_left_for_the_search_path(places: Path) -> None:
    assert resolved(places, python="python3").python == Path("python3")
    assert resolved(places, python="./python3").python == places / "project" / "deep" / "python3"


@given(st.integers())
def test_a_count_survives_text_and_toml_alike(number: int) -> None:
    read = list_settings()["jobs"].read
    if number >= 1:
        assert read(number) == read(str(number)) == number
    else:
        with pytest.raises(ValueError, match="whole number"):
            read(str(number))
