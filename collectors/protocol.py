"""Every message between the host (`reporter`) and the target (`collectors`), key by key.

Both sides import these types, so a misspelt key is an error of mypy on either of them. Messages are
JSON objects: lines on a Unix socket or a pipe, or the whole of a file. Times are wall seconds,
paths are absolute, errors are absolute unless they say otherwise. A key of a class with
`total=False` may be missing; a message of a newer version may have more keys.

What is captured of a call, and gathered of the program around it, has modules of its own beside
this one. The files that torch saves (`*.pt`) are written and read by the target alone. Standard
library only, and nothing is imported that the host would have to wait for.
"""

from __future__ import annotations

import signal
from typing import Any, Dict, List, Literal, Optional, TypedDict, Union, final

from .captured import CandidateOutcome as CandidateOutcome
from .captured import GraphJson, Text, TraceJson
from .captured import Property as Property
from .gathered import GatheredJson

#: A value that JSON has as it is, and that is no list and no object.
PlainValue = Union[None, bool, int, float, str]
#: Values of torch's settings by their full name, `torch._inductor.config.fallback_random`.
TorchSettings = Dict[str, PlainValue]

#: What is run before a repro of an exported program where Python is to do all of it: exporting
#: hands back the module, packaging and loading the program. Needs torch 2.1.
EXPORTS_AS_MODULES = """\
import torch, torch._inductor
class Program:
    def __init__(self, module): self.own = module
    def __call__(self, *args):
        out = self.own(*args)
        return out if isinstance(out, tuple) else (out,)
    def module(self, *_, **__): return self.own
    def run_decompositions(self, *_, **__): return self
torch.export.export = torch.export.draft_export = lambda module, *_, **__: Program(module)
torch.onnx.export = lambda module, *_, **__: Program(module)
torch.export.unflatten = torch._inductor.aoti_load_package = lambda program, *_, **__: program.own
torch._inductor.aoti_compile_and_package = lambda program, *_, **__: program
"""

# -- words -----------------------------------------------------------------------------------------

#: How the target starts a program (`record.starting`).
StartKind = Literal["script", "module", "notebook", "function", "text"]
#: Why a program that runs already is watched: for one block, for a long run, for a test.
WatchMode = Literal["capture", "watch", "test"]
#: Why a fork cannot make a call again: its device, or the program's other ranks.
UnsupportedReason = Literal["CUDA", "ranks"]
#: How a worker makes the processes of its candidates (`worker_main.py serve --isolation`).
Isolation = Literal["fork", "spawn"]
#: What may be asked of a recorded call.
Operation = Literal[
    "run",
    "compare",
    "tensors",
    "capture",
    "trace",
    "equivalence",
    "source_equivalence",
    "divergence",
    "gather",
    "subsystems",
    "graph_breaks",
    "guards",
    "evidence",
    "environment",
]


class CallOutcome(Text):
    """How a request about a call ended."""

    OK = "ok"
    #: The call raised an exception.
    RAISES = "raises"
    #: The process ended, or there is no answer of it.
    DIED = "died"
    #: It was stopped after its limit.
    TIMEOUT = "timeout"
    #: This release lacks a setting, or nothing was asked.
    SKIPPED = "skipped"
    #: The measurement itself failed.
    ERROR = "error"
    #: This release cannot.
    UNSUPPORTED = "unsupported"


#: How a rung makes the call: `reused` is the compiled callable of the program itself.
RungKind = Literal["eager", "compiled", "reused", "probe"]
#: What an exported program may go through before it is called (`call.exporting`).
ExportStep = Literal["draft", "decompose", "save", "unflatten", "package", "onnx"]
#: Keyword arguments of torch.onnx.export that decide what the model is; the others say where it is
#: written and what is told of it.
ONNX_ARGUMENTS = (
    "input_names",
    "output_names",
    "opset_version",
    "dynamic_shapes",
    "dynamic_axes",
    "optimize",
    "custom_translation_table",
    "keep_initializers_as_inputs",
)
#: Where a call raised; empty: before it.
CallPhase = Literal["", "forward", "backward"]
#: How alike two lists of tensors are; `refereed`: about as near to float64 as each other.
Closeness = Literal["bitwise", "close", "refereed", "differ", "not compared"]
#: The same for a batch of another size; "raises": only the first program accepts it.
BatchCloseness = Union[Closeness, Literal["raises"]]


