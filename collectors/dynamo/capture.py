"""The Dynamo graph of a recorded call as plain data (graph IR, JSON), with no name of the user's
program in it.

A pass-through backend receives each graph; nodes become public names found by *identity* in torch's
own modules, so a private function can never slip in under a public name. What has no public name
makes the capture say so.
"""

from __future__ import annotations

import contextlib
from typing import Any, Collection, Dict, List, Optional, Set, Tuple

import torch

from ..call import context, rungs
from ..call.operators.derivatives import Derivative
from ..call.operators.graph import build_operator_graph
from ..call.reachable import find_reachable, name_reachable
from ..machine.compile_options import compile_unwatched, select_for_graphs
from ..machine.public_names import NotInGraphError, collect_public_names
from ..protocol.captured_graph import GraphJson
from ..protocol.graphs import CaptureAnswer, CaptureRequest
from ..protocol.words import CallOutcome
from .bodies import Body
from .translator import Translator
from .value_statistics import ValueStatistics


class _PassThrough:
    """A backend that keeps each graph with the inputs of its runs, and runs it as it is.

    `owned` are the ids of the tensors that the call can reach between its runs.
    """

    def __init__(self, owned: Collection[int] = ()) -> None:
        self.owned = owned
        self.modules: List[Any] = []
        self.runs: List[List[Tuple[Any, ...]]] = []
        self.watching: List[ValueStatistics] = []

    def __call__(self, module: Any, example_inputs: Any) -> Any:
        runs: List[Tuple[Any, ...]] = []
        watched = ValueStatistics(module)
        self.modules.append(module)
        self.runs.append(runs)
        self.watching.append(watched)

        def run(*inputs: Any) -> Any:
            runs.append(inputs)
            watched.note_lent(inputs, self.owned)
            return watched.run(*inputs)

        return run

    def list_runs(self) -> List[Tuple[Any, ...]]:
        """The inputs of every run, those of one graph after those of the graph before it."""
        return [inputs for runs in self.runs for inputs in runs]


def capture(call: rungs.RecordedCall, request: CaptureRequest) -> CaptureAnswer:
    """Runs the call under a pass-through backend and returns the graphs it ran.

    A graph that Dynamo finds but that cannot be expressed is `{"unsupported": reason}`. A call of
    one of torch's own functions is not run: its graph is made from its arguments.

    Args:
        request: its `allow` names the tensors whose values the graphs may hold, as
            `reachable.name_reachable` names them.

    Returns:
        The graphs that higher-order operators are given come before the others. `error` is the
        class of what the call raised.
    """
    if call.conditions.options.get("compiler") == "eager":
        return _capture_operator(call, request)
    rungs.quiet_compile_workers()
    reachable = find_reachable(call.function, call.args, call.kwargs)
    owned = {id(tensor): label for label, tensor in reachable.items()}
    given = name_reachable(call.function, call.args, call.kwargs)
    allowed = {id(given[name]) for name in request.get("allow") or () if name in given}
    backend = _PassThrough(owned)
    with context.apply_state(call.conditions.state):
        before, error = _run(call, request, backend)
    names = collect_public_names()
    graphs: List[GraphJson] = []
    nested: List[GraphJson] = []
    for index in range(len(backend.modules)):
        ran_now = len(backend.runs[index]) > (before[index] if index < len(before) else 0)
        if ran_now or error is not None or not request.get("replay"):
            graphs.append(_translate(backend, index, names, owned, allowed))
            if not request.get("replay"):
                nested += _build_nested_graphs(backend.watching[index].bodies, names)
    return {"outcome": CallOutcome.OK, "graphs": [*nested, *graphs], "error": error}


def _capture_operator(call: rungs.RecordedCall, request: CaptureRequest) -> CaptureAnswer:
    """The graph of one call of a torch function, which is not run."""
    given = name_reachable(None, call.args, call.kwargs)
    allowed = {id(given[name]) for name in request.get("allow") or () if name in given}
    owned = {id(tensor): label for label, tensor in given.items()}
    function, kept = call.function, None
    graph: GraphJson
    if isinstance(function, Derivative):  # what is differentiated; its assertion is the candidate's
        kept = function.find_triangle(call.args, call.kwargs)
        function = function.function
    module, tensors = build_operator_graph(function, call.args, call.kwargs, kept)
    try:
        graph = Translator(
            module, tuple(tensors), owned, collect_public_names(), None, allowed
        ).translate()
    except NotInGraphError as reason:
        graph = {"unsupported": str(reason)}
    return {"outcome": CallOutcome.OK, "graphs": [graph], "error": None}


def _run(
    call: rungs.RecordedCall, request: CaptureRequest, backend: _PassThrough
) -> Tuple[List[int], Optional[str]]:
    """Runs the call, after those before it if wanted; returns each graph's runs before it, and the
    error's class.
    """
    torch._dynamo.reset()
    options = {**select_for_graphs(call.conditions.options), "backend": backend}
    if "dynamic" in request:
        options["dynamic"] = request["dynamic"]
    function = compile_unwatched(call.function, options)
    if request.get("replay"):
        rungs.replay_history(call, function)
    before = [len(runs) for runs in backend.runs]
    try:
        function(*call.args, **call.kwargs)
    except Exception as raised:  # an invalid program still has a graph
        return before, type(raised).__name__
    return before, None


def _translate(
    backend: _PassThrough,
    index: int,
    names: Dict[int, str],
    owned: Dict[int, str],
    allowed: Set[int],
) -> GraphJson:
    """One graph as IR, with what each run gave its symbolic sizes."""
    module, runs, watched = backend.modules[index], backend.runs[index], backend.watching[index]
    inputs = runs[-1] if runs else None
    try:
        graph = Translator(module, inputs, owned, names, watched, allowed).translate()
        graph["runs"] = _read_bindings(module, backend.list_runs())
    except NotInGraphError as reason:
        return {"unsupported": str(reason)}
    return graph


def _build_nested_graphs(found: List[Body], names: Dict[int, str]) -> List[GraphJson]:
    """The graphs inside of a graph, each once, as graphs of their own; the innermost first."""
    graphs: List[GraphJson] = []
    seen: Set[int] = set()
    for body in found:
        if id(body.module) in seen:
            continue
        seen.add(id(body.module))
        watched = ValueStatistics(body.module)
        with contextlib.suppress(Exception):  # what it needs beside its inputs, nobody knows here
            with torch.no_grad():
                watched.run(*body.inputs)
            graph = Translator(body.module, body.inputs, {}, names, watched).translate()
            graphs += [*_build_nested_graphs(watched.bodies, names), graph]
    return graphs


def _read_bindings(module: Any, runs: List[Tuple[Any, ...]]) -> List[Dict[str, int]]:
    """What each call gave the symbolic sizes of a graph, oldest first: calls of other graphs of the
    same code included.
    """
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
