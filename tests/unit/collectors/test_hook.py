"""A program that asks for a report where the tool cannot be had, or refuses what it is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.programs import program
from tests.support.scripts import script

PYTHON = Path(sys.executable)


@pytest.mark.parametrize(
    ("variables", "phrase"),
    [
        ({"BUGREPORT_COMMAND": "", "PATH": "/nowhere"}, "`bugreport` is not on PATH"),
        ({"BUGREPORT_COMMAND": "/nowhere/bugreport"}, "/nowhere/bugreport"),
    ],
)
def test_a_missing_tool_is_named_and_never_stops_a_long_run(
    variables: dict[str, str], phrase: str, tmp_path: Path
) -> None:
    done = program(tmp_path, str(script("hook/missing_tool")), python=PYTHON, **variables)
    assert done.stdout == "goes on\n" and done.returncode == 1
    first, *_, last = done.stderr.strip().splitlines()
    assert first.startswith("bugreport: not watching, ") and phrase in first and phrase in last


def test_options_that_the_tool_refuses_are_told_at_once(tmp_path: Path) -> None:
    done = program(tmp_path, str(script("hook/refused_options")), python=PYTHON)
    assert "--jobs is 'many', but must be a whole number" in done.stderr and not done.stdout