class KernelOutcome(Text):
    """How compiling a Triton kernel for one target ended."""

    OK = "ok"
    #: The language does not allow it.
    REFUSED = "refused"
    #: Triton raised an exception.
    RAISES = "raises"
    #: The process ended.
    DIED = "died"
    #: It was stopped after its limit.
    TIMEOUT = "timeout"
    #: The text is no kernel that could be put to Triton.
    BROKEN = "broken"


#: What is asked of Triton about a script, or about candidates for a kernel.
KernelQuestion = Literal["interpret", "compile", "candidates", "generated", "interpret generated"]

# -- an exception ----------------------------------------------------------------------------------


class FailureFrame(TypedDict):
    """One frame of a traceback."""

    #: Path; `torch/_inductor/ir.py` for torch's own.
    file: str
    function: str
    #: From 1.
    line: int
    #: Whether the file is torch's.
    torch: bool


class _Failure(TypedDict):
    #: Class of the exception that carries the diagnosis.
    exception: str
    #: Its text, at most 20,000 characters.
    message: str
    #: The line of it that names the problem.
    first_line: str


class Failure(_Failure, total=False):
    """An exception as data (`call.failure.describe`); without torch only the first three keys."""

    #: Classes of all exceptions that wrap each other, outermost first.
    chain: List[str]
    #: Outermost first, the last 40.
    frames: List[FailureFrame]
    innermost_is_torch: bool
    #: As Python prints it, without our frames; a long one without its middle.
    traceback: str
    #: Generated kernels that a C++ compiler refused, by name.
    kernels: List[str]


#: What ended a program (`record.ending.describe_exception`): the exception's `class`, the
#: `failure`, whether it was raised in torch, and the `location` of the innermost frame of the
#: user's own (`train.py, line 7`, or nothing).
ScriptException = TypedDict(
    "ScriptException", {"class": str, "failure": Failure, "raised_in_torch": bool, "location": str}
)

# -- starting a program and watching it ------------------------------------------------------------


#: Beginnings of the names of files in the working folder, with a child process's number behind
#: them: it has compiled something; the number of the signal that has ended it.
CHILD_COMPILED, CHILD_ENDED = "compiled-by-", "ended-"
#: The file in the working folder with what call number N of a program can reach, where nothing is
#: forked.
KEPT_FILE = "kept-{}.pt"
#: The file in `out` of a candidate's folder with its own `CandidateEnding`.
ANSWER_FILE = "answer.json"
#: The file beside it with a `MeasurementLine` in each line.
MEASUREMENTS_FILE = "measurements.jsonl"
#: The file of counted operators, for `struct`: the number of the last call that began, and of the
#: last that raised; after each of them the number of the call whose derivative a backward pass was
#: about to compute by then. -1 for none.
OPERATORS_LAYOUT = "qqqq"
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
#: by forward mode, the second ones. `backward` only computes the first ones.
DerivativeKind = Literal["gradcheck", "forward", "gradgradcheck", "backward"]


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
    #: Number of the one that is watched, from 0.
    operator: int
    #: File for the `OperatorFacts` of a run in which each operator is held against float64.
    measured: str
    #: Memory that is handed out unwritten holds zeros.
    zeroed: bool
    #: Number of the child process that is watched in the program's place, from 0.
    child: int
    #: Which derivative of that call is watched in its place.
    derivative: DerivativeKind
    #: Backend with which everything is compiled, in place of what the script says.
    backend: str
    #: File descriptors by which its parent waits for the process's end.
    pipes: List[int]
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


