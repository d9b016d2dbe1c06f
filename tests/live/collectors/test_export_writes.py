"""What is known of the buffers that an exported program writes to, or ought to."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from collectors.call.exporting import list_added_outputs, remove_outputs
from collectors.record.exports import ExportedModule, _note_own_buffers, _note_writes


class Average(nn.Module):
    """Keeps an average by giving a buffer a new tensor, which torch 2.13 loses with `strict`."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("average", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.average = 0.5 * self.average + x
        return x - self.average


class Scaled(Average):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x - self.average


class Counter(Average):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.average += 1
        return x - self.average


def noted(module: nn.Module) -> ExportedModule:
    x = torch.ones(3)
    program = torch.export.export(module, (x,), strict=True)
    options: dict[str, Any] = {"compiler": "export", "steps": []}
    exported = _note_writes(ExportedModule(module, (x,), {}, options), program)
    return _note_own_buffers(exported, program.module())


@pytest.mark.parametrize("nested", [False, True])
def test_a_buffer_that_the_module_alone_assigns_to_is_one_of_its_own(nested: bool) -> None:
    found = noted(nn.Sequential(Average()) if nested else Average())
    assert found.changes_state and found.loses_writes and found.start is not None


def test_a_buffer_that_the_program_writes_to_is_shared() -> None:
    found = noted(Counter())
    assert found.changes_state and not found.loses_writes and found.start is None


def test_a_buffer_that_is_only_read_is_no_state() -> None:
    assert not noted(Scaled()).changes_state


class Fill(nn.Module):
    """Writes to its input, beside what it returns."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.add_(1).sum()


def test_decomposing_adds_an_output_for_what_a_program_writes_to() -> None:
    before = torch.export.export(Fill(), (torch.ones(3),))
    after = before.run_decompositions({})
    assert list_added_outputs(before, after) == [0]
    assert list_added_outputs(after, after.run_decompositions({})) == []
    remove_outputs(after, [0])
    (left,) = list(after.graph.nodes)[-1].args[0]
    assert after.graph_signature.user_outputs == (left.name,)
    assert after.graph_module(torch.ones(3))[0] == 6
