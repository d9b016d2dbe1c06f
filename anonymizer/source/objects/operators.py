"""An operator of torch.library, registered anew: the types of its arguments are torch's, all names
are public ones.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from anonymizer.graph.identifiers import NameSubstitution
from collectors.protocol.program_source import OperatorReference, Reference

#: What torch calls `setup_context` with, by name.
SETUP = ("ctx", "inputs", "keyword_only_inputs", "output")


def build_operator(
    ref: OperatorReference,
    name: str,
    function: ast.expr,
    given: Sequence[str],
    build: Callable[[Reference], ast.expr],
) -> list[ast.stmt]:
    """The statements that register an operator anew by `torch.library.custom_op`.

    `setup_context` is called by keyword, so its parameters keep their names:
    https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_library/autograd.py

    Args:
        ref: the gathered operator: types and defaults of its arguments, `fake`, `backward`,
            `setup`.
        name: its public name.
        function: the expression of what it does.
        given: what the parameters of that function are now called.
        build: gives the expression of a gathered value.
    """
    changed = [public for public, (kind, _) in zip(given, ref["arguments"]) if "!" in kind]
    text = (
        f"{name} = torch.library.custom_op({'repro::' + name!r}, FUNCTION,"
        f" mutates_args={tuple(changed)!r}, schema={_write_schema(ref, given)!r})"
    )
    lines = [(text, function)]
    if ref["fake"]:
        lines.append((f"{name}.register_fake(FUNCTION)", build(ref["fake"])))
    if ref["backward"]:
        lines.append((f"{name}.register_autograd(FUNCTION)", build(ref["backward"])))
    statements = [_fill(line, value) for line, value in lines]
    if ref["backward"] and ref["setup"]:
        call: Any = statements[-1]
        call.value.keywords.append(ast.keyword("setup_context", build(ref["setup"])))
    return statements


def _fill(text: str, value: ast.expr) -> ast.stmt:
    """A statement with an expression in place of the name FUNCTION."""
    made: ast.stmt = NameSubstitution({"FUNCTION": value}).visit(ast.parse(text).body[0])
    return made


def _write_schema(ref: OperatorReference, given: Sequence[str]) -> str:
    """The operator's signature in torch's own notation."""
    parts = [
        f"{kind} {public}" + (f"={default}" if default is not None else "")
        for public, (kind, default) in zip(given, ref["arguments"])
    ]
    if ref["keywords"] < len(parts):
        parts.insert(ref["keywords"], "*")
    return f"({', '.join(parts)}) -> {ref['returns']}"
