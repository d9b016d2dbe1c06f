"""The rule for wrong values, on tensors: what counts as a difference, what is excused, and with
which numbers.
"""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy
import pytest
import torch
from torch.autograd import forward_ad

from collectors.call import closeness, comparison, outputs, probe, tolerance


def judged(a: Any, b: Any, exact: Any = None, **more: Any) -> dict[str, Any]:
    tensors = [torch.as_tensor(value) if value is not None else None for value in (a, b, exact)]
    return dict(tolerance.judge_values(*tensors, **more))


def test_equal_means_the_same_values_with_nan_in_the_same_places() -> None:
    assert judged([1.0, float("nan")], [1.0, float("nan")])["equal"]
    assert not judged([1.0, 2.0], [1.0, 2.5])["equal"]


def test_a_result_nearer_to_float64_than_eager_is_the_same_however_far_from_eager() -> None:
    exact = torch.linspace(0, 1, 2000, dtype=torch.float64)
    eager, compiled = (exact + 0.01).float(), (exact - 0.001).float()
    found = judged(eager, compiled, exact)
    assert found["same"] and not found["tight"]
    assert found["eager_error_vs_fp64"] == pytest.approx(0.01, rel=1e-3)
    assert found["error_vs_fp64"] == pytest.approx(0.001, rel=1e-3)
    assert not judged(compiled, eager, exact)["same"]


def test_values_below_the_absolute_tolerance_are_judged_by_their_size() -> None:
    exact = torch.linspace(1e-6, 5e-5, 100, dtype=torch.float64)
    eager, lost = exact.float(), torch.zeros(100)
    assert not judged(eager, lost, exact)["same"] and not judged(eager, -eager, exact)["same"]
    assert judged(eager, (exact * 1.01).float(), exact)["same"]
    # what cancellation leaves of larger numbers, and what is flushed to zero
    assert judged(lost, lost + 1e-9, exact * 1e-12)["same"]
    assert judged((exact * 1e-34).float(), lost, exact * 1e-34)["same"]
    # nor where eager is as far off, or without a reference
    assert judged(eager * 1.5, lost, exact)["same"] and judged(eager, lost)["same"]


def test_nan_in_the_compiled_result_alone_is_never_the_same() -> None:
    eager = torch.zeros(5000)
    compiled = eager.clone()
    compiled[7] = float("nan")
    found = judged(eager, compiled, eager.double())
    assert not found["same"] and found["nan_moved"] and found["nan"] == [0, 1]


def test_infinities_are_counted_on_both_sides() -> None:
    found = judged([1.0, float("inf")], [1.0, 3.0])
    assert found["inf"] == [1, 0] and not found["same"]


def test_what_is_infinite_on_all_sides_leaves_the_rest_to_float64() -> None:
    exact = torch.linspace(0, 1, 2000, dtype=torch.float64)
    exact[::5] = -math.inf
    eager, compiled = (exact + 0.01).float(), (exact - 0.001).float()
    assert judged(eager, compiled, exact)["same"] and not judged(compiled, eager, exact)["same"]
    compiled[0] = 0.0
    assert not judged(eager, compiled, exact)["same"]


@pytest.mark.parametrize(
    ("eager", "compiled", "exact", "same"),
    [
        (math.inf, 3.47, 3.4704, True),
        (math.nan, 3.47, 3.4704, True),
        (math.inf, 3.47, 9.0, False),
        (math.inf, 3.47, math.inf, False),
        (3.47, math.inf, 3.4704, False),
        (3.47, math.nan, 3.4704, False),
        (math.nan, math.inf, math.inf, True),
        (math.nan, -math.inf, math.inf, False),
        (math.nan, 3.47, math.inf, False),
        (math.inf, math.nan, math.inf, False),
    ],
)
def test_where_eager_alone_overflows_float64_is_the_judge(
    eager: float, compiled: float, exact: float, same: bool
) -> None:
    half = torch.tensor([1.0, eager]).half(), torch.tensor([1.0, compiled]).half()
    found = judged(*half, torch.tensor([1.0, exact], dtype=torch.float64))
    assert found["same"] is same and found.get("overflowed", 0) == same
    if same:
        assert found["eager_error_vs_fp64"] == math.inf and found["error_vs_fp64"] < 0.01


