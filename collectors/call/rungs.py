"""One rung of the ladder: the recorded call, run once more in a forked child under a variation.

Because the child is a fork of the moment before the call, nothing needs to be pickled and nothing
of the variation (another backend, float64 everywhere, a last-bit change of the inputs) reaches the
user's process.
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from dataclasses import dataclass, field
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Optional, Tuple

import torch

from ..machine import torch_settings
from ..machine.compile_options import compile_unwatched, replace_backend
from ..machine.files import write_whole
from ..machine.random_state import RandomState
from ..protocol.calls import RunAnswer
from ..protocol.events import CompileOptions, ContextState
from ..protocol.variation import Rung
from ..protocol.words import CallOutcome, CallPhase, Surroundings
from . import (
    bisection,
    circumstances,
    context,
    exporting,
    failure,
    history,
    outputs,
    probe,
    restoring,
    undefined_writes,
)
from .python_state import walk
from .python_state.leaves import note_kept_gradients
from .reachable import find_reachable
from .variations import arrays, kept_draws, precision, summation


@dataclass
class CallConditions:
    """What a call was made under.

    `options` are the arguments of torch.compile, `state` is what `context.read_state` returned,
    `settings` are the compiler settings that were changed, by full name, and `random` is the state
    of Python's own generator, which seeds anew in every fork.
    """

    options: CompileOptions
    state: ContextState
    settings: Dict[str, object] = field(default_factory=dict)
    random: Any = field(default_factory=random.getstate)


@dataclass
class EarlierCalls:
    """The calls before one, each as (args, kwargs).

    `history` are those of the same callable, which decide what recompiles. `from_start`, of an
    exported program with state of its own: its calls so far, which brought it from the state of the
    original callable to that which the call finds.
    """

    history: List[Tuple[Any, Any]] = field(default_factory=list)
    from_start: List[Tuple[Any, Any]] = field(default_factory=list)


@dataclass
class RecordedCall:
    """The recorded call: the callable, its compiled form, arguments, and how it was made."""

    function: Any
    compiled: Any
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]
    conditions: CallConditions
    before: EarlierCalls = field(default_factory=EarlierCalls)

    @property
    def uses_inductor(self) -> bool:
        """Whether what compiles the call is Inductor, by torch.compile or by AOTInductor."""
        if self.conditions.options.get("compiler", "compile") not in ("compile", "aoti"):
            return False
        return bool(self.conditions.options.get("backend", "inductor") == "inductor")

    def adopt_settings(self) -> None:
        """Gives the calling thread the compiler settings of the thread that made the call."""
        for name, value in self.conditions.settings.items():
            with contextlib.suppress(torch_settings.NoSuchSettingError):
                torch_settings.set_settings({name: value})


def quiet_compile_workers() -> None:
    """In a forked child the parent's compile workers are unreachable: compile in this process."""
    with contextlib.suppress(Exception):  # a torch or a machine that cannot compile
        import torch._inductor.config as inductor_config

        inductor_config.compile_threads = 1


def compile_with(call: RecordedCall, rung: Rung) -> Any:
    """The call's function compiled or exported afresh: with the rung's `backend`, `dynamic` or
    `mode`, else as the user did.

    What Dynamo has compiled in this process before is dropped.

    Returns:
        A callable that compiles, or exports, at its first call.
    """
    options = dict(call.conditions.options)
    if exporting.is_exported(options):
        if rung.get("backend") is None:
            torch._dynamo.reset()
            return exporting.export_afresh(call.function, call.conditions.options, rung)
        options = {}
    if "dynamic" in rung:
        options["dynamic"] = rung["dynamic"]
    if "fullgraph" in rung:
        options["fullgraph"] = rung["fullgraph"]
    if rung.get("mode") is not None:
        options["mode"] = rung["mode"]
        options.pop("options", None)
    if rung.get("backend") is not None:
        replace_backend(options, rung["backend"])
    if rung.get("keep_draws"):
        kept = kept_draws.keep_unused_results(options.get("backend", "inductor"))
        replace_backend(options, kept)
    if isinstance(options.get("options"), dict):  # they would win over the configuration
        prefix = "torch._inductor.config."
        varied = {name[len(prefix) :] for name in rung.get("config") or {} if prefix in name}
        unvaried = {
            key: value
            for key, value in options["options"].items()
            if key.replace("-", "_") not in varied
        }
        options["options"] = unvaried or None
    torch._dynamo.reset()
    return compile_unwatched(call.function, options)


