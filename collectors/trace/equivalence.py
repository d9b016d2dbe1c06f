"""Whether a rewritten model computes what the recorded call computes: same weights in, same values
out.

The recorded call runs as it is, in a fork of its own. The rewritten model gets the values that the
call was given, the same random numbers and the same gradients of its outputs; results, gradients,
changed buffers and the operators that reached the dispatcher are compared. Nothing here knows how
the rewriting was done. Where values are neither the same nor within torch.testing's tolerances, the
recorded call in float64 is the referee: the rewritten model may be as far from it as the private
one is, and not much farther.
"""

from __future__ import annotations

import collections
import contextlib
import math
import os
import random
import types
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Set, Tuple, TypedDict

import torch

from ..call import context, outputs, rungs
from ..call.closeness import compare_lists
from ..call.forks import fork_from_fresh_thread
from ..call.variations import precision
from ..machine.public_names import NAMESPACES
from ..protocol.comparison import ListComparison, OperatorComparison
from ..protocol.events import ContextState
from ..protocol.graphs import EquivalenceAnswer, EquivalenceRequest
from ..protocol.words import BatchCloseness, CallOutcome, Closeness
from .cached_results import empty_caches
from .larger_batch import LargerBatch
from .registry import Registry
from .torch_functions import find_replaced, has_dispatch, pause_watching
from .trace import Tracer
from .writer import TraceWriter

_SEED = 1


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
        return {
            "outcome": CallOutcome.RAISES,
            "detail": "the program has replaced {}".format(changed),
        }
    rungs.quiet_compile_workers()
    rng = torch.get_rng_state()
    if not WaitingFork(
        lambda: torch.save(EquivalenceRun.from_call(call, rng).save(), request["file"])
    ).run():
        return {"outcome": CallOutcome.RAISES, "detail": "the recorded call raises in eager mode"}
    # what computes in this process may keep a later fork of it from computing, so this one is made
    # in advance
    referee = WaitingFork(lambda: torch.save(_run_exact(call, rng).save(), request["file"]))
    larger = None if request.get("stand_ins") else LargerBatch.from_call(call)
    more_rows = larger and WaitingFork(
        lambda: torch.save(_run_without_gradients(larger.call, rng).save(), request["file"])
    )
    if request["way"]["empty_caches"]:
        empty_caches()
    tracer = Tracer(call, keep=True, look_inside=request["way"]["look_inside"])
    with context.apply_state(call.conditions.state):
        random.setstate(call.conditions.random)
        tracer.run()
    private: SavedRun = _take_file(request)
    tracer.leave()
    registry = tracer.registry
    try:
        known = {label for label, t in registry.given.items() if id(t) in private["after"]}
        public, model = _run_rewritten(call, request, tracer.writer, rng, known)
    except Exception as error:  # a rewritten model may raise anything
        return {
            "outcome": CallOutcome.RAISES,
            "detail": "{}: {}".format(type(error).__name__, str(error)[:300]),
        }

    def compare(exact: Optional[SavedRun]) -> EquivalenceAnswer:
        return _RunComparison(private, public, request, registry, model, exact).compare()

    found = compare(None)
    if _has_differences(found) and referee.run():
        found = compare(_take_file(request))
    if larger and more_rows and not _has_differences(found) and more_rows.run():
        expected = _take_file(request)["results"]
        how = _compare_larger_batch(larger, expected, request, tracer.writer, rng)
        found["batch"] = {"size": larger.size, "how": how}
    return found


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
    rng: torch.Tensor,
) -> BatchCloseness:
    """How alike the outputs of the rewritten model are to those that the call gives for it."""
    try:
        run, _ = _run_rewritten(larger.call, request, writer, rng, set(), larger.grown)
    except Exception:  # as above
        return "raises"
    return compare_lists(expected, [leaf.detach() for leaf in run.results], None)["how"]


def _run_without_gradients(call: rungs.RecordedCall, rng: torch.Tensor) -> EquivalenceRun:
    """The call without gradients."""
    run = EquivalenceRun({})
    run.perform(
        call.conditions.state,
        rng,
        call.conditions.random,
        lambda: call.function(*call.args, **call.kwargs),
    )
    return run


def _has_differences(found: EquivalenceAnswer) -> bool:
    parts = (found["outputs"], found["gradients"], found["buffers"])
    return any(part["how"] == "differ" for part in parts)


def _run_exact(call: rungs.RecordedCall, rng: torch.Tensor) -> EquivalenceRun:
    """The recorded call in float64; this process has to be a fork, since it changes what the call
    was given.
    """
    precision.convert_to_double(context.find_reachable(call.function, call.args, call.kwargs))
    with precision.promote():
        return EquivalenceRun.from_call(call, rng, {**call.conditions.state, "autocast": {}})