def test_an_overflow_excuses_no_other_element() -> None:
    exact = torch.linspace(0, 1, 2000, dtype=torch.float64)
    eager = exact.float()
    eager[0] = math.inf
    compiled = exact.float()
    assert judged(eager, compiled, exact)["same"]
    compiled[7] += 1
    assert not judged(eager, compiled, exact)["same"]


def test_float64_is_no_judge_where_it_drew_other_random_numbers() -> None:
    eager, exact = torch.randn(2000), torch.randn(2000, dtype=torch.float64)
    assert judged(eager, eager + 0.8, exact)["same"]
    assert not judged(eager, eager + 0.8, exact, random=True)["same"]
    near = judged(eager, eager + 2e-4, eager.double() + 3e-4, random=True)
    assert near["same"] and "error_vs_fp64" in near


def test_the_largest_difference_is_told_in_units_in_the_last_place() -> None:
    eager = torch.tensor([1.0, 100.0])
    found = judged(eager, torch.nextafter(eager, torch.tensor(1e9)))
    assert found["max_ulp"] == pytest.approx(1.0) and found["mismatched"] == 2


def test_an_integer_off_by_rounding_is_excused_only_if_float64_says_so() -> None:
    assert judged([3, 4], [2, 4], [2, 4])["same"]
    assert not judged([3, 4], [2, 4], [3, 4])["same"]
    assert not judged([3, 4], [2, 4])["same"]


VALUES = [[5.0, 1.0, 5.0, 2.0]]


@pytest.mark.parametrize(
    ("eager", "compiled", "stable", "right"),
    [
        ([0], [2], False, True),  # argmax: both maxima are right
        ([0], [1], False, False),
        ([[0, 2]], [[2, 0]], False, True),  # topk
        ([[0, 2]], [[2, 2]], False, False),  # one of them twice
        ([[1, 3, 0, 2]], [[1, 3, 2, 0]], False, True),  # argsort
        ([[1, 3, 0, 2]], [[1, 3, 2, 0]], True, False),  # a stable sort has one answer
        ([0], [4], False, False),  # outside
    ],
)
def test_indices_may_differ_where_values_tie(
    eager: Any, compiled: Any, stable: bool, right: bool
) -> None:
    tie = {"values": torch.tensor(VALUES), "dim": 1, "stable": stable}
    found = judged(eager, compiled, tie=tie)
    assert found["same"] is right and bool(found.get("tied")) is right


def test_values_that_are_all_small_do_not_all_tie() -> None:
    probabilities = torch.tensor([[5e-5, 1e-6, 5.0000002e-5, 4e-5]])
    tie = {"values": probabilities, "dim": 1, "stable": False}
    assert judged([0], [2], tie=tie)["tied"]
    assert not judged([0], [1], tie=tie)["same"] and not judged([0], [3], tie=tie)["same"]


def test_an_index_of_nan_does_not_tie_with_an_index_of_a_number() -> None:
    values = torch.tensor([[1.0, float("nan"), 9.0]])
    tie = {"values": values, "dim": 1, "stable": False}
    assert not judged([1], [2], tie=tie)["same"]


def snapshot(result: Any, state: dict[str, Any], stamps: Any = None) -> dict[str, Any]:
    return dict(outputs.take(result, state, stamps or outputs.stamp_tensors(state)))


def test_an_input_written_to_without_its_version_counter_is_seen() -> None:
    x = torch.arange(4.0)
    stamps = outputs.stamp_tensors({"arg0": x})
    view = torch.frombuffer(x.numpy().data, dtype=torch.float32)
    view[2] = 9.0  # as generated code does: the same memory, another counter
    assert x._version == stamps["arg0"][0]
    assert list(snapshot(None, {"arg0": x}, stamps)["changed"]) == ["arg0"]


