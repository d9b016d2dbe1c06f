"""The Dynamo graph of a recorded call as plain data (graph IR, JSON), with no name of the user's program in it.

A pass-through backend receives each graph; nodes become public names found by *identity* in torch's own modules, so
a private function can never slip in under a public name. What has no public name makes the capture say so.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import torch

from . import context, rungs
from .public_names import Unsupported, public_names
from .spans import Watching
from .translator import Translator


def capture(call: rungs.Call, request: Dict[str, Any]) -> Dict[str, Any]:
    """Runs the call under a pass-through backend and returns `{"graphs": [IR, …]}` of the graphs it ran.

    A graph that Dynamo finds but that cannot be expressed is `{"unsupported": reason}`.
    """
    rungs.quiet_compile_workers()
    captured: List[Tuple[Any, List[Tuple[Any, ...]]]] = []
    watching: List[Watching] = []

    def backend(module: Any, example_inputs: Any) -> Any:
        runs: List[Tuple[Any, ...]] = []
        captured.append((module, runs))
        watching.append(Watching(module))
        watched = watching[-1]

        def run(*inputs: Any) -> Any:
            runs.append(inputs)
            return watched.run(*inputs)

        return run

    owned = {
        id(t): label
        for label, t in context.reachable(call.function, call.args, call.kwargs).items()
    }
    given = context.named(call.function, call.args, call.kwargs)
    allowed = {id(given[name]) for name in request.get("allow") or () if name in given}
    error = None
    with context.applied(call.state):
        torch._dynamo.reset()
        options = {
            key: call.options[key] for key in ("fullgraph", "dynamic") if key in call.options
        }
        if request.get("dynamic", "unset") != "unset":
            options["dynamic"] = request["dynamic"]
        original = getattr(torch.compile, "__wrapped__", torch.compile)
        function = original(call.function, backend=backend, **options)
        if request.get("replay"):
            rungs._replay(call, function)
        before = [len(runs) for _, runs in captured]
        try:
            function(*call.args, **call.kwargs)
        except Exception as raised:  # an invalid program still has a graph
            error = type(raised).__name__
    names = public_names()
    graphs: List[Dict[str, Any]] = []
    for index, (module, runs) in enumerate(captured):
        ran_now = len(runs) > (before[index] if index < len(before) else 0)
        if not ran_now and error is None and request.get("replay"):
            continue
        try:
            inputs = runs[-1] if runs else None
            graph = Translator(
                module,
                inputs,
                owned,
                names,
                watching[index].spans,
                watching[index].results,
                allowed,
            ).translate()
            graph["runs"] = _bindings(
                module, [inputs for _, all_runs in captured for inputs in all_runs]
            )
        except Unsupported as reason:
            graph = {"unsupported": str(reason)}
        graphs.append(graph)
    return {"outcome": "ok", "graphs": graphs, "error": error}


def _bindings(module: Any, runs: List[Tuple[Any, ...]]) -> List[Dict[str, int]]:
    """What each call gave the symbolic sizes of a graph, oldest first: calls of other graphs of the same code included."""
    dims = []
    tensors = 0
    for node in module.graph.nodes:
        fake = node.meta.get("example_value") if node.op == "placeholder" else None
        if isinstance(fake, torch.Tensor):
            dims.append(
                [
                    (i, str(size))
                    for i, size in enumerate(fake.shape)
                    if isinstance(size, torch.SymInt)
                ]
            )
            tensors += 1
    bindings: List[Dict[str, int]] = []
    for inputs in runs:
        values = [value for value in inputs if isinstance(value, torch.Tensor)]
        if len(values) == tensors and all(
            len(v.shape) > max([i for i, _ in d], default=-1) for v, d in zip(values, dims)
        ):
            bound = {
                symbol: int(value.shape[i])
                for value, marks in zip(values, dims)
                for i, symbol in marks
            }
            if not bindings or bindings[-1] != bound:
                bindings.append(bound)
    return bindings[-9:]
