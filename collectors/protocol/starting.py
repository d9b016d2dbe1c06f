"""A program that is watched, or run again, is started: what it has to know, how it reports and how
it ends, and the files of the working folder.
"""

from __future__ import annotations

import signal
from typing import Dict, List, Literal, Optional, TypedDict

from .failure import ScriptException
from .words import StartKind, UndefinedCast, WatchMode

#: Beginnings of the names of files in the working folder, with a child process's number behind
#: them: it has compiled something; the number of the signal that has ended it.
CHILD_COMPILED, CHILD_ENDED = "compiled-by-", "ended-"
#: The file in the working folder with what call number N of a program can reach, where nothing is
#: forked.
KEPT_FILE = "kept-{}.pt"

#: The file of counted operators, for `struct`: the number of the last call that began, and of the
#: last that raised; after each of them the number of the call whose derivative a backward pass was
#: about to compute by then. -1 for none.
OPERATORS_LAYOUT = "qqqq"
#: Bytes of the file with the C function of torch that is under way (`record.native_calls`).
MOST_OF_NAME = 80
#: Has a process that has reached its limit write its stacks and end (see `call.stopping`), and the
#: seconds after which its end is not waited for any longer: the kernel has the process, or the
#: call has taken the signal for itself.
STOP_SIGNAL, STOP_PATIENCE = signal.SIGUSR2, 10.0
#: Characters of a log that count: a stack's innermost frames stand first, and it may have a
#: hundred of them.
MOST_OF_LOG = 30_000


class _ProgramStart(TypedDict):
    #: What the words after the spec are.
    kind: StartKind


class ProgramStart(_ProgramStart, total=False):
    """How the target starts a program: the part of a spec that the entry point decides."""

    #: The script itself, for the kind `text`.
    text: str


#: Which derivative of a function is held against finite differences: the first ones by backward or
#: by forward mode, the second ones of backward mode, those of forward mode by another one, or those
#: of a gradient that `torch.func.grad` makes. `forward_twice` holds those of forward mode by the
#: same against those by backward mode, `in_inference` those of `torch.func` in inference mode
#: against those outside of it, and `elementwise` those of equal elements against each other.
#: `backward` only computes the first ones.
DerivativeKind = Literal[
    "gradcheck",
    "forward",
    "gradgradcheck",
    "over_forward",
    "over_backward",
    "forward_twice",
    "in_inference",
    "backward",
    "elementwise",
]


class _RecorderSpec(TypedDict):
    #: Working folder that both sides share.
    folder: str


class RecorderSpec(_RecorderSpec, total=False):
    """What a recorder has to know."""

    #: Path of the host's Unix socket; a program that is run again has none.
    socket: str
    #: So many first calls of each callable are looked at in any case; 8 if missing.
    check_first: int
    #: Only each so-manieth call is compared, and those that raise; 0: as usual.
    every: int
    #: Folder of the compiler's cache for repetitions of a call.
    cache: str
    #: File that the calls of torch's own functions are counted in (`record.operators`).
    operators: str
    #: File for the name of torch's C function that is under way (`record.native_calls`).
    native_calls: str
    #: Number of the one that is watched, from 0.
    operator: int
    #: File for the `OperatorFacts` of a run in which each operator is held against float64.
    measured: str
    #: Operators on DTensors are held against the same on the whole tensors, in every child process.
    sharded: bool
    #: Memory that is handed out unwritten holds zeros.
    zeroed: bool
    #: Everything is computed in float64 (`call.variations.precision.promote`).
    exact: bool
    #: Outputs that decomposing adds to exported programs are taken away again.
    without_added_outputs: bool
    #: File for the `TrainingFacts` of a run in which DistributedDataParallel reduces nothing, in
    #: any process (`call.variations.lone_training`).
    alone: str
    #: Number of the child process that is watched in the program's place, from 0.
    child: int
    #: Which derivative of that call is watched in its place.
    derivative: DerivativeKind
    #: Backend with which everything is compiled, in place of what the script says.
    backend: str
    #: Stands in each message of the recorder of a stranger's program, whose reaches are told.
    key: str
    #: Nothing is forked: what calls can reach is kept, for a program that is run again.
    isolation: Literal["rerun"]


