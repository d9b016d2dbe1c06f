"""What a call does to Python's state: what is noted, what is compared, what is put back."""

from __future__ import annotations

import collections
import functools
import itertools
import random
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from collectors.call import circumstances, effect_comparison, outputs, restoring, rungs
from collectors.call.outputs import Snapshot
from collectors.call.python_state import leaves, walk

X = torch.ones(2)


def ran(function: Callable[..., Any], *args: Any) -> outputs.SavedEffects:
    before = walk.note(function, args, {})
    function(*args)
    return {"before": before, "after": walk.note(function, args, {})}


def snapshot(effects: outputs.SavedEffects) -> Snapshot:
    return {"leaves": [], "changed": {}, "grads": {}, "effects": effects}


def differences(
    make: Callable[[], tuple[Callable[..., Any], Callable[..., Any]]], again: bool = False
) -> list[tuple[str, str, str]]:
    """What the second of two functions does otherwise than the first; both work on new state that
    is reached in the same way.
    """
    eager, compiled = ran(make()[0], X), ran(make()[1], X)
    others = [snapshot(ran(make()[0], X))] if again else []
    found = effect_comparison.find_differences(snapshot(eager), snapshot(compiled), others)
    return [(item["property"], item["eager"], item["compiled"]) for item in found]


def pair(body: Callable[[Any, bool], None], state: Callable[[], Any]) -> Any:
    """Two functions with state of one kind: one does all of the body, the other leaves a part
    out.
    """

    def make() -> tuple[Callable[..., Any], Callable[..., Any]]:
        held = state()

        def whole(x: Any) -> Any:
            body(held, True)
            return x

        def part(x: Any) -> Any:
            body(held, False)
            return x

        return whole, part

    return make


class Plain:
    count = 0
    table: dict[str, int] = {}

    def __init__(self) -> None:
        self.value, self.items = 0, [1]


class Slots:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 1


def appends(held: Any, all_of_it: bool) -> None:
    held.append(1)
    if all_of_it:
        held.append(2)


def adds(held: Any, all_of_it: bool) -> None:
    held |= {1, 2} if all_of_it else {1}


def sets_key(held: Any, all_of_it: bool) -> None:
    held["n"] += int(all_of_it)


def sets_value(held: Any, all_of_it: bool) -> None:
    if all_of_it:
        held.value = 5


def moves_key(held: Any, all_of_it: bool) -> None:
    if all_of_it:
        held.move_to_end("a")


def puts_tensor(held: Any, all_of_it: bool) -> None:
    if all_of_it:
        held.appendleft(torch.full((3,), 5.0))


def sets_default(_: Any, all_of_it: bool) -> None:
    torch.set_default_dtype(torch.float64 if all_of_it else torch.float32)


LOST = [
    ("order", moves_key, lambda: collections.OrderedDict(a=1, b=2)),
    ("list", appends, list),
    ("deque", appends, lambda: collections.deque(maxlen=4)),
    ("full deque", puts_tensor, lambda: collections.deque([torch.zeros(3)], maxlen=1)),
    ("set", adds, set),
    ("dict", sets_key, lambda: {"n": 0}),
    ("nested", lambda held, whole: appends(held["a"][0], whole), lambda: {"a": ([],)}),
    ("object", sets_value, Plain),
    ("slots", sets_value, Slots),
    ("module", sets_value, lambda: _with_value(torch.nn.ReLU)),
]


class Own(torch.nn.Module):
    pass


def _with_value(layer: Any) -> Own:
    module = Own()
    module.layer, module.value = layer(), 0
    return module


@pytest.mark.parametrize("body, state", [case[1:] for case in LOST], ids=[c[0] for c in LOST])
def test_a_write_that_only_one_side_makes_is_a_side_effect(body: Any, state: Any) -> None:
    assert [item[0] for item in differences(pair(body, state))] == ["side effect"]
    assert differences(lambda: pair(body, state)()[:1] * 2) == []


def test_a_default_of_torch_that_only_one_side_sets_is_a_side_effect() -> None:
    try:
        eager = ran(lambda x: sets_default(x, True), X)
        sets_default(X, False)
        compiled = ran(lambda x: sets_default(x, False), X)
    finally:
        sets_default(X, False)
    (told,) = effect_comparison.find_differences(snapshot(eager), snapshot(compiled), ())
    assert (told["property"], told["eager"]) == ("side effect", "torch.float64")
    assert told["compiled"] == "torch.float32 (as before the call)"


def test_lengths_are_told_and_no_names() -> None:
    told = differences(pair(appends, list))
    assert told == [("side effect", "2 items", "1 item")]
    told = differences(pair(sets_value, Plain))
    assert told == [("side effect", "5", "0 (as before the call)")]


