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
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch

from ..machine import torch_settings
from ..machine.processes import write_whole
from ..protocol import CallPhase, CompileOptions, ContextState, JsonObject, RunAnswer, Rung
from . import (
    bisection,
    circumstances,
    context,
    exporting,
    failure,
    kept_draws,
    outputs,
    probe,
    restoring,
    side_effects,
    undefined_writes,
)
from .compile_options import compile_unwatched, replace_backend

#: Elements of tensors that are copied of one call's arguments.
_MOST_COPIED = 1 << 20


@dataclass
class RecordedCall:
    """The recorded call: the callable, its compiled form, arguments, and how it was compiled.

    `options` are the arguments of torch.compile, `history` the earlier calls of the same callable
    as (args, kwargs), `state` what `context.capture` returned, `settings` the compiler settings
    that were changed, by full name.
    """

    function: Any
    compiled: Any
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]
    options: CompileOptions
    state: ContextState
    history: List[Tuple[Any, Any]] = field(default_factory=list)
    settings: JsonObject = field(default_factory=dict)
    #: Python seeds anew in every fork
    random: Any = field(default_factory=random.getstate)
    #: Of an exported program with state of its own: its calls so far as (args, kwargs), which
    #: brought it from the state of `function` to that which the call finds.
    earlier: List[Tuple[Any, Any]] = field(default_factory=list)

    @property
    def uses_inductor(self) -> bool:
        """Whether what compiles the call is Inductor, by torch.compile or by AOTInductor."""
        if self.options.get("compiler", "compile") not in ("compile", "aoti"):
            return False
        return bool(self.options.get("backend", "inductor") == "inductor")

    def adopt_settings(self) -> None:
        """Gives the calling thread the compiler settings of the thread that made the call."""
        for name, value in self.settings.items():
            with contextlib.suppress(Exception):
                torch_settings.set_settings({name: value})


def quiet_compile_workers() -> None:
    """In a forked child the parent's compile workers are unreachable: compile in this process."""
    with contextlib.suppress(Exception):
        import torch._inductor.config as inductor_config

        inductor_config.compile_threads = 1


def compile_with(call: RecordedCall, rung: Rung) -> Any:
    """The call's function compiled or exported afresh: with the rung's `backend`, `dynamic` or
    `mode`, else as the user did.
    """
    options = dict(call.options)
    if exporting.is_exported(options):
        if rung.get("backend") is None:
            torch._dynamo.reset()
            return exporting.export_afresh(call.function, call.options, rung)
        options = {}
    if rung.get("dynamic", "unset") != "unset":
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
    """Earlier calls of the same compiled callable, on other values of the same shapes: they decide
    what recompiles.
    """
    for args, kwargs in call.history:
        with contextlib.suppress(Exception):
            args, kwargs = materialise((args, kwargs))
            function(*args, **kwargs)


def copy_arguments(given: Any) -> Any:
    """A structure of arguments whose tensors are copies; None where these would be large."""
    elements = 0

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal elements
        elements += tensor.numel()
        if elements > _MOST_COPIED:
            return tensor
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)

    copies = _map(given, torch.Tensor, copy)
    return copies if elements <= _MOST_COPIED else None


class Placeholder:
    """Shape and dtype of a tensor argument of an earlier call."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.shape = tuple(tensor.shape)
        self.dtype = tensor.dtype
        self.device = tensor.device
        self.requires_grad = tensor.requires_grad and tensor.dtype.is_floating_point

    def tensor(self) -> torch.Tensor:
        """Zeros for integers, a ramp for floats."""
        if not self.dtype.is_floating_point:
            return torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        count = math.prod(self.shape)
        ramp = torch.linspace(0.1, 1.0, max(1, count))[:count]
        made = ramp.reshape(self.shape).to(device=self.device, dtype=self.dtype)
        # a copy: Dynamo guards on being a view, and then compiles once more for the call itself
        return made.clone().requires_grad_(self.requires_grad)


def forget(value: Any) -> Any:
    """A structure with each tensor replaced by its `Placeholder`, so that a history holds no
    data; a tensor that is there twice has one.
    """
    known: Dict[int, Placeholder] = {}
    return _map(value, torch.Tensor, lambda t: known.setdefault(id(t), Placeholder(t)))


def build_layout_key(value: Any) -> str:
    """Shapes and dtypes of a structure, which of its tensors are one and the same, and the values
    that are no tensors.
    """
    numbers: Dict[int, int] = {}

    def describe(tensor: torch.Tensor) -> Tuple[Any, ...]:
        number = numbers.setdefault(id(tensor), len(numbers))
        return number, tuple(tensor.shape), tensor.stride(), str(tensor.dtype)

    return repr(_map(value, torch.Tensor, describe))


def _map(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """A structure with each object of a kind replaced."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, dict):
        return {key: _map(item, kind, change) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_map(item, kind, change) for item in value)
    return value