def test_a_swap_of_two_elements_is_a_change() -> None:
    x = torch.arange(4.0)
    stamps = outputs.stamp_tensors({"arg0": x})
    x.data = x.flip(0)
    assert list(snapshot(None, {"arg0": x}, stamps)["changed"]) == ["arg0"]


def test_a_write_on_one_side_only_is_held_against_the_value_before() -> None:
    before = {"arg0": torch.zeros(3)}
    eager, compiled = {"arg0": torch.zeros(3)}, {"arg0": torch.zeros(3)}
    stamps = outputs.stamp_tensors(eager), outputs.stamp_tensors(compiled)
    eager["arg0"].add_(1)
    pair = snapshot(None, eager, stamps[0]), snapshot(None, compiled, stamps[1])
    found = comparison.compare(*pair, comparison.ComparisonFacts(baseline=before))
    assert not found["same"] and found["values"][0]["property"] == "changed input"


METADATA: list[tuple[str, Any]] = [
    ("dtype", lambda x: x.double()),
    ("shape", lambda x: x[:, :1]),
    ("stride", lambda x: x.t().contiguous().t()),
    ("alias", lambda x: x),
    ("requires_grad", lambda x: x.clone().requires_grad_()),
]


@pytest.mark.parametrize(("name", "change"), METADATA, ids=[name for name, _ in METADATA])
def test_metadata_is_compared(name: str, change: Any) -> None:
    x = torch.randn(3, 2)
    state = {"arg0": x}
    pair = snapshot(x.clone(), state), snapshot(change(x), state)
    found = comparison.compare(*pair)
    assert name in {item["property"] for item in found["metadata"]} and not found["same"]


def test_a_leaf_is_not_an_intermediate_result() -> None:
    x = torch.randn(3, requires_grad=True)
    pair = snapshot(x * 1.0, {}), snapshot((x * 1.0).detach().requires_grad_(), {})
    found = comparison.compare(*pair)
    assert [item["property"] for item in found["metadata"]] == ["is_leaf"]


class Degrees(torch.Tensor):
    pass


class Radians(torch.Tensor):
    pass


def test_a_subclass_of_the_programs_own_is_compared_and_not_named() -> None:
    x, kinds = torch.ones(3), (Degrees, Radians, torch.Tensor)
    sides = {kind: snapshot(x.clone().as_subclass(kind), {}) for kind in kinds}
    for one, other in ((Degrees, torch.Tensor), (torch.Tensor, Degrees), (Degrees, Radians)):
        (found,) = comparison.compare(sides[one], sides[other])["metadata"]
        assert found["property"] == "type" and found["eager"] != found["compiled"]
        assert not {"Degrees", "Radians"} & {*found["eager"].split(), *found["compiled"].split()}
    assert comparison.compare(sides[Degrees], snapshot(x.as_subclass(Degrees), {}))["same"]
    parameter = snapshot(torch.nn.Parameter(x, requires_grad=False), {})
    assert comparison.compare(parameter, sides[torch.Tensor])["same"]


def test_a_scalar_of_numpy_is_the_array_that_dynamo_makes_of_it() -> None:
    middle, array = numpy.float32(2.5), numpy.array(2.5)
    flat = [outputs.flatten(value)[0][1] for value in (middle, array, array[None])]
    assert all(isinstance(each, torch.Tensor) for each in flat)
    assert [tuple(each.shape) for each in flat] == [(), (), (1,)]
    assert outputs.flatten(numpy.str_("a")) == [("", "a")]


