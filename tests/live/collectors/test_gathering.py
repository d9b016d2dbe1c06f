"""What is gathered of objects that are not what they look like: one that cannot be read costs its
own reference, never the whole.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import random
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from collectors.call.operators.derivatives import Derivative
from collectors.source import source
from tests.support.round_trips import call_of

X = torch.ones(2)


class Plain:
    """An object of the program."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Unreadable(dict[str, float]):
    """A container that raises when it is read."""

    def items(self) -> Any:
        raise RuntimeError("closed")


def build(**attributes: Any) -> Plain:
    made = Plain()
    vars(made).update(attributes)
    return made


def gather(**names: Any) -> Any:
    """A function that is left with these, and what is told of it."""

    def read(names: Any) -> Callable[[torch.Tensor], Any]:
        return lambda x: (names, x)

    return source.gather(read(names), (X,), {})


def find(gathered: Any) -> dict[str, Any]:
    """The references of the names that `gather` was given."""
    (function,) = (each for each in gathered["functions"].values() if "names" in each["refs"])
    return {name["value"]: item for name, item in function["refs"]["names"]["items"]}


@pytest.mark.parametrize("modules", [None, [1, 2]])
def test_an_object_may_have_modules_of_its_own(modules: Any) -> None:
    found = find(gather(one=build(_modules=modules)))
    assert found["one"]["kind"] == "instance"


def test_what_raises_when_it_is_read_is_opaque_alone() -> None:
    unreadable = Unreadable()
    gathered = gather(first=unreadable, number=2, again=unreadable)
    found = find(gathered)
    assert [found[name]["kind"] for name in ("first", "again")] == ["opaque", "opaque"]
    assert found["number"]["value"] == "2"
    assert len(gathered["problems"]) == 1


def test_an_unfinished_module_has_no_record() -> None:
    unfinished = torch.nn.Linear.__new__(torch.nn.Linear)
    gathered = gather(one=unfinished)
    assert find(gathered)["one"]["kind"] == "opaque"
    assert not gathered["instances"]


def test_a_bound_partial_is_a_partial() -> None:
    def scale(owner: Any, x: torch.Tensor) -> torch.Tensor:
        return x * owner.by

    owner = build(by=2.0)
    found = find(gather(one=types.MethodType(functools.partial(scale), owner)))["one"]
    assert found["kind"] == "partial" and found["args"] == [{"kind": "instance", "id": "i0"}]
    assert found["function"]["kind"] == "partial"


def test_what_hands_out_numbers_is_made_anew() -> None:
    drawn = random.Random(71)
    drawn.random()
    counted = itertools.count(5, 2)
    next(counted)
    torchs = torch.Generator().manual_seed(71)
    numpys = numpy.random.default_rng(71)
    found = find(gather(a=drawn, b=drawn, c=counted, d=torchs, e=numpys))
    made = {name: (item["name"], item["number"]) for name, item in found.items()}
    assert made == {
        "a": ("random.Random", 0),
        "b": ("random.Random", 0),
        "c": ("itertools.count", 1),
        "d": ("torch.Generator", 2),
        "e": ("numpy.random.default_rng", 3),
    }
    assert [item["value"] for item in found["c"]["args"]] == ["7", "2"]
    assert [item["value"] for item in found["a"]["args"]] == ["0"]


def test_a_container_that_holds_itself_is_taken_in_once() -> None:
    settings: dict[str, Any] = {"by": 2.0}
    settings.update(a=settings, b=settings, c=[settings])
    found = find(gather(settings=settings))["settings"]
    by, *again, last = (item for _, item in found["items"])
    assert by["value"] == "2.0"
    assert [item["kind"] for item in (*again, *last["items"])] == ["opaque"] * 3


def test_containers_that_lead_to_each_other_by_many_ways_are_too_large() -> None:
    level: Any = [1.0]
    for _ in range(19):
        level = [level, level, level]
    assert "a large list" in gather(level=level)["problems"]


def test_a_function_that_python_has_frozen_is_its_own() -> None:
    found = find(gather(join=os.path.join, getenv=os.getenv))
    assert {each["kind"] for each in found.values()} == {"stdlib"}


def test_an_array_has_its_tensor() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.ones(3)

    def read(x: torch.Tensor) -> torch.Tensor:
        return x + torch.from_numpy(array)

    tensors = source.gather_objects(read, (X,), {})
    assert {tuple(each.shape) for each in tensors.values() if torch.is_tensor(each)} == {(2,), (3,)}


def test_a_class_of_a_module_that_is_named_as_one_of_pythons_is_the_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "profile.py").write_text("class Profile:\n    by = 2.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "profile", raising=False)
    module = importlib.import_module("profile")
    try:
        found = find(gather(one=module.Profile(), kind=module.Profile))
    finally:
        del sys.modules["profile"]
    assert [found["one"]["kind"], found["kind"]["kind"]] == ["instance", "class"]


def test_a_derivative_of_a_function_of_torch_is_not_too_large() -> None:
    call = call_of((Derivative(torch.sin, "backward"), (X,)))
    entry = source.gather_call(call, {"op": "gather"})["gathered"]["entry"]
    assert entry == {"kind": "opaque", "reason": "the derivative is that of a function of torch"}
