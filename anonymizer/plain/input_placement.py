"""Where the inputs of a flat script stand: what is used once is written where it is used, and what
is random there alone where that keeps the order of the draws.
"""

from __future__ import annotations

import re

from anonymizer.graph.randomness import draws_random_numbers
from anonymizer.plain.script.parts import Script

#: Most characters of a line with arguments written where they are used.
_WIDTH = 76


def place_inputs(
    script: Script, lines: list[str], keeps_draws: bool
) -> tuple[list[str], list[str]]:
    """The inputs of a script, for the lines that use them.

    Args:
        lines: the call and its comparison, which name the arguments.
        keeps_draws: random inputs have to be drawn in the order in which the script makes them.

    Returns:
        The statements that make inputs, and the lines with the other inputs written in them.
    """
    made, written = _write_inputs(script, lines, frozenset())
    if keeps_draws and _changes_draws(script, made):
        drawn = [name for name, text in script.arguments if draws_random_numbers(text)]
        made, written = _write_inputs(script, lines, frozenset(drawn))
    return made, written


def _write_inputs(
    script: Script, lines: list[str], named: frozenset[str]
) -> tuple[list[str], list[str]]:
    """The same; those `named`, the long ones and those that are used twice have a statement."""
    made: list[str] = []
    is_loop = any(re.search(r"\bfor call in\b", line) for line in lines)
    for name, text in script.arguments:
        others = (other for known, other in script.arguments if known != name)
        uses = sum(len(re.findall(rf"\b{name}\b", line)) for line in (*lines, *others))
        line = next((one for one in lines if re.search(rf"\b{name}\b", one)), "")
        fits = len(line) - len(name) + len(text) <= _WIDTH
        if text and not is_loop and uses == 1 and fits and name not in named:
            at = lines.index(line)
            before, after = re.split(rf"\b{name}\b", line, maxsplit=1)
            lines = [*lines[:at], f"{before}{text}{after}", *lines[at + 1 :]]
        elif text and uses:
            made.append(f"{name} = {text}")
    return made, lines


def _changes_draws(script: Script, made: list[str]) -> bool:
    """Whether the statements that make inputs draw what an input of the call drew before."""
    is_called = False
    for name, text in script.arguments:
        if not draws_random_numbers(text):
            continue
        if f"{name} = {text}" not in made:
            is_called = True
        elif is_called:
            return True
    return False
