"""Which settings of the recorded call a repro keeps, and in which order candidates are tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from anonymizer.graph.ir import Graph, Node, Ref, TensorMeta
from anonymizer.graph.repro import ReproCheck
from collectors.protocol import CaptureWay, ContextState
from reporter.reduce.initial_candidates import (
    build_graph_candidates,
    fix_constant_sizes,
    list_slices,
    write_compile_arguments,
    write_config_lines,
    write_onnx_arguments,
    write_settings,
)
from reporter.report.captured_call import CapturedCall
from tests.support.graphs import call, tensor
from tests.support.places import DATA

FOOBAR = CapturedCall.load(DATA / "recordings" / "foobar.json")
CAPTURED = FOOBAR.material.captures[0][0]
CHECK = ReproCheck("wrong_result", double=True)
ONCE: CaptureWay = {"replay": False}
PLAIN_CONTEXT: ContextState = {
    "grad": True,
    "inference": False,
    "autocast": {},
    "autocast_cache": True,
    "default_dtype": "torch.float32",
    "threads": 2,
    "deterministic": False,
    "matmul_precision": "highest",
}


@pytest.mark.parametrize(
    ("context", "environment", "line"),
    [
        ({"default_dtype": "torch.float64"}, {}, "torch.set_default_dtype(torch.float64)"),
        ({"deterministic": True}, {}, "torch.use_deterministic_algorithms(True)"),
        ({"threads": 1}, {"cores": 8}, "torch.set_num_threads(1)"),
        ({"matmul_precision": "high"}, {}, 'torch.set_float32_matmul_precision("high")'),
        ({"default_dtype": "torch.float32", "matmul_precision": "highest"}, {"cores": 8}, ""),
        ({"threads": 1}, {"cores": 1}, ""),  # as many as there are
        ({"threads": 4}, {"cores": 8}, ""),
    ],
)
def test_a_switch_that_was_not_at_its_default_becomes_a_statement(
    context: dict[str, Any], environment: dict[str, Any], line: str
) -> None:
    given: Any = {**PLAIN_CONTEXT, **context}
    facts: Any = environment or None
    assert write_settings(given, facts) == line


def test_only_plain_values_and_choices_of_torch_itself_are_kept_of_its_configuration() -> None:
    found = {
        "torch._inductor.config.max_autotune": True,
        "torch._inductor.config.cpp.simdlen": None,
        "torch._inductor.config.debug_dir": "/home/me/secret",
        "torch._functorch.config.choice": "recompute",
        "torch._inductor.config.compile_threads": 1,  # says how many cores there are
        "torch._dynamo.secret": 3,
        "mylib.config.size": 3,
    }
    assert write_config_lines(found, {"torch._functorch.config.choice"}) == (
        ("torch._inductor.config.max_autotune", "True"),
        ("torch._inductor.config.cpp.simdlen", "None"),
        ("torch._functorch.config.choice", "'recompute'"),
    )


@pytest.mark.parametrize(
    ("options", "custom", "kept"),
    [
        ({}, False, ()),
        ({"backend": "inductor", "mode": "default", "fullgraph": False}, False, ()),
        ({"backend": "aot_eager"}, False, (("backend", "'aot_eager'"),)),
        ({"backend": {"name": "mine"}}, True, (("backend", "custom_backend"),)),
        ({"backend": {"name": "mine"}}, False, ()),
        (
            {"dynamic": False, "fullgraph": True},
            False,
            (("dynamic", "False"), ("fullgraph", "True")),
        ),
        ({"options": {"max_autotune": True}}, False, (("options", "{'max_autotune': True}"),)),
        ({"options": {"pass": {"function": "mine"}}}, False, ()),
    ],
)
def test_arguments_of_compile_are_kept_where_they_are_torchs_own(
    options: dict[str, Any], custom: bool, kept: tuple[tuple[str, str], ...]
) -> None:
    assert write_compile_arguments(options, custom) == kept


def test_the_whole_graph_comes_first_and_the_backend_that_is_quicker_before_the_users_own() -> None:
    first, second, *rest = build_graph_candidates(CAPTURED, ONCE, CHECK, "aot_autograd")
    assert dict(first.check.arguments) == {"backend": "'aot_eager'"} and first.check.double
    assert dict(second.check.arguments) == {}
    assert first.content == second.content and isinstance(first.content, Graph)
    # blocks alone, where the noise of the rest is gone
    sizes = {item.content.statements for item in rest if isinstance(item.content, Graph)}
    assert min(sizes) == 1 < first.content.statements


def test_a_crash_is_not_looked_for_in_blocks() -> None:
    found = list(build_graph_candidates(CAPTURED, ONCE, replace(CHECK, kind="crash"), "inductor"))
    assert {item.content.statements for item in found if isinstance(item.content, Graph)} == {
        next(iter(found)).content.statements  # type: ignore[union-attr]
    }
    assert all("backend" not in dict(item.check.arguments) for item in found)


def test_a_wrong_gradient_is_tried_with_weighted_sums_before_plain_ones() -> None:
    check = replace(CHECK, kind="wrong_gradient", backward="randn")
    first, second, *_ = build_graph_candidates(CAPTURED, ONCE, check, "inductor")
    assert (first.check.backward, second.check.backward) == ("randn", "sum")


def test_sizes_that_were_seen_to_change_are_asked_of_dynamic_shapes() -> None:
    check = replace(CHECK, arguments=(("dynamic", "False"), ("mode", "'x'")))
    first = next(build_graph_candidates(CAPTURED, {"dynamic": True}, check, "inductor"))
    assert first.check.arguments == (("mode", "'x'"), ("dynamic", "True"))


@pytest.mark.parametrize(
    "captured",
    [
        {"unsupported": "a stream"},
        {"inputs": [{"name": "x"}]},
        {"inputs": [], "nodes": [], "outputs": []},
    ],
)
def test_what_cannot_be_read_has_no_candidates(captured: dict[str, Any]) -> None:
    assert list(build_graph_candidates(captured, ONCE, CHECK, "inductor")) == []
    assert list(list_slices({"unsupported": "x"}, ONCE, CHECK, "inductor")) == []


def test_a_piece_without_floats_is_not_compared_in_float64() -> None:
    graph, made = next(list_slices(CAPTURED, ONCE, CHECK, "inductor"))
    assert made(graph).check.double
    whole = TensorMeta((4,), "int64")
    numbers = replace(graph, inputs=tuple(replace(item, meta=whole) for item in graph.inputs))
    assert not made(numbers).check.double


@pytest.mark.parametrize(
    ("way", "kind"), [({"replay": True}, "wrong_result"), (ONCE, "stale_graph")]
)
def test_a_failure_of_several_calls_is_not_cut_into_pieces(way: dict[str, Any], kind: str) -> None:
    assert list(list_slices(CAPTURED, way, replace(CHECK, kind=kind), "inductor")) == []


def test_only_the_sizes_that_differ_between_the_calls_stay_symbols() -> None:
    item = replace(tensor("x0"), symbols=("s0", "s1"))
    node: Node = call("a", "torch.sinh", Ref("x0"))
    runs = ((("s0", 4), ("s1", 8)), (("s0", 6), ("s1", 8)))
    graph, calls = fix_constant_sizes(Graph((item,), (node,), (Ref("a"),), runs=runs))
    assert graph.inputs[0].symbols == ("s0", 8)
    assert calls == ((("s0", 4),), (("s0", 6),))


def test_of_the_names_in_a_model_of_onnx_only_words_of_torch_stay() -> None:
    options = {
        "output_names": ["softmax", "tumour_risk"],
        "input_names": ["scan"],
        "optimize": False,
    }
    made = dict(write_onnx_arguments(options, {"softmax", "relu"}))
    assert made == {"output_names": "['softmax', 'name1']", "optimize": "False"}
