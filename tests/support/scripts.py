"""The programs of the tests, which are files under tests/data/scripts, as their authors would have
written them.
"""

from __future__ import annotations

from pathlib import Path

HOME = Path(__file__).parents[1] / "data" / "scripts"


def script(name: str) -> Path:
    """The file of a program, by its path below tests/data/scripts without the ending."""
    return HOME / f"{name}.py"


def text(name: str) -> str:
    """The text of a program."""
    return script(name).read_text(encoding="utf-8")
