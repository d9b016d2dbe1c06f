"""Processes that train alone, and what their steps have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from collectors.call.variations.lone_training import train_alone


class Two(nn.Module):
    """Two layers side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.a(x), self.b(x)


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("__init__", "forward", "_set_static_graph"):
        monkeypatch.setattr(DDP, name, getattr(DDP, name))  # to be put back
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    train_alone(str(tmp_path / "training.json"))
    yield tmp_path / "training.json"
    dist.destroy_process_group()


def train(model: Any, used: list[int]) -> None:
    for number in used:
        model.zero_grad()
        model(torch.ones(1, 2))[number].sum().backward()
        with torch.no_grad():
            model(torch.ones(1, 2))
    model(torch.ones(1, 2))  # nobody asks for a derivative of it


def test_steps_that_use_the_same_parameters_are_alike(noted: Path) -> None:
    model = DDP(Two(), static_graph=True)
    train(model, [0, 0, 0])
    assert json.loads(noted.read_text()) == {"steps": 3, "alike": True}
    assert model.module.b.weight.grad is None


def test_steps_that_use_other_parameters_are_not(noted: Path) -> None:
    train(DDP(Two(), static_graph=True), [0, 1])
    assert json.loads(noted.read_text()) == {"steps": 2, "alike": False}


def test_a_step_between_others_that_nobody_differentiates_is_another_one(noted: Path) -> None:
    model = DDP(Two(), static_graph=True)
    train(model, [0])
    train(model, [0])
    assert json.loads(noted.read_text()) == {"steps": 3, "alike": False}


def test_steps_that_lead_through_other_functions_are_not(noted: Path) -> None:
    class Changing(Two):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            self.b = nn.Sequential(self.b, nn.ReLU())
            return self.a(x), self.b(x)

    train(DDP(Changing(), static_graph=True), [0, 0])
    assert json.loads(noted.read_text()) == {"steps": 2, "alike": False}
