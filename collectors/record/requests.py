"""What the host may ask of a recorded call, each kind of request by its name.

A request is done in a fork of its own, and most need a module that no other needs: it is imported
there and then.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Dict

from ..call import rungs

Json = Dict[str, Any]
_COLLECTORS = str(__package__).rpartition(".")[0]


def perform(call: rungs.RecordedCall, request: Json) -> Json:
    """Does one request about a call in this (forked) process.

    Raises ValueError for a kind that is not in KINDS.
    """
    kind = KINDS.get(request["op"])
    if kind is None:
        raise ValueError("unknown request " + str(request["op"]))
    return kind(call, request)


def _of(module: str, function: str) -> Callable[[rungs.RecordedCall, Json], Json]:
    """A function of another module, named from the top of the collectors, that takes the call and
    the request.
    """

    def do(call: rungs.RecordedCall, request: Json) -> Json:
        loaded = import_module(_COLLECTORS + "." + module)
        answer: Json = getattr(loaded, function)(call, request)
        return answer

    return do


def _run(call: rungs.RecordedCall, request: Json) -> Json:
    return rungs.execute(call, request["rung"])


def _compare(call: rungs.RecordedCall, request: Json) -> Json:
    """Compares two saved results, each a path below `reference` and `actual`; `exact` and `ties`
    may help to judge.
    """
    from ..call import comparison, context, outputs

    def load(name: str) -> Any:
        return outputs.load(request[name]) if request.get(name) else None

    result = comparison.compare(
        load("reference"),
        load("actual"),
        load("exact"),
        request.get("origin"),
        context.reachable(call.function, call.args, call.kwargs),
        load("ties"),
        bool(request.get("random")),
    )
    return {"outcome": "ok", "comparison": result}


def _tensors(call: rungs.RecordedCall, request: Json) -> Json:
    """The named tensors of the call with the number of their elements."""
    from ..call import context

    given = context.name_reachable(call.function, call.args, call.kwargs)
    return {"outcome": "ok", "tensors": {name: t.numel() for name, t in given.items()}}


def _gather(call: rungs.RecordedCall, request: Json) -> Json:
    from ..source import source

    given = call.options.get("backend")
    backend = given if callable(given) else None
    gathered = source.gather(call.function, call.args, call.kwargs, backend)
    return {"outcome": "ok", "gathered": gathered}


def _subsystems(call: rungs.RecordedCall, request: Json) -> Json:
    from ..call import bisection

    return {"outcome": "ok", **bisection.subsystems(request.get("settings") or ())}


def _environment(call: rungs.RecordedCall, request: Json) -> Json:
    from ..machine import environment, vocabulary
    from ..source import ownership

    return {
        "outcome": "ok",
        "environment": environment.environment(),
        "vocabulary": vocabulary.vocabulary(),
        "internals": vocabulary.internals(),
        "files": ownership.own_files(),
        "texts": ownership.own_texts(),
    }


KINDS: Dict[str, Callable[[rungs.RecordedCall, Json], Json]] = {
    "run": _run,
    "compare": _compare,
    "tensors": _tensors,
    "capture": _of("dynamo.capture", "capture"),
    "trace": _of("trace.trace", "trace"),
    "equivalence": _of("trace.equivalence", "check"),
    "source_equivalence": _of("source.equivalence", "check"),
    "divergence": _of("dynamo.divergence", "divergence"),
    "gather": _gather,
    "subsystems": _subsystems,
    "complaints": _of("dynamo.graph_breaks", "collect"),
    "guards": _of("dynamo.guards", "find"),
    "evidence": _of("debugtools.run", "of_call"),
    "environment": _environment,
}
