"""What fuzzing has found, and a few draws of each target."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reporter.tracker.repository import IssueAddress
from reporter.triage.reading.thread import fetch
from tests.fuzz import answering, targets

ALL = targets.targets()
FOUND = [
    ("recorder messages", [b"null"]),
    ("recorder messages", [b'{"event": "returned", "call": 7}']),
    ("report folder", b"[" * 100_000),
    ("report.json", {"schema_version": 1, "timing": [1]}),
    ("check.json", b"[" * 100_000),
    ("check.json", b'{"results": [], "changes": 3}'),
    ("notebook", b"[" * 100_000),
    ("notebook", b'{"nbformat": 4, "cells": [[]]}'),
    ("notebook", b'{"nbformat": 4, "metadata": [1], "cells": []}'),
    (
        "sandbox answer",
        {
            "document": {
                "verdict": {"kind": "crash", "layer": "inductor"},
                "ladder": [{"rung": [], "outcome": "ok"}],
            }
        },
    ),
]


@pytest.mark.parametrize(("name", "value"), FOUND)
def test_what_was_found_stays_mended(name: str, value: object) -> None:
    run, _, permitted = ALL[name]
    with contextlib.suppress(*permitted):
        run(value)


@pytest.mark.parametrize("name", ALL)
@settings(
    max_examples=3,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(st.data())
def test_a_few_draws(name: str, data: st.DataObject) -> None:
    run, strategy, permitted = ALL[name]
    with contextlib.suppress(*permitted):
        run(data.draw(strategy))


def test_the_seed_of_the_tracker_is_an_issue_that_can_be_read() -> None:
    answers = targets.seed("tracker.json")
    assert isinstance(answers, dict)
    with answering.session(answers) as session:
        thread = fetch(session, IssueAddress(targets.PYTORCH, 1))
    assert [post.author for post in thread.posts] == ["somebody", "another"]