def test_other_numbers_on_both_sides_are_values_and_may_round() -> None:
    def writes(held: Any, whole: bool) -> None:
        held.value = 0.7001 if whole else 0.7

    assert differences(pair(writes, Plain)) == []

    def far(held: Any, whole: bool) -> None:
        held.value = 7 if whole else 9

    assert differences(pair(far, Plain)) == [("python value", "7", "9")]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (torch.tensor([1.0, 2.0001]), False),
        (torch.tensor([-1.0, -2.0]), True),
        (torch.tensor([1.0, 4.0]), True),
        (torch.tensor([float("nan"), 2.0]), True),
    ],
)
def test_tensors_that_both_sides_store_may_round(other: torch.Tensor, told: bool) -> None:
    def writes(held: Any, whole: bool) -> None:
        held.value = torch.tensor([1.0, 2.0]) if whole else other

    of = "float32 tensor of shape [2]"
    assert differences(pair(writes, Plain)) == [("python value", of, of)] * told


def test_a_stored_tensor_that_is_large_or_not_in_memory_has_no_values() -> None:
    noted: list[Any] = []
    for tensor in (torch.ones(1 << 17), torch.ones(2, device="meta"), torch.ones(0)):
        assert len(leaves.note_leaf(tensor)) == 3
    torch.func.vmap(lambda x: noted.append(leaves.note_leaf(x)) or x)(torch.ones(3, 2))
    assert noted == [("tensor", "torch.float32", (2,))]
    assert leaves.note_leaf(torch.zeros(2))[3:] == (0.0, 0.0)
    assert len(leaves.note_leaf(torch.ones(2, dtype=torch.bool))) == 5


def test_what_another_eager_run_does_not_share_is_left_out() -> None:
    number = itertools.count()

    def notes(held: Any, whole: bool) -> None:
        held.append(random.random() + next(number))
        held.append(f"{time.perf_counter()} s")

    assert differences(pair(notes, list)) != [] and differences(pair(notes, list), True) == []
    lost = differences(pair(lambda held, whole: notes(held, whole) if whole else None, list), True)
    assert lost == [("side effect", "2 items", "0 items (as before the call)")]


def test_runs_that_began_differently_are_not_compared() -> None:
    one, two = Plain(), Plain()
    two.value = 3

    def write(held: Any) -> None:
        held.value += 1

    found = effect_comparison.find_differences(
        snapshot(ran(write, one)), snapshot(ran(write, two)), ()
    )
    assert found == []


def test_class_attributes_and_globals_of_methods_are_reached() -> None:
    class Kept:
        items: list[int] = []

        def put(self) -> None:
            Kept.items.append(1)

    kept = Kept()

    def program(x: Any) -> Any:
        kept.put()
        return x

    effects = ran(program, X)
    changed = [
        label for label, node in effects["after"].items() if node.get("length") == ("length", 1)
    ]
    assert len(changed) == 1


def test_what_is_cached_finalized_or_hangs_on_addresses_is_left_out() -> None:
    cached: list[int] = []
    seen: dict[int, int] = {}

    @functools.cache
    def table(n: int) -> int:
        cached.append(n)
        return n

    def program(x: Any) -> Any:
        seen[id(x)] = 1
        return x * table(2)

    noted = ran(program, X)
    assert noted["before"] == noted["after"]


def test_a_note_ends_with_cycles_and_with_large_containers() -> None:
    loop: list[Any] = list(range(100_000))
    loop.append(loop)
    state = walk.note(lambda: loop, (), {})
    assert sum(len(fields) for fields in state.values()) < 300


def test_it_is_noted_which_tensors_keep_their_gradients() -> None:
    def run(keeps: bool) -> outputs.SavedEffects:
        hidden, leaf = torch.ones(2, requires_grad=True) * 2, torch.ones(2, requires_grad=True)
        parts = ({}, lambda x: x, ([hidden], leaf), {})
        before = rungs.note_state(*parts)
        leaf.retain_grad()  # a leaf keeps it without being asked
        if keeps:
            hidden.retain_grad()
        return {"before": before, "after": rungs.note_state(*parts)}

    one, other = snapshot(run(True)), snapshot(run(False))
    assert effect_comparison.find_differences(one, snapshot(run(True)), [one]) == []
    (found,) = effect_comparison.find_differences(one, other, [one])
    assert found["property"] == "side effect"
    assert (found["eager"], found["compiled"]) == ("True", "False (as before the call)")


def test_objects_that_refuse_to_be_looked_at_do_no_harm() -> None:
    class Refusing:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(name)

    held = [Refusing()]
    assert walk.note(lambda: held, (), {})


def test_state_is_put_back() -> None:
    items = [1]

    class Local:
        count = 0

    def program(x: Any) -> Any:
        nonlocal items
        items.append(2)
        items = [7]
        Local.count += 1
        Local.new = 1
        return x

    first = items
    with restoring.keep_state(SimpleNamespace(function=program, args=(X,), kwargs={})):
        program(X)
        assert items == [7] and Local.count == 1
    assert items is first and items == [1] and Local.count == 0 and not hasattr(Local, "new")


def test_other_circumstances_are_over_afterwards() -> None:
    clock = time.time
    with circumstances.change():
        assert torch.compiler.is_compiling()
        assert time.time() - clock() > 1000
    assert not torch.compiler.is_compiling() and time.time is clock
