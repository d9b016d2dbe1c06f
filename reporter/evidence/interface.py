"""What one collector found, or why it found nothing: "could not" is data with a reason, never an
exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from collectors.protocol.evidence import ToolNote
from reporter.core.json_values import Json

#: What is kept of all files together, in bytes; the trace of a large model runs to gigabytes.
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class CollectorResult:
    """One collector's result.

    `seconds` is what it took itself, `bytes` what its files weigh, `reason` why it was skipped.
    """

    name: str
    outcome: Literal["ok", "skipped"]
    facts: Mapping[str, object] = field(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0
    bytes: int = 0

    def to_row(self) -> Json:
        """The result without its facts, as report.json has it."""
        return {
            "collector": self.name,
            "outcome": self.outcome,
            "reason": self.reason,
            "seconds": self.seconds,
            "bytes": self.bytes,
        }


@dataclass(frozen=True)
class Excerpt:
    """A piece of what the compiler made of the repro: a caption without a full stop, and the text
    with its language.
    """

    caption: str
    language: str
    text: str


def read_answer(found: Mapping[str, ToolNote], folder: Path) -> tuple[CollectorResult, ...]:
    """What each tool of torch's found, with the size of what it wrote.

    Args:
        found: the target's answer (see `collectors.debugtools.tool.ToolSession.stop`): name of a
            tool -> its facts, or why there are none.
        folder: has a folder for each tool, by its name.
    """
    return tuple(
        CollectorResult(
            name,
            "skipped" if "facts" not in entry else "ok",
            entry.get("facts") or {},
            entry.get("skipped", "" if "facts" in entry else "it did not come to an end"),
            entry.get("seconds", 0.0),
            _measure_folder(folder / name),
        )
        for name, entry in found.items()
    )


def _measure_folder(folder: Path) -> int:
    """Bytes of all files below a folder; 0 where there is none."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def trim(folder: Path, most: int = _MOST_BYTES) -> tuple[str, ...]:
    """Removes the largest files until the folder weighs no more than `most` bytes; returns what
    went.
    """
    files = sorted(
        (path for path in folder.rglob("*") if path.is_file()),
        key=lambda path: path.stat().st_size,
    )
    total, gone = sum(path.stat().st_size for path in files), []
    while files and total > most:
        path = files.pop()
        total -= path.stat().st_size
        gone.append(f"{path.relative_to(folder)} ({path.stat().st_size} bytes)")
        path.unlink()
    return tuple(gone)
