"""Names of a repro that tell something, and have a number only where two would be the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from anonymizer.graph.repro import (
    MODULE_CALL,
    CallingConvention,
    ReproAssertion,
    ReproBody,
)
from anonymizer.plain.names import shorten_names
from anonymizer.plain.script.forms import PlainForm, list_plain_forms
from anonymizer.plain.text import render_plain
from collectors.protocol.repro_words import Property
from reporter.core.formatting import format_program

MODULE = """class Repro(nn.Module):

    def __init__(self):
        super().__init__()
        self.attr1 = nn.Linear(2, 2)

    def forward(self, x):
        return helper1(self.attr1(x))"""
BODY = ReproBody(
    "def helper1(x):\n    return x\n\n" + MODULE,
    "Repro()",
    ("return (torch.ones(2),)",),
    MODULE_CALL,
)
STATE_CALL = CallingConvention(state_calls=1)
WRONG = ReproAssertion("wrong_result")


def test_a_layer_is_named_by_what_it_is_and_a_single_name_has_no_number() -> None:
    text = shorten_names(BODY, WRONG).definitions
    assert "self.linear = nn.Linear(2, 2)" in text and "return helper(self.linear(x))" in text


@pytest.mark.parametrize(
    "more", ["def helper2(x):\n    return x", "def f(helper, linear):\n    return 1"]
)
def test_names_that_a_number_tells_apart_or_that_are_taken_stay(more: str) -> None:
    text = shorten_names(
        replace(BODY, definitions=f"{more}\n{BODY.definitions}"), WRONG
    ).definitions
    assert "helper1(self." in text


def test_a_method_that_became_a_function_is_a_helper() -> None:
    body = replace(BODY, definitions=BODY.definitions.replace("helper1", "attr2"))
    text = shorten_names(body, WRONG).definitions
    assert text.startswith("def helper(x):") and "return helper(self.linear(x))" in text


def test_what_raises_may_say_a_name_so_all_stay() -> None:
    assert shorten_names(BODY, ReproAssertion("crash")) == BODY


def test_a_lost_side_effect_reads_as_written_by_hand() -> None:
    made = (
        "def program():\n    attr1 = []\n\n    def repro(arg1):\n        attr1.append(arg1)\n"
        "    return (repro, lambda: len(attr1))"
    )
    body = ReproBody(made, "program()", ("return (torch.ones(2),)",), STATE_CALL)
    assertion = ReproAssertion("wrong_metadata", property=Property.SIDE_EFFECT)
    text = format_program(render_plain(body, assertion, PlainForm.PLAINEST))
    assert "    state = []\n\n    def fn(x):\n        state.append(x)" in text
    assert "return (fn, lambda: len(state))" in text
    kept = render_plain(body, assertion, PlainForm.PLAINEST, keeps_names=True)
    assert "def repro(arg1):\n        attr1.append(arg1)" in kept


def test_what_calls_add_to_a_list_is_counted_in_one_program() -> None:
    made = (
        "def program():\n    class Repro(nn.Module):\n        attr1 = []\n"
        "        def forward(self, arg1):\n            Repro.attr1.append(arg1)\n"
        "    return (Repro(), lambda: [len(Repro.attr1)])"
    )
    body = ReproBody(made, "program()", ("return (torch.ones(2),)",), STATE_CALL)
    assertion = ReproAssertion("wrong_metadata", property=Property.SIDE_EFFECT)
    assert list(list_plain_forms(assertion, draws=False)) == [PlainForm.COUNTED, PlainForm.PLAINEST]
    text = render_plain(body, assertion, PlainForm.COUNTED)
    assert "def program" not in text and text.rstrip().endswith(
        "torch.compile(model)(torch.ones(2))\nactual = len(Model.state)\nmodel(torch.ones(2))\n"
        "expected = len(Model.state) - actual\n"
        'assert actual == expected, f"compiled {actual}, eager {expected}"'
    )


@pytest.mark.parametrize(
    "more",
    [
        {"convention": CallingConvention(state_calls=2)},
        {"definitions": "def program():\n    return (repro, lambda: attr1)"},
        {
            "convention": CallingConvention(state_calls=1, observes_arguments=True),
            "definitions": "def repro(x):\n    pass",
        },
    ],
)
def test_what_is_no_length_after_one_call_is_not_counted(more: dict[str, Any]) -> None:
    made = "def program():\n    return (repro, lambda: len(attr1))"
    body = ReproBody(made, "program()", ("return ([],)",), STATE_CALL)
    assertion = ReproAssertion("wrong_metadata", property=Property.SIDE_EFFECT)
    with pytest.raises(ValueError, match="one length|of its own"):
        render_plain(replace(body, **more), assertion, PlainForm.COUNTED)
