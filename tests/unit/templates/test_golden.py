"""Every kind of verdict as a reader gets it: issues and terminal texts of real runs, letter by
letter.

`python -m tests.support.golden` renews the texts; `tests/support/golden.py` says how the documents
were made.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from reporter.lint.linter import lint
from reporter.lint.subject import collect_texts
from reporter.report.reading import read_report
from templates import issue_forms
from templates.page import render_page
from templates.text import list_headings
from tests.support.golden import BUGS, HOME, MISSING, NO_BUGS, document, issue, stored, verdict


def text_of(kind: str, name: str) -> str:
    return (HOME / kind / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", stored(BUGS))
def test_an_issue_reads_as_it_did(kind: str) -> None:
    assert issue(kind) == text_of(kind, "issue.md")


@pytest.mark.parametrize("kind", stored(BUGS))
def test_an_issue_is_what_its_tracker_asks_for(kind: str) -> None:
    report, repro = document(kind), text_of(kind, "repro.py")
    form = issue_forms.load(report["issue"]["form"])
    text = text_of(kind, "issue.md")
    test, sections = text_of(kind, "test_repro.py"), read_report(report, "golden")
    result = lint(collect_texts(form, text, repro, test, sections))
    assert [finding.rule for finding in result.findings] == ["human-words"]
    assert list_headings(text) == list(form.headings)
    assert report["verdict"]["kind"] == kind and repro.strip() in text
    assert report["test"]["fails_here"] is True
    ast.parse(text_of(kind, "test_repro.py"))
    assert "data-chart" in render_page(report, repro)


@pytest.mark.parametrize("kind", stored(NO_BUGS))
def test_a_verdict_reads_as_it_did(kind: str) -> None:
    text = text_of(kind, "verdict.txt")
    assert verdict(kind) == text
    assert f"verdict: {kind} (no bug to report)" in text and "measure again: " in text


def test_what_is_missing_is_said() -> None:
    there = {*stored(BUGS), *stored(NO_BUGS)}
    assert {*BUGS, *NO_BUGS} - there == MISSING


def test_nothing_of_the_machine_is_stored() -> None:
    for path in HOME.rglob("*"):
        if path.is_file():
            assert str(Path.home()) + "/" not in path.read_text(encoding="utf-8"), path