class WaitingFork:
    """A fork of this moment that does something only if that is wanted later; it ends with this
    process.
    """

    def __init__(self, body: Callable[[], None]) -> None:
        reader, self.writer = os.pipe()

        def wait() -> None:
            os.close(self.writer)
            if os.read(reader, 1):
                body()

        self.pid = fork_from_fresh_thread(wait)
        os.close(reader)

    def run(self) -> bool:
        """Has it done; True if that succeeded."""
        os.write(self.writer, b"!")
        return os.waitpid(self.pid, 0)[1] == 0


class SavedRun(TypedDict):
    """A run as its process saves it for another one; tensors by the keys of `EquivalenceRun`."""

    results: List[torch.Tensor]
    gradients: Dict[Any, torch.Tensor]
    freed: bool
    #: what it was given, after the run
    after: Dict[Any, torch.Tensor]
    counts: Dict[str, int]
    layers: List[Tuple[Any, List[float]]]


class EquivalenceRun:
    """One run: its tensors, the gradients of what it was given, what it changed, and what reached
    the dispatcher.

    `freed`: the call itself has gone back through its graph, so the gradients are those that it
    left in `grad`.

    `tensors` are what it was given, by a key that tells the two runs' tensors apart from each
    other.
    """

    def __init__(self, tensors: Mapping[Any, torch.Tensor]) -> None:
        self.tensors = tensors
        self.results: List[torch.Tensor] = []
        self.gradients: Dict[Any, Optional[torch.Tensor]] = {}
        self.freed = False
        self.counts: Dict[str, int] = {}
        self.layers: List[Tuple[Any, List[float]]] = []

    @classmethod
    def from_call(
        cls, call: rungs.RecordedCall, rng: torch.Tensor, state: Optional[ContextState] = None
    ) -> EquivalenceRun:
        """A recorded call, run in eager mode with its backward pass.

        Args:
            rng: the state of torch's generator on the CPU that the run starts from
                (`torch.get_rng_state`).
            state: the context in place of the call's own; None for that.

        Returns:
            A run whose keys are the ids of the tensors that the call can reach.
        """
        reachable = context.find_reachable(call.function, call.args, call.kwargs)
        run = cls({id(tensor): tensor for tensor in reachable.values()})
        run.perform(
            state or call.conditions.state,
            rng,
            call.conditions.random,
            lambda: call.function(*call.args, **call.kwargs),
        )
        return run

    def perform(self, state: ContextState, rng: torch.Tensor, seed: Any, body: Any) -> None:
        """Runs `body` and its backward pass in eager mode; keeps the tensors that it returns, the
        gradients, and what was counted. Dynamo stays off in this process.

        The gradients of the results are random numbers of a fixed seed, drawn in float32 on the CPU
        and then in the dtype and on the device of each result; results that are not real numbers
        get none.

        Args:
            state: the context of `body`; the backward pass is run outside of it.
            rng: the state of torch's generator on the CPU that the run starts from.
            seed: the state of Python's generator (`random.getstate`).
            body: a function without arguments.

        Raises:
            Exception: whatever `body` or its backward pass raises.
        """
        torch.set_rng_state(rng)
        random.setstate(seed)
        torch._dynamo.config.disable = True
        counting = _Counting()
        with context.apply_state(state), _watch_layers(self.layers), counting:
            result = body()
            self.results = [
                leaf for _, leaf in outputs.flatten(result) if isinstance(leaf, torch.Tensor)
            ]
        with counting:
            self._run_backward()
        self.counts = dict(counting.counts)

    def _run_backward(self) -> None:
        generator = torch.Generator().manual_seed(_SEED)
        chosen, flows = [], []
        for leaf in self.results:
            if leaf.requires_grad and leaf.dtype.is_floating_point:
                with pause_watching():  # the referee, too, has to get just these numbers
                    flow = torch.randn(
                        leaf.shape, generator=generator, dtype=torch.float32, device="cpu"
                    )
                    flows.append(flow.to(device=leaf.device, dtype=leaf.dtype))
                chosen.append(leaf)
        wanted = {key: tensor for key, tensor in self.tensors.items() if tensor.requires_grad}
        if chosen and wanted:
            with torch.enable_grad():
                try:
                    found = torch.autograd.grad(
                        chosen, list(wanted.values()), flows, allow_unused=True
                    )
                except RuntimeError as error:
                    if "second time" not in str(error):
                        raise
                    # the call has gone back through its graph by itself: what counts is what it
                    # left behind
                    self.freed = True
                    found = [tensor.grad for tensor in wanted.values()]
            self.gradients = dict(zip(wanted, found))

    def save(self) -> SavedRun:
        """What the other process needs, detached."""
        return {
            "results": [_strip_subclass(leaf) for leaf in self.results],
            "gradients": {
                k: _strip_subclass(g) for k, g in self.gradients.items() if g is not None
            },
            "freed": self.freed,
            "after": {key: _strip_subclass(tensor) for key, tensor in self.tensors.items()},
            "counts": self.counts,
            "layers": self.layers,
        }


