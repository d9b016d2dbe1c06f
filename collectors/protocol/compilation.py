"""What the compiler did with a recorded call: subsystems, graph breaks and guards."""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict

from .calls import CallAnswer, SentRequest
from .failure import Failure
from .words import TorchSettings


class SubsystemsRequest(SentRequest):
    """What can be varied in this release."""

    op: Literal["subsystems"]
    #: Settings of interest, by full name.
    settings: List[str]


class CompilerSubsystem(TypedDict):
    """A part of the compiler whose applications can be left out."""

    backend: str
    subsystem: str


class SubsystemTable(TypedDict):
    """What `call.bisection.list_subsystems` finds."""

    subsystems: List[CompilerSubsystem]
    #: Settings that switch a subsystem off, with the value for it.
    changes: TorchSettings
    #: Present values of the settings that there are; another one than a plain value as text.
    settings: TorchSettings


class SubsystemsAnswer(CallAnswer, total=False):
    """The table."""

    subsystems: List[CompilerSubsystem]
    changes: TorchSettings
    settings: TorchSettings


class _GraphBreaksRequest(SentRequest):
    op: Literal["graph_breaks"]


class GraphBreaksRequest(_GraphBreaksRequest, total=False):
    """Graph breaks and recompiles of the call and those before it."""

    #: In place of the call's own.
    backend: str


class BreakRecord(TypedDict):
    """A place where tracing stops; files, functions and reasons may be private."""

    reason: str
    #: The part of the reason in torch's own words.
    public: str
    #: One line of newer releases; may be empty.
    explanation: str
    file: str
    line: int
    function: str
    #: The function is not compiled at all.
    whole: bool
    count: int


class RecompileRecord(TypedDict):
    """One repeated compilation."""

    #: Calls with different arguments, from 1.
    call: int
    #: The guard that failed, and the same in public words.
    guard: str
    public: str
    #: Where the function begins.
    file: str
    line: int
    function: str


class GraphBreaks(TypedDict):
    """What slows a compiled program down."""

    graphs: int
    #: At most 20.
    graph_breaks: List[BreakRecord]
    #: At most 80.
    recompiles: List[RecompileRecord]
    #: Compiles of one function that torch allows.
    limit: int
    limit_hit: bool


class GraphBreaksAnswer(CallAnswer, total=False):
    """Graph breaks and recompilations of one callable."""

    graph_breaks: GraphBreaks
    #: Class of what the last call raised.
    raised: Optional[str]


class _ArgumentChange(TypedDict):
    #: `argument 0`, `argument 1, item 2`.
    where: str
    #: From 0; None for a number.
    dimension: Optional[int]
    #: Size or number when the graph was compiled, and now.
    compiled: float
    now: float


class ArgumentChange(_ArgumentChange, total=False):
    """A size or number that differs between two calls."""

    #: Size expressions of the graph that hold it.
    used: List[str]


class GuardsRequest(SentRequest):
    """What the call reused, and what had changed then."""

    op: Literal["guards"]
    #: File for the snapshot of the call.
    snapshot: str
    #: Changes to hold static.
    static: List[ArgumentChange]
    #: Only these changes are made; None: all of them.
    vary: Optional[List[ArgumentChange]]


class GuardsAnswer(CallAnswer, total=False):
    """All in public words."""

    snapshot: str
    #: Graphs that the call reused.
    reused: int
    #: Most used first.
    changed: List[ArgumentChange]
    #: Guards on sizes that were checked, at most 12.
    checked: List[str]
    #: Size expressions, at most 12.
    used: List[str]
    #: Symbol -> what it is, in words.
    symbols: Dict[str, str]
    failure: Failure
