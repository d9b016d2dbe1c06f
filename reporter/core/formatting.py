"""Program texts as they are shown to people."""

from __future__ import annotations


def format_program(text: str) -> str:
    """The text as black writes it."""
    import black

    return black.format_str(text, mode=black.Mode())
