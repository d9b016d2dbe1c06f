"""More runs of a script that fails without any fault of a compiled call: without the compiler, with
its operators measured, with a child process or one of torch's functions watched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from collectors.protocol.repro_words import DISABLING_VARIABLE
from reporter.core.kinds import Backend
from reporter.diagnose.eager_faults import (
    find_childs_signal,
    find_failing_child,
    is_refused_by_reducer,
    may_be_torch,
)
from reporter.diagnose.eager_values import is_own_assertion, may_be_eager, may_be_rounding
from reporter.diagnose.no_finding import (
    find_childs_assertion,
    have_same_ending,
    may_fail_elsewhere,
    may_fail_uncompiled,
)
from reporter.recording.findings import Recording
from reporter.recording.operators import OperatorWatch
from reporter.recording.watched_script import WatchedScript
from reporter.recording.watching import WatchOptions

#: Seconds of a run that puts the ranks' tensors together, and how much longer it may take than the
#: script.
_START, _TIMES_LONGER = 30.0, 4.0
#: Child processes of a script that are watched, one after another.
_MOST_CHILDREN = 4


@dataclass(frozen=True)
class ScriptReruns:
    """More runs of a script that fails without any fault of a compiled call; `variables` are those
    of the environment that it gets beside its own.
    """

    script: WatchedScript
    variables: Mapping[str, str] = field(default_factory=dict)

    def look_beside_calls(self, recording: Recording) -> Recording:
        """What ends a script none of whose compiled calls fails: an operator of torch, eager mode's
        rounding, the program itself. The given recording, or that of a run that shows more.
        """
        if may_be_torch(recording):
            return self._watch_operator(recording)
        if is_refused_by_reducer(recording):
            return self._train_alone(recording)
        if may_fail_elsewhere(recording):
            recording.further_runs.fails_uncompiled = self.fails_uncompiled(recording)
            if recording.further_runs.fails_uncompiled is False:
                return recording
        if may_be_eager(recording):
            return self.measure_operators(recording)
        if (child := find_childs_assertion(recording)) is not None:
            return self._measure_child(recording, child)
        if recording.counts.added_outputs and is_own_assertion(recording):
            recording.further_runs.right_without_added_outputs = self.is_right_without_outputs()
        if may_fail_uncompiled(recording):
            recording.further_runs.fails_uncompiled = self.fails_uncompiled(recording)
            if recording.further_runs.fails_uncompiled:
                return self.measure_uncompiled(recording)
        return recording

    def measure_uncompiled(self, recording: Recording) -> Recording:
        """As `measure_operators`, for a script that fails in the same way with the compiler off;
        what does not end by an assertion of its own is not measured.
        """
        if not is_own_assertion(recording):
            return recording
        uncompiled = replace(self, variables={DISABLING_VARIABLE: "1"})
        return uncompiled.measure_operators(recording)

    def watch_children(self, recording: Recording) -> Recording:
        """The run in which the child process is watched whose calls fail; the given one, with what
        the others' calls showed, where there is none.
        """
        count = len(recording.script.children)
        which = f"the first {_MOST_CHILDREN}" if count > _MOST_CHILDREN else "each"
        self.script.audience.progress.note(
            f"the script starts processes of its own, and {count} of them"
            f" compile{'s' if count == 1 else ''} something: once more for {which} of them"
        )
        for number in recording.script.children[:_MOST_CHILDREN]:
            found = self._run_otherwise(child=number)
            if found.findings:
                recording.close()
                found.script.child = number
                return found
            recording.counts.calls += found.counts.calls
            recording.counts.compiles += found.counts.compiles
            recording.counts.compared += found.counts.compared
            recording.counts.unchecked += found.counts.unchecked
            recording.counts.obstacles |= found.counts.obstacles
            found.close()
        return recording

    def _watch_operator(self, recording: Recording) -> Recording:
        """The run in which the torch function that ends the script is watched; the given one where
        it cannot be found.
        """
        self.script.audience.progress.note(
            "the script fails in torch's own code, and not in a compiled call: twice more, to find"
            " the operator"
        )
        raised = recording.script.exception
        died = raised is None or bool(find_childs_signal(raised["failure"]))
        child = find_failing_child(raised["failure"]) if raised is not None else None
        watch = OperatorWatch(self.script.folder, native=died)
        counted = self._run_otherwise(operators=watch, child=child)
        counted.close()
        if died and child is None and counted.script.exit == recording.script.exit:
            recording.further_runs.died_in = watch.find_last_function()
        last = watch.find_last_call(died)
        if last is None:
            return recording
        if last.differentiated is not None:
            derivative = OperatorWatch(self.script.folder, last.differentiated, "backward")
            found = self._watch(recording, derivative, child)
            if found is not recording:
                return found
        return self._watch(recording, OperatorWatch(self.script.folder, last.number), child)

    def measure_operators(self, recording: Recording) -> Recording:
        """The run with what its operators are off float64; where one of them is wrong, the run in
        which that call is watched.
        """
        self.script.audience.progress.note(
            "the script's own assertion fails, and by no compiled call: once more, each"
            " operator against float64, and derivatives against finite differences"
        )
        watch = OperatorWatch(self.script.folder, measured=True)
        self._run(watch).close()
        recording.further_runs.operators = watch.read_facts()
        if recording.further_runs.operators is None:
            return recording
        if recording.further_runs.operators["wrong"]:
            number = recording.further_runs.operators["wrong"][0]["function"]
            return self._watch(recording, OperatorWatch(self.script.folder, number))
        if recording.further_runs.operators["derivatives"]:
            wrong = recording.further_runs.operators["derivatives"][0]
            watch = OperatorWatch(self.script.folder, wrong["function"], wrong["kind"])
            return self._watch(recording, watch)
        if recording.further_runs.operators["uninitialized"]:
            zeroed = self._run(OperatorWatch(self.script.folder, zeroed=True))
            recording.further_runs.right_with_zeros = zeroed.script.exit == 0
            zeroed.close()
        if may_be_rounding(recording):
            exact = self._run(OperatorWatch(self.script.folder, exact=True))
            recording.further_runs.right_in_float64 = exact.script.exit == 0
            exact.close()
        return recording

    def _measure_child(self, recording: Recording, child: int) -> Recording:
        """The same of a process that the script starts: what is wrong in it, and no more, since
        what explains its assertion may be in another one.
        """
        self.script.audience.progress.note(
            "an assertion fails in a process that the script starts, and by no compiled call: once"
            " more, each of its operators against float64, and those on DTensors against the whole"
            " tensors"
        )
        watch = OperatorWatch(self.script.folder, measured=True, sharded=True)
        watching = self._watch_otherwise(operators=watch, child=child)
        # ranks that do not make the same calls wait for each other
        longest = min(watching.timeout, _START + _TIMES_LONGER * recording.script.seconds)
        watching = replace(watching, timeout=longest, longest=longest)
        self.script.run_again(watching, **self.variables).close()
        facts = watch.read_facts()
        if facts is None:
            return recording
        if facts["sharded"]:
            recording.further_runs.operators = facts
        elif facts["wrong"]:
            number = facts["wrong"][0]["function"]
            return self._watch(recording, OperatorWatch(self.script.folder, number), child)
        return recording

    def _train_alone(self, recording: Recording) -> Recording:
        """The same with how the process that failed trains where nothing is reduced."""
        self.script.audience.progress.note(
            "DistributedDataParallel says that the training graph has changed: once more, each"
            " process by itself"
        )
        raised = recording.script.exception
        assert raised is not None
        watch = OperatorWatch(self.script.folder, alone=True)
        found = self._run_otherwise(operators=watch, child=find_failing_child(raised["failure"]))
        found.close()
        if found.script.exit == 0:
            recording.further_runs.training = watch.read_training()
        return recording

    def fails_uncompiled(self, recording: Recording) -> bool | None:
        """Whether the script ends in the same exception with the compiler switched off; None where
        that run did not come to its end.
        """
        self.script.audience.progress.note(
            "the script fails by no fault of a compiled call: once more, without the compiler"
        )
        watching, child = self.script.choose_watching(), recording.script.child
        if child is not None:
            watching = self._watch_otherwise(child=child)
        found = self.script.run_again(watching, **{DISABLING_VARIABLE: "1"})
        found.close()
        if found.script.stopped or found.unsupported is not None or found.script.exit is None:
            return None
        return have_same_ending(recording.script.exception, found.script.exception)

    def is_right_without_outputs(self) -> bool:
        """Whether the script ends well where decomposing adds no outputs to what it exports."""
        self.script.audience.progress.note(
            "the script's own assertion fails, and decomposing has added outputs to what it"
            " exports: once more, without them"
        )
        watching = replace(self._watch_otherwise(), without_added_outputs=True)
        found = self.script.run_again(watching, **self.variables)
        found.close()
        return found.script.exit == 0

    def fails_unrounded(self, recording: Recording) -> bool:
        """Whether the script ends in the same exception where the backend is `eager` and compiled
        calls compute just what eager mode does, which is not so of an optimizer's step: Dynamo
        traces the arithmetic of its capturable form.
        """
        self.script.audience.progress.note("once more, with the graphs run by eager mode")
        found = self._run_otherwise(child=recording.script.child, backend=Backend.EAGER.value)
        found.close()
        is_alike = have_same_ending(recording.script.exception, found.script.exception)
        return is_alike and not found.findings

    def _watch(
        self, recording: Recording, watch: OperatorWatch, child: int | None = None
    ) -> Recording:
        found = self._run_otherwise(operators=watch, child=child)
        if not found.findings:
            found.close()
            return recording
        recording.close()
        # that of a child says nothing of how the script ends
        found.script.exception = found.script.exception or recording.script.exception
        found.further_runs.operators = recording.further_runs.operators
        return found

    def _run(self, watch: OperatorWatch) -> Recording:
        return self._run_otherwise(operators=watch)

    def _run_otherwise(
        self,
        operators: OperatorWatch | None = None,
        child: int | None = None,
        backend: str | None = None,
    ) -> Recording:
        """A run in which operators or a child process are watched, or another backend is used."""
        watching = self._watch_otherwise(operators, child, backend)
        return self.script.run_again(watching, **self.variables)

    def _watch_otherwise(
        self,
        operators: OperatorWatch | None = None,
        child: int | None = None,
        backend: str | None = None,
    ) -> WatchOptions:
        """How such a run is watched. A program that is run again up to one call counts the compiled
        calls of its own process alone, so no such run is made.
        """
        return replace(
            self.script.choose_watching(),
            reruns=0,
            isolation="fork",
            operators=operators,
            child=child,
            backend=backend,
        )