def materialise(value: Any) -> Any:
    """The inverse of `forget`, with zeros for integers (always a valid index) and a ramp for
    floats.
    """
    known: Dict[int, torch.Tensor] = {}

    def tensor(placeholder: Placeholder) -> torch.Tensor:
        if id(placeholder) not in known:
            known[id(placeholder)] = placeholder.tensor()
        return known[id(placeholder)]

    return _map(value, Placeholder, tensor)


def to_double(tensors: Dict[str, torch.Tensor]) -> None:
    """Turns every reachable floating-point tensor into float64 in place, and every complex one into
    complex128, keeping views of one storage views of one.
    """
    groups: Dict[int, torch.Tensor] = {}
    old = []  # a freed storage's address would be given out again and taken for the same storage
    for tensor in tensors.values():
        wide = torch.complex128 if tensor.dtype.is_complex else torch.float64
        is_number = tensor.dtype.is_floating_point or tensor.dtype.is_complex
        if not is_number or tensor.dtype == wide or tensor.layout != torch.strided:
            continue
        size, stride, offset = tensor.size(), tensor.stride(), tensor.storage_offset()
        key = tensor.untyped_storage().data_ptr()
        if key not in groups:
            count = tensor.untyped_storage().nbytes() // tensor.element_size()
            flat = torch.as_strided(tensor.detach(), (count,), (1,), 0)
            old.append(flat)
            groups[key] = flat.to(wide)
        tensor.data = torch.as_strided(groups[key], size, stride, offset)


def perturb(tensors: Dict[str, torch.Tensor], signs: Callable[[int], torch.Tensor]) -> None:
    """Moves floating-point elements by about one unit in the last place.

    `signs` gives so many directions, 1 or -1, one for each element.
    """
    done = set()
    for tensor in tensors.values():
        if not tensor.dtype.is_floating_point or tensor.layout != torch.strided:
            continue
        key = tensor.untyped_storage().data_ptr()
        if key in done or not tensor.numel():
            continue
        done.add(key)
        eps = torch.finfo(tensor.dtype).eps
        with torch.no_grad():
            data = tensor.detach()
            turns = signs(data.numel()).reshape(data.shape)
            turns = turns.to(device=data.device, dtype=data.dtype)
            with contextlib.suppress(RuntimeError):
                data.copy_(data * (1 + turns * eps))


def make_alternating_signs(first: int) -> Callable[[int], torch.Tensor]:
    """Up and down (`first` 1) or down and up (-1)."""
    return lambda count: first * (1 - 2 * (torch.arange(count) % 2))


def make_random_signs(seed: int) -> Callable[[int], torch.Tensor]:
    """A direction of its own for each element; torch's own generators are left alone."""
    generator = torch.Generator().manual_seed(seed)
    return lambda count: 1 - 2 * torch.randint(0, 2, (count,), generator=generator)