class DerivativeError(TypedDict):
    """A derivative of a torch function that finite differences refuse."""

    #: Number of the torch function that the program called, from 0.
    function: int
    name: str
    kind: DerivativeKind


class OperatorFacts(TypedDict):
    """What a run that measures its operators found (`call.operators.check`)."""

    #: Beyond rounding; at most 8.
    wrong: List[OperatorError]
    #: As far as the inputs' last bits move it; at most 8.
    ill: List[OperatorError]
    #: Results within rounding.
    rounded: int
    undefined_casts: List[UndefinedCast]
    uninitialized: List[str]
    #: Operators that take a tensor and draw random numbers.
    random: List[str]
    #: Derivatives that the program asks for and finite differences refuse, in the order of calls.
    derivatives: List[DerivativeError]


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


class ContextState(TypedDict):
    """The switches of torch that a call runs under (`call.context.capture`)."""

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


# -- how a call, or a candidate, is varied ---------------------------------------------------------


class BisectSpec(TypedDict):
    """Applications of one subsystem of the compiler that are left out."""

    #: As in torch's table of subsystems.
    backend: str
    subsystem: str
    #: The last application that is still made, from 1; None: all are, and counted.
    max: Optional[int]


#: What was counted (`call.bisection.Counter.answer`): `applications` of the subsystem, `counts` of
#: each as `backend/subsystem`, `operators` (at most 64), and of the first application that was left
#: out its text `first_out`, which may be private, the public `operator` and the `pass` of torch's.
BisectCount = TypedDict(
    "BisectCount",
    {
        "applications": int,
        "counts": Dict[str, int],
        "operators": List[str],
        "first_out": str,
        "operator": Optional[str],
        "pass": Optional[str],
    },
)


class CallVariation(TypedDict, total=False):
    """How to compile: what a rung of a call and the overrides of a candidate share."""

    config: TorchSettings
    #: As given to torch.compile; "unset" is as if it were missing.
    dynamic: Union[bool, str, None]
    mode: Optional[str]
    backend: Optional[str]
    #: Without the compiler's caches.
    fresh: bool
    #: Of torch's pool, from 1.
    threads: int
    #: Operators that Inductor takes from eager, by public name.
    fallback: List[str]
    #: Operators that are not decomposed, by public name.
    undecomposed: List[str]
    #: Decompositions that are bound to operators as their kernels for autograd are taken away, so
    #: that tracing meets the C++ ones.
    unbound: bool
    bisect: BisectSpec


class Rung(CallVariation, total=False):
    """One variation of a recorded call (`call.rungs.execute`); `how` is always there."""

    how: RungKind
    #: With the earlier calls of the same callable before it.
    replay: bool
    #: In float64, autocast switched off.
    fp64: bool
    #: Inputs moved by one unit in the last place, up and down (1) or down and up (-1).
    perturb: int
    #: The same with a random direction for each element, drawn by a generator with this seed.
    nudge: int
    #: Memory that is handed out unwritten holds NaN.
    fill: bool
    #: Casts that C++ leaves undefined give another value.
    recast: bool
    #: Colliding writes are made in the other order.
    reorder: bool
    #: Sums, means and variances are made by one addition after another.
    resum: bool
    #: Writes that the schemas of the program's own operators do not name are left out.
    undeclared: bool
    #: Functions under `functools.lru_cache` are called each time.
    uncached: bool
    #: Graphs return what nobody uses as well, so that no draw of random numbers is left out.
    keep_draws: bool
    #: Clocks, addresses and `torch.compiler.is_compiling()` say something else.
    other_circumstances: bool
    #: Sizes that have changed between calls are marked as dynamic.
    mark_dynamic: bool
    #: In place of the argument of torch.compile.
    fullgraph: bool
    #: In place of the argument of torch.export.export.
    strict: bool
    #: Exported without dynamic shapes.
    static: bool
    #: Exported with the fixes of its dynamic shapes that torch suggests in this message.
    refine: str
    #: What the exported program goes through, in place of what the user's did.
    steps: List[ExportStep]
    #: File with the gradients of the outputs; None: no backward pass.
    grads: Optional[str]
    #: A backward pass from each output by itself, at least one of which has to end well.
    each_backward: bool
    #: File for the snapshot; for a probe, for what index outputs index.
    snapshot: str
    #: So many further calls are timed, at most.
    timed: int