class OperatorError(TypedDict):
    """How one result of an operator is off float64, absolute."""

    #: The overload, `aten.sum.default`.
    operator: str
    #: Number of the torch function that the program called, from 0.
    function: int
    error: float
    #: The largest value of the result.
    largest: float
    #: What moving the inputs by one unit in the last place moves.
    sensitivity: float


class ShardedError(OperatorError):
    """How one result of an operator on DTensors is off that on the whole tensors."""

    #: Of each DTensor that it is given, `[Shard(0)]`; one of no class of torch's is left out.
    placements: List[str]


class DerivativeError(TypedDict):
    """A derivative of a torch function that finite differences refuse."""

    #: Number of the torch function that the program called, from 0.
    function: int
    name: str
    kind: DerivativeKind


class OperatorFacts(TypedDict):
    """What a run that measures its operators found (`call.operators.measurement`)."""

    #: Beyond rounding; at most 8.
    wrong: List[OperatorError]
    #: As far as the inputs' last bits move it; at most 8.
    ill: List[OperatorError]
    #: Results within rounding, and results that are too large for their dtype.
    rounded: int
    overflowed: int
    undefined_casts: List[UndefinedCast]
    uninitialized: List[str]
    #: Operators that take a tensor and draw random numbers.
    random: List[str]
    #: Derivatives that the program asks for and finite differences refuse, in the order of calls.
    derivatives: List[DerivativeError]
    #: On DTensors, off what the whole tensors give; at most 8.
    sharded: List[ShardedError]


class TrainingFacts(TypedDict):
    """What a process that trains alone shows of its training."""

    #: Those up to the last one in which a parameter got a gradient.
    steps: int
    #: Whether in each of them the same parameters got as many, through the same functions.
    alike: bool


class RerunSpec(RecorderSpec):
    """What a program that is run again up to one call has to know."""

    #: Number of the inherited socket.
    descriptor: int
    #: Number of the call, from 0.
    call: int
    #: File with what the call could reach (`record.call_state.keep`).
    kept: str


class WatchedProgramSpec(ProgramStart, RecorderSpec):
    """The file that `entry/bootstrap.py` reads for a program to be watched."""


class RerunProgramSpec(ProgramStart, RerunSpec):
    """The file that `entry/bootstrap.py` reads for a program that is run again."""


class NotebookSurvey(TypedDict):
    """Whether a notebook can be run (`record.notebook.survey`)."""

    #: Why not, as a sentence without a full stop; None: it can.
    problem: Optional[str]
    #: Texts of the cells, by the name that tracebacks have for them.
    texts: Dict[str, str]
    #: Lines that install packages, each with its place.
    left_out: List[str]


class _ScriptGreeting(TypedDict):
    role: Literal["script"]
    #: Of the program itself.
    pid: int


class ScriptGreeting(_ScriptGreeting, total=False):
    """First message of a program; what is optional comes from one that the host did not start."""

    mode: WatchMode
    #: Release of torch; empty if it is not imported.
    torch: str
    #: Release of Python.
    python: str
    #: The words that the program was started with.
    command: List[str]


class ForkServerGreeting(TypedDict):
    """First message of the fork that waits to repeat a call."""

    role: Literal["fork_server"]
    #: Number of the call, from 0.
    call: int
    #: Of the fork.
    pid: int


class _RerunGreeting(TypedDict):
    role: Literal["rerun"]


class RerunGreeting(_RerunGreeting, total=False):
    """First message of a program that was run again; one of the two keys."""

    #: Of the program, which waits at the call.
    pid: int
    #: Why it is not the recorded call that it makes.
    changed: str


class _ProgramEnding(TypedDict):
    #: Exit code.
    exit: int
    exception: Optional[ScriptException]


class ProgramEnding(_ProgramEnding, total=False):
    """How a program ended."""

    #: Why it could not be started, as a sentence.
    unusable: str
    #: Whether its tests ran in other processes.
    other_processes: bool
    #: Seconds of processor time that processes took which it started and waited for.
    waited_for: float
