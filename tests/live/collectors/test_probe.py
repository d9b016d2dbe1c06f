"""What is noted of an eager run, and what is changed for another one."""

from __future__ import annotations

import functools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from collectors.call import probe, reachable
from collectors.call.undefined_writes import DropUndeclaredWritesMode, ReorderWritesMode
from collectors.call.variations.precision import make_alternating_signs, perturb
from collectors.call.variations.summation import SequentialSumsMode

MODES = [
    probe.EagerFactsMode,
    probe.FillMemoryMode,
    probe.ZeroMemoryMode,
    probe.RecastMode,
    ReorderWritesMode,
    DropUndeclaredWritesMode,
    SequentialSumsMode,
]


def collect(function: Any, *args: Any, path: Path | None = None) -> Any:
    call = SimpleNamespace(function=function, args=args, kwargs={})
    return probe.collect_facts(call, str(path) if path is not None else None)


def drop_in_a_branch(x: torch.Tensor) -> torch.Tensor:
    def drop(y: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(y, 0.5)

    return torch.cond(x.sum() > 0, drop, torch.sin, (x,))


def attend(x: torch.Tensor) -> torch.Tensor:
    from torch.nn.attention.flex_attention import flex_attention

    found: torch.Tensor = flex_attention(x, x, x)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("function", "size"), [(drop_in_a_branch, (4,)), (attend, (1, 2, 16, 16))])
def test_higher_order_operators_run_under_every_mode(
    function: Any, size: tuple[int, ...], mode: Any
) -> None:
    with mode():
        assert function(torch.ones(size)).shape == size


def test_what_a_branch_draws_is_noted() -> None:
    facts = collect(drop_in_a_branch, torch.ones(4))
    assert facts["error"] is None and facts["random"] == ["cond"]
    assert collect(drop_in_a_branch, -torch.ones(4))["random"] == []


def test_an_index_into_what_is_overwritten_later_ties_with_nothing(tmp_path: Path) -> None:
    def find_and_clear(x: torch.Tensor) -> torch.Tensor:
        found = x.argmax(0)
        x.zero_()
        return found

    def find(x: torch.Tensor) -> torch.Tensor:
        return x.argmax(0)

    assert collect(find, torch.rand(8), path=tmp_path / "a")["ties"]
    assert not collect(find_and_clear, torch.rand(8), path=tmp_path / "b")["ties"]


class Wrapper(torch.nn.Module):
    """A module with an attribute that partial functions have, too."""

    def __init__(self) -> None:
        super().__init__()
        self.func = torch.nn.Linear(2, 2)
        self.scale = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.func(x) * self.scale
        return out


def test_all_of_a_module_is_reached_whatever_its_attributes_are_called() -> None:
    found = reachable.find_reachable(Wrapper(), (), {})
    assert {"self.scale", "self.func.weight", "self.func.bias"} <= set(found)


def test_what_a_partial_function_holds_is_reached() -> None:
    held, named = torch.ones(2), torch.ones(3)
    function = functools.partial(functools.partial(torch.add, held), alpha=2, out=named)
    tensors = reachable.find_reachable(function, (), {}).values()
    assert {id(tensor) for tensor in tensors} >= {id(held), id(named)}


def test_both_parts_of_complex_numbers_are_moved() -> None:
    values = torch.full((4,), 1 + 1j, dtype=torch.complex64)
    perturb({"x": values}, make_alternating_signs(1))
    assert bool((values.real != 1).all()) and bool((values.imag != 1).all())
    assert torch.allclose(values, torch.full_like(values, 1 + 1j))
