"""What is told of a tensor's values is read a part at a time."""

from __future__ import annotations

import resource
from typing import Any

import pytest
import torch

from collectors.dynamo import value_statistics, value_structure
from collectors.source import values
from tests.support.round_trips import in_a_fork

TENSORS = {
    "floats": torch.tensor([0.5, -1.25, 3.0, float("nan"), -float("inf")]),
    "few": torch.tensor([3, -1, 3, 7]),
    "padding": torch.tensor([1, 4, -100, 2, -100]),
    "far padding": torch.tensor([1, 255, 4, 255, 2], dtype=torch.uint8),
    "one far": torch.tensor([1, 4, 255, 2], dtype=torch.uint8),
    "tril": torch.ones(3, 4).tril(),
    "eye": torch.eye(3, dtype=torch.bool),
    "arange": torch.arange(6).reshape(2, 3),
    "ascending": torch.tensor([0, 3, 3, 9]),
    "descending": torch.tensor([9.5, 3.0, 3.0, 0.0]),
    "constant": torch.full((2, 3), 2.5),
}
TOLD = {
    "floats": {"min": -1.25, "max": 3.0, "nan_share": 0.2, "negative_inf_share": 0.2},
    "few": {"min": -1, "max": 7, "small": [3, -1, 3, 7]},
    "padding": {"padding": -100, "padding_share": 0.4, "min": 1, "max": 4},
    "far padding": {"padding": 255, "padding_share": 0.4, "min": 1, "max": 4},
    "one far": {"min": 1, "max": 255, "pattern": None},
}


@pytest.mark.parametrize("name", TENSORS)
def test_parts_tell_the_same_as_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole: Any = values.read_tensor_spec(TENSORS[name])["stats"]
    for size in (1, 2, 3):
        monkeypatch.setattr(values, "_PART", size)
        monkeypatch.setattr(value_structure, "_PART", size)
        assert values.read_tensor_spec(TENSORS[name])["stats"] == whole
    told = TOLD.get(name, {"pattern": name})
    assert {key: whole[key] for key in told} == told


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_range_of_a_result_is_that_of_its_dtype(dtype: torch.dtype) -> None:
    largest = torch.finfo(dtype).max

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, -x])

    watched = value_statistics.ValueStatistics(torch.fx.symbolic_trace(program))
    watched.run(torch.tensor([1.0, largest, float("nan"), float("inf")], dtype=dtype))
    (span,) = (span for name, span in watched.spans.items() if name == "cat")
    assert span == {"nan_share": 0.25, "min": -largest, "max": largest}


def test_a_large_tensor_needs_little_memory() -> None:
    size = 1 << 25

    def measure() -> int:
        large = torch.zeros(size, dtype=torch.uint8)
        large[-1] = 1
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        values.read_tensor_spec(large)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    # read as a whole it takes 42 times its size, a part at a time six: what the C library keeps of
    # memory that was given back comes and goes
    assert in_a_fork(measure) * 1024 < 15 * size
