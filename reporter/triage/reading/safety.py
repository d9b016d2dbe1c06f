"""What a reader would want to know before running a stranger's program, told with the line.

A flag is a warning, not a wall. Whatever the list (`reporter.lint.safety_list`) misses runs in the
sandbox like everything else, so being complete is not what it is for.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from reporter.lint.safety_list import UnsafeKind, find_unsafe_statements


@dataclass(frozen=True)
class Flag:
    """One thing to know: `kind` of the list, the line in the program, and what stands there."""

    kind: UnsafeKind
    line: int
    what: str


def find_flags(text: str) -> tuple[Flag, ...]:
    """The flags of a program that parses, by line.

    Raises:
        SyntaxError: it is anything else.
    """
    found = find_unsafe_statements(ast.parse(text), text)
    return tuple(Flag(item.kind, item.line, item.what) for item in found if item.told)
