"""Two pages for the legal department: what leaves, next to the private code that it stands for.

The page itself stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from templates import render


@dataclass(frozen=True)
class PairedRow:
    """A public class, and the private classes behind it by name, with their texts."""

    public: str
    text: str
    private: tuple[tuple[str, str], ...]


def render_side_by_side(
    repro: str,
    classes: Mapping[str, Sequence[str]],
    sources: Mapping[str, str],
    facts: Mapping[str, Any],
) -> str:
    """The page, as HTML; it is private.

    Args:
        repro: its text.
        classes: public class -> private classes, with their modules.
        sources: path -> text of the private program.
        facts: what the template shows of the proof.
    """
    definitions = {
        name: text for source in sources.values() for name, text in _list_classes(source)
    }
    rows = []
    for name, text in _list_classes(repro):
        behind = [private.rpartition(".")[2] for private in classes.get(name, ())]
        missing = "(not in a file that was read)"
        rows.append(
            PairedRow(
                name,
                text,
                tuple((private, definitions.get(private, missing)) for private in behind),
            )
        )
    rest = _without_classes(repro)
    return render("side_by_side.html.j2", rows=rows, rest=rest, facts=facts)


def _list_classes(source: str) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name, ast.get_source_segment(source, node) or ""


def _without_classes(source: str) -> str:
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    kept = "\n".join(lines)
    while "\n\n\n\n" in kept:
        kept = kept.replace("\n\n\n\n", "\n\n\n")
    return kept.strip()