class Overrides(CallVariation, total=False):
    """What a candidate's own `torch.compile` is given in place of its arguments."""

    fullgraph: bool
    options: Dict[str, PlainValue]
    #: The control run: everything is left to Python, as `TORCHDYNAMO_DISABLE=1` does.
    control: bool
    #: Memory that is handed out unwritten holds NaN.
    fill: bool
    #: Where a C++ compiler would start, the candidate has passed.
    end: Literal["compiler"]


# -- comparing tensors -----------------------------------------------------------------------------


class MetadataDifference(TypedDict):
    """Something about an output other than its values."""

    #: `output 0`, `changed input 0`, `gradient 0`, `outputs`, `Python state 0`.
    where: str
    property: Property
    #: Both as text.
    eager: str
    compiled: str


class TensorRole(Text):
    """What the tensor is to the call whose values differ."""

    OUTPUT = "value"
    CHANGED_INPUT = "changed input"
    GRADIENT = "gradient"


class TensorNumbers(TypedDict, total=False):
    """How far apart two tensors are (`call.tolerance.judge_values`)."""

    #: Within the tolerances of `torch.testing.assert_close`.
    tight: bool
    max_abs_error: float
    #: In units in the last place; None where that has no meaning.
    max_ulp: Optional[float]
    #: Root mean square of compiled against eager.
    rms_error: float
    #: Elements that are not equal.
    mismatched: int
    elements: int
    #: Root mean squares; for integers and booleans the share of unequal elements, 0 to 1.
    error_vs_fp64: float
    eager_error_vs_fp64: float
    #: Root mean square of the values in float64.
    scale: float
    #: Counts in [eager, compiled]; missing where there are none.
    nan: List[int]
    inf: List[int]
    #: Elements that are NaN on one side alone.
    nan_moved: int
    #: The largest error of the others, where there are such elements.
    max_abs_beside_nan: float
    #: Elements where eager is not finite, while float64 and a compiled value close to it are.
    overflowed: int
    #: Indices that differ only where what they index ties.
    tied: bool
    #: Whether eager is float64's value, rounded, in every element that is not equal, all sides are
    #: finite there, and it has eight different values or more.
    eager_exact: bool


class TensorJudgement(TensorNumbers):
    """Whether they count as the same."""

    #: No difference at all, NaN being equal to NaN.
    equal: bool
    #: None that the receiving side's rule minds.
    same: bool


class _ValueDifference(TensorJudgement):
    #: `output 0`, `changed input 0`, `gradient 0`.
    where: str
    property: TensorRole


class ValueDifference(_ValueDifference, total=False):
    """The values of one tensor that differ."""

    #: Name of the changed input or of what the gradient is of; private.
    label: str
    #: The side that gives no gradient.
    missing: Literal["eager", "compiled"]


class Comparison(TypedDict):
    """All differences between two snapshots of a call (`call.comparison.compare`)."""

    #: Version of the rule.
    rule: int
    equal: bool
    same: bool
    tight: bool
    metadata: List[MetadataDifference]
    values: List[ValueDifference]


class BatchComparison(TypedDict):
    """The outputs of two programs for another number of rows than the call has."""

    size: int
    how: BatchCloseness


