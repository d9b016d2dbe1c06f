"""Which sizes a trace with dynamic ones leaves free."""

from __future__ import annotations

from typing import Any

import torch

from collectors.dynamo import capture
from tests.support.round_trips import call_of, in_a_fork


def test_a_size_that_the_program_fixes_is_a_number() -> None:
    def work() -> Any:
        call = call_of((torch.nn.Linear(5, 2), (torch.ones(3, 5),)))
        return capture.capture(call, {"replay": False, "dynamic": True})

    (graph,) = in_a_fork(work)["graphs"]
    (given,) = (each for each in graph["inputs"] if each["kind"] == "input")
    batch, width = given["symbols"]
    assert isinstance(batch, str) and width == 5
