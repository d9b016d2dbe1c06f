"""What runs of a program say of the calls of torch's own functions, which are counted in a file."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path

from collectors.protocol.starting import (
    OPERATORS_LAYOUT,
    DerivativeKind,
    OperatorFacts,
    RecorderSpec,
    TrainingFacts,
)


@dataclass(frozen=True)
class FailingCall:
    """The call that a program failed in, by its number; of a backward pass, the call whose
    derivative was under way (`differentiated`).
    """

    number: int
    differentiated: int | None = None


@dataclass(frozen=True)
class OperatorWatch:
    """How the calls of torch's own functions are looked at, with its files in `folder`.

    `number` is that of the call that is watched like a compiled one, or whose `derivative` is.
    `measured` holds each operator against float64, and derivatives against finite differences, and
    `sharded` those on DTensors against the whole tensors;
    `zeroed` hands out memory that holds zeros; `exact` computes in float64. With `native` the C
    function that is under way is noted. With `alone` DistributedDataParallel reduces nothing, and
    the steps of the training are noted.
    """

    folder: Path
    number: int | None = None
    derivative: DerivativeKind | None = None
    measured: bool = False
    sharded: bool = False
    zeroed: bool = False
    exact: bool = False
    native: bool = False
    alone: bool = False

    def tell(self, spec: RecorderSpec) -> None:
        """Puts into `spec` what the recorder has to know of it."""
        spec["operators"] = str(self._counted)
        if self.number is not None:
            spec["operator"] = self.number
        if self.derivative is not None:
            spec["derivative"] = self.derivative
        if self.measured:
            spec["measured"] = str(self._measured)
        if self.sharded:
            spec["sharded"] = True
        if self.zeroed:
            spec["zeroed"] = True
        if self.exact:
            spec["exact"] = True
        if self.native:
            spec["native_calls"] = str(self._native)
        if self.alone:
            spec["alone"] = str(self._training)

    @property
    def _counted(self) -> Path:
        return self.folder / "operators"

    @property
    def _measured(self) -> Path:
        return self.folder / "operators.json"

    @property
    def _native(self) -> Path:
        return self.folder / "native-calls"

    @property
    def _training(self) -> Path:
        return self.folder / "training.json"

    def find_last_function(self) -> str:
        """The public name of torch's C function that was under way when the process ended; empty
        where none was.
        """
        try:
            return self._native.read_bytes().rstrip(b"\0").decode()
        except (OSError, ValueError):
            return ""

    def find_last_call(self, died: bool) -> FailingCall | None:
        """The call that was under way when the process died, or the last that raised; None where
        there is none.
        """
        try:
            numbers = struct.unpack(OPERATORS_LAYOUT, self._counted.read_bytes())
        except (OSError, struct.error):
            return None
        number, differentiated = numbers[:2] if died else numbers[2:]
        if number < 0:
            return None
        return FailingCall(number, differentiated if differentiated >= 0 else None)

    def read_facts(self) -> OperatorFacts | None:
        """What the run that measured found; None if it came to nothing."""
        try:
            found: OperatorFacts = json.loads(self._measured.read_text())
        except (OSError, ValueError):
            return None
        return found

    def read_training(self) -> TrainingFacts | None:
        """What the run that trained alone showed; None if it came to nothing."""
        try:
            found: TrainingFacts = json.loads(self._training.read_text())
        except (OSError, ValueError):
            return None
        return found
