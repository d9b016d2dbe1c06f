"""`deanonymize`: what others say of a public repro, in the words of the private model.

Nothing leaves the machine.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from anonymizer.name_mapping import NameMapping
from reporter.core.errors import UsageError
from reporter.core.json_values import Json
from reporter.report.folder import MAPPING, PRIVATE


@dataclass(frozen=True)
class Translation:
    """A text with private names."""

    text: str
    exit_code: int = 0

    def to_json(self) -> Json:
        """The document of --json."""
        return {"schema_version": 1, "text": self.text}

    def summarize(self) -> list[str]:
        """The text as it stands."""
        return [self.text.rstrip("\n")]


def deanonymize(report: Path, source: str | None) -> Translation:
    """Translates a file, or standard input where `source` is `-` or None.

    Raises:
        UsageError: the report has no mapping, or the text cannot be read.
    """
    path = report / PRIVATE / MAPPING
    try:
        names = NameMapping.from_json(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(
            f"{report} has no private/mapping.json; only a report that rewrote private code has"
            " one, on the machine that wrote it"
        ) from None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(f"{path} cannot be read ({type(error).__name__})") from None
    return Translation(names.restore(_read_text(source)))


def _read_text(source: str | None) -> str:
    if source in (None, "-"):
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        return Path(str(source)).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"{source} cannot be read ({error.strerror}); name a text file, or - for standard input"
        ) from None
