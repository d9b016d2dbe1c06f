"""What the host may ask of a recorded call, each kind of request by its name.

A request is done in a fork of its own, and most need a module that no other needs: it is imported there and then.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Dict

from . import rungs

Json = Dict[str, Any]


def perform(call: rungs.Call, request: Json) -> Json:
    """Does one request about a call in this (forked) process. Raises ValueError for a kind that is not in KINDS."""
    kind = KINDS.get(request["op"])
    if kind is None:
        raise ValueError("unknown request " + str(request["op"]))
    return kind(call, request)


def _of(module: str, function: str) -> Callable[[rungs.Call, Json], Json]:
    """A function of a sibling module that takes the call and the request."""

    def do(call: rungs.Call, request: Json) -> Json:
        loaded = import_module("." + module, __package__)
        answer: Json = getattr(loaded, function)(call, request)
        return answer

    return do


def _run(call: rungs.Call, request: Json) -> Json:
    return rungs.execute(call, request["rung"])


def _compare(call: rungs.Call, request: Json) -> Json:
    """Compares two saved results, each a path below `reference` and `actual`; `exact` and `ties` may help to judge."""
    from . import comparison, context, outputs

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


def _tensors(call: rungs.Call, request: Json) -> Json:
    """The named tensors of the call with the number of their elements."""
    from . import context

    given = context.named(call.function, call.args, call.kwargs)
    return {"outcome": "ok", "tensors": {name: t.numel() for name, t in given.items()}}


def _gather(call: rungs.Call, request: Json) -> Json:
    from . import source

    given = call.options.get("backend")
    backend = given if callable(given) else None
    gathered = source.gather(call.function, call.args, call.kwargs, backend)
    return {"outcome": "ok", "gathered": gathered}


def _subsystems(call: rungs.Call, request: Json) -> Json:
    from . import bisection

    return {"outcome": "ok", **bisection.subsystems(request.get("settings") or ())}


def _environment(call: rungs.Call, request: Json) -> Json:
    from . import environment, source_public, vocabulary

    return {
        "outcome": "ok",
        "environment": environment.environment(),
        "vocabulary": vocabulary.vocabulary(),
        "internals": vocabulary.internals(),
        "files": source_public.own_files(),
        "texts": source_public.own_texts(),
    }


KINDS: Dict[str, Callable[[rungs.Call, Json], Json]] = {
    "run": _run,
    "compare": _compare,
    "tensors": _tensors,
    "capture": _of("capture", "capture"),
    "trace": _of("trace", "trace"),
    "equivalence": _of("equivalence", "check"),
    "source_equivalence": _of("source_equivalence", "check"),
    "divergence": _of("divergence", "divergence"),
    "gather": _gather,
    "subsystems": _subsystems,
    "complaints": _of("complaints", "collect"),
    "guards": _of("guards", "find"),
    "evidence": _of("evidence.run", "of_call"),
    "environment": _environment,
}