class ListComparison(TypedDict, total=False):
    """How alike the tensors of two programs are (`call.closeness.compare_lists`)."""

    how: Closeness
    #: Of the first program's tensors.
    count: int
    max_abs_error: float
    #: Where there are not as many.
    detail: str


class OperatorComparison(TypedDict):
    """What reached the dispatcher in two runs."""

    same: bool
    #: Of the first run.
    count: int
    #: Operator -> [before, after], where they differ.
    changed: Dict[str, List[int]]


# -- questions about a recorded call, and their answers --------------------------------------------


class _SentRequest(TypedDict, total=False):
    """What the session adds to a request when it is sent."""

    #: Number of the request, for its answer.
    id: int
    #: Seconds until it is stopped.
    timeout: float
    #: The program that was run again waits for another request.
    stay: bool
    #: File for the standard streams of the program that was run again.
    log: str


class StopRequest(_SentRequest):
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


class RunRequest(_SentRequest):
    """The call once more, under a variation."""

    op: Literal["run"]
    rung: Rung


#: A float that has no value in the integer type it is cast to: dtypes as text, how many of how many
#: elements.
UndefinedCast = TypedDict("UndefinedCast", {"from": str, "to": str, "elements": int, "of": int})


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
    #: Whether an output indexes something; what, was saved.
    ties: bool
    #: Class of what the run raised.
    error: Optional[str]


class RunAnswer(CallAnswer, total=False):
    """`raises` comes with `failure` and `phase`, a probe with `facts`."""

    seconds: float
    #: Of the fastest of the calls that were `timed`; None where one of them raises.
    call_seconds: Optional[float]
    snapshot: str
    phase: CallPhase
    failure: Failure
    facts: EagerFacts
    bisect: BisectCount


class _CompareRequest(_SentRequest):
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


class TensorsRequest(_SentRequest):
    """The tensors that the call can reach."""

    op: Literal["tensors"]


class TensorsAnswer(CallAnswer, total=False):
    """Their names in the private program, with the number of their elements."""

    tensors: Dict[str, int]


class _CaptureWay(TypedDict):
    #: With the earlier calls before it.
    replay: bool


class CaptureWay(_CaptureWay, total=False):
    """How a graph is captured."""

    dynamic: Union[bool, str, None]


class CaptureRequest(CaptureWay, _SentRequest):
    """The Dynamo graphs of the call."""

    op: Literal["capture"]
    #: Tensors whose values may be captured, by name.
    allow: List[str]


class CaptureAnswer(CallAnswer, total=False):
    """The graphs that the call ran, in order."""

    graphs: List[GraphJson]
    #: Class of what the call raised.
    error: Optional[str]


class TraceWay(TypedDict):
    """How a call is traced."""

    #: Into custom operators; else each is one operation, of which only the outside is known.
    look_inside: bool
    #: With empty caches under `functools.lru_cache`, whose results do not tell where a size is
    #: from.
    empty_caches: bool


class TraceRequest(_SentRequest):
    """The operations of the call within the modules that make them."""

    op: Literal["trace"]
    #: Tensors whose values may be noted, by name.
    allow: List[str]
    way: TraceWay


class TraceAnswer(CallAnswer, total=False):
    """The trace."""

    trace: TraceJson


class EquivalenceRequest(_SentRequest):
    """Whether a rewritten model computes what the call computes; the trace that it was written from
    is made again.
    """

    op: Literal["equivalence"]
    #: Text that defines the model, and the expression for it.
    text: str
    callable: str
    #: Public path of a parameter or buffer -> traced name.
    mapping: Dict[str, str]
    #: Traced names of the arguments.
    arguments: List[str]
    #: Public path of a stock layer -> number of the traced module.
    layers: Dict[str, int]
    #: Mode of the model.
    training: bool
    #: Functions of the text for which the call's own opaque operations are put in.
    stand_ins: List[str]
    #: How the call was traced.
    way: TraceWay
    #: Path for the target's own use.
    file: str


