"""Whoever waits for a report can read the verdict and a failing program long before it."""

from __future__ import annotations

import io
import json
from pathlib import Path

from anonymizer.graph.repro import ReproAssertion
from reporter.core.candidate import Candidate
from reporter.core.kinds import Kind, Layer
from reporter.core.progress import PlainProgress
from reporter.pipeline.early_answer import SMALLEST, VERDICT, EarlyAnswer
from reporter.report.sections.report_document import Report
from reporter.report.sections.verdict import Verdict
from tests.support.graphs import chain


def answer(private: Path) -> tuple[EarlyAnswer, io.StringIO]:
    screen = io.StringIO()
    return EarlyAnswer(private, PlainProgress(screen, lambda: 0.0)), screen


def test_the_verdict_is_said_and_kept(tmp_path: Path) -> None:
    early, screen = answer(tmp_path)
    verdict = Verdict(Kind.CRASH, Layer.INDUCTOR, True, "Compiling raises.", "crash")
    early.write_verdict(Report(verdict, (), "2.13.0", "3.11.7", "cpu"))
    assert "verdict: crash, inductor" in screen.getvalue()
    kept = tmp_path / VERDICT
    assert json.loads(kept.read_text())["verdict"]["summary"] == "Compiling raises."
    assert kept.stat().st_mode & 0o777 == 0o600


def test_the_smallest_program_so_far_is_kept_and_the_first_one_is_said(tmp_path: Path) -> None:
    early, screen = answer(tmp_path)
    large, small = (Candidate(chain(n, 0), ReproAssertion("crash")) for n in (9, 2))
    early.write_candidate(large, "9 operations")
    assert (tmp_path / SMALLEST).read_text() == large.render()
    early.write_candidate(small, "2 operations")
    assert (tmp_path / SMALLEST).read_text() == small.render()
    assert screen.getvalue().count("first program") == 1
    assert "9 operations" in screen.getvalue() and "2 operations" not in screen.getvalue()
