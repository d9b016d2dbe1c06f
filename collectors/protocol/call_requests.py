"""Every question about a recorded call."""

from __future__ import annotations

from typing import Union

from .calls import CompareRequest, RunRequest, TensorsRequest
from .compilation import GraphBreaksRequest, GuardsRequest, SubsystemsRequest
from .environment import EnvironmentRequest
from .evidence import EvidenceRequest
from .graphs import (
    CaptureRequest,
    DivergenceRequest,
    EquivalenceRequest,
    GatherRequest,
    SourceEquivalenceRequest,
    TraceRequest,
)

#: Each kind of question about a recorded call.
CallRequest = Union[
    RunRequest,
    CompareRequest,
    TensorsRequest,
    CaptureRequest,
    TraceRequest,
    EquivalenceRequest,
    SourceEquivalenceRequest,
    DivergenceRequest,
    GatherRequest,
    SubsystemsRequest,
    GraphBreaksRequest,
    GuardsRequest,
    EvidenceRequest,
    EnvironmentRequest,
]
