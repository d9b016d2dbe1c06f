"""Whether a rewritten model computes what the recorded call computes: same weights in, same values
out.

The recorded call runs as it is, in a fork of its own. The rewritten model gets the values that the
call was given, the same random numbers and the same gradients of its outputs. `equivalence_run` is
one such run, `run_comparison` holds the two against each other. Nothing here knows how the
rewriting was done.
"""

from __future__ import annotations

import os
import random
import types
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Set, Tuple

import torch

from ..call import context, outputs, rungs
from ..call.closeness import compare_lists
from ..call.forks import WaitingFork
from ..call.reachable import find_reachable
from ..call.variations import precision
from ..machine.random_state import RandomState
from ..protocol.graphs import EquivalenceAnswer, EquivalenceRequest, TraceWay
from ..protocol.words import BatchCloseness
from .cached_results import empty_caches
from .equivalence_run import EquivalenceRun, SavedRun
from .larger_batch import LargerBatch
from .registry import Registry
from .run_comparison import RunComparison, build_failure, has_differences
from .torch_functions import find_replaced
from .trace import Tracer
from .writer import TraceWriter


def prove_equivalence(call: rungs.RecordedCall, request: EquivalenceRequest) -> EquivalenceAnswer:
    """Compares the call with the model in `request`: outputs, gradients, buffers and operators,
    both in eager mode from the same random stream.

    Where something differs, a float64 run of the call is the judge. For a forked process: nothing
    is put back in it.

    Returns:
        The outcome `raises`, with `detail`, where the call or the model raises, and where the
        program has replaced a function of torch.
    """
    changed = next(find_replaced(), None)
    if changed is not None:
        return build_failure("the program has replaced {}".format(changed))
    rungs.quiet_compile_workers()
    rng = RandomState.read(call.conditions.random)

    def fork(run: Callable[[], EquivalenceRun]) -> WaitingFork:
        return WaitingFork(lambda: torch.save(run().save(), request["file"]))

    if not fork(lambda: EquivalenceRun.from_call(call, rng)).run():
        return build_failure("the recorded call raises in eager mode")
    # what computes in this process may keep a later fork of it from computing, so these are made in
    # advance
    referee = fork(lambda: _run_exact(call, rng))
    larger = None if request.get("stand_ins") else LargerBatch.from_call(call)
    more_rows = larger and fork(lambda: _run_without_gradients(larger.call, rng))
    tracer = _trace(call, request["way"])
    private = _take_file(request)
    tracer.leave()
    registry = tracer.registry
    try:
        known = {label for label, t in registry.given.items() if id(t) in private["after"]}
        public, model = _run_rewritten(call, request, tracer.writer, rng, known)
    except Exception as error:  # a rewritten model may raise anything
        return build_failure("{}: {}".format(type(error).__name__, str(error)[:300]))

    def compare(exact: Optional[SavedRun]) -> EquivalenceAnswer:
        return RunComparison(private, public, request, registry, model, exact).compare()

    found = compare(None)
    if has_differences(found) and referee.run():
        found = compare(_take_file(request))
    if larger and more_rows and not has_differences(found) and more_rows.run():
        expected = _take_file(request)["results"]
        how = _compare_larger_batch(larger, expected, request, tracer.writer, rng)
        found["batch"] = {"size": larger.size, "how": how}
    return found


def _trace(call: rungs.RecordedCall, way: TraceWay) -> Tracer:
    """The call traced in this process; the tracer is still in torch."""
    if way["empty_caches"]:
        empty_caches()
    tracer = Tracer(call, keep=True, look_inside=way["look_inside"])
    with context.apply_state(call.conditions.state):
        random.setstate(call.conditions.random)
        tracer.run()
    return tracer


def _take_file(request: EquivalenceRequest) -> SavedRun:
    """The run that another process has saved; its file is free for the next one."""
    saved: SavedRun = outputs.load(request["file"])
    os.unlink(request["file"])
    return saved


def _compare_larger_batch(
    larger: LargerBatch,
    expected: List[torch.Tensor],
    request: EquivalenceRequest,
    writer: TraceWriter,
    rng: RandomState,
) -> BatchCloseness:
    """How alike the outputs of the rewritten model are to those that the call gives for it."""
    try:
        run, _ = _run_rewritten(larger.call, request, writer, rng, set(), larger.grown)
    except Exception:  # as above
        return "raises"
    return compare_lists(expected, [leaf.detach() for leaf in run.results], None)["how"]


