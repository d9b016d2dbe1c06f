"""What a run that counted the calls of torch's functions leaves behind."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from collectors.protocol.starting import OPERATORS_LAYOUT, RecorderSpec
from reporter.recording.operators import FailingCall, OperatorWatch


def test_the_last_call_is_the_one_that_was_under_way_or_that_raised(tmp_path: Path) -> None:
    (tmp_path / "operators").write_bytes(struct.pack(OPERATORS_LAYOUT, 7, -1, 3, -1))
    watch = OperatorWatch(tmp_path)
    assert watch.find_last_call(died=True) == FailingCall(7)
    assert watch.find_last_call(died=False) == FailingCall(3)


def test_a_backward_pass_says_whose_derivative_was_under_way(tmp_path: Path) -> None:
    (tmp_path / "operators").write_bytes(struct.pack(OPERATORS_LAYOUT, 9, 2, 8, 0))
    watch = OperatorWatch(tmp_path)
    assert watch.find_last_call(died=True) == FailingCall(9, differentiated=2)
    assert watch.find_last_call(died=False) == FailingCall(8, differentiated=0)


@pytest.mark.parametrize(
    "content", [None, b"", b"1234", struct.pack(OPERATORS_LAYOUT, 7, 2, -1, -1)]
)
def test_a_run_in_which_no_call_raised_has_none(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "operators").write_bytes(content)
    assert OperatorWatch(tmp_path).find_last_call(died=False) is None


@pytest.mark.parametrize("content", [None, "", '{"wrong": ['])
def test_a_run_that_measured_nothing_has_no_facts(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "operators.json").write_text(content)
    assert OperatorWatch(tmp_path, measured=True).read_facts() is None


def test_the_facts_are_those_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "operators.json").write_text(json.dumps({"rounded": 3}))
    assert OperatorWatch(tmp_path, measured=True).read_facts() == {"rounded": 3}


@pytest.mark.parametrize(
    ("content", "name"), [(None, ""), (bytes(8), ""), (b"torch.randn\0\0", "torch.randn")]
)
def test_the_function_under_way_is_the_one_in_the_file(
    content: bytes | None, name: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "native-calls").write_bytes(content)
    assert OperatorWatch(tmp_path, native=True).find_last_function() == name


def told(watch: OperatorWatch) -> RecorderSpec:
    spec: RecorderSpec = {"folder": "that of the recording"}
    watch.tell(spec)
    return spec


def test_a_recorder_is_told_what_is_looked_at_and_nothing_else(tmp_path: Path) -> None:
    assert set(told(OperatorWatch(tmp_path))) == {"folder", "operators"}
    assert told(OperatorWatch(tmp_path))["folder"] == "that of the recording"
    assert told(OperatorWatch(tmp_path, number=0))["operator"] == 0
    assert "measured" in told(OperatorWatch(tmp_path, measured=True))
    assert told(OperatorWatch(tmp_path, zeroed=True))["zeroed"] is True
    assert told(OperatorWatch(tmp_path, exact=True))["exact"] is True
    assert "native_calls" in told(OperatorWatch(tmp_path, native=True))
    assert "alone" in told(OperatorWatch(tmp_path, alone=True))


def test_how_a_process_trains_alone_is_read_where_it_was_noted(tmp_path: Path) -> None:
    watch = OperatorWatch(tmp_path, alone=True)
    assert watch.read_training() is None
    Path(told(watch)["alone"]).write_text('{"steps": 2, "alike": true}')
    assert watch.read_training() == {"steps": 2, "alike": True}
