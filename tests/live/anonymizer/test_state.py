"""Repros that compare the state of a program: right without the compiler, and failing where it is
not what eager mode leaves.
"""

from __future__ import annotations

import pytest

from anonymizer.harness.text import render_harness
from anonymizer.plain.script.forms import PlainForm
from anonymizer.plain.text import render_plain
from anonymizer.source.state import observe
from tests.support.state_programs import ASSERTION, OF_ARGUMENTS, body_of, keep_arguments, program


@pytest.mark.parametrize("definitions, given, made", OF_ARGUMENTS)
def test_what_an_argument_holds_is_compared(definitions: str, given: str, made: str) -> None:
    body = body_of(next(observe(program(definitions, given=given))))
    for text in (
        render_harness(body, ASSERTION),
        render_plain(body, ASSERTION, PlainForm.PLAINEST),
    ):
        changed = text.replace("torch.compile(fn)(x, actual)", "actual").replace(
            "lambda model: torch.compile(model)", "lambda model: lambda *args: None"
        )
        assert changed != text
        exec(text.replace("torch.compile", ""), {"__name__": "__main__"})
        with pytest.raises(AssertionError, match="eager"):
            exec(changed, {"__name__": "__main__"})


def test_an_object_that_several_calls_get_tells_a_stale_graph() -> None:
    assertion, kept = keep_arguments()
    body = body_of(kept[1])
    for text in (
        render_harness(body, assertion),
        render_plain(body, assertion, PlainForm.PLAINEST),
    ):
        stale = text.replace("lambda model: torch.compile(model)", "lambda model: stale(model)")
        stale = stale.replace("torch.compile(fn)", "stale(fn)")
        known = {"stale": lambda function: lambda x, thing: x * 3, "__name__": "__main__"}
        exec(text.replace("torch.compile", ""), {"__name__": "__main__"})
        with pytest.raises(AssertionError):
            exec(stale, known)