def test_what_is_no_generator_any_more_has_another_type() -> None:
    x = torch.ones(3)
    generator, rest = snapshot((each for each in x), {}), snapshot(iter((x,)), {})
    (found,) = comparison.compare(generator, rest)["metadata"]
    assert (found["property"], found["eager"], found["compiled"]) == (
        "type",
        "generator",
        "tuple_iterator",
    )
    assert comparison.compare(generator, generator)["same"]
    assert comparison.compare(rest, snapshot(iter([x]), {}))["same"]


def test_metadata_of_a_changed_input_is_compared() -> None:
    eager, compiled = {"arg0": torch.zeros(2, 3)}, {"arg0": torch.zeros(2, 3)}
    stamps = outputs.stamp_tensors(eager), outputs.stamp_tensors(compiled)
    eager["arg0"].t_()
    compiled["arg0"].add_(0.0)
    pair = snapshot(None, eager, stamps[0]), snapshot(None, compiled, stamps[1])
    found = comparison.compare(*pair)
    assert {"shape", "stride"} & {item["property"] for item in found["metadata"]}


def test_a_missing_gradient_and_a_zero_gradient_mean_the_same() -> None:
    def grads(value: Any) -> dict[str, Any]:
        return {"leaves": [], "changed": {}, "grads": {"arg0": value}}

    assert comparison.compare(grads(None), grads(torch.zeros(2)))["same"]
    assert not comparison.compare(grads(None), grads(torch.ones(2)))["same"]


def test_the_tangents_of_outputs_are_compared() -> None:
    x, v = torch.randn(3), torch.ones(3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, v)
        eager, halved, lost = (snapshot(each, {}) for each in (dual * 2, dual + x, x * 2))
    for compiled, missing in ((halved, False), (lost, True)):
        found = comparison.compare(eager, compiled)
        (wrong,) = found["values"]
        assert (wrong["where"], wrong["property"]) == ("tangent 0", "tangent")
        assert not found["same"] and not found["metadata"] and ("missing" in wrong) is missing
    assert "tangents" not in snapshot(x, {})


def test_dual_tensors_among_the_arguments_are_told() -> None:
    x = torch.ones(3)
    with forward_ad.dual_level():
        for given, told in ((forward_ad.make_dual(x, x), True), (x, False)):
            call = SimpleNamespace(function=torch.sin, args=(), kwargs={"input": given})
            assert probe.collect_facts(call)["dual"] is told


class Pair(NamedTuple):
    one: torch.Tensor
    two: torch.Tensor


class Marked(dict):  # type: ignore[type-arg]
    """A dict of the program's own."""


@pytest.mark.parametrize(
    ("eager", "compiled"),
    [
        (Pair(torch.ones(1), torch.ones(1)), (torch.ones(1), torch.ones(1))),
        (Marked(a=torch.ones(1)), {"a": torch.ones(1)}),
        (OrderedDict(a=torch.ones(1)), {"a": torch.ones(1)}),
    ],
)
def test_a_container_with_names_or_of_another_class_is_not_a_plain_one(
    eager: Any, compiled: Any
) -> None:
    pair = snapshot([eager], {}), snapshot([compiled], {})
    found = comparison.compare(*pair)
    assert {item["property"] for item in found["metadata"]} == {"structure"}
    assert comparison.compare(pair[0], snapshot([copy.copy(eager)], {}))["same"]


@pytest.mark.parametrize(
    ("expected", "actual", "how"),
    [
        ([1 + 1j], [1 + 1j], "bitwise"),
        ([1 + 1j], [1 + 1.0000005j], "close"),
        ([1 + 1j], [1 + 5j], "differ"),
        ([1 + 1j], [2 + 1j], "differ"),
    ],
)
def test_a_list_of_complex_tensors_is_compared_in_both_parts(
    expected: Any, actual: Any, how: str
) -> None:
    found = closeness.compare_lists([torch.tensor(expected)], [torch.tensor(actual)])
    assert found["how"] == how
    assert found["max_abs_error"] == pytest.approx(abs(actual[0] - expected[0]), abs=1e-7)
