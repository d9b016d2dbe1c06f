"""Operators on DTensors against the same operators on the whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

from collectors.call.operators.measurement import OperatorMeasurement
from collectors.call.operators.sharding import ShardedMeasurement, list_placements


class DTensor(torch.Tensor):
    """The sum of two parts, as torch has it where two processes hold one each. A number is added to
    both of them, as torch 2.6 does it.
    """

    parts: list[torch.Tensor]
    placements: tuple[Any, ...]

    @staticmethod
    def __new__(cls: Any, parts: list[torch.Tensor]) -> DTensor:
        made: DTensor = torch.Tensor._make_wrapper_subclass(cls, parts[0].shape, dtype=torch.float)
        made.parts = parts
        made.placements = ()
        return made

    def full_tensor(self) -> torch.Tensor:
        return self.parts[0] + self.parts[1]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        first, *more = args
        return cls([func(part, *more, **(kwargs or {})) for part in first.parts])


def measured(program: Callable[[Any], Any], sharded: Any) -> list[Any]:
    found: list[Any] = []
    with ShardedMeasurement(found.append, lambda: 5):
        program(sharded)
    return found


def test_an_operator_that_is_wrong_on_the_whole_is_noted() -> None:
    parts = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, -1.0])]
    (found,) = measured(lambda x: x * 2 + 1, DTensor(parts))
    assert (found["operator"], found["function"]) == ("aten.add.Tensor", 5)
    assert (found["error"], found["largest"]) == (1.0, 9.0)


def test_a_wrong_operator_is_written_at_once(tmp_path: Path) -> None:
    """Who started the process ends it when another one fails."""
    path = tmp_path / "facts.json"
    measurement = OperatorMeasurement(str(path), lambda: 5)
    with ShardedMeasurement(measurement.note_sharded, measurement.number):
        DTensor([torch.ones(2), torch.ones(2)]) + 1
    assert '"aten.add.Tensor"' in path.read_text()


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[Any]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield dist.device_mesh.init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


class Collectives(TorchDispatchMode):  # type: ignore[misc]
    """Counts the collectives that come to torch."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func.namespace == "c10d"
        return func(*args, **(kwargs or {}))


def test_no_collective_is_made_twice(mesh: Any, tmp_path: Path) -> None:
    """The other processes would wait for the second one, or take it for their next."""
    measurement = OperatorMeasurement(str(tmp_path / "facts.json"), lambda: 5)
    with Collectives() as seen, measurement:
        dist.all_reduce(torch.ones(3))
    assert seen.count == 1


def train(x: Any) -> None:
    w = x.detach().clone().requires_grad_()
    ((w * 2).relu().t() @ x).sum(0).sum().backward()
    x.div_(2).masked_fill_(x > 0, float("nan"))
    torch.nn.functional.dropout(x)


def test_what_torch_does_right_is_not_noted(mesh: Any) -> None:
    tensor = pytest.importorskip("torch.distributed.tensor")
    sharded = tensor.distribute_tensor(torch.randn(4, 3), mesh, [tensor.Shard(0)])
    assert measured(train, sharded) == []


def test_placements_are_written_as_torch_is_told_them(mesh: Any) -> None:
    tensor = pytest.importorskip("torch.distributed.tensor")

    class Secret(tensor.Replicate):
        """The program's own."""

    def place(placement: Any) -> Any:
        return tensor.DTensor.from_local(torch.ones(2), mesh, [placement], run_check=False)

    assert list_placements((place(tensor.Shard(0)), 1), {}) == ["[Shard(0)]"]
    given = (place(tensor.Replicate()), torch.ones(2)), {"other": place(tensor.Partial("avg"))}
    assert list_placements(*given) == ["[Replicate()]", '[Partial("avg")]']
    assert list_placements((place(Secret()),), {}) == []
