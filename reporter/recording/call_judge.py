"""What a watched call did, judged while the script waits for the answer.

The host has the eager reference computed in the call's fork server and compares; a call that raised
where eager does not, or returned something else, becomes a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from collectors.protocol.calls import RunAnswer
from collectors.protocol.comparison import Comparison
from collectors.protocol.events import (
    BeginEvent,
    GradientsEvent,
    HostReply,
    ProgramEvent,
    RaisedEvent,
    ReturnedEvent,
)
from collectors.protocol.variation import Rung
from collectors.protocol.words import CallOutcome
from reporter.core.kinds import Compiler, Symptom
from reporter.recording import questions, side_effects
from reporter.recording.call_sessions import CallSessions
from reporter.recording.findings import Recording
from reporter.recording.watching import WatchOptions

#: What it means that a backward pass does not return where eager's does.
_SYMPTOMS: Mapping[CallOutcome, Symptom] = {
    CallOutcome.RAISES: Symptom.RAISED,
    CallOutcome.DIED: Symptom.DIED,
}


class AddFinding(Protocol):
    """Takes a finding in."""

    def __call__(self, call: int, symptom: Symptom, **details: Any) -> None:
        """`details` are fields of `Finding`."""


class CallJudge:
    """Judges calls that have ended, one at a time.

    Args:
        recording: counts what was compared.
        call_sessions: repeat the calls; those that need no explanation are let go.
        watching: how closely the program is watched.
        begun: what the program said of each call before it made it.
        add: takes a finding in.
        reply: answers the script, which waits.
    """

    def __init__(
        self,
        recording: Recording,
        call_sessions: CallSessions,
        watching: WatchOptions,
        begun: Mapping[int, BeginEvent],
        add: AddFinding,
        reply: Callable[[HostReply], None],
    ) -> None:
        self.recording = recording
        self.call_sessions = call_sessions
        self.watching = watching
        self.begun = begun
        self._add = add
        self._reply = reply
        self._other_runs: dict[int, tuple[str, ...] | None] = {}

    def judge(self, message: ProgramEvent) -> None:
        """Answers the script, which waits for it, about a call that has ended."""
        match message["event"]:
            case "forgotten":
                self.call_sessions.drop(message["call"])
                self._reply({})
            case "unsupported":
                self.recording.unsupported = message["reason"]
                self._reply({"watch": False})
            case "raised":
                self._judge_raised(message)
            case "returned":
                self._judge_returned(message)
            case "made":
                self.recording.counts.made += 1
                self._judge_exported(message["call"])
            case "gradients":
                self._judge_gradients(message)
            case "unchecked":
                self.recording.counts.obstacles.add(message["reason"])
                self._leave_unchecked(message["call"])

    def _run(self, call: int, name: str, rung: Rung) -> RunAnswer:
        rung = {**rung, "snapshot": str(self.recording.folder / f"{name}-{call}.pt")}
        answer = self.call_sessions.open_call_session(call).request(
            questions.run(rung), self.watching.timeout / 2
        )
        if answer["outcome"] == CallOutcome.ERROR:
            self.recording.counts.obstacles.add(_summarize(answer.get("detail", "")))
        return answer

    def _note_limit_of_forks(self, answer: RunAnswer) -> bool:
        """Whether a run failed because it was a fork, which says nothing about the program.

        The program has to be watched without forks then, where that can be and nothing is found
        yet: what an earlier fork showed is to be explained in either case.
        """
        if "combination with fork" not in answer.get("failure", {}).get("message", ""):
            return False
        found = any(each.symptom != Symptom.SUSPICIOUS for each in self.recording.findings)
        if self.watching.reruns and not found:
            self.recording.unsupported = "autograd"
        return True

    def _leave_unchecked(self, call: int) -> None:
        """Nothing can be said about a call: what it returned cannot be saved, or eager does not end
        in a fork.
        """
        self.recording.counts.unchecked += 1
        self.call_sessions.drop(call)
        self._reply({"keep": False})

    def _compare(
        self, call: int, reference: str, actual: str, exact: str | None = None
    ) -> Comparison | None:
        def ask(again: Sequence[str]) -> Comparison | None:
            basis = questions.ComparisonBasis(exact=exact, again=again)
            question = questions.compare(reference, actual, basis)
            return (
                self.call_sessions.open_call_session(call).request(question, 120).get("comparison")
            )

        return side_effects.settle(ask(()), lambda: self._run_others(call), ask)

    def _run_others(self, call: int) -> tuple[str, ...] | None:
        """Snapshots of two more eager runs of a call, the second at another time; None if one
        fails.
        """
        if call not in self._other_runs:
            runs = [
                self._run(call, "eager-again", {"how": "eager"}),
                self._run(
                    call,
                    "eager-otherwise",
                    {"how": "eager", "surroundings": "circumstances changed"},
                ),
            ]
            good = all(run["outcome"] == CallOutcome.OK for run in runs)
            self._other_runs[call] = tuple(run["snapshot"] for run in runs) if good else None
        return self._other_runs[call]

    def _compare_with_eager(
        self, call: int, name: str, eager: RunAnswer, actual: str, grads: str | None = None
    ) -> Comparison | None:
        """What eager and compiled left behind compared, with float64 where that may excuse it; None
        if it cannot be.
        """
        if eager["outcome"] != CallOutcome.OK:
            return None
        comparison = self._compare(call, eager["snapshot"], actual)
        if comparison is None or comparison["same"] or comparison["metadata"]:
            return comparison
        exact = self._run(
            call, f"fp64-{name}", {"how": "eager", "surroundings": "float64", "grads": grads}
        )
        if exact["outcome"] != CallOutcome.OK:
            return comparison
        return self._compare(call, eager["snapshot"], actual, exact["snapshot"])

    def _judge_raised(self, message: RaisedEvent) -> None:
        call = message["call"]
        begun = self.begun.get(call)
        if begun is not None and begun["options"].get("compiler") == Compiler.EAGER:
            self._add(call, Symptom.RAISED, failure=message["failure"])
        elif message["checked"]:
            eager = self._run(call, "eager", {"how": "eager"})
            self.recording.counts.compared += 1
            both = eager["outcome"] == CallOutcome.RAISES
            if both:
                self.recording.rejected = eager["failure"]
                self.call_sessions.drop(call)
            else:
                self._add(call, Symptom.RAISED, failure=message["failure"])
        self._reply({})

    def _judge_returned(self, message: ReturnedEvent) -> None:
        call, path = message["call"], message["path"]
        if self.begun[call]["options"].get("compiler") == Compiler.EAGER:
            self._add(call, Symptom.DIFFERS, returned=path)
            self._reply({"keep": False})
            return
        eager = self._run(call, "eager", {"how": "eager"})
        if eager["outcome"] == CallOutcome.RAISES and not self._note_limit_of_forks(eager):
            self._add(call, Symptom.ACCEPTS, failure=eager["failure"])
            self._reply({"keep": False})
            return
        comparison = self._compare_with_eager(call, "eager", eager, path)
        if comparison is not None and not comparison["equal"] and self.watching.child is not None:
            # the other ranks may have had their part in it, which none of the repetitions has
            compiled = self._run(call, "compiled", {"how": "reused"})
            path = compiled.get("snapshot", "")
            is_good = compiled["outcome"] == CallOutcome.OK
            comparison = self._compare_with_eager(call, "eager", eager, path) if is_good else None
        if comparison is None:
            self._leave_unchecked(call)
            return
        self.recording.counts.compared += 1
        keep = message["differentiable"]
        if not comparison["same"]:
            self._add(call, Symptom.DIFFERS, comparison=comparison, returned=path)
        elif not comparison["equal"]:
            self._add(call, Symptom.SUSPICIOUS, comparison=comparison, returned=path)
        elif not keep:
            self.call_sessions.drop(call)
        self._reply({"keep": keep})

    def _judge_exported(self, call: int) -> None:
        """Judges a program that was exported and not called yet, by calling it in a fork.

        A package is left to the program's own calls of it, as compiling it once more takes long.
        """
        begun = self.begun[call]
        eager = self._run(call, "eager", {"how": "eager"})
        if begun["options"]["compiler"] == Compiler.AOTI or eager["outcome"] != CallOutcome.OK:
            self.call_sessions.drop(call)
            self._reply({})
            return
        replay = begun["history"] > 0
        again: Rung = {"how": "compiled", "replay": True} if replay else {"how": "reused"}
        exported = self._run(call, "exported", again)
        failure = exported.get("failure")
        if failure is not None and failure["exception"] == "ModuleNotFoundError":
            self._leave_unchecked(call)  # there is no ONNX Runtime here, and the program needs none
            return
        if exported["outcome"] == CallOutcome.OK:
            comparison = self._compare_with_eager(call, "exported", eager, exported["snapshot"])
            self.recording.counts.compared += comparison is not None
            if comparison is not None and not comparison["same"]:
                self._add(call, Symptom.DIFFERS, comparison=comparison)
            elif comparison is not None and not comparison["equal"]:
                self._add(call, Symptom.SUSPICIOUS, comparison=comparison)
            else:
                self.call_sessions.drop(call)
        else:
            symptom = _SYMPTOMS.get(exported["outcome"], Symptom.HANG)
            details = {"failure": exported.get("failure"), "signal": exported.get("signal")}
            self._add(call, symptom, **details)
        self._reply({})

    def _judge_gradients(self, message: GradientsEvent) -> None:
        call, path = message["call"], message["path"]
        replay = self.begun[call]["history"] > 0
        eager = self._run(call, "eager-grad", {"how": "eager", "grads": path})
        if self._note_limit_of_forks(eager):
            self.call_sessions.drop(call)
            self._reply({})
            return
        again: Rung = {"how": "compiled", "grads": path, "replay": replay}
        compiled = self._run(call, "compiled-grad", again)
        if eager["outcome"] == CallOutcome.OK and compiled["outcome"] == CallOutcome.OK:
            comparison = self._compare_with_eager(
                call, "grad", eager, compiled["snapshot"], grads=path
            )
            if replay and comparison is not None and comparison["same"]:
                comparison = self._compare_reused_gradients(call, eager, path) or comparison
            if comparison is None:
                self.call_sessions.drop(call)
            elif not comparison["same"]:
                self._add(call, Symptom.GRADIENT, comparison=comparison, grads=path)
            elif not comparison["equal"]:
                self._add(call, Symptom.SUSPICIOUS, comparison=comparison, grads=path)
            elif not any(f.call == call for f in self.recording.findings):
                self.call_sessions.drop(call)
        elif eager["outcome"] == CallOutcome.OK:
            symptom = _SYMPTOMS.get(compiled["outcome"], Symptom.HANG)
            self._add(
                call,
                symptom,
                failure=compiled.get("failure"),
                signal=compiled.get("signal"),
                grads=path,
            )
        self._reply({})

    def _compare_reused_gradients(
        self, call: int, eager: RunAnswer, path: str
    ) -> Comparison | None:
        """The gradients of the graph that the program has, if they differ from eager's: the calls
        that are replayed all meet the state that changed after the first one.
        """
        reused = self._run(call, "reused-grad", {"how": "reused", "grads": path})
        if reused["outcome"] != CallOutcome.OK:
            return None
        found = self._compare_with_eager(call, "grad", eager, reused["snapshot"], grads=path)
        return None if found is None or found["same"] else found


def _summarize(detail: str) -> str:
    """What an answer says first, and what the program that it is about said last."""
    lines = [line.strip() for line in detail.splitlines() if line.strip()] or ["no answer"]
    if len(lines) == 1:
        return lines[0]
    is_traceback = lines[0].startswith("Traceback")
    return lines[-1][:200] if is_traceback else f"{lines[0]}: {lines[-1][:200]}"
