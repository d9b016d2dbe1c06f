"""Parameters that a module has for the time of a run only: its capture outlives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from collectors.dynamo import capture
from tests.support.round_trips import call_of, in_a_fork


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix = torch.nn.Linear(4, 4)
        torch.nn.init.constant_(self.mix.weight, 3.0)
        torch.nn.init.constant_(self.mix.bias, 7.0)

    def forward(self, x: Any) -> Any:
        return self.mix(x).relu()


def shard(store: Path) -> Any:
    """A module for whose runs FSDP makes whole weights, which it frees after each."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    mesh = init_device_mesh("cpu", (1,))
    return fully_shard(Layer(), mesh=mesh, reshard_after_forward=True)


def test_the_values_of_weights_that_fsdp_frees_are_those_of_the_run(tmp_path: Path) -> None:
    def work() -> Any:
        call = call_of((shard(tmp_path / "store"), (torch.ones(2, 4),)))
        return capture.capture(call, {"replay": False})

    (graph,) = in_a_fork(work)["graphs"]
    weights = [each for each in graph["inputs"] if each["kind"] == "param"]
    assert [(each["stats"]["min"], each["stats"]["max"]) for each in weights] == [(3, 3), (7, 7)]
    assert not any("alias" in each for each in weights)
