"""Smaller programs from a program, coarse to fine; each pass is a list of independent edits over
one tree.

An edit knows where it applies and what it makes of that place; it never knows whether the result
still fails. The driver asks in batches, so that several candidates run at once, and takes the first
of a batch that is interesting. A pass goes through its edits once, then the next pass follows;
rounds repeat until one changes nothing. The order is that of the source text, so the same program
reduces in the same way each time.
"""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from anonymizer.edits.expressions import simplify
from anonymizer.edits.passes import PASSES, Edit
from anonymizer.edits.signatures import drop_parameters
from anonymizer.graph.repro import ReproBody
from anonymizer.source.dead_code import find_undefined, renumber, tidy
from anonymizer.source.program import SourceProgram

#: The index of the first candidate that is interesting, or None.
FindFirst = Callable[[Sequence[SourceProgram]], int | None]
BATCH = 4
#: What tells a program from others: its texts, and whether each run makes its definitions anew.
_Key = tuple[str, str, str, bool]


def _build_candidate(program: SourceProgram, edited: SourceProgram) -> SourceProgram | None:
    """The program after an edit, tidied.

    Args:
        program: as it was before.
        edited: what the edit has made of it; its trees may be no Python.

    Returns:
        None where that is no Python, reads names that are bound nowhere, or changes nothing.
    """
    try:
        made = replace(
            edited,
            definitions=ast.parse(edited.write_definitions()),
            inputs=ast.parse("\n".join(edited.write_inputs())),
        )
        made = tidy(made)
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)  # `3[1]`, which no run would get past
            compile(made.write_definitions(), "<candidate>", "exec")
    except (SyntaxError, ValueError, IndexError):
        return None
    if find_undefined(made) - find_undefined(program):
        return None
    return None if _build_key(made) == _build_key(program) else made


def _build_key(program: SourceProgram) -> _Key:
    return (
        program.write_definitions(),
        "\n".join(program.write_inputs()),
        program.callable_expression,
        program.has_own_state,
    )


def _build_proposals(program: SourceProgram, edit: Edit) -> Iterator[SourceProgram]:
    for made in edit(copy.deepcopy(program)):
        found = _build_candidate(program, made)
        if found is not None:
            yield found


def drop_one_operation(body: ReproBody) -> Iterator[tuple[ReproBody, int]]:
    """A program with one call or operator replaced by one of its parts, and how many tensor
    operations it has; only those that have fewer than before.
    """
    program = SourceProgram(
        ast.parse(body.definitions),
        body.callable,
        ast.Module(body.parse_inputs().body, []),
        state_calls=body.convention.state_calls,
        sizes=body.sizes,
    )
    count = program.count_statements()
    for made in _build_proposals(program, _simplify_and_drop):
        if made.count_statements() < count and made.list_arguments():
            smaller = replace(
                body,
                definitions=made.write_definitions(),
                callable=made.callable_expression,
                inputs=tuple(made.write_inputs()),
            )
            yield smaller, made.count_statements()


def _simplify_and_drop(program: SourceProgram) -> Iterator[SourceProgram]:
    """`simplify`, without the parameters that nothing reads any more."""
    for made in simplify(program):
        while (fewer := next(drop_parameters(made), None)) is not None:
            made = fewer
        yield made


def reduce(program: SourceProgram, find_first: FindFirst, rounds: int = 6) -> SourceProgram:
    """The smallest program found, with its names numbered anew if it fails under those too.

    Args:
        find_first: is asked for at most `BATCH` candidates at once, in their order.
        rounds: how often all passes are gone through, at most.
    """
    seen = {_build_key(program)}
    for _ in range(rounds):
        before = _build_key(program)
        for each in PASSES:
            program = _run(program, each, find_first, seen)
        if _build_key(program) == before:
            break
    numbered = renumber(program)
    is_same = _build_key(numbered) == _build_key(program)
    return numbered if is_same or find_first([numbered]) is not None else program


def _run(
    program: SourceProgram, edit: Edit, find_first: FindFirst, seen: set[_Key]
) -> SourceProgram:
    """One pass: after a success it goes on at the same place of the smaller program, so that it
    ends.
    """
    position = 0
    while True:
        unseen = _list_unseen(program, edit, position, seen)
        while pending := list(islice(unseen, BATCH)):
            index = find_first([made for _, made in pending])
            if index is not None:
                position, program = pending[index]
                # nobody refused the ones behind it, and a later edit may come to the same program
                seen -= {_build_key(made) for _, made in pending[index + 1 :]}
                break
        else:
            return program


def _list_unseen(
    program: SourceProgram, edit: Edit, position: int, seen: set[_Key]
) -> Iterator[tuple[int, SourceProgram]]:
    """The proposals from a place on that were not asked for before, each with its place."""
    for at, made in enumerate(_build_proposals(program, edit)):
        if at >= position and _build_key(made) not in seen:
            seen.add(_build_key(made))
            yield at, made