class SourceEquivalenceRequest(_SentRequest):
    """Whether rewritten source computes what the call computes."""

    op: Literal["source_equivalence"]
    #: Text that defines the callable and `inputs()`, and the expression for the callable.
    text: str
    callable: str
    #: Pairs of a public expression and the id of a gathered tensor or stock layer.
    tensors: List[List[str]]
    #: Path for the target's own use.
    file: str


class EquivalenceAnswer(CallAnswer, total=False):
    """The proof, or what contradicts it; `raises` has a `detail`."""

    outputs: ListComparison
    gradients: ListComparison
    #: What the call was given, after it.
    buffers: ListComparison
    operators: OperatorComparison
    #: Public path of the first layer that computes something else, where values differ.
    layer: Optional[str]
    #: With one more row in the batch; missing where the call does not accept that.
    batch: BatchComparison


class _DivergenceRequest(_SentRequest):
    op: Literal["divergence"]
    ask: Literal["nodes", "measure"]
    #: With the earlier calls before it.
    replay: bool
    config: TorchSettings


class DivergenceRequest(_DivergenceRequest, total=False):
    """The operations of the call's graphs; `measure` compares prefixes of one of them."""

    #: Number of the graph, from 0.
    graph: int
    #: Positions to measure, from 0; None: the whole graph.
    positions: List[Optional[int]]
    #: By gradients.
    grads: bool
    #: In place of the call's own.
    backend: Optional[str]
    #: Half-precision noise is expected from this position on.
    coarse_from: Optional[int]
    #: File for the `PrefixLine`s.
    results: str


class GraphNode(TypedDict):
    """One operation of a graph (`dynamo.prefix.describe`)."""

    #: `torch.softmax`, `Tensor.view`; None without a public name.
    operator: Optional[str]
    #: Of its first tensor, as text.
    dtype: Optional[str]
    measurable: bool
    differentiable: bool
    #: Positions that it reads.
    inputs: List[int]
    #: Whether it changes a tensor in place.
    writes: bool


class GraphShape(TypedDict):
    """The operations of one graph."""

    nodes: List[GraphNode]
    #: Positions that its outputs are.
    outputs: List[int]


class NumberedGraph(GraphShape):
    """The same with the number of the graph, from 0."""

    graph: int


class DivergenceAnswer(CallAnswer, total=False):
    """The graphs that the call ran; nothing for `measure`."""

    graphs: List[NumberedGraph]
    #: Class of what the call raised.
    error: Optional[str]


class PrefixLine(TensorNumbers, total=False):
    """A line of the file of `measure`: first `begun`, then how a prefix compares, or why not."""

    position: Optional[int]
    begun: bool
    #: As in `TensorJudgement`.
    equal: bool
    same: bool
    #: Class of an exception, or `not reached`; with the end of its text.
    error: str
    detail: str


class GatherRequest(_SentRequest):
    """The program's source and state."""

    op: Literal["gather"]


class GatherAnswer(CallAnswer, total=False):
    """The program."""

    gathered: GatheredJson


class SubsystemsRequest(_SentRequest):
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


class _GraphBreaksRequest(_SentRequest):
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


class GuardsRequest(_SentRequest):
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


class EvidenceRequest(ToolsRequest, _SentRequest):
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


class ToolFinding(TypedDict, total=False):
    """What one tool found: `facts` or `skipped`, or neither where the process ended first."""

    #: Of switching it on and off.
    seconds: float
    facts: ToolFacts
    #: Why it says nothing.
    skipped: str


class EvidenceAnswer(CallAnswer, total=False):
    """What the tools found, by name."""

    found: Dict[str, ToolFinding]
    #: Class of what the call raised.
    raised: Optional[str]


class EnvironmentRequest(_SentRequest):
    """What the target says of itself."""

    op: Literal["environment"]


