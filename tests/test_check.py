"""`bugreport check` as a user and as a CI job sees it; the runs are real, with the interpreter of the tests."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reporter.releases.check import Change, Checked, belongs
from reporter.releases.matrix import html, lines, markdown
from reporter.releases.plan import compared
from reporter.releases.shards import merged
from reporter.releases.subject import Subject, stored, subject_of, subjects_in, wanted_of
from reporter.releases.work import Check
from reporter.signature import Signature
from reporter.store.database import opened
from tests.created import bugreport

REPROS = Path(__file__).parent / "data" / "repros"
CLI_KEYS = {"repro", "torch", "python", "outcome", "detail", "seconds"}


def run_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str | Path
) -> tuple[int, dict[str, Any], str]:
    """Exit code, document and talk of a check in this interpreter, with a store of its own."""
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    done = bugreport("check", "--json", *arguments, cwd=tmp_path)
    return done.returncode, json.loads(done.stdout), done.stderr


def report(folder: Path, name: str, **verdict: Any) -> Path:
    """A report folder around one of the stored repros."""
    folder.mkdir()
    (folder / "repro.py").write_text((REPROS / f"{name}.py").read_text() + "\n# of a report\n")
    document = {
        "schema_version": 1,
        "verdict": {"reproduced": [3, 3], "layer": "dynamo", **verdict},
    }
    (folder / "report.json").write_text(json.dumps(document))
    return folder


def test_every_outcome_and_what_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    other = report(tmp_path / "other", "crash", kind="crash", exception="KeyError", message="k")
    names = [REPROS / "right.py", REPROS / "crash.py", REPROS / "needs_more.py", other]
    table, page, kept = tmp_path / "m.md", tmp_path / "m.html", tmp_path / "r.json"
    code, document, talk = run_check(
        tmp_path,
        monkeypatch,
        *(*names, "--python", sys.executable, "--torch", "9.9.9"),
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
    # the next day the report's failure is what it shows after all
    (other / "report.json").write_text(json.dumps({"verdict": {"kind": "none"}}))
    code, document, talk = run_check(tmp_path, monkeypatch, other, "--python", sys.executable)
    assert code == 1 and document["results"][0]["outcome"] != "cannot_judge"
    with opened(tmp_path / "store") as store:
        counts = store.execute("SELECT COUNT(*), COUNT(DISTINCT run) FROM checks").fetchone()
        assert counts[:] == (9, 2)
        assert store.execute("SELECT COUNT(*) FROM runs WHERE finished IS NULL").fetchone()[0] == 0


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
    (["x.py", "--timeout", "soon"], "must be a number of seconds"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED)
def test_what_cannot_be_done_is_said_in_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from reporter.cli.main import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store"))
    (tmp_path / "x.py").write_text("raise SystemExit(0)\n")
    assert run(["check", *words]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def check(repro: str, release: str, outcome: Any, time: str = "2026-11-01T00:00:00+00:00") -> Check:
    return Check(repro, repro, release, release, "3.11", outcome, "", 1.0, (1, 1), time=time)


CODES = [
    (["fixed", "fixed"], 0),
    (["fixed", "cannot_judge"], 0),
    (["fixed", "reproduces"], 1),
    (["fixed", "different"], 1),
    (["cannot_judge"], 125),
]


@pytest.mark.parametrize(("outcomes", "code"), CODES)
def test_the_exit_code(outcomes: list[str], code: int) -> None:
    results = tuple(check("a", str(n), outcome) for n, outcome in enumerate(outcomes))
    assert Checked(results).exit_code == code


def test_shards_share_the_work_and_their_files_are_put_together(tmp_path: Path) -> None:
    cells = [(f"key{n}", release) for n in range(40) for release in ("2.6.0", "2.13.0")]
    parts = [[cell for cell in cells if belongs(cell, (i, 3))] for i in (1, 2, 3)]
    assert sorted(cell for part in parts for cell in part) == sorted(cells) and all(parts)
    files = []
    old, new = (check("b", "2.6.0", o, t) for o, t in (("fixed", "2026"), ("reproduces", "2027")))
    for number, checks in enumerate(
        [
            [check("a", "2.6.0", "fixed"), old],
            [check("a", "2.6.0", "cannot_judge", "2028"), new, check("a", "2.13.0", "fixed")],
        ]
    ):
        files.append(tmp_path / f"{number}.json")
        changes = (Change("reproduces", checks[0]),) if number == 0 else ()
        files[-1].write_text(json.dumps(Checked(tuple(checks), changes).to_json()))
    for order in (files, files[::-1], [*files, *files]):
        found = merged(order)
        told = {(c.repro, c.release): c.outcome for c in found.results}
        assert len(found.results) == 3 and [c.check.repro for c in found.changes] == ["a"]
        assert told == {
            ("a", "2.6.0"): "fixed",
            ("b", "2.6.0"): "reproduces",
            ("a", "2.13.0"): "fixed",
        }


def test_the_matrix_begins_with_what_has_changed_and_escapes_what_it_quotes() -> None:
    results = tuple(
        check(name, release, "fixed") for name in ("<a>|b", "c") for release in ("2.6.0", "2.13.0")
    )
    checked = Checked(results * 1, (Change("reproduces", results[3]),))
    page, text = html(checked), markdown(checked)
    assert page.index('scope="row">c<') < page.index('scope="row">&lt;a&gt;|b<')
    assert "<a>" not in page and "Changed since the last run" in page
    assert text.startswith(
        "## Changed since the last run\n\n- c on torch 2.13.0: reproduces → **fixed**"
    )
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4 and len({line.replace("\\|", "").count("|") for line in rows}) == 1
    assert lines(checked)[0] == "changed: c on torch 2.13.0: reproduces -> fixed"


def test_what_a_report_wants_to_see_again(tmp_path: Path) -> None:
    shown = Signature("crash", exception="E", message="m", frames=("torch/a.py:f",))
    verdict = {"kind": "crash", "layer": "inductor", "exception": "E", "message": "bad 12"}
    assert wanted_of({"verdict": verdict}) == Signature("crash", "inductor", "E", "bad N")
    assert wanted_of({"verdict": verdict, "failure": shown.to_json()}) == shown
    message = "wrong result: output 0: eager is off by 1e-07, compiled by 0.5"
    wrong = wanted_of({"verdict": {"kind": "wrong_result", "message": message}})
    assert wrong is not None and wrong.kind == "wrong_result"
    death = wanted_of({"verdict": {"kind": "process_death", "exception": "SIGSEGV"}})
    assert death == Signature("process_death", signal="SIGSEGV")
    folder = report(tmp_path / "r", "crash", **verdict)
    assert subject_of(str(folder)).wanted is not None and subject_of(str(folder)).seen == (3, 3)
    assert subject_of(str(folder / "repro.py")).wanted is None
    lone = [tmp_path / "copy.py", tmp_path / "the_same.py"]
    for path in lone:
        path.write_text((folder / "repro.py").read_text())
    found = [item.name for item in subjects_in([str(tmp_path)])]
    assert found == [str(folder)]  # whose text the others only repeat


def test_the_reports_of_the_store_are_what_all_means(tmp_path: Path) -> None:
    folder = report(tmp_path / "there", "crash", kind="crash", exception="E", message="m")
    rows = [
        ("k1", "there", str(folder), "crash", "crash · dynamo · E", "text 1"),
        ("k2", "gone", str(tmp_path / "gone"), "crash", "crash · dynamo · E", "text 2"),
        ("k3", "death", str(tmp_path / "g"), "process_death", "process_death · SIGSEGV", "text 3"),
        ("k4", "meta", str(tmp_path / "g"), "wrong_metadata", "wrong_metadata · dtype", "text 4"),
    ]
    with opened(tmp_path / "store") as store:
        for key, title, place, kind, signature, text in rows:
            values = (key, "2026", place, title, kind, "dynamo", signature, "", "2.13.0", text)
            store.execute(f"INSERT INTO reports VALUES ({', '.join('?' * 10)})", values)
        found = list(stored(store))
    assert [(item.key, item.name, item.text, item.torch) for item in found] == [
        (key, title, text, "2.13.0") for key, title, _, _, _, text in rows
    ]
    assert found[0].wanted == Signature("crash", "dynamo", "E", "m") and found[0].seen == (3, 3)
    # a class alone would take any crash for this one: the first failure that is seen will say more
    assert found[1].wanted is None
    assert found[2].wanted == Signature("process_death", signal="SIGSEGV")
    assert found[3].wanted == Signature("wrong_metadata", property="dtype")


def test_a_repro_without_a_report_is_held_against_what_it_showed_first() -> None:
    first, other = (Signature("crash", exception=name, message="m") for name in ("A", "B"))
    checks = [
        replace(check("r", release, outcome), signature=signature)
        for release, outcome, signature in (
            ("2.0.1", "fixed", None),
            ("2.6.0", "reproduces", first),
            ("2.7.0", "reproduces", other),
            ("2.8.0", "reproduces", first),
        )
    ]
    plain = Subject("r", "r", "text")
    told = [item.outcome for item in compared([plain], checks)]
    assert told == ["fixed", "reproduces", "different", "reproduces"]
    known = replace(plain, wanted=other)
    assert compared([known], checks) == tuple(checks)  # each was compared when it ran