def _strip_subclass(tensor: torch.Tensor) -> torch.Tensor:
    """The values, whatever subclass of Tensor holds them: the other process does not know it."""
    with torch._C.DisableTorchFunction():
        found = tensor.detach()
        same = type(found) is torch.Tensor or has_dispatch(found)
        return found if same else found.as_subclass(torch.Tensor)


def _run_rewritten(
    call: rungs.RecordedCall,
    request: EquivalenceRequest,
    writer: TraceWriter,
    rng: torch.Tensor,
    known: Set[str],
    grown: Mapping[int, torch.Tensor] = types.MappingProxyType({}),
) -> Any:
    """The rewritten model's run, on what the recorded call was given; and the model.

    `known` are the traced names of the tensors whose gradients the recorded call was asked for;
    `grown` are arguments in the place of others, by the id of these.
    """
    namespace: Dict[str, Any] = {"__name__": "rewritten"}
    exec(compile(request["text"], "<rewritten>", "exec"), namespace)
    registry, opaque = writer.registry, iter(writer.opaque)
    for name in (
        request.get("stand_ins") or ()
    ):  # the private operations, in the order of their calls
        namespace[name] = lambda *given: next(opaque)(*given)
    model = eval(request["callable"], namespace)
    tensors: Dict[Any, torch.Tensor] = {}
    if isinstance(model, torch.nn.Module):
        model.train(request["training"])
        tensors.update(model.named_parameters(remove_duplicate=False))
        tensors.update(model.named_buffers(remove_duplicate=False))
        with torch.no_grad():
            for path, label in request["mapping"].items():
                value = registry.values[label]
                if tensors[path].shape != value.shape or tensors[path].dtype != value.dtype:
                    raise ValueError("{} has another shape or dtype".format(path))
                tensors[path].copy_(value)
    arguments = [
        grown.get(id(registry.given[label]), value)
        for label, value in zip(
            request["arguments"], _copy_arguments(request["arguments"], registry)
        )
    ]
    tensors.update(enumerate(arguments))
    labels: List[Tuple[Any, str]] = [*request["mapping"].items(), *enumerate(request["arguments"])]
    run = EquivalenceRun({key: tensors[key] for key, label in labels if label in known})
    run.perform(call.conditions.state, rng, call.conditions.random, lambda: model(*arguments))
    return run, model


def _copy_arguments(labels: List[str], registry: Registry) -> List[torch.Tensor]:
    """Copies of the arguments, those that share memory sharing it again."""
    made: Dict[int, torch.Tensor] = {}
    found = []
    for label in labels:
        given, value = registry.given[label], registry.values[label]
        key = given.untyped_storage().data_ptr() if given.layout == torch.strided else 0
        shared = made.get(key)
        if shared is None or not given.numel():
            made[key] = value
            found.append(value.requires_grad_(given.requires_grad))
        else:
            offset = given.storage_offset()
            found.append(torch.as_strided(shared.detach(), given.shape, given.stride(), offset))
    return found


