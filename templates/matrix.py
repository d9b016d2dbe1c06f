"""Repros against releases as a page or as Markdown; both come from the same values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import templates


def render(name: str, values: Mapping[str, Any]) -> str:
    """The template `matrix.md.j2` or `matrix.html.j2`, filled in."""
    return templates.render(name, **values)
