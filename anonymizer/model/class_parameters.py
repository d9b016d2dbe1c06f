"""Texts of classes that are equal but for numbers: one class, which takes the numbers that differ
from its constructor.
"""

from __future__ import annotations

import io
import tokenize


def _read_tokens(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text.replace("class ?", "class X")).readline))


def mask_numbers(text: str) -> tuple[str, ...]:
    """The tokens of a class called `?`, with `#` for each number: equal for classes that differ in
    numbers only.
    """
    return tuple(
        "#" if token.type == tokenize.NUMBER else token.string for token in _read_tokens(text)
    )


def list_numbers(text: str) -> tuple[str, ...]:
    """The numbers in a class called `?`, as they are written, in their order."""
    return tuple(token.string for token in _read_tokens(text) if token.type == tokenize.NUMBER)


def add_parameters(
    text: str, chosen: list[str | None], name: str, parameters: list[str]
) -> list[str]:
    """The class with some of its numbers taken from its constructor: by their name there, as
    attributes elsewhere.

    Args:
        text: the class, called `?`.
        chosen: for each of `list_numbers` the parameter that gives it, or None where it stays.
        name: what the class is called from now on.
        parameters: the parameters of its constructor, in order.

    Returns:
        Its lines.
    """
    lines = text.replace("class ?", f"class {name}", 1).split("\n")
    used: dict[str, None] = {}
    spots = [
        (token.start, token.end)
        for token in _read_tokens(text.replace("class ?", f"class {name}", 1))
        if token.type == tokenize.NUMBER
    ]
    inits = [i for i, line in enumerate(lines) if line.startswith("    def ")]
    has_init = lines[inits[0]].startswith("    def __init__")
    end = inits[1] if has_init and len(inits) > 1 else 0
    for (start, stop), parameter in reversed(list(zip(spots, chosen))):
        if parameter is None:
            continue
        row = start[0] - 1
        within = row < end
        if not within:
            used[parameter] = None
        shown = parameter if within else f"self.{parameter}"
        lines[row] = lines[row][: start[1]] + shown + lines[row][stop[1] :]
    if not parameters:
        return lines
    kept = [
        f"        self.{parameter} = {parameter}" for parameter in parameters if parameter in used
    ]
    head = f"    def __init__(self, {', '.join(parameters)}):"
    if has_init:
        at = inits[0]
        return [*lines[:at], head, lines[at + 1], *kept, *lines[at + 2 :]]
    return [lines[0], head, "        super().__init__()", *kept, "", *lines[1:]]
