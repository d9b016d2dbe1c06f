"""What a watched program tells while it runs, and what the host replies."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

from .failure import Failure
from .starting import ProgramEnding
from .words import UnsupportedReason


class _LaterContext(TypedDict, total=False):
    """What recordings of earlier versions lack."""

    #: Where tensors are made that name no device, such as `cuda:0`; None: torch's own choice.
    default_device: Optional[str]


class ContextState(_LaterContext):
    """The switches of torch that a call runs under (`call.context.read_state`)."""

    #: Whether gradients are recorded.
    grad: bool
    inference: bool
    #: Device (`cpu`, `cuda`) -> [enabled, dtype as text]; empty: none at all.
    autocast: Dict[str, List[Any]]
    autocast_cache: bool
    #: As text, `torch.float32`.
    default_dtype: str
    #: Of torch's pool.
    threads: int
    deterministic: bool
    #: highest, high or medium.
    matmul_precision: str


#: Arguments of torch.compile by name, open since each backend has options of its own; a backend
#: that is a callable is `{"callable": true}`. Of an exported program those of torch.export.export,
#: with `compiler` ("export", "aoti" where it was packaged by AOTInductor, "onnx" where it was
#: exported to ONNX, whose arguments are then among them) and its `steps`. For a torch function of
#: its own only `compiler`, "eager".
CompileOptions = Dict[str, Any]


class OwnFrame(TypedDict):
    """A function of the program that is running, or `<module>`, and where it is."""

    file: str
    function: str
    line: int


class BeginEvent(TypedDict):
    """A watched call begins."""

    event: Literal["begin"]
    #: Number of the call, from 0.
    call: int
    options: CompileOptions
    context: ContextState
    #: Number of the compiled callable.
    watched: int
    #: Earlier calls that are replayed before it, at most 8.
    history: int
    #: The cell of a notebook, or the test; may be empty.
    origin: str
    #: From the outermost to the one that makes the call.
    frames: List[OwnFrame]
    #: So many more of the program have room on its devices; None where it uses none.
    room: Optional[int]


class RaisedEvent(TypedDict):
    """A watched call raised."""

    event: Literal["raised"]
    call: int
    failure: Failure
    #: Whether a fork of the moment before it waits.
    checked: bool


class ReturnedEvent(TypedDict):
    """A watched call returned."""

    event: Literal["returned"]
    call: int
    #: File with the snapshot of what it left behind.
    path: str
    #: Whether gradients may flow into its outputs.
    differentiable: bool


class MadeEvent(TypedDict):
    """A program was exported, or taken one step further, and not called yet."""

    event: Literal["made"]
    call: int


class GradientsEvent(TypedDict):
    """Gradients have flowed into the outputs of a call."""

    event: Literal["gradients"]
    call: int
    #: File with the gradients by number of the output.
    path: str


class ForgottenEvent(TypedDict):
    """Gradients of this call are not waited for any longer."""

    event: Literal["forgotten"]
    call: int


class UncheckedEvent(TypedDict):
    """A call could not be looked at."""

    event: Literal["unchecked"]
    call: int
    #: Class of our own exception.
    reason: str


class UnsupportedEvent(TypedDict):
    """No call of this program can be repeated in a fork."""

    event: Literal["unsupported"]
    call: int
    reason: UnsupportedReason


class ReachedEvent(TypedDict):
    """A stranger's program reaches for what records it; there is no answer. `record.audit_hook`
    writes it as a text, with nothing that the program could have replaced.
    """

    event: Literal["reached"]
    what: str


class FailedGuard(TypedDict):
    """A guard that made a function compile again."""

    guard: str
    #: Name of the function, and where it begins.
    function: str
    file: str
    line: int


class DynamoCounts(TypedDict):
    """What torch itself counted in a program (`dynamo.counters.count`)."""

    graph_breaks: int
    recompiles: int
    #: Whether a function is not compiled any more.
    limit_hit: bool
    #: At most 20.
    failed: List[FailedGuard]


class FinishedEvent(ProgramEnding):
    """The program, or the part of it that was watched, has ended."""

    event: Literal["finished"]
    #: Calls of compiled callables.
    calls: int
    #: Callables that were compiled.
    compiles: int
    #: Exports that left tensors without values in the program's module.
    leaks: int
    #: Outputs that decomposing has added to exported programs, for what these write to.
    added_outputs: int
    #: Seconds that the watching took in the program.
    overhead: float
    dynamo: DynamoCounts
    #: Frames that Dynamo compiled, or tried to.
    compilations: int


#: What a recorder tells of one call, and waits for a `HostReply` to.
CallEvent = Union[
    BeginEvent,
    RaisedEvent,
    ReturnedEvent,
    MadeEvent,
    GradientsEvent,
    ForgottenEvent,
    UncheckedEvent,
    UnsupportedEvent,
]
ProgramEvent = Union[CallEvent, ReachedEvent, FinishedEvent]


class HostReply(TypedDict, total=False):
    """The host's word after each event of a call; empty where the host is gone."""

    #: Whether to go on watching.
    watch: bool
    #: Whether to wait for the gradients of this call.
    keep: bool
    #: Whether something was found, for a program that is told no more.
    found: bool
    #: Of a program that cannot be forked: it will be run again for each question.
    isolation: Literal["rerun"]
    #: The `check_first` of its `RecorderSpec` from now on.
    check_first: int
