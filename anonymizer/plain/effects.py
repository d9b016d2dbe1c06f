"""The plain form of a lost side effect: one assertion on the state that an eager and a compiled
call leave, which is that of one program where it only grows, else made twice.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from anonymizer.graph.containers import is_container, is_object
from anonymizer.graph.imports import is_used, list_imports
from anonymizer.graph.randomness import is_seed, write_seed
from anonymizer.graph.repro import KEEP_GRADIENT, ReproAssertion, ReproBody, indent
from anonymizer.kinds import Differentiation
from anonymizer.plain.function import tidy_functions
from anonymizer.plain.renaming import rename_program
from anonymizer.plain.script.parts import Script
from anonymizer.plain.statements import read_script

_SIDES = ("expected", "actual")
#: Longest expression that is written twice on one line.
_WIDTH = 33


def render_effect(
    body: ReproBody, assertion: ReproAssertion, keeps_names: bool = False, counted: bool = False
) -> str:
    """The complete text; valid Python that black has not seen.

    Args:
        body: a program whose callable's expression gives the callable and what reads its state, or
            one that observes its arguments.
        keeps_names: the names of the program stay, since they are translated back.
        counted: both sides call one program, and what each adds to a container is compared.

    Raises:
        ValueError: the assertion needs more than the call, or there is no container to be counted.
    """
    if assertion.prelude or assertion.calls or assertion.backward != Differentiation.NONE:
        raise ValueError("the assertion needs more than the call")
    if counted and body.convention.observes_arguments:
        raise ValueError("each side has arguments of its own")
    if body.convention.observes_arguments:
        script = read_script(body, assertion, keeps_names)
        definitions, end = script.definitions, _call_with_arguments(script, body, assertion)
    else:
        body = body if keeps_names else _write_by_hand(body)
        definitions, end = body.definitions, _call_with_reader(body, assertion)
        if counted:
            definitions, end = _call_and_count(body, assertion)
    text = "\n".join([*end, definitions])
    known = [line for line in body.imports if is_used(line, text)]
    return "\n".join(
        [
            *list_imports(text, known),
            *sorted(assertion.write_config_imports()),
            "",
            *assertion.write_config(),
            "",
            definitions,
            "",
            *([write_seed(assertion.seed)] if re.search(r"\brand|nn\.(?!Module\b)", text) else []),
            *end,
            "",
        ]
    )


def _write_by_hand(body: ReproBody) -> ReproBody:
    """The program as it is written by hand."""
    tree = rename_program(ast.parse(body.definitions), body.inputs)
    tidy_functions(tree)
    return replace(body, definitions=ast.unparse(tree))


def _call_with_reader(body: ReproBody, assertion: ReproAssertion) -> list[str]:
    """The program made twice, each with a function that reads its state."""
    made, given = _split_inputs(body)
    compiled = f"torch.compile(compiled{assertion.write_arguments()})"
    calls = [f"model({given})", f"{compiled}({given})"]
    if body.convention.state_calls > 1:
        calls = [
            f"compiled = {compiled}",
            *_repeat([f"model({given})", f"compiled({given})"], body.convention.state_calls),
        ]
    return [
        *made,
        f"model, expected = {body.callable}",
        f"compiled, actual = {body.callable}",
        *assertion.wrap_in_contexts(calls),
        'assert actual() == expected(), f"compiled {actual()}, eager {expected()}"',
    ]


def _call_and_count(body: ReproBody, assertion: ReproAssertion) -> tuple[str, list[str]]:
    """The definitions outside of the function that makes them, and a compiled and an eager call of
    the one program: what each adds to a list or the like.

    Raises:
        ValueError: what is read after the call is no length.
    """
    *outside, factory = ast.parse(body.definitions).body
    last = factory.body[-1] if isinstance(factory, ast.FunctionDef) else None
    returned = last.value if isinstance(last, ast.Return) else None
    parts = returned.elts if isinstance(returned, ast.Tuple) else []
    read = parts[1].body if len(parts) == 2 and isinstance(parts[1], ast.Lambda) else None
    if isinstance(read, ast.List) and len(read.elts) == 1:
        (read,) = read.elts
    is_length = isinstance(read, ast.Call) and ast.unparse(read.func) == "len"
    if body.convention.state_calls > 1 or not isinstance(factory, ast.FunctionDef) or not is_length:
        raise ValueError("one length is not what is read after one call")
    if any(isinstance(node, ast.Nonlocal) for node in ast.walk(factory)):
        raise ValueError("a variable of a function around it is assigned")
    assert read is not None
    made, given = _split_inputs(body)
    callee, length = ast.unparse(parts[0]), ast.unparse(read)
    setup = [] if callee.isidentifier() else [f"model = {callee}"]
    callee = callee if callee.isidentifier() else "model"
    # the compiled call first: what an eager one leaves may be what the compiler takes up
    calls = [
        f"torch.compile({callee}{assertion.write_arguments()})({given})",
        f"actual = {length}",
        f"{callee}({given})",
    ]
    definitions = ast.Module([*outside, *factory.body[:-1]], [])
    return ast.unparse(definitions), [
        *setup,
        *made,
        *assertion.wrap_in_contexts(calls),
        f"expected = {length} - actual",
        'assert actual == expected, f"compiled {actual}, eager {expected}"',
    ]


def _call_with_arguments(script: Script, body: ReproBody, assertion: ReproAssertion) -> list[str]:
    """One argument made twice, which both sides may change, or whose gradient they keep."""
    trees = {name: ast.parse(text, mode="eval").body for name, text in script.arguments if text}
    kept = [name for name, tree in trees.items() if is_container(tree) or is_object(tree)]
    is_gradient = not kept and f".{KEEP_GRADIENT}(" in script.definitions
    if is_gradient:
        kept = [name for name, tree in trees.items() if "requires_grad" in ast.unparse(tree)]
    if len(kept) != 1:
        raise ValueError("several arguments hold state")
    (own,) = kept
    text = ast.unparse(trees[own])
    others = [f"{name} = {text}" for name, text in script.arguments if text and name != own]
    given = [
        ", ".join(side if name == own else name for name, _ in script.arguments) for side in _SIDES
    ]
    compiled = f"torch.compile({script.called.expression}{assertion.write_arguments()})"
    calls = [f"{script.called.expression}({given[0]})", f"{compiled}({given[1]})"]
    before = [f"expected, actual = {text}, {text}"]
    if len(text) > _WIDTH:
        before = [f"{side} = {text}" for side in _SIDES]
    if body.convention.state_calls > 1:
        before.append(f"compiled = {compiled}")
        calls = _repeat([calls[0], f"compiled({given[1]})"], body.convention.state_calls)
    read = ["expected, actual = vars(expected), vars(actual)"] if is_object(trees[own]) else []
    if is_gradient:
        read = ["expected, actual = expected.retains_grad, actual.retains_grad"]
    return [
        *([script.called.setup] if script.called.setup else []),
        *(line for line in script.statements if not is_seed(line)),
        *others,
        *before,
        *assertion.wrap_in_contexts(calls),
        *read,
        'assert actual == expected, f"compiled {actual}, eager {expected}"',
    ]


def _repeat(calls: list[str], times: int) -> list[str]:
    return [f"for _ in range({times}):", *indent(calls)]


def _split_inputs(body: ReproBody) -> tuple[list[str], str]:
    """The statements that make the inputs, and the arguments of the call.

    Raises:
        ValueError: the inputs are no tuple.
    """
    *made, last = body.parse_inputs().body
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Tuple):
        raise ValueError("the inputs are no tuple")
    lines = [ast.unparse(node) for node in made]
    lines = [line for line in lines if not is_seed(line)]
    return lines, ", ".join(ast.unparse(item) for item in last.value.elts)
