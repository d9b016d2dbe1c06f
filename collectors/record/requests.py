"""What the host may ask of a recorded call, each kind of request by its name.

A request is done in a fork of its own. What costs a few milliseconds is imported before the fork,
once for all of them; a module that no other kind of request needs, or that has parts of torch
imported which the program may never need, is loaded there and then (`_refer_to`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Dict, Optional

from ..call import bisection, comparison, outputs, rungs
from ..call.reachable import find_reachable, name_reachable
from ..machine import environment, internal_names, vocabulary
from ..protocol.call_requests import CallRequest
from ..protocol.calls import (
    CallAnswer,
    CompareAnswer,
    CompareRequest,
    RunAnswer,
    RunRequest,
    TensorsAnswer,
    TensorsRequest,
)
from ..protocol.compilation import SubsystemsAnswer, SubsystemsRequest
from ..protocol.environment import EnvironmentAnswer, EnvironmentRequest
from ..protocol.words import CallOutcome, Operation
from ..source import provenance

#: What does a kind of request: it takes the call and the request of that kind.
_Doing = Callable[[rungs.RecordedCall, Any], CallAnswer]
_COLLECTORS = str(__package__).rpartition(".")[0]


def perform(call: rungs.RecordedCall, request: CallRequest) -> CallAnswer:
    """Does one request about a call in this (forked) process.

    Raises:
        ValueError: its kind is unknown.
    """
    kind = _KINDS.get(request["op"])
    if kind is None:
        raise ValueError("unknown request " + str(request["op"]))
    return kind(call, request)


def _refer_to(module: str, function: str) -> _Doing:
    """A function of another module, named from the top of the collectors, that takes the call and
    the request.
    """

    def run_function(call: rungs.RecordedCall, request: CallRequest) -> CallAnswer:
        loaded = import_module(_COLLECTORS + "." + module)
        answer: CallAnswer = getattr(loaded, function)(call, request)
        return answer

    return run_function


def _run(call: rungs.RecordedCall, request: RunRequest) -> RunAnswer:
    return rungs.execute(call, request["rung"])


def _compare(call: rungs.RecordedCall, request: CompareRequest) -> CompareAnswer:
    """Compares two saved results."""

    def load(path: Optional[str]) -> Any:
        return outputs.load(path) if path else None

    known = comparison.ComparisonFacts(
        load(request.get("exact")),
        request.get("origin"),
        find_reachable(call.function, call.args, call.kwargs),
        load(request.get("ties")) or {},
        bool(request.get("random")),
        [load(path) for path in request.get("again") or ()],
    )
    result = comparison.compare(load(request["reference"]), load(request["actual"]), known)
    return {"outcome": CallOutcome.OK, "comparison": result}


def _list_tensors(call: rungs.RecordedCall, request: TensorsRequest) -> TensorsAnswer:
    """The named tensors of the call with the number of their elements."""
    given = name_reachable(call.function, call.args, call.kwargs)
    return {"outcome": CallOutcome.OK, "tensors": {name: t.numel() for name, t in given.items()}}


def _list_subsystems(call: rungs.RecordedCall, request: SubsystemsRequest) -> SubsystemsAnswer:
    table = bisection.list_subsystems(request.get("settings") or ())
    return {
        "outcome": CallOutcome.OK,
        "subsystems": table["subsystems"],
        "changes": table["changes"],
        "settings": table["settings"],
    }


def _describe_environment(
    call: rungs.RecordedCall, request: EnvironmentRequest
) -> EnvironmentAnswer:
    return {
        "outcome": CallOutcome.OK,
        "environment": environment.collect_environment(),
        "vocabulary": vocabulary.collect_vocabulary(),
        "internals": internal_names.collect_internal_names(),
        "files": provenance.list_own_files(),
        "texts": provenance.list_own_texts(),
    }


_KINDS: Dict[Operation, _Doing] = {
    "run": _run,
    "compare": _compare,
    "tensors": _list_tensors,
    "capture": _refer_to("dynamo.capture", "capture"),
    "trace": _refer_to("trace.trace", "trace"),
    "equivalence": _refer_to("trace.equivalence", "prove_equivalence"),
    "source_equivalence": _refer_to("source.equivalence", "prove_equivalence"),
    "divergence": _refer_to("dynamo.divergence", "measure_divergence"),
    "gather": _refer_to("source.source", "gather_call"),
    "subsystems": _list_subsystems,
    "graph_breaks": _refer_to("dynamo.graph_breaks", "collect"),
    "guards": _refer_to("dynamo.guards", "find"),
    "evidence": _refer_to("debugtools.run", "ask_of_call"),
    "environment": _describe_environment,
}
