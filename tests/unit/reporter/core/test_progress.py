"""What a run tells, on a terminal and without one."""

from __future__ import annotations

import io

import pytest

from reporter.core import progress
from reporter.core.progress import LiveProgress, PlainProgress, open_progress
from reporter.core.settings import Options


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_come_at_a_stage_and_then_at_most_every_five_seconds() -> None:
    clock, stream = Clock(), io.StringIO()
    with PlainProgress(stream, clock) as display:
        display.begin_stage("record", "train.py")
        for second in range(12):
            clock.now = 100.0 + second
            display.update(second, "9 operations")
        display.note("no C++ compiler")
        display.begin_stage("reduce")
    assert stream.getvalue().splitlines() == [
        "[0:00] record: train.py",
        "[0:05] record: 5 candidates, 9 operations",
        "[0:10] record: 10 candidates, 9 operations",
        "[0:11] no C++ compiler",
        "[0:11] reduce",
    ]


def test_counts_and_times_are_written_as_a_person_would() -> None:
    assert [progress.describe_count(n) for n in (0, 1, 2)] == [
        "0 candidates",
        "1 candidate",
        "2 candidates",
    ]
    assert [progress.format_elapsed(s) for s in (0.9, 65, 7265)] == ["0:00", "1:05", "121:05"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "as_json", "variables", "live"),
    [
        (True, False, {}, True),
        (False, False, {}, False),
        (True, True, {}, False),
        (True, False, {"NO_COLOR": "1"}, False),
        (True, False, {"NO_COLOR": ""}, True),
        (True, False, {"TERM": "dumb"}, False),
    ],
)
def test_the_live_display_is_for_a_terminal_alone(
    terminal: bool,
    as_json: bool,
    variables: dict[str, str],
    live: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", Terminal() if terminal else io.StringIO())
    with open_progress(Options(json=as_json)) as display:
        assert isinstance(display, LiveProgress if live else PlainProgress)


def test_the_live_display_leaves_a_line_per_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with LiveProgress() as display:
        display.begin_stage("record", "[train]")
        display.begin_stage("reduce")
        display.update(3, "2 operations")
        display.note("[note]")
        display.close()
    text = screen.getvalue()
    assert "[train]" in text and "3 candidates, 2 operations" in text and "[note]" in text


def test_what_a_terminal_would_obey_is_left_out() -> None:
    stream = io.StringIO()
    with PlainProgress(stream, Clock()) as display:
        display.note("it said \x1b]0;owned\x07 E: m")
    assert stream.getvalue() == "[0:00] it said ]0;owned E: m\n"
