"""Whether a program rewritten from its source computes what the recorded call computes, from the
same tensors.

Like `trace.equivalence`, for the other way of rewriting: there is no trace in between, so each
tensor of the rewritten program is given by how it is reached there, beside the id that
`source.gather` has for the private one.
"""

from __future__ import annotations

import os
import sys
import types
from typing import Any, Dict, Iterator, List, Tuple

import torch

from ..call import outputs, rungs
from ..call.closeness import compare_lists
from ..call.forks import WaitingFork
from ..call.reachable import find_reachable
from ..machine.random_state import RandomState
from ..protocol.graphs import EquivalenceAnswer, SourceEquivalenceRequest
from ..protocol.words import CallOutcome
from ..trace.equivalence_run import EquivalenceRun, SavedRun
from ..trace.run_comparison import build_failure, compare_operators, judge_gradients
from ..trace.torch_functions import find_replaced
from . import source

#: A tensor: how it is told apart (id, and its name in a stock layer), the private one, the public
#: one.
_Pair = Tuple[str, torch.Tensor, torch.Tensor]


def prove_equivalence(
    call: rungs.RecordedCall, request: SourceEquivalenceRequest
) -> EquivalenceAnswer:
    """Compares the call with the program in `request`, whose `tensors` are as
    `anonymizer.source.paths` has them.
    """
    changed = next(find_replaced(), None)
    if changed is not None:
        return build_failure("the program has replaced {}".format(changed))
    rungs.quiet_compile_workers()
    rng = RandomState.read(call.conditions.random)
    path = request["file"]
    if not WaitingFork(lambda: torch.save(_run_private(call, request, rng), path)).run():
        return build_failure("the recorded call raises in eager mode")
    private: SavedRun = outputs.load(path)
    os.unlink(path)
    try:
        public = _run_public(call, request, rng)
    except Exception as error:  # a rewritten program may raise anything
        return build_failure("{}: {}".format(type(error).__name__, str(error)[:300]))
    return _compare(private, public)


def _compare(private: SavedRun, public: EquivalenceRun) -> EquivalenceAnswer:
    expected = [leaf.detach() for leaf in private["results"]]
    labels = list(public.tensors)
    gradients = [public.gradients.get(label) for label in labels]
    after = [public.tensors[label].detach() for label in labels]
    back = compare_lists([private["gradients"].get(label) for label in labels], gradients)
    back["how"] = judge_gradients(back, private, public)
    return {
        "outcome": CallOutcome.OK,
        "outputs": compare_lists(expected, [leaf.detach() for leaf in public.results]),
        "gradients": back,
        "buffers": compare_lists([private["after"][label] for label in labels], after),
        "operators": compare_operators(private["counts"], public.counts),
    }


def _run_private(
    call: rungs.RecordedCall, request: SourceEquivalenceRequest, rng: RandomState
) -> SavedRun:
    """The recorded call's run; this process is a fork that ends with it."""
    live = _gather_live(call)
    mine: Dict[str, torch.Tensor] = {}
    for _, key in request["tensors"]:
        mine.update(_name_tensors(key, live[key]))
    run = EquivalenceRun(mine)
    run.perform(
        call.conditions.state,
        rng,
        lambda: call.function(*call.args, **call.kwargs),
    )
    return run.save()


def _run_public(
    call: rungs.RecordedCall, request: SourceEquivalenceRequest, rng: RandomState
) -> EquivalenceRun:
    """The rewritten program's run on the values of the private tensors.

    Raises:
        ValueError: one has no counterpart.
    """
    module = sys.modules["rewritten"] = types.ModuleType("rewritten")  # dataclasses look there
    namespace = module.__dict__
    exec(compile(request["text"], "<rewritten>", "exec"), namespace)
    function = eval(request["callable"], namespace)
    given = namespace["inputs"]()
    namespace["entry"], namespace["given"] = getattr(function, "__self__", function), given
    live = _gather_live(call)
    tensors: Dict[str, torch.Tensor] = {}
    copies: List[torch.Tensor] = []
    with torch.no_grad():
        for path, key in request["tensors"]:
            for label, theirs, ours in _list_pairs(key, live[key], eval(path, namespace)):
                if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
                    raise ValueError("{} has another shape or dtype".format(path))
                if ours.requires_grad != theirs.requires_grad:
                    ours.requires_grad_(theirs.requires_grad)
                _fill(ours, theirs)
                if theirs.is_leaf and theirs.grad is not None:
                    ours.grad = theirs.grad.detach().clone()
                tensors.setdefault(label, ours)
                copies.append(ours)
    _check_complete(function, given, copies)
    run = EquivalenceRun(tensors)
    run.perform(call.conditions.state, rng, lambda: function(*given))
    return run


def _fill(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    """Copies values; an expanded tensor has each of them once, and is written to once."""
    for dim, (size, step) in enumerate(zip(ours.shape, ours.stride())):
        if size > 1 and step == 0:
            ours, theirs = ours.narrow(dim, 0, 1), theirs.narrow(dim, 0, 1)
    ours.copy_(theirs)


def _check_complete(function: Any, given: Any, filled: List[torch.Tensor]) -> None:
    known = {id(tensor) for tensor in filled}
    reached = find_reachable(function, given, {})
    left = [label for label, tensor in reached.items() if id(tensor) not in known]
    if left:
        raise ValueError("{} of its tensors stand for none of the call's".format(len(left)))


def _gather_live(call: rungs.RecordedCall) -> Dict[str, Any]:
    given = call.conditions.options.get("backend")
    backend = given if callable(given) else None
    return source.gather_objects(call.function, call.args, call.kwargs, backend)


def _name_tensors(key: str, value: Any) -> Iterator[Tuple[str, torch.Tensor]]:
    """The tensors behind an id: itself, or those of a stock layer by their names."""
    if isinstance(value, torch.Tensor):
        yield key, value
        return
    tables: List[Any] = [value.named_parameters, value.named_buffers]
    for table in tables:
        for name, tensor in table(remove_duplicate=False):
            yield "{}.{}".format(key, name), tensor


def _list_pairs(key: str, theirs: Any, ours: Any) -> Iterator[_Pair]:
    """What is on both sides; of a subclass of a stock layer the rest goes by ids of its own."""
    public = dict(_name_tensors(key, ours))
    for label, tensor in _name_tensors(key, theirs):
        if label in public:
            yield label, tensor, public[label]
