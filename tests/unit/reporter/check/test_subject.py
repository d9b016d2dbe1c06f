"""What is checked, and what it has to show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reporter.check.subject import (
    read_report_failure,
    read_stored_subjects,
    read_subject,
    read_subjects,
)
from reporter.core.errors import UsageError
from reporter.core.kinds import Kind, Layer
from reporter.core.signature import Signature
from reporter.report.reading import read_report
from reporter.report.sections.report_document import Report
from reporter.store.database import open_store
from reporter.store.reports import compute_key
from tests.support.checking import report


def document(verdict: dict[str, Any], **sections: Any) -> Report:
    usual = {"layer": "dynamo", "is_bug": True, "summary": "It fails."}
    return read_report({"schema_version": 1, "verdict": {**usual, **verdict}, **sections}, "here")


def test_what_a_report_wants_to_see_again(tmp_path: Path) -> None:
    shown = Signature(Kind.CRASH, exception="E", message="m", frames=("torch/a.py:f",))
    verdict = {"kind": "crash", "layer": "inductor", "exception": "E", "message": "bad 12"}
    assert read_report_failure(document(verdict)) == Signature(
        Kind.CRASH, Layer.INDUCTOR, "E", "bad N"
    )
    assert read_report_failure(document(verdict, failure=shown.to_json())) == shown
    message = "wrong result: output 0: eager is off by 1e-07, compiled by 0.5"
    wrong = read_report_failure(document({"kind": "wrong_result", "message": message}))
    assert wrong is not None and wrong.kind == "wrong_result"
    death = read_report_failure(document({"kind": "process_death", "exception": "SIGSEGV"}))
    assert death == Signature(Kind.PROCESS_DEATH, signal="SIGSEGV")
    folder = report(tmp_path / "r", "crash", **verdict)
    assert read_subject(str(folder)).wanted is not None and read_subject(str(folder)).seen == (3, 3)
    assert read_subject(str(folder / "repro.py")).wanted is None
    lone = [tmp_path / "copy.py", tmp_path / "the_same.py"]
    for path in lone:
        path.write_text((folder / "repro.py").read_text())
    found = [item.name for item in read_subjects([str(tmp_path)])]
    assert found == [str(folder)]  # whose text the others only repeat


def test_the_reports_of_the_store_are_what_all_means(tmp_path: Path) -> None:
    folder = report(tmp_path / "there", "crash", kind="crash", exception="E", message="m")
    own = (folder / "repro.py").read_text()
    rows = [
        (compute_key(own), "there", str(folder), "crash", "crash · dynamo · E", own),
        # of an earlier report in that folder
        ("k1", "before", str(folder), "process_death", "process_death · SIGABRT", "text 1"),
        ("k2", "gone", str(tmp_path / "gone"), "crash", "crash · dynamo · E", "text 2"),
        ("k3", "death", str(tmp_path / "g"), "process_death", "process_death · SIGSEGV", "text 3"),
        ("k4", "meta", str(tmp_path / "g"), "wrong_metadata", "wrong_metadata · dtype", "text 4"),
    ]
    with open_store(tmp_path / "store") as store:
        for key, title, place, kind, signature, text in rows:
            values = (key, "2026", place, title, kind, "dynamo", signature, "", "2.13.0", text)
            store.execute(f"INSERT INTO reports VALUES ({', '.join('?' * 10)})", values)
        found = list(read_stored_subjects(store))
    assert [(item.key, item.name, item.text, item.torch) for item in found] == [
        (key, title, text, "2.13.0") for key, title, _, _, _, text in rows
    ]
    assert found[0].wanted == Signature(Kind.CRASH, Layer.DYNAMO, "E", "m") and found[0].seen == (
        3,
        3,
    )
    assert found[1].wanted == Signature(Kind.PROCESS_DEATH, signal="SIGABRT")
    # a class alone would take any crash for this one: the first failure that is seen will say more
    assert found[2].wanted is None
    assert found[3].wanted == Signature(Kind.PROCESS_DEATH, signal="SIGSEGV")
    assert found[4].wanted == Signature(Kind.WRONG_METADATA, property="dtype")


def test_what_is_no_repro_of_a_folder_is_not_checked_and_what_is_damaged_is_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "coverage").mkdir()
    (tmp_path / "coverage" / "report.json").write_text('{"totals": 1}')
    for name in (".git/hook.py", "venv/lib/a.py", "tests/conftest.py", "tests/__init__.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("raise SystemExit(1)")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    (tmp_path / "tests" / "bug.py").write_text("assert 0")
    damaged = report(tmp_path / "damaged", "crash", kind="crash")
    (damaged / "report.json").write_text('{"verdict": ')
    found = {Path(item.name).name: item.problem for item in read_subjects([str(tmp_path)])}
    assert set(found) == {"bug.py", "damaged"} and not found["bug.py"]
    assert "is not a report that can be read" in found["damaged"]
    with pytest.raises(UsageError, match="is not a report that can be read"):
        read_subject(str(damaged))


@pytest.mark.parametrize(
    ("verdict", "word"),
    [
        ({"kind": "slowness"}, "slowness"),
        ({"kind": "crash", "layer": "linker"}, "linker"),
    ],
)
def test_a_report_with_words_of_another_version_is_named(
    tmp_path: Path, verdict: dict[str, str], word: str
) -> None:
    folder = report(tmp_path / "r", "crash", **verdict)
    with pytest.raises(UsageError, match=f"/r was not written by .*{word}"):
        read_subject(str(folder))


def test_a_byte_order_mark_is_no_part_of_a_program(tmp_path: Path) -> None:
    for name, mark in (("plain.py", b""), ("marked.py", b"\xef\xbb\xbf")):
        (tmp_path / name).write_bytes(mark + b"import torch\n")
    (found,) = read_subjects([str(tmp_path)])
    assert found.text == "import torch\n"


@pytest.mark.parametrize("text", ["", "\n", "# a comment\n\n  # another one"])
def test_a_file_without_a_statement_is_told_among_those_of_a_folder(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "empty.py").write_text(text)
    with pytest.raises(UsageError, match="holds no statement"):
        read_subject(str(tmp_path / "empty.py"))
    (found,) = read_subjects([str(tmp_path)])
    assert "asks nothing" in found.problem


@pytest.mark.parametrize("text", ["pass", "def f(:", "x = (1,", "'a docstring'"])
def test_what_is_no_program_is_left_to_its_run(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(text)
    assert read_subject(str(tmp_path / "x.py")).text == text
