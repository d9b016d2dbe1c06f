"""What all sections of a document have in common."""

from __future__ import annotations

import msgspec

from reporter.core.json_values import Json, make_plain

#: Infinities are texts, since JSON has none: "inf" is the finding where a result overflowed.
ErrorValue = float | str | None


class Section(msgspec.Struct, frozen=True):
    """A part of a document."""

    def to_json(self) -> Json:
        """Plain JSON values; a number that JSON lacks becomes a text."""
        document: Json = make_plain(msgspec.to_builtins(self))
        return document
