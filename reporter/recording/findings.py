"""What watching one run of a script showed: the calls that need an explanation, and the run as a
whole.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from collectors.protocol import (
    Comparison,
    CompileOptions,
    ContextState,
    DynamoCounts,
    Failure,
    OperatorFacts,
    ScriptException,
)
from reporter.core.kinds import Compiler, Symptom
from reporter.recording.call_session import CallSession
from reporter.recording.fork_servers import LastCall

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
class Finding:
    """A call that needs an explanation.

    `origin`: the cell of a notebook or the test that made the call; `seconds`: wall time of the
    script's own call.
    """

    call: int
    symptom: Symptom
    call_session: CallSession
    options: CompileOptions
    context: ContextState
    replay: bool
    failure: Failure | None = None
    comparison: Comparison | None = None
    grads: str | None = None
    signal: str | None = None
    returned: str | None = None
    origin: str = ""
    seconds: float = 0.0

    @property
    def compiler(self) -> Compiler:
        """What made the callable."""
        return Compiler(self.options.get("compiler") or Compiler.COMPILE)


@dataclass
class Recording:
    """Everything one run of the script showed.

    Of its `calls`, `compared` were repeated in eager mode and `unchecked` could not be; later calls
    of a known kind are not looked at. `stopped`: by us, after the time limit. `unusable`: why what
    was asked for could not be started; `other_processes`: the program's work was done by other
    processes. `operators`: what another run found that held each operator against float64;
    `right_with_zeros`: that the script's check passes where memory that nothing writes to holds
    zeros. `children`: the processes that the program started by multiprocessing and that compiled
    something. `exports`: whether something that was exported is called. `fails_uncompiled`: whether
    a run of it with the compiler switched off fails in the same way. `parent_ended_by`: the signal
    by which the process ended that had started the program, before the program did. `ended`: the
    exit code that the supervisor saw, where `exit` is the program's own word. `reached`: what of
    its recorder a stranger's program reached for.
    """

    folder: Path
    findings: list[Finding] = field(default_factory=list)
    calls: int = 0
    compiles: int = 0
    overhead: float = 0.0
    seconds: float = 0.0
    exit: int | None = None
    stopped: bool = False
    compared: int = 0
    unchecked: int = 0
    script_exception: ScriptException | None = None
    output: str = ""
    unsupported: str | None = None
    rejected: Failure | None = None
    call_sessions: list[CallSession] = field(default_factory=list)
    last_calls: list[LastCall] = field(default_factory=list)
    dynamo: DynamoCounts | None = None
    unusable: str | None = None
    other_processes: bool = False
    operators: OperatorFacts | None = None
    right_with_zeros: bool = False
    children: tuple[int, ...] = ()
    exports: bool = False
    fails_uncompiled: bool | None = None
    parent_ended_by: str | None = None
    ended: int | None = None
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
