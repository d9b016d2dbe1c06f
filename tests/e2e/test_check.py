"""`bugreport check` as a user and as a CI job sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reporter.store.database import open_store
from tests.support import interpreter
from tests.support.checking import report
from tests.support.created import bugreport
from tests.support.places import DATA
from tests.support.wheels import no_shims

REPROS = DATA / "repros"
CLI_KEYS = {"repro", "torch", "python", "outcome", "detail", "seconds"}


def run_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str | Path
) -> tuple[int, dict[str, Any], str]:
    """Exit code, document and talk of a check with a store of its own, by a machine that has no
    index to ask.
    """
    no_shims(monkeypatch)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    done = bugreport("check", "--json", *arguments, cwd=tmp_path)
    return done.returncode, json.loads(done.stdout), done.stderr


def test_a_plain_repro_has_to_pass_its_control_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [REPROS / "plain.py", REPROS / "eager_too.py"]
    here = ("--python", interpreter.WARM)
    code, document, _ = run_check(tmp_path, monkeypatch, *names, *here)
    assert code == 1
    assert [row["outcome"] for row in document["results"]] == ["reproduces", "cannot_judge"]
    said = document["results"][1]["detail"]
    assert said.startswith("without the compiler it fails too (AssertionError: Tensor-likes are")


@pytest.mark.slow
def test_git_bisect_skips_what_fails_in_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = report(tmp_path / "other", "crash", kind="crash", exception="KeyError", message="k")
    for name, wanted in ((other, 125), (REPROS / "right.py", 0), (REPROS / "plain.py", 1)):
        words = (name, "--exit-code", "--python", interpreter.WARM)
        assert run_check(tmp_path, monkeypatch, *words)[0] == wanted


def test_every_outcome_is_told_and_what_has_changed_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = report(tmp_path / "other", "crash", kind="crash", exception="KeyError", message="k")
    names = [REPROS / "right.py", REPROS / "crash.py", REPROS / "needs_more.py", other]
    table, page, kept = tmp_path / "m.md", tmp_path / "m.html", tmp_path / "r.json"
    code, document, talk = run_check(
        tmp_path,
        monkeypatch,
        *(*names, "--python", interpreter.WARM, "--torch", "9.9.9"),
        *("--markdown", table, "--html", page, "--results", kept),
    )
    assert code == 1, talk
    here = [row for row in document["results"] if row["release"] != "9.9.9"]
    assert [row["outcome"] for row in here] == ["fixed", "reproduces", "cannot_judge", "different"]
    assert all(CLI_KEYS <= set(row) for row in document["results"])
    assert here[2]["detail"] == "needs a torch that does not exist yet"
    assert "NotImplementedError" in here[3]["detail"] and here[0]["torch"][0] == "2"
    there = [row for row in document["results"] if row["release"] == "9.9.9"]
    assert {row["outcome"] for row in there} == {"cannot_judge"}
    assert "9.9.9 cannot be installed" in there[0]["detail"]
    assert "| fixed |" in table.read_text() and 'class="different' in page.read_text()
    assert json.loads(kept.read_text()) == document
    # the next day the report is lost, and any failure of its repro is what is meant
    (other / "report.json").unlink()
    code, document, talk = run_check(tmp_path, monkeypatch, other, "--python", interpreter.WARM)
    assert code == 1 and document["results"][0]["outcome"] != "cannot_judge"
    with open_store(tmp_path / "store") as store:
        counts = store.execute("SELECT COUNT(*), COUNT(DISTINCT run) FROM checks").fetchone()
        assert counts[:] == (9, 2)
        assert store.execute("SELECT COUNT(*) FROM runs WHERE finished IS NULL").fetchone()[0] == 0