def _run_without_gradients(call: rungs.RecordedCall, rng: RandomState) -> EquivalenceRun:
    """The call without gradients."""
    run = EquivalenceRun({})
    run.perform(
        call.conditions.state,
        rng,
        lambda: call.function(*call.args, **call.kwargs),
    )
    return run


def _run_exact(call: rungs.RecordedCall, rng: RandomState) -> EquivalenceRun:
    """The recorded call in float64; this process has to be a fork, since it changes what the call
    was given.
    """
    precision.convert_to_double(find_reachable(call.function, call.args, call.kwargs))
    with precision.promote():
        return EquivalenceRun.from_call(call, rng, {**call.conditions.state, "autocast": {}})


def _run_rewritten(
    call: rungs.RecordedCall,
    request: EquivalenceRequest,
    writer: TraceWriter,
    rng: RandomState,
    known: Set[str],
    grown: Mapping[int, torch.Tensor] = types.MappingProxyType({}),
) -> Tuple[EquivalenceRun, Any]:
    """The rewritten model's run, on what the recorded call was given; and the model.

    `known` are the traced names of the tensors whose gradients the recorded call was asked for;
    `grown` are arguments in the place of others, by the id of these.
    """
    registry = writer.registry
    model = _build_model(request, writer.opaque)
    tensors: Dict[Any, torch.Tensor] = {}
    if isinstance(model, torch.nn.Module):
        model.train(request["training"])
        tensors.update(_fill_state(model, request["mapping"], registry))
    arguments = [
        grown.get(id(registry.given[label]), value)
        for label, value in zip(
            request["arguments"], _copy_arguments(request["arguments"], registry)
        )
    ]
    tensors.update(enumerate(arguments))
    labels: List[Tuple[Any, str]] = [*request["mapping"].items(), *enumerate(request["arguments"])]
    run = EquivalenceRun({key: tensors[key] for key, label in labels if label in known})
    run.perform(call.conditions.state, rng, lambda: model(*arguments))
    return run, model


def _build_model(request: EquivalenceRequest, opaque: Iterable[Callable[..., Any]]) -> Any:
    """The rewritten model; its stand-ins call the private operations in the order of the trace."""
    namespace: Dict[str, Any] = {"__name__": "rewritten"}
    exec(compile(request["text"], "<rewritten>", "exec"), namespace)
    operations = iter(opaque)
    for name in request.get("stand_ins") or ():
        namespace[name] = lambda *given: next(operations)(*given)
    return eval(request["callable"], namespace)


def _fill_state(
    model: torch.nn.Module, mapping: Mapping[str, str], registry: Registry
) -> Dict[str, torch.Tensor]:
    """The parameters and buffers of the model by their paths, with the values of the private ones.

    Raises:
        ValueError: one has not the shape or the dtype of the private one.
    """
    state: Dict[str, torch.Tensor] = {}
    state.update(model.named_parameters(remove_duplicate=False))
    state.update(model.named_buffers(remove_duplicate=False))
    with torch.no_grad():
        for path, label in mapping.items():
            value = registry.values[label]
            if state[path].shape != value.shape or state[path].dtype != value.dtype:
                raise ValueError("{} has another shape or dtype".format(path))
            state[path].copy_(value)
    return state


def _copy_arguments(labels: List[str], registry: Registry) -> List[torch.Tensor]:
    """Copies of the arguments, those that share memory sharing it again, of whatever dtype."""
    made: Dict[int, torch.Tensor] = {}
    found = []
    for label in labels:
        given, value = registry.given[label], registry.values[label]
        key = given.untyped_storage().data_ptr() if given.layout == torch.strided else 0
        # one without elements, on the meta device or with a sparse layout shares nothing
        shared = made.setdefault(key, value) if key and given.numel() else value
        if shared is value:
            found.append(value.requires_grad_(given.requires_grad))
        else:
            empty = torch.empty((0,), dtype=given.dtype, device=given.device)
            place = (given.storage_offset(), given.shape, given.stride())
            found.append(empty.set_(shared.detach().untyped_storage(), *place))
    return found