class TorchFacts(TypedDict):
    """The build of torch."""

    #: Release without private parts.
    torch: str
    #: Commit.
    git: Optional[str]
    debug: bool
    #: Releases of CUDA, HIP and XPU that it was built for.
    cuda: Optional[str]
    hip: Optional[str]
    xpu: Optional[str]


class DeviceFacts(TypedDict):
    """Accelerators."""

    cuda_available: bool
    #: Names of the models.
    gpus: List[str]
    driver: Optional[str]
    cudnn: Union[int, str, None]
    #: Of ROCm, by component.
    rocm: Dict[str, Optional[str]]
    xpu_available: Optional[bool]


class ProcessorFacts(TypedDict):
    """The processor, as /proc/cpuinfo has it."""

    model: Optional[str]
    vendor: Optional[str]
    family: Optional[str]
    number: Optional[str]
    stepping: Optional[str]
    #: Cores that this process may use.
    usable: Optional[int]
    #: L1d, L1i, L2, L3 -> size with its unit.
    caches: Dict[str, str]
    #: NUMA nodes.
    nodes: Optional[int]
    #: Whether it is a virtual machine.
    virtual: bool
    #: Those of the vector units, separated by spaces.
    flags: str


class TritonFacts(TypedDict, total=False):
    """Triton; empty where there is none."""

    version: Optional[str]
    backends: List[str]
    #: Whether its interpreter is switched on.
    interpret: bool


class EnvironmentFacts(TorchFacts, DeviceFacts):
    """The machine and its torch, without a name of anyone (`machine.environment`)."""

    #: Release of Python, its compiler and implementation.
    python: str
    python_compiler: str
    implementation: str
    #: 32 or 64.
    bits: int
    os: str
    machine: str
    libc: Optional[str]
    #: Model of the processor.
    cpu: Optional[str]
    processor: ProcessorFacts
    cores: Optional[int]
    #: Of torch's pool.
    threads: int
    cpu_capability: Optional[str]
    vector_isa: Optional[str]
    #: The C++ compiler that Inductor calls.
    compiler: Optional[str]
    #: compiler, gcc, clang, cmake, nvcc, cudnn -> release.
    tools: Dict[str, Optional[str]]
    #: Numerical libraries that are loaded.
    libraries: List[str]
    pip: str
    #: Name -> release, of what concerns torch.
    packages: Dict[str, str]
    conda: Dict[str, str]
    triton: TritonFacts
    #: Environment variables of torch and its compilers, without paths.
    variables: Dict[str, str]
    #: Settings that differ from their default.
    configs: TorchSettings
    #: Those of them whose value is a word that torch offers.
    choices: List[str]
    #: Whether compiled code may come from an earlier run, by setting.
    caches: Dict[str, Optional[bool]]


class EnvironmentAnswer(CallAnswer, total=False):
    """What a report may say of the machine, and what is private of the program."""

    environment: EnvironmentFacts
    #: torch's own words: public names, and the words of its sources.
    vocabulary: List[str]
    internals: List[str]
    #: Paths of the user's modules that are loaded.
    files: List[str]
    #: The program's texts that are no files, by name.
    texts: Dict[str, str]


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

# -- candidates in a warm worker or a fresh process ------------------------------------------------


class MeasurementRequest(TypedDict):
    """What of a repro is measured for the pictures (`dynamo.measurements.show`)."""

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
    #: Seconds; the worker moves the limit of one that it has killed.
    timeout: float


@final
class CandidateRequest(_CandidateRequest, total=False):
    """A candidate to be run; a fresh process reads it from its standard input."""

    overrides: Overrides
    #: Only in a fresh process: the results are the lines of MEASUREMENTS_FILE.
    measure: MeasurementRequest
    #: Only in a fresh process: with torch's debugging tools on, whose files go to `out/found`.
    tools: List[str]
    #: Added by the worker: why the process could not be started.
    error: str


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
    found: Dict[str, ToolFinding]
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
    """Where the worst output is off, as a picture (`dynamo.measurements.build_error_map`)."""

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


