"""Reduction of graphs on the host alone: the failure is a predicate over texts, so no torch is
needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.graph import emitter
from anonymizer.graph.ir import Atom, Graph, Input, Node, Recipe, Ref, TensorMeta
from anonymizer.graph.repro import ReproAssertion
from reporter.core.candidate import Candidate
from reporter.reduce import rounds, simplification
from reporter.reduce.candidate_questions import Questions, SweepPass, require_graph
from reporter.reduce.scheduler import Scheduler, SearchSettings
from tests.support.graphs import TextPool, call, chain, failing, tensor


def reduce_by(
    graph: Graph, fails: Callable[[str], bool], assertion: ReproAssertion | None = None
) -> tuple[Candidate, int]:
    pool = TextPool(failing(fails))
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    return rounds.reduce_graph(Candidate(graph, assertion or ReproAssertion("crash")), ask), len(
        pool.asked
    )


def test_a_program_is_reduced_again_where_the_default_backend_shows_its_failure() -> None:
    cheap = ReproAssertion("wrong_result", arguments=(("backend", "'aot_eager'"),))
    whole, piece = (Candidate(chain(length, 0), cheap) for length in (6, 2))

    def fails(text: str) -> bool:
        needed = ("aot_eager",), ("torch.cos", "torch.exp")
        return "torch.sinh" in text and any(all(n in text for n in each) for each in needed)

    pool = TextPool(failing(fails))
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    small = rounds.reduce_graph(piece, ask)
    assert small.assertion.arguments and require_graph(small).statements == 1
    larger = rounds.reduce_under_default_backend(small, [piece, whole], ask)
    assert larger.assertion.arguments == () and require_graph(larger).statements == 3
    assert rounds.reduce_under_default_backend(small, [piece], ask) == small


@given(st.integers(2, 60), st.data())
def test_one_culprit_is_isolated_wherever_it_is(length: int, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(0, length - 1))
    reduced, _ = reduce_by(chain(length, culprit), lambda text: "torch.sinh" in text)
    assert require_graph(reduced).statements == 1


def test_questions_grow_with_the_logarithm_of_the_graph() -> None:
    asked = {
        n: reduce_by(chain(n, n // 3), lambda text: "torch.sinh" in text)[1] for n in (100, 1600)
    }
    assert asked[1600] - asked[100] <= 4 * 4 * 2  # 4 doublings, a question or two each at both ends


def test_what_writes_to_a_wrong_argument_returns_nothing() -> None:
    nodes = (call("a", "torch.relu_", Ref("x0")), call("b", "torch.sin", Ref("a")))
    graph = Graph((tensor("x0"),), nodes, (Ref("b"),))

    def fails(text: str) -> bool:
        return "relu_" in text and re.search(r"return (args|.*\*args\])\n", text) is not None

    reduced, _ = reduce_by(graph, fails, ReproAssertion("wrong_result", compare_inputs=True))
    assert require_graph(reduced).outputs == ()
    assert [node.target for node in require_graph(reduced).nodes] == ["torch.relu_"]


def test_two_culprits_that_must_meet_stay_together() -> None:
    graph = Graph(
        (tensor("x0"),),
        (
            call("a", "torch.sinh", Ref("x0")),
            call("b", "torch.sin", Ref("a")),
            call("c", "torch.cosh", Ref("b")),
            call("d", "operator.add", Ref("c"), Ref("a")),
        ),
        (Ref("d"),),
    )
    reduced, _ = reduce_by(graph, lambda text: "torch.sinh" in text and "torch.cosh" in text)
    assert require_graph(reduced).statements == 2


def test_shapes_shrink_together_with_the_constants_made_from_them() -> None:
    view = Node("v", "method", "view", (Ref("x0"), 4, 2, 48), (), TensorMeta((4, 2, 48), "float32"))
    graph = Graph(
        (tensor("x0", shape=(4, 96)),), (view, call("s", "torch.sinh", Ref("v"))), (Ref("s"),)
    )

    def fails(text: str) -> bool:
        # valid only while the view matches its input, as torch would have it
        made = re.search(r"randn\((\d+), (\d+)\)", text)
        viewed = re.search(r"view\((\d+), (\d+), (\d+)\)", text)
        if not (made and viewed):
            return False
        product = int(viewed[1]) * int(viewed[2]) * int(viewed[3])
        return product == int(made[1]) * int(made[2])

    reduced, _ = reduce_by(graph, fails)
    item = require_graph(reduced).inputs[0]
    assert item.meta.shape == (2, 4)  # viewed as (2, 2, 2): one would be a special case of its own


def test_regions_become_with_statements_and_vanish_as_pairs() -> None:
    enter = Node("e", "enter", "torch.autocast", ("cpu", None, False, None))
    leave = Node("l", "exit", "exit", (Ref("e"),))
    graph = Graph((tensor("x0"),), (enter, call("y", "torch.sinh", Ref("x0")), leave), (Ref("y"),))
    assert 'with torch.autocast("cpu", enabled=False):' in emitter.emit(graph).definitions
    reduced, _ = reduce_by(graph, lambda text: "torch.sinh" in text)
    assert "with" not in emitter.emit(require_graph(reduced)).definitions


def test_the_same_candidate_is_reduced_in_the_same_way() -> None:
    graph = replace(chain(30, 7))
    texts = {reduce_by(graph, lambda text: "torch.sinh" in text)[0].render() for _ in range(3)}
    assert len(texts) == 1


def test_two_culprits_far_apart_are_found_in_few_questions() -> None:
    graph = chain(300, 40)
    nodes = tuple(
        replace(node, target="torch.cosh") if node.name == "n260" else node for node in graph.nodes
    )
    reduced, asked = reduce_by(
        replace(graph, nodes=nodes), lambda text: "torch.sinh" in text and "torch.cosh" in text
    )
    assert require_graph(reduced).statements == 2
    assert asked < 80


def test_precision_and_device_change_everywhere_at_once() -> None:
    half = TensorMeta((4, 8), "float16", (8, 1), device="cuda")
    graph = Graph(
        (Input("x0", "input", half, Recipe("randn")),),
        (
            call("a", "torch.sinh", Ref("x0"), meta=half),
            Node("b", "method", "to", (Ref("a"), Atom("torch.float16")), (), half),
        ),
        (Ref("b"),),
    )
    # valid only while the cast agrees with the input, so that neither could change alone
    reduced, _ = reduce_by(
        graph, lambda text: "torch.sinh" in text and ".to(" in text and text.count("float16") != 1
    )
    assert "cuda" not in reduced.render() and "float16" not in reduced.render()


def test_a_sweep_keeps_each_change_that_holds_and_tries_each_once() -> None:
    pool = TextPool(failing(lambda text: "fullgraph" in text))
    start = Candidate(
        chain(1, 0),
        ReproAssertion("crash", arguments=tuple((n, "True") for n in ("a", "fullgraph", "b"))),
    )
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    reduced = SweepPass((simplification.propose_options,)).run(start, ask)
    assert [name for name, _ in reduced.assertion.arguments] == ["fullgraph"]
    assert len(pool.asked) == len(set(pool.asked)) == 3


@pytest.mark.parametrize(
    ("kind", "needed", "left"),
    [
        ("crash", "", []),
        ("crash", "set_num_threads", ["torch.set_num_threads(1)"]),
        ("wrong_metadata", "", []),
        ("wrong_result", "", ["torch.use_deterministic_algorithms(True)"]),
    ],
)
def test_a_switch_of_torch_goes_where_the_failure_does_not_need_it(
    kind: str, needed: str, left: list[str]
) -> None:
    settings = (
        "torch.use_deterministic_algorithms(True)",
        "torch.set_num_threads(1)",
        'torch.set_float32_matmul_precision("high")',
    )
    backend = "def custom_backend(gm, inputs):\n    return gm"
    reduced, _ = reduce_by(
        chain(1, 0),
        lambda text: needed in text and "torch." in text,
        ReproAssertion(kind, prelude="\n".join(settings) + "\n\n\n" + backend),
    )
    assert reduced.assertion.list_settings() == left
    assert reduced.assertion.prelude.endswith(backend)


def test_a_parameter_whose_gradient_is_wrong_becomes_an_argument() -> None:
    weight = tensor("p0", "param", requires_grad=True)
    graph = Graph(
        (weight, tensor("x0")), (call("s", "torch.sinh", Ref("p0"), Ref("x0")),), (Ref("s"),)
    )
    assertion = ReproAssertion("wrong_gradient", backward="randn")
    reduced, _ = reduce_by(
        graph,
        lambda text: "sinh" in text and bool(re.search(r"\.requires_grad_\(\)|Parameter", text)),
        assertion,
    )
    assert "def repro(x, w):\n    return torch.sinh(w, x)" in reduced.render()
    assert "Parameter" not in reduced.render()


def test_a_layer_whose_gradient_is_wrong_beside_another_operation_becomes_a_call() -> None:
    weight = tensor("p0", "param", (8, 8), requires_grad=True)
    nodes = (
        call("l", "torch.nn.functional.linear", Ref("x0"), Ref("p0")),
        call("s", "torch.sinh", Ref("l")),
    )

    def reduce_to(count: int) -> str:
        graph = Graph((tensor("x0"), weight), nodes[:count], (Ref(nodes[count - 1].name),))
        return reduce_by(
            graph,
            lambda text: "inear" in text
            and ("sinh" in text or count == 1)
            and bool(re.search(r"\.requires_grad_\(\)|nn.Linear", text)),
            ReproAssertion("wrong_gradient", backward="sum"),
        )[0].render()

    assert "F.linear(x, w)" in reduce_to(2) and "nn.Linear" not in reduce_to(2)
    assert "nn.Linear" in reduce_to(1)


_SURROUNDED = ReproAssertion(
    "crash",
    arguments=(("dynamic", "True"), ("fullgraph", "True")),
    config=(("torch._inductor.config.cpp.threads", "1"),),
    contexts=("torch.no_grad()", "torch.inference_mode()"),
    backward="randn",
)


_CUBE = Graph(
    (tensor("x0", shape=(16, 3, 40)),), (call("s", "torch.sinh", Ref("x0")),), (Ref("s"),)
)


def test_what_needs_nothing_around_it_is_plain_after_one_question() -> None:
    reduced, asked = reduce_by(_CUBE, lambda text: "torch.sinh" in text, _SURROUNDED)
    assert reduced.assertion == ReproAssertion("crash")
    assert require_graph(reduced).inputs[0].meta.shape == (1,)
    assert asked == 1


@pytest.mark.parametrize(
    "needed",
    ["torch.no_grad()", "fullgraph=True", "config.cpp.threads = 1", "backward", "(2, 2, 2)"],
)
def test_the_one_thing_that_is_needed_stays_when_all_else_goes_at_once(needed: str) -> None:
    reduced, asked = reduce_by(_CUBE, lambda text: "sinh" in text and needed in text, _SURROUNDED)
    plain, _ = reduce_by(_CUBE, lambda text: "sinh" in text, _SURROUNDED)
    extra = set(reduced.render().splitlines()) - set(plain.render().splitlines())
    assert needed in reduced.render() and asked < 25
    assert not any(word in "\n".join(extra) for word in ("dynamic", "inference_mode"))
    assert ("torch.randn(1)" in reduced.render()) is (needed != "(2, 2, 2)")


def test_fewer_dimensions_where_nothing_needs_them() -> None:
    graph = Graph(
        (tensor("x0", shape=(2, 3, 4, 5)),), (call("s", "torch.sinh", Ref("x0")),), (Ref("s"),)
    )
    reduced, _ = reduce_by(graph, lambda text: "torch.sinh" in text)
    assert len(require_graph(reduced).inputs[0].meta.shape) == 1


def test_size_arithmetic_stays_symbolic_where_the_failure_needs_it() -> None:
    """A size read from a tensor is never replaced by its number, whatever is cut around it."""
    size = Node("s", "method", "size", (Ref("n1"), 1), (), "int")
    twice = Node("t", "function", "operator.mul", (Ref("s"), 2), (), "int")
    nodes = (*chain(3, 9).nodes, size, twice, call("v", "torch.arange", Ref("t")))
    graph = Graph((tensor("x0"),), (*nodes, call("w", "torch.sinh", Ref("v"))), (Ref("w"),))
    assertion = ReproAssertion("crash", arguments=(("dynamic", "True"),))

    def fails(text: str) -> bool:
        symbolic = re.search(r"torch\.arange\(\w+\.size\(1\) \* 2\)", text)
        return symbolic is not None and "dynamic=True" in text

    reduced, _ = reduce_by(graph, fails, assertion)
    assert require_graph(reduced).statements == 1
    assert "torch.arange(x.size(1) * 2)" in reduced.render()


@pytest.mark.parametrize(("pause", "asked"), [(5.0, 33), (1.0, 60)])
def test_a_search_that_stalls_ends(pause: float, asked: int) -> None:
    """After many candidates in vain, once they have taken longer than all before and a minute."""
    seconds = 0.0

    def outcome(text: str) -> str:
        nonlocal seconds
        seconds += pause
        return "fails" if "torch.sinh" in text else "passes"

    pool = TextPool(outcome)
    settings = SearchSettings(clock=lambda: seconds)
    scheduler = Scheduler(pool, lambda answer: answer.outcome == "fails", settings=settings)
    ask = Questions(scheduler, lambda _: None)
    assert ask.holds(Candidate(chain(1, 0), ReproAssertion("crash")))
    in_vain = [Candidate(chain(length, length), ReproAssertion("crash")) for length in range(1, 91)]
    for each in in_vain[:30]:  # nothing is given up before a reduction begins
        assert not ask.holds(each)
    with ask.give_up_on_stall():
        assert ask.holds(Candidate(chain(2, 0), ReproAssertion("crash")))
        before = len(pool.asked)
        for each in in_vain[30:]:
            assert not ask.holds(each)
        assert len(pool.asked) == before + asked
    assert before == 32 and not ask.holds(in_vain[0])
