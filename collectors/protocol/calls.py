"""What all questions about a recorded call and their answers have; running it once more, and
comparing what runs have left.
"""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict

from .comparison import Comparison
from .failure import Failure
from .repro_words import Text
from .variation import BisectCount, Rung
from .words import CallOutcome, CallPhase, UndefinedCast


class SentRequest(TypedDict, total=False):
    """What the session adds to a request when it is sent."""

    #: Number of the request, for its answer.
    id: int
    #: Seconds until it is stopped.
    timeout: float
    #: The program that was run again waits for another request.
    stay: bool
    #: File for the standard streams of the program that was run again.
    log: str


class StopRequest(SentRequest):
    """Ends a fork server, or a program that was run again."""

    op: Literal["stop"]


class LostAnswer(Text):
    """Why there is no answer of a fork, or of a run, that the call itself has not ended."""

    #: There was no room for it.
    UNWRITTEN = "unwritten"
    #: The fork server is gone.
    SERVER = "server"
    #: Nothing is asked any more.
    CLOSED = "closed"


class _CallAnswer(TypedDict):
    outcome: CallOutcome


class CallAnswer(_CallAnswer, total=False):
    """What every answer may have; `ok` brings the keys of its kind."""

    #: `id` of the request, from a fork server.
    answer: int
    #: How the call ended its process: SIGSEGV, or `exit 1`. Of those that `died`, each has this or
    #: the next one.
    signal: str
    lost: LostAnswer
    #: Why there is no result; for a death or a time-out the end of the log with Python's stacks.
    detail: str
    #: Seconds of processors that the fork and what it waited for have used.
    cpu: float
    #: Frames that Dynamo compiled, or tried to.
    compilations: int


class RunRequest(SentRequest):
    """The call once more, under a variation."""

    op: Literal["run"]
    rung: Rung


class LostWrite(TypedDict):
    """Writes to one place of which torch does not say which one stays."""

    #: Operator.
    by: str
    #: Values that were lost, of all that were written.
    elements: int
    of: int


class EagerFacts(TypedDict, total=False):
    """What one eager run of the call met (`call.probe.collect_facts`)."""

    #: At most 20 each.
    undefined_casts: List[UndefinedCast]
    lost_writes: List[LostWrite]
    #: Operators of the program's own that wrote to what their schemas do not name.
    undeclared_writes: List[str]
    #: Operators that handed out memory unwritten.
    uninitialized: List[str]
    #: Operators that drew random numbers.
    random: List[str]
    #: Generators that are not torch's and were drawn from: random, numpy.
    streams: List[str]
    #: How many operators ran.
    operators: int
    #: Whether anything was computed in half precision.
    coarse: bool
    #: Whether floats were added up.
    sums: bool
    #: Whether any tensor was on a CUDA device.
    cuda: bool
    #: Whether an argument is a dual tensor, of forward mode.
    dual: bool
    #: Whether an output indexes something; what, was saved.
    ties: bool
    #: Class of what the run raised.
    error: Optional[str]


class RunAnswer(CallAnswer, total=False):
    """`raises` comes with `failure` and `phase`, a probe with `facts`."""

    seconds: float
    #: Times that the fastest of the calls that were `timed` takes as long as the fastest in eager
    #: mode; None where one of them raises.
    relative_time: Optional[float]
    snapshot: str
    phase: CallPhase
    failure: Failure
    facts: EagerFacts
    bisect: BisectCount


class _CompareRequest(SentRequest):
    op: Literal["compare"]
    #: Files with snapshots: eager, and what is held against it.
    reference: Optional[str]
    actual: Optional[str]


class CompareRequest(_CompareRequest, total=False):
    """Two snapshots of the call held against each other."""

    #: File with the snapshot of float64.
    exact: Optional[str]
    #: Dtype that the program computed in, as text, where coarser than its outputs'.
    origin: Optional[str]
    #: File with what index outputs index.
    ties: Optional[str]
    #: Whether the program draws random numbers.
    random: bool
    #: Files with snapshots of other eager runs: side effects that they do not share are left out.
    again: List[str]


class CompareAnswer(CallAnswer, total=False):
    """The comparison."""

    comparison: Comparison


class TensorsRequest(SentRequest):
    """The tensors that the call can reach."""

    op: Literal["tensors"]


class TensorsAnswer(CallAnswer, total=False):
    """Their names in the private program, with the number of their elements."""

    tensors: Dict[str, int]
