"""The options that one command alone has, in groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

Group = TypeVar("Group")


def take_group(group: type[Group], words: Mapping[str, Any]) -> Group:
    """The group's part of what a command line gave; what it did not give stays at its default.

    Args:
        group: a dataclass; a field that may be given several times is a tuple.
        words: values by name, None for an option that was not given.
    """
    given = {
        field.name: words[field.name]
        for field in fields(group)  # type: ignore[arg-type]
        if words.get(field.name) is not None
    }
    return group(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
        }
    )
