"""The plain form of a lost side effect: what holds the state made twice, one for the eager call and
one for the compiled call, and one assertion on the state that both leave.
"""

from __future__ import annotations

import ast
import re

from anonymizer.graph.containers import is_container, is_object
from anonymizer.graph.imports import is_used, list_imports
from anonymizer.graph.repro import ReproBody, ReproCheck, indent
from anonymizer.plain.script import Script, read_script

_SIDES = ("expected", "actual")
#: Longest expression that is written twice on one line.
_WIDTH = 40


def render_effect(body: ReproBody, check: ReproCheck, keeps_names: bool = False) -> str:
    """The complete text; valid Python that black has not seen.

    Args:
        body: a program whose callable's expression gives the callable and what reads its state, or
            one that observes its arguments.
        keeps_names: the names of the program stay, since they are translated back.

    Raises:
        ValueError: the check needs more than the call.
    """
    if check.prelude or check.calls or check.backward != "none":
        raise ValueError("the check needs more than the call")
    if body.observes_arguments:
        script = read_script(body, check, keeps_names)
        definitions, end = script.definitions, _call_with_arguments(script, body, check)
    else:
        definitions, end = body.definitions, _call_with_reader(body, check)
    text = "\n".join([*end, definitions])
    known = [line for line in body.imports if is_used(line, text)]
    return "\n".join(
        [
            *list_imports(text, known),
            *sorted(check.setting_imports()),
            "",
            *check.settings(),
            "",
            definitions,
            "",
            *(["torch.manual_seed(0)"] if re.search(r"\brand|nn\.(?!Module\b)", text) else []),
            *end,
            "",
        ]
    )


def _call_with_reader(body: ReproBody, check: ReproCheck) -> list[str]:
    """The program made twice, each with a function that reads its state."""
    made, given = _inputs(body)
    compiled = f"torch.compile(compiled{check.keywords()})"
    calls = [f"model({given})", f"{compiled}({given})"]
    if body.state_calls > 1:
        calls = [
            f"compiled = {compiled}",
            *_repeat([f"model({given})", f"compiled({given})"], body.state_calls),
        ]
    return [
        *made,
        f"model, expected = {body.callable}",
        f"compiled, actual = {body.callable}",
        *check.within_contexts(calls),
        'assert actual() == expected(), f"compiled {actual()}, eager {expected()}"',
    ]


def _call_with_arguments(script: Script, body: ReproBody, check: ReproCheck) -> list[str]:
    """One argument made twice, which both sides may change."""
    trees = {name: ast.parse(text, mode="eval").body for name, text in script.arguments if text}
    kept = [name for name, tree in trees.items() if is_container(tree) or is_object(tree)]
    if len(kept) != 1:
        raise ValueError("several arguments hold state")
    (own,) = kept
    text = ast.unparse(trees[own])
    others = [f"{name} = {text}" for name, text in script.arguments if text and name != own]
    given = [
        ", ".join(side if name == own else name for name, _ in script.arguments) for side in _SIDES
    ]
    compiled = f"torch.compile({script.callee}{check.keywords()})"
    calls = [f"{script.callee}({given[0]})", f"{compiled}({given[1]})"]
    before = [f"expected, actual = {text}, {text}"]
    if len(text) > _WIDTH:
        before = [f"{side} = {text}" for side in _SIDES]
    if body.state_calls > 1:
        before.append(f"compiled = {compiled}")
        calls = _repeat([calls[0], f"compiled({given[1]})"], body.state_calls)
    read = ["expected, actual = vars(expected), vars(actual)"] if is_object(trees[own]) else []
    return [
        *([script.setup] if script.setup else []),
        *(line for line in script.statements if not line.startswith("torch.manual_seed(")),
        *others,
        *before,
        *check.within_contexts(calls),
        *read,
        'assert actual == expected, f"compiled {actual}, eager {expected}"',
    ]


def _repeat(calls: list[str], times: int) -> list[str]:
    return [f"for _ in range({times}):", *indent(calls)]


def _inputs(body: ReproBody) -> tuple[list[str], str]:
    """The statements that make the inputs, and the arguments of the call. Raises ValueError."""
    *made, last = body.inputs_function().body
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Tuple):
        raise ValueError("the inputs are no tuple")
    lines = [ast.unparse(node) for node in made]
    lines = [line for line in lines if not line.startswith("torch.manual_seed(")]
    return lines, ", ".join(ast.unparse(item) for item in last.value.elts)
