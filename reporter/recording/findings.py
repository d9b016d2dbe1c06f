"""What watching one run of a script showed: the calls that need an explanation, and the run as a
whole.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from collectors.protocol.comparison import Comparison
from collectors.protocol.events import CompileOptions, ContextState, DynamoCounts, OwnFrame
from collectors.protocol.failure import Failure, ScriptException
from collectors.protocol.starting import OperatorFacts, TrainingFacts
from reporter.core.kinds import Compiler, Symptom
from reporter.recording.call_session import CallSession
from reporter.recording.call_sessions import LastCall

#: What tells most comes first.
ORDER = {
    Symptom.RAISED: 0,
    Symptom.DIED: 0,
    Symptom.HANG: 1,
    Symptom.ACCEPTS: 2,
    Symptom.DIFFERS: 3,
    Symptom.GRADIENT: 4,
    Symptom.SUSPICIOUS: 9,
}


@dataclass(frozen=True)
class OriginalCall:
    """A call as the program itself made it, which the call session repeats.

    `options`: how the callable was compiled; `context`: the state of torch that it was called in;
    `replay`: other calls of the callable came before it. `origin`: the cell of a notebook or the
    test that made the call; `frames`: the functions of the program, from the outermost to the one
    that makes the call; `seconds` of wall time that it took.
    """

    options: CompileOptions
    context: ContextState
    replay: bool = False
    origin: str = ""
    frames: tuple[OwnFrame, ...] = ()
    seconds: float = 0.0

    @property
    def compiler(self) -> Compiler:
        """What made the callable."""
        return Compiler(self.options.get("compiler") or Compiler.COMPILE)

    @property
    def has_dynamic_shapes(self) -> bool:
        """Whether the export declares sizes as dynamic."""
        return bool(self.options.get("dynamic_shapes") or self.options.get("dynamic_axes"))


@dataclass(frozen=True)
class Finding:
    """A call that needs an explanation.

    `call` is its number. `failure`, `comparison` and `signal` are what shows the symptom, as far as
    it has each; `grads` and `returned` are the files of what flowed into the call's outputs and of
    what it returned.
    """

    call: int
    symptom: Symptom
    call_session: CallSession
    original: OriginalCall
    failure: Failure | None = None
    comparison: Comparison | None = None
    grads: str | None = None
    signal: str | None = None
    returned: str | None = None


@dataclass
class ScriptEnd:
    """How the watched script ended, and what it printed on the way.

    `exit`: its own exit code; `ended`: the one that the supervisor saw. `stopped`: by us, after the
    time limit. `parent_ended_by`: the signal by which the process ended that had started it, before
    it did itself. `seconds` of wall time, of which the recorder took `overhead`. `unusable`: why
    what was asked for could not be started. `other_processes`: its work was done by other
    processes; `children`: those that it started by multiprocessing and that compiled something;
    `child`: the one of them that was watched, whose `exception` it is; `waited_for`: seconds of
    processor time of all processes that it waited for.
    """

    exit: int | None = None
    ended: int | None = None
    stopped: bool = False
    parent_ended_by: str | None = None
    exception: ScriptException | None = None
    output: str = ""
    seconds: float = 0.0
    overhead: float = 0.0
    unusable: str | None = None
    other_processes: bool = False
    children: tuple[int, ...] = ()
    child: int | None = None
    waited_for: float = 0.0


@dataclass
class CallCounts:
    """How many compiled calls the script made.

    Of its `calls`, `compared` were repeated in eager mode and `unchecked` could not be, for
    `obstacles`, as far as they are known, which are classes of exceptions or sentences; later calls
    of a known kind are not looked at. `dynamo`: what Dynamo counted itself. `exports`: whether
    something that was exported is called; `made`: calls that only made it, so that the script got
    no values of them; `leaks`: exports that left tensors without values in the program's module;
    `added_outputs`: those that decomposing has added to exported programs, for what these write to.
    """

    calls: int = 0
    compiles: int = 0
    compared: int = 0
    unchecked: int = 0
    obstacles: set[str] = field(default_factory=set)
    dynamo: DynamoCounts | None = None
    exports: bool = False
    made: int = 0
    leaks: int = 0
    added_outputs: int = 0


@dataclass
class FurtherRuns:
    """What other runs of the same script showed, where one was needed.

    `operators`: what was found by holding each operator against float64; `right_with_zeros`: that
    the script's assertion passes where memory that nothing writes to holds zeros;
    `right_in_float64`: that it does where everything is computed in float64; `fails_uncompiled`:
    whether it fails in the same way with the compiler switched off; `right_without_added_outputs`:
    that it passes where decomposing adds no outputs to exported programs; `died_in`: in which of
    torch's functions it was ended by the same signal, where no call of it can be repeated;
    `training`: of one that ends well where DistributedDataParallel reduces nothing, how the process
    that failed trains then.
    """

    operators: OperatorFacts | None = None
    right_with_zeros: bool = False
    right_in_float64: bool = False
    fails_uncompiled: bool | None = None
    right_without_added_outputs: bool = False
    died_in: str = ""
    training: TrainingFacts | None = None


@dataclass
class Recording:
    """Everything one run of the script showed.

    `on_gpu`: the program computes on one. `unsupported`: what the script uses that a fork server
    cannot hold; `rejected`: how a call ended that eager mode refuses as well. `reached`: what of
    its recorder a stranger's program reached for.
    """

    folder: Path
    findings: list[Finding] = field(default_factory=list)
    script: ScriptEnd = field(default_factory=ScriptEnd)
    counts: CallCounts = field(default_factory=CallCounts)
    further_runs: FurtherRuns = field(default_factory=FurtherRuns)
    call_sessions: list[CallSession] = field(default_factory=list)
    last_calls: list[LastCall] = field(default_factory=list)
    on_gpu: bool = False
    unsupported: str | None = None
    rejected: Failure | None = None
    reached: list[str] = field(default_factory=list)

    def add(self, finding: Finding) -> bool:
        """Takes a finding in, unless one like it is known; it replaces lesser ones of its call.

        Returns whether its call is needed.
        """
        found, rank = self.findings, ORDER[finding.symptom]
        if finding.symptom == Symptom.SUSPICIOUS and any(
            f.symptom == Symptom.SUSPICIOUS and bool(f.grads) == bool(finding.grads) for f in found
        ):
            return any(f.call == finding.call for f in found)
        found[:] = [f for f in found if f.call != finding.call or ORDER[f.symptom] < rank]
        found.append(finding)
        found.sort(key=lambda f: (ORDER[f.symptom], f.call))
        return True

    def close(self) -> None:
        """Ends every process of the recording and removes its working files."""
        for call_session in self.call_sessions:
            call_session.close()
        shutil.rmtree(self.folder, ignore_errors=True)
