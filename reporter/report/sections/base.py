"""What all sections of a document have in common."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from reporter.core.json_values import Json, make_plain

#: Infinities are texts, since JSON has none: "inf" is the finding where a result overflowed.
ErrorValue = float | str | None
_D = TypeVar("_D")


class Section(msgspec.Struct, frozen=True):
    """A part of a document."""

    def to_json(self) -> Json:
        """Plain JSON values; a number that JSON lacks becomes a text."""
        document: Json = make_plain(msgspec.to_builtins(self))
        return document


def build_section(kind: type[_D], facts: object) -> _D:
    """A section from what the rest of the tool knows it as: a dataclass or a dictionary.

    Raises:
        msgspec.ValidationError: it has other values than the section may have.
    """
    return msgspec.convert(make_plain(msgspec.to_builtins(facts)), kind, strict=False)
