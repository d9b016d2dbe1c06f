"""What a report says of the program that it shows."""

from __future__ import annotations

import pytest

from reporter.publish.torch_report import find_device


@pytest.mark.parametrize(
    ("recorded", "argument", "shown"),
    [
        ("cuda", 'device="cuda"', "cuda"),
        ("cuda", 'device="cuda:0"', "cuda"),
        ("cuda", "dtype=torch.int8", "cpu"),
        ("cpu", "dtype=torch.int8", "cpu"),
    ],
)
def test_the_device_is_the_one_that_the_repro_names(
    recorded: str, argument: str, shown: str
) -> None:
    assert find_device(recorded, f"x = torch.ones(1, {argument})") == shown
