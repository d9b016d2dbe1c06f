"""A rewritten program with its state beside it, and the repros that compare it."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from anonymizer.graph.repro import ReproAssertion, ReproBody
from anonymizer.harness.text import render_harness
from anonymizer.plain.script.forms import PlainForm
from anonymizer.plain.text import render_plain
from anonymizer.source.program import CallSequence, SourceProgram
from anonymizer.source.state import forget_stored, observe, renew, wrap
from reporter.core.operation_names import list_python_words
from reporter.reduce.source_candidates import RewrittenProgram, make_judgeable
from tests.support.state_programs import ASSERTION, OF_ARGUMENTS, body_of, keep_arguments, program

SHOWN = 'assert actual() == expected(), f"compiled {actual()}, eager {expected()}"'


STATE = """
state1 = []
state2 = 0
class Thing1:
    items = {}
thing1 = Thing1()
def repro(x):
    global state2
    state2 += 1
    state1.append(1)
    return x
"""


def read_state(one: SourceProgram) -> str:
    """What the program returns of its state; Python 3.10 writes `lambda :`."""
    return wrap(one).write_definitions().rpartition("lambda")[2].lstrip(" :")


def test_lengths_and_keys_come_before_contents_and_one_call_before_two() -> None:
    read = [(one.state_calls, read_state(one)) for one in observe(program(STATE))]
    lengths = "[len(state1), state2, vars(thing1), list(Thing1.items)])"
    contents = "[state1, state2, vars(thing1), Thing1.items])"
    assert read == [(1, lengths), (1, contents), (2, lengths), (2, contents)]


def test_global_variables_are_those_of_the_factory() -> None:
    text = wrap(next(observe(program(STATE)))).write_definitions()
    namespace: dict[str, object] = {}
    exec(text, namespace)
    make = namespace["program"]
    (repro, state), (_, other) = make(), make()  # type: ignore[operator]
    repro(1)
    assert state()[:2] == [1, 1] and other()[:2] == [0, 0]


def test_a_program_without_state_is_not_wrapped() -> None:
    assert list(observe(program("def repro(x):\n    return x"))) == []


def test_a_module_shows_its_attributes() -> None:
    source = (
        "class Net(nn.Module):\n    def forward(self, x):\n        self.n = 1\n        return x"
    )
    once, twice = map(wrap, observe(program(source, "Net()")))
    assert "model = Net()" in once.write_definitions() and "vars(model)" in once.write_definitions()
    assert (once.state_calls, twice.state_calls) == (1, 2)


@pytest.mark.parametrize("at", (0, 2))
def test_the_repros_are_programs(at: int) -> None:
    one = list(observe(program(STATE)))[at]
    body = body_of(one)
    harness, plain = render_harness(body, ASSERTION), render_plain(
        body, ASSERTION, PlainForm.PLAINEST
    )
    for text in (harness, plain):
        ast.parse(text)
        assert "torch.compile(" in text
    assert "wrong metadata: side effect" in harness
    assert plain.rstrip().endswith(SHOWN)


@pytest.mark.parametrize("definitions, given, made", OF_ARGUMENTS)
def test_what_an_argument_holds_is_read_first(definitions: str, given: str, made: str) -> None:
    one = next(observe(program(definitions, given=given)))
    assert one.observes_arguments and one.state_calls == 1
    harness = render_harness(body_of(one), ASSERTION)
    plain = render_plain(body_of(one), ASSERTION, PlainForm.PLAINEST)
    assert "def held(" in harness and list_python_words(harness) == ()
    assert f"expected, actual = {made}, {made}" in plain
    assert "torch.compile(fn)(x, actual)" in plain


def test_whether_an_argument_keeps_its_gradient_is_read_where_the_program_asks_for_that() -> None:
    made = "torch.ones(2, requires_grad=True).clone()"
    one = next(observe(program("def repro(x):\n    x.retain_grad()", given=f"({made},)")))
    assert one.observes_arguments and one.state_calls == 1
    harness = render_harness(body_of(one), ASSERTION)
    plain = render_plain(body_of(one), ASSERTION, PlainForm.PLAINEST)
    assert "arg.retains_grad if isinstance(arg, torch.Tensor)" in harness
    assert f"expected = {made}\nactual = {made}\n" in plain
    assert "expected, actual = expected.retains_grad, actual.retains_grad" in plain
    untold = program("def repro(x):\n    return x * 2", given=f"({made},)")
    assert not any(each.observes_arguments for each in observe(untold))


def test_objects_that_several_calls_get_are_made_once_on_each_side() -> None:
    _, kept = keep_arguments()
    assert [item.write_definitions().count("self.attr1") for item in kept] == [1, 0]
    assert all("self.attr2 = 2" in item.write_definitions() for item in kept)


def test_tensors_alone_are_made_for_each_call() -> None:
    one = program("def repro(x):\n    return x")
    made = replace(one, sequences=(CallSequence(one.inputs, ((), ())),))
    found = make_judgeable(RewrittenProgram(made), ReproAssertion("stale_graph"))
    assert not any(asked.keeps_arguments for _, asked in found)
    assert forget_stored(one) is None


def test_each_run_draws_its_own_random_numbers_from_the_beginning() -> None:
    one = program("state1 = random.Random(0)\ndef repro(x):\n    return x * state1.random()")
    for kind in ("stale_graph", "wrong_result"):
        found = list(make_judgeable(RewrittenProgram(one), ReproAssertion(kind)))
        assert [content.program.has_own_state for content, _ in found] == [True]
    (content, _), *_ = make_judgeable(RewrittenProgram(one), ReproAssertion("crash"))
    assert not content.program.has_own_state
    text = body_of(found[0][0].program).definitions
    assert text.startswith("def program():\n    state1 = random.Random(0)\n")


def test_a_module_that_becomes_a_function_needs_no_import_and_long_state_two_lines() -> None:
    forward = "    def forward(self, x, y):\n        y['a'] = 1\n        return x"
    module = f"class Repro(nn.Module):\n{forward}"
    long = "{'alpha': 1, 'beta': 2, 'gamma': 3, 'delta': 4}"
    one = next(observe(program(module, "Repro()", f"(x, {long})")))
    of_function = body_of(one)
    convention = replace(of_function.convention, is_module=True)
    body = replace(of_function, convention=convention)
    plain = render_plain(body, ASSERTION, PlainForm.PLAINEST)
    assert "from torch import nn" not in plain and "def fn(x, y):" in plain
    assert f"expected = {long}\nactual = {long}\n" in plain


def test_what_black_would_break_is_made_on_two_lines() -> None:
    made = "collections.deque([0.0, 0.0], maxlen=2)"
    one = program("def repro(x, y):\n    y.append(x)\n    return x", given=f"(x, {made})")
    plain = render_plain(body_of(next(observe(one))), ASSERTION, PlainForm.PLAINEST)
    assert f"expected = {made}\nactual = {made}\n" in plain


def test_what_the_inputs_are_made_of_stays_outside_of_the_factory() -> None:
    source = (
        "class Thing1:\n    log = []\n"
        "class Thing2:\n    log = []\n"
        "def make1():\n    return Thing1()\n"
        "def repro(x, arg2):\n    Thing2.log.append(1)\n    return x"
    )
    made = program(source, given="(x, make1())")
    wrapped = [one for one in observe(made) if not one.observes_arguments] + list(renew(made))
    for one in map(wrap, wrapped):
        outside = [getattr(node, "name", "") for node in one.definitions.body]
        assert outside == ["Thing1", "make1", "program"]
        assert "Thing1.log" not in one.write_definitions()
    assert len(wrapped) == 5


def test_what_needs_more_than_the_call_has_no_plain_form() -> None:
    one = next(observe(program(STATE)))
    with pytest.raises(ValueError):
        render_plain(
            body_of(one), ReproAssertion("wrong_metadata", prelude="x = 1"), PlainForm.PLAINEST
        )


def test_what_an_object_within_a_module_holds_is_read_where_it_lies() -> None:
    source = """
