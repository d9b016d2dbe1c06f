"""In which order candidates are tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from anonymizer.graph.ir import Graph, Node, Ref, TensorMeta
from anonymizer.graph.repro import ReproAssertion
from anonymizer.plain.dynamic_shapes import EVERY_DIMENSION
from collectors.protocol.graphs import CaptureWay
from reporter.core.candidate import Candidate
from reporter.reduce.initial_candidates import (
    build_graph_candidates,
    build_source_candidates,
    fix_constant_sizes,
    list_divisible_graphs,
)
from reporter.report.captured_call import CapturedCall
from tests.support.graphs import call, tensor
from tests.support.places import DATA

FOOBAR = CapturedCall.load(DATA / "recordings" / "foobar.json")
CAPTURED = FOOBAR.material.captures[0][0]
ASSERTION = ReproAssertion("wrong_result", double=True)
ONCE: CaptureWay = {"replay": False}


def test_the_whole_graph_comes_first_and_the_backend_that_is_quicker_before_the_users_own() -> None:
    first, second, *rest = build_graph_candidates(CAPTURED, ONCE, ASSERTION, "aot_autograd")
    assert dict(first.assertion.arguments) == {"backend": "'aot_eager'"} and first.assertion.double
    assert dict(second.assertion.arguments) == {}
    assert first.content == second.content and isinstance(first.content, Graph)
    # blocks alone, where the noise of the rest is gone
    sizes = {item.content.statements for item in rest if isinstance(item.content, Graph)}
    assert min(sizes) == 1 < first.content.statements


def test_a_crash_is_not_looked_for_in_blocks() -> None:
    found = list(
        build_graph_candidates(CAPTURED, ONCE, replace(ASSERTION, kind="crash"), "inductor")
    )
    assert {item.content.statements for item in found if isinstance(item.content, Graph)} == {
        next(iter(found)).content.statements  # type: ignore[union-attr]
    }
    assert all("backend" not in dict(item.assertion.arguments) for item in found)


def test_a_wrong_gradient_is_tried_with_weighted_sums_before_plain_ones() -> None:
    assertion = replace(ASSERTION, kind="wrong_gradient", backward="randn")
    first, second, *_ = build_graph_candidates(CAPTURED, ONCE, assertion, "inductor")
    assert (first.assertion.backward, second.assertion.backward) == ("randn", "sum")


def test_a_program_that_was_saved_is_at_last_saved_and_loaded() -> None:
    assertion = replace(ASSERTION, kind="crash", compiler="export", steps=("save",))
    content = next(build_graph_candidates(CAPTURED, ONCE, assertion, "export")).content
    for found in (
        list(build_graph_candidates(CAPTURED, ONCE, assertion, "export")),
        list(build_source_candidates(content, assertion, "export")),
    ):
        first, *_, last = found
        assert "torch.export.load" not in first.render() and "torch.export.load" in last.render()
    made = replace(assertion, steps=("decompose",))
    for item in build_graph_candidates(CAPTURED, ONCE, made, "export"):
        assert "torch.export.load" not in item.render()


def test_sizes_that_were_seen_to_change_are_asked_of_dynamic_shapes() -> None:
    assertion = replace(ASSERTION, arguments=(("dynamic", "False"), ("mode", "'x'")))
    first = next(build_graph_candidates(CAPTURED, {"dynamic": True}, assertion, "inductor"))
    assert first.assertion.arguments == (("mode", "'x'"), ("dynamic", "True"))


def test_an_exporter_is_asked_for_dynamic_sizes_by_its_own_argument() -> None:
    assertion = ReproAssertion("crash", compiler="export")
    for way, expected in ((ONCE, set()), ({"dynamic": True}, {"dynamic_shapes"})):
        candidates = list(build_graph_candidates(CAPTURED, way, assertion, "export"))
        assert {name for each in candidates for name, _ in each.assertion.arguments} == expected


def test_a_compiled_candidate_of_a_package_with_dynamic_sizes_has_them_too() -> None:
    assertion = ReproAssertion("wrong_result", compiler="aoti", steps=("package",))
    candidates = build_graph_candidates(CAPTURED, {"dynamic": True}, assertion, "inductor")
    compiled = [each for each in candidates if each.assertion.compiler == "compile"]
    assert {each.assertion.arguments for each in compiled} == {(("dynamic", "True"),)}


def test_the_sizes_that_may_change_are_those_that_an_export_declares_as_dynamic() -> None:
    every = (("dynamic_shapes", EVERY_DIMENSION),)
    items = (replace(tensor("x0"), symbols=("s0",)), replace(tensor("x1"), symbols=(4,)))
    node: Node = call("a", "torch.add", Ref("x0"), Ref("x1"))
    graph = Graph(items, (node,), (Ref("a"),))
    candidate = Candidate(graph, ReproAssertion("crash", compiler="export", arguments=every))
    assert candidate.build_parts()[1].write_arguments() == (
        ', dynamic_shapes=({0: torch.export.Dim("d")}, None)'
    )
    unknown = tuple(replace(item, symbols=()) for item in items)
    candidate = candidate.with_graph(replace(graph, inputs=unknown))
    assert candidate.build_parts()[1].arguments == every


@pytest.mark.parametrize(
    "captured",
    [
        {"unsupported": "a stream"},
        {"inputs": [{"name": "x"}]},
        {"inputs": [], "nodes": [], "outputs": []},
    ],
)
def test_what_cannot_be_read_has_no_candidates(captured: dict[str, Any]) -> None:
    assert list(build_graph_candidates(captured, ONCE, ASSERTION, "inductor")) == []
    assert list(list_divisible_graphs({"unsupported": "x"}, ONCE, ASSERTION, "inductor")) == []


def test_values_that_cannot_be_computed_with_have_no_candidates() -> None:
    layout = {"shape": [4], "stride": [1], "dtype": "float32", "device": "cpu"}
    given = {
        "name": "x0",
        "kind": "input",
        "meta": {**layout, "requires_grad": False},
        "stats": {"min": 0.0, "max": 10**400},
    }
    captured: Any = {"inputs": [given], "nodes": [], "outputs": [{"ref": "x0"}]}
    crash = replace(ASSERTION, kind="crash")
    levels = list(build_graph_candidates(captured, ONCE, crash, "inductor"))
    assert len(levels) == len(("plain", "moments"))
    assert list(list_divisible_graphs(captured, ONCE, ASSERTION, "inductor"))


def test_a_piece_without_floats_is_not_compared_in_float64() -> None:
    graph, made = next(list_divisible_graphs(CAPTURED, ONCE, ASSERTION, "inductor"))
    assert made(graph).assertion.double
    whole = TensorMeta((4,), "int64")
    numbers = replace(graph, inputs=tuple(replace(item, meta=whole) for item in graph.inputs))
    assert not made(numbers).assertion.double


@pytest.mark.parametrize(
    ("way", "kind"), [({"replay": True}, "wrong_result"), (ONCE, "stale_graph")]
)
def test_a_failure_of_several_calls_is_not_cut_into_pieces(way: dict[str, Any], kind: str) -> None:
    assert (
        list(list_divisible_graphs(CAPTURED, way, replace(ASSERTION, kind=kind), "inductor")) == []
    )


def test_only_the_sizes_that_differ_between_the_calls_stay_symbols() -> None:
    item = replace(tensor("x0"), symbols=("s0", "s1"))
    node: Node = call("a", "torch.sinh", Ref("x0"))
    runs = ((("s0", 4), ("s1", 8)), (("s0", 6), ("s1", 8)))
    graph, calls = fix_constant_sizes(Graph((item,), (node,), (Ref("a"),), runs=runs))
    assert graph.inputs[0].symbols == ("s0", 8)
    assert calls == ((("s0", 4),), (("s0", 6),))


def test_a_graph_that_is_exported_once_has_a_module_and_the_dimensions_that_change() -> None:
    item = replace(tensor("x0"), symbols=("s0", 8))
    runs = ((("s0", 4),), (("s0", 1),))
    graph = Graph((item,), (call("a", "torch.sinh", Ref("x0")),), (Ref("a"),), runs=runs)
    body, assertion = Candidate(
        graph, ReproAssertion("crash", compiler="export", calls=runs)
    ).build_parts()
    assert body.convention.is_module
    assert assertion.calls == ((("n", 4),), (("n", 1),))
    assert assertion.write_arguments() == (', dynamic_shapes=({0: torch.export.Dim("d", min=1)},)')


def test_state_that_a_call_writes_to_is_given_first_where_what_it_leaves_is_compared() -> None:
    layer = CAPTURED["nodes"][0]
    state = {**CAPTURED["inputs"][0], "name": "cache", "kind": "buffer"}
    written = {"op": "method", "target": "add_", "args": [{"ref": "cache"}, 1], "kwargs": {}}
    node = {**layer, **written, "name": "added"}
    captured = {
        **CAPTURED,
        "inputs": [*CAPTURED["inputs"], state],
        "nodes": [*CAPTURED["nodes"], node],
    }

    def list_kinds(**more: object) -> list[str]:
        found = build_graph_candidates(captured, ONCE, replace(ASSERTION, **more), "inductor")
        graphs = [item.content for item in found if isinstance(item.content, Graph)]
        return [i.kind for graph in graphs for i in graph.inputs if i.name == "cache"]

    assert set(list_kinds()) == {"buffer"}
    assert list_kinds(compare_inputs=True)[0] == "input"
    assert "buffer" in list_kinds(compare_inputs=True)
    assert set(list_kinds(compare_inputs=True, compiler="aoti")) == {"buffer"}


def test_a_derivative_is_at_last_tried_where_inputs_are_zeros_ones_or_the_identity() -> None:
    def list_inputs(backward: str) -> set[tuple[str, ...]]:
        sizes = {"x0": [3, 1], "x1": [1], "x2": [2, 2]}
        layout = {"stride": None, "dtype": "float64", "device": "cpu", "requires_grad": True}
        inputs = [
            {"name": name, "kind": "input", "meta": {**layout, "shape": shape}}
            for name, shape in sizes.items()
        ]
        node = {"name": "a", "op": "function", "target": "torch.addmm", "kwargs": {}, "block": []}
        args = [{"ref": name} for name in sizes]
        captured: Any = {
            "inputs": inputs,
            "nodes": [{**node, "args": args, "meta": None}],
            "outputs": [{"ref": "a"}],
        }
        assertion = ReproAssertion("wrong_gradient", backward=backward, compiler="eager")
        found = build_graph_candidates(captured, ONCE, assertion, "eager")
        graphs = [item.content for item in found if isinstance(item.content, Graph)]
        return {tuple(item.recipe.kind for item in graph.inputs) for graph in graphs}

    points = list_inputs("gradcheck")
    assert {("zeros", "ones", "eye"), ("ones", "zeros", "zeros")} <= points
    assert not any(kinds[0] == "eye" for kinds in points)
    assert not any("zeros" in kinds for kinds in list_inputs("sum"))
