"""Two reports are likely the same bug if they fail in the same place, whatever program led there
(version 1).

A failure that raises is known by its layer, the class of the exception and torch's innermost
frames; one that gives wrong values by its kind, its layer and the operators of the reduced program.
What says too little has no fingerprint at all: an empty one never matches, because a wrong "already
known" costs more than a duplicate.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.protocol.failure import Failure
from reporter.core.kinds import CRASHES, Kind, Layer
from reporter.core.signature import normalize, read_torch_frames
from reporter.report.sections.verdict import FingerprintSection

VERSION = 1
_FRAMES = 3
#: Frames through which every compilation goes, or every exception is raised: they tell nothing of
#: this one.
_EVERYWHERE = re.compile(
    r"^torch/fx/generated:"
    r"|:(?:_fn|wrapper|inner|__call__|_call_impl|_wrapped_call_impl|time_wrapper|compile_wrapper"
    r"|_TorchDynamoContext"
    r"|catch_errors|run|step|transform|unimplemented\w*|_compile_fx_inner|decorate_context"
    r"|<module>|main)$"
)
#: A compiler's refusal is known by what it says; the frames above it are the same for all.
_COMPILERS_WORDS = re.compile(r"^(?:error|fatal error):")


@dataclass(frozen=True)
class Fingerprint:
    """`parts` are what was hashed, for people; `value` is `v1:` and 16 hexadecimal digits, or
    empty.
    """

    parts: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """The hash of the parts with the version before it; empty if there are no parts."""
        if not self.parts:
            return ""
        digest = hashlib.sha256("\n".join(self.parts).encode()).hexdigest()
        return f"v{VERSION}:{digest[:16]}"

    def __bool__(self) -> bool:
        return bool(self.parts)

    def to_section(self) -> FingerprintSection:
        """The entry of report.json."""
        return FingerprintSection(value=self.value, parts=self.parts)

    @classmethod
    def from_json(cls, data: object) -> Fingerprint:
        """Reads an entry of report.json; an entry of another version, or none, is an empty
        fingerprint.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("parts"), list):
            return cls()
        found = cls(tuple(map(str, data["parts"])))
        return found if found.value == data.get("value") else cls()


def read_section(section: FingerprintSection | None) -> Fingerprint:
    """The fingerprint of a report; one of another version, or none, is empty."""
    if section is None:
        return Fingerprint()
    found = Fingerprint(section.parts)
    return found if found.value == section.value else Fingerprint()


def compute_fingerprint(
    kind: Kind,
    layer: Layer,
    operators: Sequence[str],
    failure: Failure | None = None,
    signal: str | None = None,
) -> Fingerprint:
    """The fingerprint of a verified repro.

    Args:
        operators: of the reduced program.
        failure: what a fresh process said of it (`collectors.call.failure.describe`).
        signal: what killed the process, if something did.
    """
    if kind in CRASHES:
        return _fingerprint_exception(layer, failure) if failure else Fingerprint()
    names = sorted(set(operators))
    if not names:
        return Fingerprint()
    return Fingerprint((kind, layer, *([signal] if signal else []), *names))


def _fingerprint_exception(layer: Layer, failure: Failure) -> Fingerprint:
    exception = str(failure.get("exception") or "")
    first_line = str(failure.get("first_line") or "")
    if exception and _COMPILERS_WORDS.match(first_line):
        return Fingerprint((layer, exception, normalize(first_line)))
    frames = [frame for frame in read_torch_frames(failure) if not _EVERYWHERE.search(frame)]
    if not exception or not frames:
        return Fingerprint()
    return Fingerprint((layer, exception, *frames[:_FRAMES]))
