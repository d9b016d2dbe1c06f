"""The plain form of a lost side effect: the program made twice, one copy called in eager mode and
one compiled, and one assertion on the state that both leave.
"""

from __future__ import annotations

import ast
import re

from anonymizer.graph.boilerplate import ReproBody, ReproCheck, imports_of


def render_effect(body: ReproBody, check: ReproCheck) -> str:
    """The complete text; valid Python that black has not seen.

    Args:
        body: a program whose callable's expression gives the callable and what reads its state.

    Raises:
        ValueError: the check needs more than the call.
    """
    if check.prelude or check.calls or check.backward != "none":
        raise ValueError("the check needs more than the call")
    made, given = _inputs(body)
    options = "".join(f", {name}={value}" for name, value in check.arguments)
    calls = [f"model({given})", f"torch.compile(compiled{options})({given})"]
    if body.state_calls > 1:
        calls = [
            f"compiled = torch.compile(compiled{options})",
            f"for _ in range({body.state_calls}):",
            f"    model({given})",
            f"    compiled({given})",
        ]
    for context in reversed(check.contexts):
        calls = [f"with {context}:", *("    " + line for line in calls)]
    drawn = "\n".join([*made, body.definitions])
    settings = [f"import {name.rsplit('.config.', 1)[0]}.config" for name, _ in check.config]
    end = [
        *(["torch.manual_seed(0)"] if re.search(r"\brand|nn\.", drawn) else []),
        *made,
        f"model, expected = {body.callable}",
        f"compiled, actual = {body.callable}",
        *calls,
        'assert actual() == expected(), f"compiled {actual()}, eager {expected()}"',
    ]
    return "\n".join(
        [
            *imports_of(body),
            *sorted(set(settings)),
            "",
            *(f"{name} = {value}" for name, value in check.config),
            "",
            body.definitions,
            "",
            *end,
            "",
        ]
    )


def _inputs(body: ReproBody) -> tuple[list[str], str]:
    """The statements that make the inputs, and the arguments of the call. Raises ValueError."""
    text = "\n".join(["def inputs():", *("    " + line for line in body.inputs)])
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    *made, last = function.body
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Tuple):
        raise ValueError("the inputs are no tuple")
    lines = [ast.unparse(node) for node in made]
    lines = [line for line in lines if not line.startswith("torch.manual_seed(")]
    return lines, ", ".join(ast.unparse(item) for item in last.value.elts)
