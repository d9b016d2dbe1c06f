"""The verdict: kind, layer, whether it is a bug, and one plain sentence with its measurement."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.protocol import Comparison, Failure
from reporter.core.kinds import BUGS, Kind, Layer
from reporter.core.signature import Signature
from reporter.diagnose.ladder import Ladder
from reporter.diagnose.stacks import TorchFrame
from reporter.recording.findings import Finding


@dataclass(frozen=True)
class Diagnosis:
    """What the measurements of one finding mean.

    `cited` are the rungs that prove it, `reproduced` how often it was seen in how many runs,
    `torch_frame` where the process was when it died or was stopped.
    """

    kind: Kind
    layer: Layer
    summary: str
    signature: Signature | None = None
    failure: Failure | None = None
    comparison: Comparison | None = None
    ladder: Ladder | None = None
    finding: Finding | None = None
    cited: tuple[str, ...] = ()
    reproduced: tuple[int, int] = (0, 0)
    torch_frame: TorchFrame | None = None

    @property
    def is_bug(self) -> bool:
        """Whether the kind is one of the compiler's faults."""
        return self.kind in BUGS