def replay_history(call: RecordedCall, function: Any) -> None:
    """Makes the earlier calls of the same compiled callable, on other values of the same shapes:
    they decide what recompiles. What they raise is dropped.

    Args:
        function: what is called: the one of a rung, compiled or not.
    """
    for args, kwargs in call.before.history:
        with contextlib.suppress(Exception):  # the program's code; the last call counts
            args, kwargs = history.materialize((args, kwargs))
            function(*args, **kwargs)


def execute(call: RecordedCall, rung: Rung) -> RunAnswer:
    """Runs one rung in this (forked) process and saves its snapshot.

    A setting that this release lacks makes the outcome `skipped`.
    """
    quiet_compile_workers()
    try:
        torch_settings.set_settings(rung.get("config") or {})
        counter = bisection.apply(rung)
    except (torch_settings.NoSuchSettingError, bisection.CannotBisectError) as error:
        return {"outcome": CallOutcome.SKIPPED, "detail": str(error)[:200], "seconds": 0.0}
    answer = _perform(call, rung)
    if counter:
        answer["bisect"] = counter.build_answer()
    return answer


def _perform(call: RecordedCall, rung: Rung) -> RunAnswer:
    started = time.time()
    state = call.conditions.state
    if rung.get("surroundings") == "float64":
        state = {**state, "autocast": {}}
    random.setstate(call.conditions.random)
    stage = _Stage()
    try:
        with context.apply_state(state):
            if rung["how"] == "probe":
                return {
                    "outcome": CallOutcome.OK,
                    "facts": probe.collect_facts(call, rung.get("snapshot")),
                    "seconds": time.time() - started,
                }
            reachable = _vary_inputs(call, rung)
            with stage("forward"):
                function = _prepare_function(call, rung)
            parts = (call.conditions.options, call.function, call.args, call.kwargs)
            compared = find_watched_tensors(*parts)
            stamps = outputs.stamp_tensors(compared)
            noted = note_state(*parts)
            with _enter_surroundings(rung, call), stage("forward"):
                result = function(*call.args, **call.kwargs)
                if any(tensor.is_cuda for tensor in reachable.values()):
                    torch.cuda.synchronize()  # a kernel's failure belongs to this stage
        effects: outputs.SavedEffects = {
            "before": noted,
            "after": note_state(*parts),
        }
        # outside the call's contexts: a training script calls backward outside its autocast region
        with stage("backward"):
            gradients = _run_backward(call, rung, result, compared)
        after = find_watched_tensors(*parts)
        snapshot = outputs.take(result, compared, stamps, gradients, after, effects)
        with write_whole(rung["snapshot"]) as part:
            torch.save(snapshot, part)
    except BaseException as error:  # a call is the program's code, and may end by SystemExit
        return _describe_error(error, stage, time.time() - started)
    answer: RunAnswer = {
        "outcome": CallOutcome.OK,
        "snapshot": rung["snapshot"],
        "seconds": time.time() - started,
    }
    if rung.get("timed"):
        with context.apply_state(state):
            answer["relative_time"] = _compare_times(call, function, rung["timed"])
    return answer


def _vary_inputs(call: RecordedCall, rung: Rung) -> Dict[str, torch.Tensor]:
    """Everything that the call can reach, in float64 or with its last bits changed where the rung
    says so.
    """
    reachable = find_reachable(call.function, call.args, call.kwargs)
    given = (call.args, call.kwargs)
    if rung.get("surroundings") == "float64":
        call.args, call.kwargs = arrays.replace_arrays(given, arrays.widen)
        tangents = {label: outputs.find_tangent(value) for label, value in reachable.items()}
        precision.convert_to_double(reachable)
        precision.convert_to_double(
            {label: value for label, value in tangents.items() if value is not None}
        )
    moved = {**reachable, **arrays.view_arrays(given)}
    if rung.get("perturb"):
        precision.perturb(moved, precision.make_alternating_signs(rung["perturb"]))
    if rung.get("nudge"):
        precision.perturb(moved, precision.make_random_signs(rung["nudge"]))
    return reachable


