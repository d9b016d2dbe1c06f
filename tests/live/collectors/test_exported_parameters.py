"""Gradients of an exported program's parameters, held against those of the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from collectors.call import outputs, rungs
from collectors.record.exports import ExportedModule, note_shared_parameters


class FrozenTarget(nn.Module):
    """A loss whose target passes no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            target = 1 + 2 * self.layer(x)
        return (self.layer(x) - target).square().mean()


def noted(model: nn.Module, x: torch.Tensor, made: Any) -> ExportedModule:
    options = {"compiler": "export", "steps": ["decompose"]}
    return note_shared_parameters(ExportedModule(model, (x,), {}, options), made)


def compute_gradients(exported: ExportedModule, how: str, folder: Path) -> dict[str, Any]:
    """By label, what a rung says of the gradients, where 1 flows into the loss."""
    torch.save({0: torch.ones(())}, folder / "flows.pt")
    state = {"grad": True, "inference": False, "autocast": {}, "rng": torch.get_rng_state()}
    conditions = rungs.CallConditions(exported.options, state)
    call = rungs.RecordedCall(exported.function, None, exported.args, {}, conditions)
    path = str(folder / f"{how}.pt")
    answer = rungs.execute(call, {"how": how, "grads": str(folder / "flows.pt"), "snapshot": path})
    assert answer["outcome"] == "ok", answer
    found: dict[str, Any] = outputs.load(path)["grads"]
    return found


def test_the_gradients_of_parameters_are_compared(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = FrozenTarget(), torch.randn(4, 3)
    made = torch.export.export(model, (x,)).run_decompositions().module()
    exported = noted(model, x, made)
    eager = compute_gradients(exported, "eager", tmp_path)
    compiled = compute_gradients(exported, "compiled", tmp_path)
    assert set(eager) == {"self.layer.weight", "self.layer.bias"} == set(compiled)
    for label, gradient in eager.items():  # decomposing loses no_grad: (y - 1 - 2y) changes sign
        torch.testing.assert_close(compiled[label], -gradient)


def test_a_program_with_copies_of_the_parameters_is_left_alone(tmp_path: Path) -> None:
    model, x = FrozenTarget(), torch.randn(4, 3)
    unflattened = torch.export.unflatten(torch.export.export(model, (x,)))
    exported = noted(model, x, unflattened)
    assert "shares_parameters" not in exported.options
    assert compute_gradients(exported, "eager", tmp_path) == {}
