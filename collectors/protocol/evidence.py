"""What torch's own tools say of a recorded call."""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict, Union

from .calls import CallAnswer, SentRequest
from .compilation import BreakRecord
from .events import DynamoCounts


class EvidenceOptions(TypedDict, total=False):
    """Options for all tools."""

    #: The one function to compile.
    function: str


class _ToolsRequest(TypedDict):
    #: Private folder, with one folder for each tool.
    folder: str


class ToolsRequest(_ToolsRequest, total=False):
    """Which of torch's debugging tools to switch on."""

    #: By name; all, if missing.
    tools: List[str]
    options: EvidenceOptions


class EvidenceRequest(ToolsRequest, SentRequest):
    """The call once more with the tools on."""

    op: Literal["evidence"]


class FunctionFacts(TypedDict):
    """That one function was compiled (`debugtools.one_function`)."""

    function: str


class LogFacts(TypedDict):
    """How many lines were logged (`debugtools.logs`)."""

    lines: int
    #: By the letter of the level, and by the name of the artifact.
    levels: Dict[str, int]
    artifacts: Dict[str, int]


class StructuredFacts(TypedDict):
    """How many entries of each kind the structured trace has (`debugtools.structured`)."""

    entries: Dict[str, int]


class InductorFacts(TypedDict):
    """What inductor compiled (`debugtools.inductor`)."""

    #: Folders, in the folder of the tool.
    graphs: List[str]
    vector_isa: Optional[str]


class PhaseFacts(TypedDict):
    """Where the compile time went, in seconds (`debugtools.phases`)."""

    #: By phase, and by the function that torch timed.
    seconds: Dict[str, float]
    functions: Dict[str, float]


class RepeatedCompilation(TypedDict):
    """Why a function was compiled again; it begins at the line."""

    #: At most 4.
    reasons: List[str]
    file: str
    line: int
    function: str


class ExplainFacts(TypedDict):
    """Where tracing stopped and what was compiled again (`debugtools.profiler`)."""

    graphs: int
    #: By graph.
    operations: List[int]
    graph_breaks: List[BreakRecord]
    recompiles: List[RepeatedCompilation]
    limit_hit: bool
    counted: DynamoCounts


#: What one debugging tool says.
ToolFacts = Union[FunctionFacts, LogFacts, StructuredFacts, InductorFacts, PhaseFacts, ExplainFacts]


class ToolNote(TypedDict, total=False):
    """What one tool found: `facts` or `skipped`, or neither where the process ended first."""

    #: Of switching it on and off.
    seconds: float
    facts: ToolFacts
    #: Why it says nothing.
    skipped: str


class EvidenceAnswer(CallAnswer, total=False):
    """What the tools found, by name."""

    found: Dict[str, ToolNote]
    #: Class of what the call raised.
    raised: Optional[str]