# -- Triton kernels --------------------------------------------------------------------------------


class TritonDtype(TypedDict):
    """One of Triton's dtypes, by its name in `triton.language`; another object by its text."""

    tl: str


class TensorArgument(TypedDict):
    """A tensor that a kernel is given."""

    shape: List[int]
    #: As text, `torch.float32`.
    dtype: str
    stride: List[int]
    #: `cpu`, `cuda`.
    device: str


#: A parameter whose value the compiler knows.
KernelConstant = Union[PlainValue, TritonDtype]


class _KernelLaunch(TypedDict):
    #: Parameter -> `*fp32`, `i32`, `constexpr`.
    signature: Dict[str, str]
    #: Constant parameters.
    constexprs: Dict[str, KernelConstant]
    #: Parameters that are multiples of 16.
    aligned: List[str]
    #: num_warps, num_stages, …
    options: Dict[str, PlainValue]


class KernelLaunch(_KernelLaunch, total=False):
    """A launch as Triton's compiler sees it (`triton.launches`, `triton.inductor_kernels`)."""

    #: Name of its function, and where that is.
    kernel: str
    file: str
    line: int
    #: What was passed.
    arguments: Dict[str, Union[TensorArgument, KernelConstant]]
    #: How often the same was launched.
    times: int
    #: Of a kernel that inductor wrote: its name, its text with helpers, its block sizes.
    name: str
    text: str
    blocks: List[str]
    #: What inductor's launcher is told, in inductor's own form: it goes back to inductor as it is.
    launcher: Dict[str, object]
    #: Its decorator, and the sizes that it expects by prefix, of older releases by place.
    heuristics: str
    size_hints: Union[Dict[str, int], List[int]]
    #: What became of it for each target.
    targets: List[TargetAnswer]


#: What compiling a kernel for one `target` gave: `exception` or `signal`, the `message` that
#: matters (at most 400 characters), the `pass` of MLIR that failed, the end of the `log`. Some are
#: missing for an outcome `broken`.
TargetAnswer = TypedDict(
    "TargetAnswer",
    {
        "target": str,
        "outcome": KernelOutcome,
        "exception": Optional[str],
        "signal": Optional[str],
        "message": str,
        "pass": Optional[str],
        "log": str,
        "seconds": float,
    },
    total=False,
)


class _KernelSpec(TypedDict):
    what: KernelQuestion


class KernelSpec(_KernelSpec, total=False):
    """The file that `entry/triton_main.py` reads."""

    #: Folder for its own use, and the file for the answer.
    folder: str
    answer: str
    #: The script and its arguments; not for candidates.
    script: str
    args: List[str]
    #: Candidates: texts that define `kernel`, with a launch each, for one target.
    texts: List[str]
    kernel: str
    launches: List[KernelLaunch]
    target: str


class _ScriptEnding(TypedDict):
    #: Exit code.
    exit: int


class ScriptEnding(_ScriptEnding, total=False):
    """How a script with kernels ended."""

    #: Class of what it raised, and the first line of its text.
    exception: str
    message: str


class KernelsAnswer(TypedDict, total=False):
    """The answer about kernels; which keys there are depends on the question."""

    #: Why there is no answer.
    skipped: str
    #: There is no Triton in this interpreter.
    missing: bool
    #: Release of Triton.
    triton: str
    ending: ScriptEnding
    launches: List[KernelLaunch]
    #: Targets that this installation cannot compile for, with the reason.
    unsupported: Dict[str, str]
    #: Words of Triton's language, and of its sources.
    vocabulary: List[str]
    internals: List[str]
    #: Of candidates, in their order.
    answers: List[TargetAnswer]
    #: `interpret generated`: what the script's own checks say, with kernels that were launched.
    outcome: Literal[CandidateOutcome.PASSES, CandidateOutcome.FAILS]
    launched: int
    exception: str
    message: str
