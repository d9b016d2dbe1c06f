"""The verdict: kind, layer, whether it is a bug, and one plain sentence with its measurement."""

from __future__ import annotations

from dataclasses import dataclass, replace

from collectors.protocol.comparison import Comparison
from collectors.protocol.failure import Failure
from reporter.core.kinds import BUGS, Kind, Layer
from reporter.core.signature import Signature, sign_crash
from reporter.diagnose.ladder import Ladder
from reporter.diagnose.rungs import CACHES_OFF
from reporter.diagnose.stacks import TorchFrames
from reporter.recording.findings import Finding


@dataclass(frozen=True)
class VerdictBasis:
    """What a verdict rests on: the finding, and the ladder that was measured on it.

    `cited` are the rungs that prove it, `reproduced` how often it was seen in how many runs.
    """

    finding: Finding | None = None
    ladder: Ladder | None = None
    cited: tuple[str, ...] = ()
    reproduced: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Diagnosis:
    """What the measurements of one finding mean.

    `torch_frame` is where the process was when it died or was stopped. `is_request`: see
    `as_request`.
    """

    kind: Kind
    layer: Layer
    summary: str
    signature: Signature | None = None
    failure: Failure | None = None
    comparison: Comparison | None = None
    basis: VerdictBasis = VerdictBasis()
    torch_frame: TorchFrames | None = None
    is_request: bool = False

    def as_request(self) -> Diagnosis:
        """A limit that torch states with an exception, to be reported like that exception; any
        other verdict as it is.
        """
        if self.kind != Kind.UNSUPPORTED or self.failure is None:
            return self
        signature = sign_crash(Kind.CRASH, self.layer, self.failure)
        return replace(self, kind=Kind.CRASH, signature=signature, is_request=True)

    @property
    def is_from_cache(self) -> bool:
        """Whether the reused graph came out of a cache, and is not reused for want of a guard."""
        return CACHES_OFF in self.basis.cited and self.kind == Kind.STALE_GRAPH

    @property
    def is_bug(self) -> bool:
        """Whether the kind is one of the compiler's faults."""
        return self.kind in BUGS
