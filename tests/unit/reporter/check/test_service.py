"""What `check` refuses, in the words of its user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reporter.cli.main import run

REFUSED: list[tuple[list[str], str]] = [
    ([], "nothing was given"),
    (["--all"], "no report yet"),
    (["gone.py"], "there is no file or report folder gone.py"),
    (["pytorch#1"], "or an issue as OWNER/REPO#N"),
    (["x.py", "--torch", "two"], "no torch release"),
    (["x.py", "--python", "/nowhere/python"], "there is no interpreter"),
    (["x.py", "--executor", "dask"], "go together"),
    (["x.py", "--executor", "ray"], "local or dask"),
    (["x.py", "--shard", "3/2"], "must be I/N"),
    (["x.py", "--comment"], "add --yes"),
    (["x.py", "--skip-known", "--fresh"], "give one of them"),
    (["x.py", "--yes"], "--yes is for --comment"),
    (["x.py", "--html", "no/such/folder.html"], "cannot be written"),
    (["--merge", "x.py"], "no result file"),
    (["--merge", "x.py", "--shard", "1/2"], "leave them out"),
    (["--merge", "--all"], "leave them out"),
    (["x.py", "--torch", "2."], "no torch release"),
    (["x.py", "--torch", ".6"], "no torch release"),
    (["empty.py"], "empty.py holds no statement, so that it asks nothing"),
    (["x.py", "--timeout", "soon"], "must be a number of seconds"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED)
def test_what_cannot_be_done_is_said_in_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    (tmp_path / "x.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "empty.py").write_text("# nothing\n\n")
    assert run(["check", *words]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--python", "/nowhere/python"], 125),  # of a commit whose build failed
        (["gone.py"], 125),  # before the commit that brought it
        (["--skip-known"], 125),
        (["--no-such-option"], 2),
        (["--timeout", "soon"], 2),
    ],
)
def test_git_bisect_skips_a_commit_at_which_the_check_cannot_be_made(
    words: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Another code would call the commit bad, and the end of the search would be wrong."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    (tmp_path / "x.py").write_text("raise SystemExit(0)\n")
    assert run(["check", "x.py", "--exit-code", *words]) == code
    assert capsys.readouterr().err.count("\n") == 1
