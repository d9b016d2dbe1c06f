"""The end of a `create` on the terminal: one screen, the same as lines and as tables, ending in
what to do next.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from reporter.publish.summary import Summary
from tests.support import outgoing_data as data


def last_screen(**changes: object) -> Summary:
    made = Summary(
        data.crash_report(),
        Path("/tmp/some where/report"),
        "/envs/t/bin/python",
        "pytorch/pytorch",
        "lowerings (take)",
        "with `fullgraph=False` it is right",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def shown(width: int = 100, color: bool = False) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=color, highlight=False)
    for table in last_screen().build_tables():
        console.print()
        console.print(table)
    return stream.getvalue()


def test_the_last_lines_can_be_pasted() -> None:
    lines = last_screen().render_lines()
    assert [line.removeprefix("next: ") for line in lines[-3:]] == [
        "/envs/t/bin/python '/tmp/some where/report/repro.py'",
        "bugreport file '/tmp/some where/report' -R pytorch/pytorch",
        "bugreport check '/tmp/some where/report'",
    ]
    assert [line.strip() for line in shown(120).rstrip().splitlines()[-3:]] == [
        line.removeprefix("next: ") for line in lines[-3:]
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_on_one_screen_and_says_everything(width: int) -> None:
    text = shown(width)
    lines = text.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= width
    for said in ("crash in inductor", "3 of 3", "lowerings (take)", "fullgraph=False", "issue.md"):
        assert said in text, said
    assert "raises" in text and "dynamic=True" in text


def test_colors_are_for_terminals_alone() -> None:
    assert "\x1b[" in shown(color=True) and "\x1b[" not in shown()


def test_plain_lines_say_what_the_tables_say() -> None:
    text = "\n".join(last_screen().render_lines())
    for said in ("culprit: lowerings (take)", "workaround: with fullgraph=False it is right"):
        assert said in text