@dataclass
class _RunComparison:
    """The comparison of the two runs."""

    private: SavedRun
    public: EquivalenceRun
    request: EquivalenceRequest
    registry: Registry
    model: Any
    exact: Optional[SavedRun]

    def compare(self) -> EquivalenceAnswer:
        """How alike they are."""
        expected = [leaf.detach() for leaf in self.private["results"]]
        actual = [leaf.detach() for leaf in self.public.results]
        exact, ids = self.exact, {label: id(t) for label, t in self.registry.given.items()}
        results = compare_lists(expected, actual, exact["results"] if exact else None)
        pairs: List[Tuple[Any, int]] = [
            (path, ids[label]) for path, label in self.request["mapping"].items()
        ]
        pairs += [(index, ids[label]) for index, label in enumerate(self.request["arguments"])]
        both = list(dict.fromkeys([*self.private["gradients"], *(i for _, i in pairs)]))
        keys = {identity: key for key, identity in reversed(pairs)}
        gradients = compare_lists(
            [self.private["gradients"].get(identity) for identity in both],
            [self.public.gradients.get(keys.get(identity)) for identity in both],
            [exact["gradients"].get(identity) if exact else None for identity in both],
        )
        gradients["how"] = judge_gradients(gradients, self.private, self.public)
        after = [(k, i) for k, i in pairs if k in self.public.tensors]
        buffers = compare_lists(
            [self.private["after"][identity] for _, identity in after],
            [self.public.tensors[key].detach() for key, _ in after],
            [exact["after"].get(identity) if exact else None for _, identity in after],
        )
        found: EquivalenceAnswer = {
            "outcome": CallOutcome.OK,
            "outputs": results,
            "gradients": gradients,
            "buffers": buffers,
            "operators": compare_operators(self.private["counts"], self.public.counts),
        }
        if _has_differences(found):
            found["layer"] = self._find_first_layer()
        return found

    def _find_first_layer(self) -> Optional[str]:
        """The public path of the first layer whose results differ."""
        if not isinstance(self.model, torch.nn.Module):
            return None
        numbers = {entry: number for number, entry in self._number_modules().items()}
        calls: Dict[int, List[List[float]]] = {}
        for key, sums in self.private["layers"]:
            if key in numbers:
                calls.setdefault(numbers[key], []).append(sums)
        paths = {id(module): path for path, module in self.model.named_modules()}
        for key, sums in self.public.layers:
            path = paths.get(key)
            number = self.request["layers"].get(path) if path is not None else None
            if number is None or not calls.get(number):
                continue
            if not _are_close(calls[number].pop(0), sums):
                return str(path)
        return None

    def _number_modules(self) -> Dict[int, int]:
        return {int(entry["id"]): key for key, entry in self.registry.modules.items()}


def judge_gradients(
    compare: ListComparison, private: SavedRun, public: EquivalenceRun
) -> Closeness:
    """What may be said of gradients: "not compared" where the call goes back through its graph by
    itself and leaves none, and where all are zero, as those of any backward behind a dead ReLU.

    Args:
        compare: the comparison of the two runs' gradients; else its `how` is the answer.
        private: the run of the recorded call.
        public: the run of the rewritten program.

    Returns:
        "differ", whatever `compare` says, where only one run goes back through its graph by itself.
    """
    if private["freed"] != public.freed:
        return "differ"
    left = any(gradient is not None for gradient in public.gradients.values())
    if public.freed and not private["gradients"] and not left:
        return "not compared"
    gradients = [*private["gradients"].values(), *public.gradients.values()]
    if left and not any(_may_tell(gradient) for gradient in gradients):
        return "not compared"
    return compare["how"]


def _may_tell(gradient: Optional[torch.Tensor]) -> bool:
    if gradient is None:
        return False
    return gradient.layout != torch.strided or bool(gradient.any())


def compare_operators(private: Mapping[str, int], public: Mapping[str, int]) -> OperatorComparison:
    """What reached the dispatcher in two runs.

    Args:
        private: operator, as `str` gives its overload -> number of calls, of the recorded call.
        public: the same of the rewritten program.

    Returns:
        Operators of the user's own libraries stand together, without their names.
    """
    before, after = _hide_private_names(private), _hide_private_names(public)
    names = sorted(set(before) | set(after))
    changed = {
        name: [before.get(name, 0), after.get(name, 0)]
        for name in names
        if before.get(name, 0) != after.get(name, 0)
    }
    return {"same": not changed, "count": sum(before.values()), "changed": changed}


def _hide_private_names(counts: Mapping[str, int]) -> Dict[str, int]:
    """Counts by operator, those of the user's own libraries together and without their names."""
    found: Dict[str, int] = collections.Counter()
    for name, count in counts.items():
        found[name if name.split(".")[0] in NAMESPACES else "a custom operator"] += count
    return found


def _are_close(one: List[float], other: List[float]) -> bool:
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or a != a and b != b
        for a, b in zip(one, other)
    )


class _Counting(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Counts the operators that reach the dispatcher."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Dict[str, int] = collections.Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[str(func)] += 1
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def _watch_layers(seen: List[Tuple[Any, List[float]]]) -> Iterator[None]:
    """Notes two sums of what each module call returned."""
    original = torch.nn.Module.__call__

    def call_module(module: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(module, *args, **kwargs)
        seen.append((id(module), _sum_up(result)))
        return result

    torch.nn.Module.__call__ = call_module
    try:
        yield
    finally:
        torch.nn.Module.__call__ = original


def _sum_up(result: Any) -> List[float]:
    try:
        return _sum_up_leaves(result)
    except RuntimeError:  # inside a function transform
        return []


def _sum_up_leaves(result: Any) -> List[float]:
    with torch.no_grad(), torch.utils._python_dispatch._disable_current_modes():
        found = []
        for _, leaf in outputs.flatten(result):
            if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided:
                data = leaf.detach().double() if not leaf.is_complex() else leaf.detach().abs()
                found += [float(data.sum()), float(data.abs().sum())]
        return found
