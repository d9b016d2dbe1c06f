"""What all sections of a document have in common, and the values that JSON has."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from reporter.core.plain import Json

#: A value that is no list and no object.
PlainValue = bool | int | float | str | None
#: Infinities are texts, since JSON has none: "inf" is the finding where a result overflowed.
ErrorValue = float | str | None


class Section(msgspec.Struct, frozen=True):
    """A part of a document."""

    def to_json(self) -> Json:
        """Plain JSON values; a number that JSON lacks becomes a text."""
        document: Json = make_plain(msgspec.to_builtins(self))
        return document


def make_plain(value: Any) -> Any:
    """JSON values as JSON reads them: lists, and texts for the numbers that it lacks."""
    if isinstance(value, dict):
        return {key: make_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [make_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
