"""One level instead of three: blocks, methods and functions that are called once are written where
they are called, and what objects hold is without them.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import torch

from anonymizer.edits.absorption import absorb, replace_single_lists
from anonymizer.edits.attributes import free_attributes, merge_objects, pass_containers
from anonymizer.edits.entry import free_entry
from anonymizer.source.dead_code import find_undefined, tidy
from anonymizer.source.program import SourceProgram
from anonymizer.source.state import wrap
from tests.support.gathered import program_of


def result(made: SourceProgram) -> Any:
    namespace: dict[str, Any] = {"torch": torch, "nn": torch.nn}
    exec(made.write_definitions(), namespace)
    return eval(made.callable_expression, namespace)(torch.linspace(-2, 2, 6).view(2, 3))


def test_a_program_of_five_definitions_becomes_one_that_computes_the_same() -> None:
    whole = program_of("absorb/nested")
    expected = result(whole)
    (whole,) = map(tidy, replace_single_lists(whole))
    while True:
        smaller = next(map(tidy, absorb(whole)), None)
        if smaller is None:
            break
        assert not find_undefined(smaller)
        assert torch.equal(result(smaller), expected)
        whole = smaller
    assert [getattr(node, "name", "") for node in whole.definitions.body] == ["Repro"]
    assert "self.attr3(" in whole.write_definitions()


def keeps_an_order(made: SourceProgram, compiled: bool) -> bool | None:
    """Whether the program leaves an ordered dictionary as it was, which it makes and reads, or is
    given last; None where it does not run.
    """
    torch._dynamo.reset()
    lines = [*made.write_imports(), wrap(made).write_definitions(), "def inputs():"]
    lines += ["    " + line for line in made.write_inputs()]
    namespace: dict[str, Any] = {}
    try:
        exec("\n".join(lines), namespace)
        arguments = namespace["inputs"]()
        found = eval(wrap(made).callable_expression, namespace)
        called, read = found if not made.observes_arguments else (found, lambda: arguments[-1])
        before = repr(read())
        (torch.compile(called, backend="eager") if compiled else called)(*arguments)
    except Exception:
        return None
    return repr(read()) == before


def test_what_modules_and_objects_hold_for_each_other_is_an_argument_of_a_function() -> None:
    whole = replace(
        program_of("absorb/holders"),
        inputs=ast.parse("return (torch.ones(4),)"),
        state_calls=1,
        has_own_state=True,
    )
    edits = (merge_objects, free_attributes, absorb, free_entry, pass_containers)
    made: SourceProgram | None = whole
    while made is not None:
        whole = made
        found = (tidy(each) for edit in edits for each in edit(whole))
        made = next((each for each in found if loses_an_order(each)), None)
    assert [getattr(node, "name", "") for node in whole.definitions.body] == ["repro"]
    tensor, order = map(ast.unparse, whole.list_arguments())
    assert tensor == "torch.ones(4)" and order == "collections.OrderedDict({4: 1, 2: 2})"
    assert whole.observes_arguments and not whole.has_own_state


def loses_an_order(made: SourceProgram) -> bool:
    """Whether Dynamo does not keep what `move_to_end` does; it does not on 2.13.0."""
    return keeps_an_order(made, False) is False and keeps_an_order(made, True) is True