@contextlib.contextmanager
def promote() -> Iterator[None]:
    """Low-precision dtypes named inside the program become float64 or complex128, and autocast
    regions do nothing.
    """
    from torch.overrides import TorchFunctionMode

    low = {torch.float16, torch.bfloat16, torch.float32}
    wide = {**dict.fromkeys(low, torch.float64), torch.complex64: torch.complex128}
    casts = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16}

    randoms = {torch.randn, torch.rand}

    def lift(value: Any) -> Any:
        return wide.get(value, value) if isinstance(value, torch.dtype) else value

    class Promote(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func in casts:
                return torch.Tensor.double(args[0])
            if func in randoms and (kwargs or {}).get("dtype") is None:
                # the same random stream as in float32, then widened
                return func(*args, **{**(kwargs or {}), "dtype": torch.float32}).double()
            kwargs = {key: lift(value) for key, value in (kwargs or {}).items()}
            return func(*[lift(value) for value in args], **kwargs)

    from torch.amp import autocast_mode

    saved = autocast_mode.autocast.__enter__, autocast_mode.autocast.__exit__
    autocast_mode.autocast.__enter__ = lambda self: self
    autocast_mode.autocast.__exit__ = lambda self, *details: None
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Promote():
            yield
    finally:
        torch.set_default_dtype(default)
        autocast_mode.autocast.__enter__, autocast_mode.autocast.__exit__ = saved


def execute(call: RecordedCall, rung: Rung) -> RunAnswer:
    """Runs one rung in this (forked) process and saves its snapshot.

    A setting that this release lacks makes the outcome `skipped`.
    """
    quiet_compile_workers()
    try:
        torch_settings.set_settings(rung.get("config") or {})
        counter = bisection.apply(rung)
    except (torch_settings.NoSuchSettingError, bisection.CannotBisectError) as error:
        return {"outcome": "skipped", "detail": str(error)[:200], "seconds": 0.0}
    answer = _perform(call, rung)
    if counter:
        answer["bisect"] = counter.answer()
    return answer


def _perform(call: RecordedCall, rung: Rung) -> RunAnswer:
    started = time.time()
    state = call.state
    if rung.get("fp64"):
        state = {**state, "autocast": {}}
    random.setstate(call.random)
    stage = _Stage()
    try:
        with context.apply_state(state):
            if rung["how"] == "probe":
                return {
                    "outcome": "ok",
                    "facts": probe.collect_facts(call, rung.get("snapshot")),
                    "seconds": time.time() - started,
                }
            reachable = context.find_reachable(call.function, call.args, call.kwargs)
            if rung.get("fp64"):
                to_double(reachable)
            if rung.get("perturb"):
                perturb(reachable, make_alternating_signs(rung["perturb"]))
            if rung.get("nudge"):
                perturb(reachable, make_random_signs(rung["nudge"]))
            with stage("forward"):
                function = _function(call, rung)
            parts = (call.options, call.function, call.args, call.kwargs)
            compared = find_watched_tensors(*parts)
            stamps = outputs.stamp_tensors(compared)
            noted = note_state(*parts)
            with _around(rung, call), stage("forward"):
                result = function(*call.args, **call.kwargs)
                if any(tensor.is_cuda for tensor in reachable.values()):
                    torch.cuda.synchronize()  # a kernel's failure belongs to this stage
        effects: outputs.SavedEffects = {
            "before": noted,
            "after": note_state(*parts),
        }
        # outside the call's contexts: a training script calls backward outside its autocast region
        with stage("backward"):
            gradients = _gradients(result, compared, rung.get("grads"))
        after = find_watched_tensors(*parts)
        snapshot = outputs.take(result, compared, stamps, gradients, after, effects)
        with write_whole(rung["snapshot"]) as part:
            torch.save(snapshot, part)
    except BaseException as error:
        seconds = time.time() - started
        if error is not stage.error:
            # the program ran; it is we who cannot look at what it returned
            return {"outcome": "error", "detail": str(error)[:200], "seconds": seconds}
        described = failure.describe(error)
        return {
            "outcome": "raises",
            "phase": stage.name,
            "failure": described,
            "seconds": seconds,
        }
    return {"outcome": "ok", "snapshot": rung["snapshot"], "seconds": time.time() - started}


def find_watched_tensors(
    options: CompileOptions, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> Dict[str, torch.Tensor]:
    """The tensors whose change is compared: all that a call can reach; of an exported program,
    which has a state of its own, its arguments.
    """
    if exporting.is_exported(options):
        return context.find_reachable(None, args, kwargs)
    return context.find_reachable(function, args, kwargs)


def note_state(
    options: CompileOptions, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> side_effects.State:
    """Python's state that is compared; torch.export keeps none of it."""
    if exporting.is_exported(options):
        return {}
    return side_effects.note(function, args, kwargs, options.get("backend"))


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


def _around(rung: Rung, call: RecordedCall) -> Any:
    """What an eager run happens in: everything in float64, fresh memory filled, what is undefined
    changed, without functions' caches, at another time and place, or nothing special.
    """
    if rung.get("fp64"):
        return promote()
    if rung.get("fill") or rung.get("recast"):
        return probe.FillMemoryMode() if rung.get("fill") else probe.RecastMode()
    if rung.get("reorder"):
        return undefined_writes.ReorderWritesMode()
    if rung.get("undeclared"):
        return undefined_writes.DropUndeclaredWritesMode()
    if rung.get("uncached"):
        return circumstances.uncache(call.function, call.args, call.kwargs)
    if rung.get("elsewhere"):
        return circumstances.change()
    return contextlib.nullcontext()


def _function(call: RecordedCall, rung: Rung) -> Any:
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
    if not call.earlier:
        return
    restore = restoring.keep_random()
    if rung.get("fp64"):
        to_double(context.find_reachable(None, tuple(call.earlier), {}))
    with _around(rung, call):
        for args, kwargs in call.earlier:
            function(*args, **kwargs)
    restore()


def _mark_changing(call: RecordedCall) -> None:
    """Marks as dynamic what has changed between earlier calls and this one, as automatic dynamic
    shapes would.
    """
    mark = getattr(torch._dynamo, "maybe_mark_dynamic", None) or getattr(
        torch._dynamo, "mark_dynamic", None
    )
    if mark is None:
        return
    for now, *earlier in zip(call.args, *(args for args, _ in call.history)):
        if isinstance(now, torch.Tensor):
            shapes = [tuple(then.shape) for then in earlier if isinstance(then, Placeholder)]
            for dim, size in enumerate(now.shape):
                if any(len(shape) == now.dim() and shape[dim] != size for shape in shapes):
                    mark(now, dim)


def _gradients(
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
