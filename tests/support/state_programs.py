"""Rewritten programs with state of their own, and what a repro is rendered from for them."""

from __future__ import annotations

import ast
from dataclasses import replace

from anonymizer.graph.repro import CallingConvention, ReproAssertion, ReproBody
from anonymizer.source.program import CallSequence, SourceProgram
from anonymizer.source.state import wrap
from collectors.protocol.repro_words import Property
from reporter.reduce.source_candidates import RewrittenProgram, make_judgeable

ASSERTION = ReproAssertion("wrong_metadata", property=Property.SIDE_EFFECT)
OF_ARGUMENTS = (
    ("def repro(x, arg2):\n    arg2['a'] = 1\n    return x", "(x, {})", "{}"),
    (
        "class Thing1:\n    a = 0\ndef repro(x, arg2):\n    arg2.a = 1\n    return x",
        "(x, Thing1())",
        "Thing1()",
    ),
)
STORING = """
class Thing1:
    def __init__(self):
        self.attr1 = 4
        self.attr2 = 2
def repro(x, arg2):
    arg2.attr1 = getattr(arg2, 'attr1', 1) + arg2.attr2
    return x * arg2.attr1
"""


def program(
    definitions: str, callable_expression: str = "repro", given: str = "(x,)"
) -> SourceProgram:
    inputs = ast.parse(f"def inputs():\n    x = torch.ones(2)\n    return {given}").body[0]
    assert isinstance(inputs, ast.FunctionDef)
    return SourceProgram(ast.parse(definitions), callable_expression, ast.Module(inputs.body, []))


def body_of(one: SourceProgram) -> ReproBody:
    one = wrap(one)
    return ReproBody(
        one.write_definitions(),
        one.callable_expression,
        tuple(one.write_inputs()),
        CallingConvention(state_calls=one.state_calls, observes_arguments=one.observes_arguments),
    )


def keep_arguments() -> tuple[ReproAssertion, list[SourceProgram]]:
    """`STORING`, called twice with objects that are made once on each side: the assertion, and the
    programs that are tried for it.
    """
    assertion = ReproAssertion("stale_graph", calls=((), ()))
    one = program(STORING, given="(x, Thing1())")
    made = replace(one, sequences=(CallSequence(one.inputs, assertion.calls),))
    found = make_judgeable(RewrittenProgram(made), replace(assertion, calls=()))
    kept = [content.program for content, asked in found if asked.keeps_arguments]
    return replace(assertion, keeps_arguments=True), kept