class Store(nn.Module):
    def __init__(self):
        super().__init__()
        self.pages = collections.OrderedDict({"a": torch.ones(2), "b": 2})
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.store = Store()
    def forward(self, x):
        self.store.pages.move_to_end("a")
        return x
"""
    read = [read_state(one) for one in observe(program(source, "Net()")) if one.state_calls == 1]
    assert read[0] == "[list(model.store.pages)])"
    assert "vars(model)" in read[1] and "model.store.pages]" in read[1]


def test_a_state_that_is_another_one_in_each_run_is_not_judged() -> None:
    harness = render_harness(body_of(next(observe(program(STATE)))), ASSERTION)
    assert harness.index("another one in each run") < harness.index("actual = run")


COUNTED = """
class Thing1:
    attr1 = 0
def repro(x):
    Thing1.attr1 += 1
    return x + Thing1().attr1
"""


def test_a_program_with_state_of_its_own_can_be_made_anew_for_each_side() -> None:
    (made,) = map(wrap, renew(program(COUNTED)))
    assert made.callable_expression == "program()" and not made.makes_module()
    plain = render_plain(
        ReproBody(made.write_definitions(), "program()", ("return (torch.ones(2),)",)),
        ReproAssertion("wrong_result"),
        PlainForm.PLAINEST,
    )
    assert "torch.compile(program())(x), program()(x)" in plain
    assert list(renew(program("def repro(x):\n    return x"))) == []


def test_a_module_that_is_made_anew_is_a_module() -> None:
    source = COUNTED + "class Net(nn.Module):\n    def forward(self, x):\n        return repro(x)"
    (made,) = map(wrap, renew(program(source, "Net()")))
    assert made.makes_module() and "return model" in made.write_definitions()