def _run_backward(
    call: RecordedCall, rung: Rung, result: Any, compared: Dict[str, torch.Tensor]
) -> Dict[str, Optional[torch.Tensor]]:
    """The gradients of what is compared, and of an exported module's own parameters."""
    if rung.get("each_backward"):
        _require_a_gradient(result, compared)
    targets = {**find_parameters(call.conditions.options, call.function), **compared}
    return _compute_gradients(result, targets, rung.get("grads"))


def _describe_error(error: BaseException, stage: _Stage, seconds: float) -> RunAnswer:
    """The answer about a run that an exception ended: the program's own, raised in a `stage`, or
    one of ours.
    """
    if error is not stage.error:
        # the program ran; it is we who cannot look at what it returned
        return {"outcome": CallOutcome.ERROR, "detail": str(error)[:200], "seconds": seconds}
    return {
        "outcome": CallOutcome.RAISES,
        "phase": stage.name,
        "failure": failure.describe(error),
        "seconds": seconds,
    }


def _compare_times(call: RecordedCall, function: Any, most: int) -> Optional[float]:
    """How many times as long as the call in eager mode a further call takes, the fastest of each.

    They take turns, since other work on the machine would count for one of them alone; none begins
    after a second.
    """
    fastest = {True: math.inf, False: math.inf}
    started = time.perf_counter()
    for at in range(2 * most):
        begun = time.perf_counter()
        if begun - started > 1.0:
            break
        is_eager = at % 2 == 1
        try:
            (call.function if is_eager else function)(*call.args, **call.kwargs)
            if torch.cuda.is_initialized():
                torch.cuda.synchronize()
        except Exception:  # the program's own code, which need not bear a further call
            return None
        fastest[is_eager] = min(fastest[is_eager], time.perf_counter() - begun)
    return fastest[False] / fastest[True] if fastest[True] < math.inf else None


