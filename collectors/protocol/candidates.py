"""Candidates in a warm worker or a fresh process, and what is measured on a repro."""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict, Union, final

from .evidence import ToolNote
from .failure import Failure
from .graphs import NumberedGraph
from .repro_words import CandidateOutcome
from .variation import BisectCount, Overrides

#: What is run before a repro of an exported program where Python is to do all of it: exporting
#: hands back the module, packaging, saving and loading the program; what is loaded or unflattened
#: has state of its own, as `ExportedProgram.module` has not. Needs torch 2.1.
EXPORTS_AS_MODULES = """\
import copy, torch, torch._inductor
class Program:
    def __init__(self, module): self.own = module
    def __call__(self, *args):
        out = self.own(*args)
        return out if isinstance(out, tuple) else (out,)
    def module(self, *_, **__): return self.own
    def run_decompositions(self, *_, **__): return self
    def copy(self):
        try: return Program(copy.deepcopy(self.own))
        except Exception: return self
torch.export.export = torch.export.draft_export = lambda module, *_, **__: Program(module)
saved = {}
torch.export.save = lambda program, file, *_, **__: saved.update({str(file): program})
torch.export.load = lambda file, *_, **__: saved[str(file)].copy()
torch.onnx.export = lambda module, *_, **__: Program(module)
load = lambda program, *_, **__: program.copy().own
torch.export.unflatten = torch._inductor.aoti_load_package = load
torch._inductor.aoti_compile_and_package = lambda program, *_, **__: program
"""

#: The file in `out` of a candidate's folder with its own `CandidateEnding`.
ANSWER_FILE = "answer.json"
#: The file beside it with a `MeasurementLine` in each line.
MEASUREMENTS_FILE = "measurements.jsonl"


class MeasurementRequest(TypedDict):
    """What of a repro is measured for the pictures (`dynamo.repro_measurements.show`)."""

    #: Whether it is run as it is, for the map of the error.
    values: bool
    #: Operations of the graph, at most.
    positions: int
    #: For these.
    seconds: float


class _CandidateRequest(TypedDict):
    #: Number of the candidate.
    id: int
    #: The complete repro.
    text: str
    #: Seconds.
    timeout: float


@final
class CandidateRequest(_CandidateRequest, total=False):
    """A candidate to be run; a fresh process reads it from its standard input."""

    overrides: Overrides
    #: Only in a fresh process: the results are the lines of MEASUREMENTS_FILE.
    measure: MeasurementRequest
    #: Only in a fresh process: with torch's debugging tools on, whose files go to `out/found`.
    tools: List[str]


class ForkRequest(TypedDict):
    """A candidate for a fork of a preloaded process; `folder` has `run`, `out` and `cache`."""

    folder: str
    candidate: CandidateRequest


class ForkStarted(TypedDict):
    """A fork of a preloaded process has started; its end is told by a `ForkStatus`."""

    pid: int


class ForkStatus(TypedDict):
    """How a fork of a preloaded process ended: its exit code, or minus the number of the signal."""

    exit: int
    #: Seconds of processors that it and what it waited for have used.
    cpu: float


@final
class CancelRequest(TypedDict):
    """A candidate that nobody waits for any more; `cancel` is its number."""

    cancel: int


class WorkerWarmth(TypedDict):
    """How a worker has warmed up."""

    #: The backend that compiled, or `import`.
    warm: str
    seconds: float
    #: Seconds of processors.
    cpu: float


@final
class ReadyMessage(TypedDict):
    """The worker takes candidates."""

    ready: WorkerWarmth


@final
class StartedMessage(TypedDict):
    """A candidate has started as process `pid`."""

    id: int
    pid: int


class _CandidateEnding(TypedDict):
    outcome: CandidateOutcome
    #: Exit code; minus the number of the signal that ended it.
    exit: int


class CandidateEnding(_CandidateEnding, total=False):
    """How a candidate ended: the ANSWER_FILE that it writes itself, or what its exit status
    says.
    """

    failure: Optional[Failure]
    #: Name of the signal, SIGSEGV.
    signal: Optional[str]
    #: Why it cannot be judged; for a death or a time-out Python's stack.
    detail: str
    bisect: BisectCount
    #: What the debugging tools say, by their names.
    found: Dict[str, ToolNote]
    #: What a program with wrong values has in it that torch leaves undefined, or to chance: casts,
    #: draws, writes.
    undefined: List[str]
    #: Frames that Dynamo compiled, or tried to.
    compilations: int


@final
class CandidateAnswer(CandidateEnding):
    """A worker's answer about a candidate."""

    #: Number of the candidate.
    id: int
    #: Ends of the streams, at most 4,000 bytes each.
    stdout: str
    stderr: str
    seconds: float
    #: Seconds of processors that it and what it waited for have used.
    cpu: float


#: What a worker is told, and what it tells; a key says which message it is.
WorkerRequest = Union[CandidateRequest, CancelRequest]
WorkerMessage = Union[ReadyMessage, StartedMessage, CandidateAnswer]


class ErrorElement(TypedDict):
    """One element of the worst output; `nan`, `inf` and `-inf` are texts."""

    index: List[int]
    eager: Union[float, str, bool]
    compiled: Union[float, str, bool]


class ErrorMap(TypedDict):
    """Where the worst output is off, as a picture (`dynamo.repro_measurements.build_error_map`)."""

    #: Number of the output, of all outputs.
    output: int
    of: int
    shape: List[int]
    #: Rows and columns of the tensor that one cell stands for.
    step: List[int]
    #: Largest absolute error; None if infinite.
    max: Optional[float]
    #: Elements that are not close, of all elements.
    off: int
    elements: int
    reference: Literal["float64", "eager"]
    #: All elements of a small output, else the worst few, the worst first.
    worst: List[ErrorElement]
    #: Largest absolute error of each cell, at most 64 by 64; None if infinite.
    cells: List[List[Optional[float]]]


class BreakLine(TypedDict):
    """A line of the repro at which Dynamo breaks the graph."""

    line: int
    #: At most 500 characters.
    reason: str


class MeasurementLine(TypedDict, total=False):
    """A line of MEASUREMENTS_FILE: a map, the graph breaks, a graph, or errors after one
    operation of it.
    """

    error_map: ErrorMap
    graph_breaks: List[BreakLine]
    #: The graph itself, or its number beside a position.
    graph: Union[NumberedGraph, int]
    #: Of the operation, from 0.
    position: int
    begun: bool
    #: Root mean square errors against the reference; None where there is no value.
    eager: Optional[float]
    compiled: Optional[float]
    reference: Literal["float64", "eager"]
    #: Class of an exception, or `not reached`.
    error: str
