"""What fuzzing has found, and a few draws of each target."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import targets

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