def find_watched_tensors(
    options: CompileOptions, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> Dict[str, torch.Tensor]:
    """The tensors whose change is compared: all that a call can reach; of an exported program,
    which has a state of its own, its arguments.

    Args:
        options: tell whether the program is an exported one.
        function: what is called, not compiled.

    Returns:
        Label -> the tensor itself, as `reachable.find_reachable` has them.
    """
    if exporting.is_exported(options):
        return find_reachable(None, args, kwargs)
    return find_reachable(function, args, kwargs)


def find_parameters(options: CompileOptions, function: Any) -> Dict[str, torch.Tensor]:
    """The parameters of an exported module that only gradients are compared of: those that its
    program has, too.

    Args:
        options: those of the export; `shares_parameters` says whether the program has them.
        function: the module.

    Returns:
        Label of `find_reachable` -> the parameter itself; empty where the program has copies.
    """
    if not options.get("shares_parameters"):
        return {}
    return {"self." + name: value for name, value in function.named_parameters()}


def note_state(
    options: CompileOptions, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> walk.PythonState:
    """Python's state that is compared, and which tensors keep their gradients; torch.export keeps
    none of it.

    Args:
        options: tell whether the program is an exported one, and have its `backend`.
        function: what is called, not compiled.

    Returns:
        As `python_state.walk.note` has it; empty for an exported program.
    """
    if exporting.is_exported(options):
        return {}
    state = walk.note(function, args, kwargs, options.get("backend"))
    tensors = find_reachable(function, args, kwargs)
    return {**state, "gradients": note_kept_gradients(tensors)}


class _Stage:
    """Tells the program's own exceptions from those of the code around it."""

    def __init__(self) -> None:
        self.name: CallPhase = ""
        self.error: Optional[BaseException] = None

    @contextlib.contextmanager
    def __call__(self, name: CallPhase) -> Iterator[None]:
        self.name = name
        try:
            yield
        except BaseException as error:
            self.error = error
            raise


_SURROUNDINGS: Dict[Surroundings, Callable[[RecordedCall], ContextManager[object]]] = {
    "float64": lambda call: precision.promote(),
    "memory filled": lambda call: probe.FillMemoryMode(),
    "casts changed": lambda call: probe.RecastMode(),
    "writes reordered": lambda call: undefined_writes.ReorderWritesMode(),
    "sums in sequence": lambda call: summation.SequentialSumsMode(),
    "undeclared writes dropped": lambda call: undefined_writes.DropUndeclaredWritesMode(),
    "functions uncached": lambda call: circumstances.uncache(call.function, call.args, call.kwargs),
    "circumstances changed": lambda call: circumstances.change(),
}


def _enter_surroundings(rung: Rung, call: RecordedCall) -> ContextManager[object]:
    name = rung.get("surroundings")
    return _SURROUNDINGS[name](call) if name is not None else contextlib.nullcontext()


def _prepare_function(call: RecordedCall, rung: Rung) -> Any:
    if rung["how"] == "eager":
        _bring_to_state(call, rung, call.function)
        return call.function
    if rung["how"] == "reused":
        return call.compiled
    function = compile_with(call, rung)
    _bring_to_state(call, rung, function)
    if rung.get("mark_dynamic"):
        _mark_changing(call)
    if rung.get("replay"):
        with restoring.keep_state(call):
            replay_history(call, function)
    return function


def _bring_to_state(call: RecordedCall, rung: Rung, function: Any) -> None:
    """Makes the earlier calls of a program with state of its own; random numbers stay what the call
    draws.
    """
    if not call.before.from_start:
        return
    drawn = RandomState.read()
    if rung.get("surroundings") == "float64":
        precision.convert_to_double(find_reachable(None, tuple(call.before.from_start), {}))
    with _enter_surroundings(rung, call):
        for args, kwargs in call.before.from_start:
            function(*args, **kwargs)
    drawn.restore()


def _mark_changing(call: RecordedCall) -> None:
    """Marks as dynamic what has changed between earlier calls and this one, as automatic dynamic
    shapes would.
    """
    mark = getattr(torch._dynamo, "maybe_mark_dynamic", None) or getattr(
        torch._dynamo, "mark_dynamic", None
    )
    if mark is None:
        return
    for now, *earlier in zip(call.args, *(args for args, _ in call.before.history)):
        if isinstance(now, torch.Tensor):
            shapes = [
                tuple(then.shape) for then in earlier if isinstance(then, history.Placeholder)
            ]
            for dim, size in enumerate(now.shape):
                if any(len(shape) == now.dim() and shape[dim] != size for shape in shapes):
                    mark(now, dim)


def _require_a_gradient(result: Any, watched: Dict[str, torch.Tensor]) -> None:
    """A backward pass from each output by itself; what the last one raises is raised where none of
    them ends well.
    """
    targets = [tensor for tensor in watched.values() if tensor.requires_grad]
    leaves = [leaf for _, leaf in outputs.flatten(result) if isinstance(leaf, torch.Tensor)]
    raised: Optional[Exception] = None
    for leaf in leaves:
        if not leaf.requires_grad or not targets:
            continue
        try:
            with torch.enable_grad():
                flow = torch.ones_like(leaf)
                torch.autograd.grad(leaf, targets, flow, retain_graph=True, allow_unused=True)
            return
        except Exception as error:  # autograd runs functions of the program's own
            raised = error
    if raised is not None:
        raise raised


def _compute_gradients(
    result: Any, watched: Dict[str, torch.Tensor], source: Optional[str]
) -> Dict[str, Optional[torch.Tensor]]:
    """Gradients of the outputs with respect to every watched tensor, given what flowed into the
    outputs.
    """
    if source is None:
        return {}
    given = torch.load(source)
    leaves = [leaf for _, leaf in outputs.flatten(result)]
    chosen, flows = [], []
    for index, flow in given.items():
        if (
            index < len(leaves)
            and isinstance(leaves[index], torch.Tensor)
            and leaves[index].requires_grad
        ):
            chosen.append(leaves[index])
            flows.append(flow.to(leaves[index].device, leaves[index].dtype))
    targets = {label: tensor for label, tensor in watched.items() if tensor.requires_grad}
    if not chosen or not targets:
        return {}
    with torch.enable_grad():
        found = torch.autograd.grad(chosen, list(targets.values()), flows, allow_unused=True)
    return dict(zip(targets, found))
