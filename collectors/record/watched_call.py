"""One watched call: the state that it is made in, a copy of the moment before it, and what it left
behind.

This is all that the recorder does with torch, so this module is loaded at the first watched call
and not before: what a program sets before its `import torch` has to count.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from ..call import exporting, history, outputs, process_groups, rungs
from ..call.context import read_state
from ..call.forks import fork_apart
from ..call.python_state.walk import PythonState
from ..call.reachable import list_training_flags
from ..machine import configs
from ..machine.modes import leave_modes
from ..protocol.events import ContextState, OwnFrame
from ..protocol.starting import RecorderSpec
from ..protocol.words import UnsupportedReason
from ..source import provenance
from . import call_state
from .fork_server import ForkServer
from .watched_callable import CallShapes, CompiledCall, build_signature, note_buffers

_MAX_HISTORY = 8
#: Bytes of a device that a process takes for itself: its CUDA context and loaded kernels.
_CONTEXT = 1 << 30
_MOST_ROOM = 64


class OutputGradients:
    """Gradients that flow into the outputs of call `number`, by number of the output, summed up on
    the CPU.

    They are `lost` where one of them belongs to a transform of torch.func, such as `vmap` around
    the backward pass: no copy of the process has its levels. So they are where one cannot be
    copied, as where memory is short.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.flows: Dict[int, torch.Tensor] = {}
        self.lost = False

    def note(self, number: int, index: int) -> Callable[[Tuple[Any, ...]], None]:
        """The hook for output `number` of the call, which is output `index` of an operator: it is
        given what flows into all of those.
        """

        def add_flow(flows: Tuple[Any, ...]) -> None:
            flow = flows[index]
            if flow is None:  # an output that the loss does not depend on, beside one that it does
                return
            if self.lost or _is_transforming():
                self.lost = True
                return
            try:
                with leave_modes():
                    copy = flow.detach().clone().cpu()
                    self.flows[number] = self.flows[number] + copy if number in self.flows else copy
            except Exception:  # the script must not fail by being watched
                self.lost = True

        return add_flow

    def save(self, path: str) -> None:
        """Writes what has come so far."""
        with leave_modes():
            torch.save(self.flows, path)


class WatchedCall:
    """Call `number` of the program, which is about to be made.

    `shapes` tells calls apart that need no second look; `checked` is true from `stamp` on: what the
    call returns is going to be compared. Its methods belong into `leave_modes`.
    """

    leave_modes = staticmethod(leave_modes)

    def __init__(self, call: CompiledCall, number: int, state: ContextState) -> None:
        """`state` is that of the thread."""
        self.call = call
        self.number = number
        self.state = state
        # a package and a model of ONNX return no gradients
        if call.watched.options.get("compiler") in ("aoti", "onnx"):
            self.state["grad"] = False
        modes = list_training_flags(call.watched.function)
        values, kinds = (
            repr((build_signature((call.args, call.kwargs), has_values), self.state, modes))
            for has_values in (True, False)
        )
        self.shapes = CallShapes(values, kinds)
        self.checked = False
        self._before: Dict[str, torch.Tensor] = {}
        self._stamps: Dict[str, outputs.Stamp] = {}
        self._noted: PythonState = {}

    def find_obstacle(self, is_forked: bool, is_child: bool) -> Optional[UnsupportedReason]:
        """Why the call cannot be repeated, if that is so: a fork cannot use a device that its
        parent has initialized, and only a program that was started for it can do without the other
        ranks.
        """
        if (process_groups.read_world_size() or 1) > 1 and not is_child:
            return "ranks"
        return "CUDA" if is_forked and _is_cuda_in_use() else None

    def is_transformed(self) -> bool:
        """Whether a transform of torch.func is at work around the call: its levels end with it, so
        that no copy of the process can make the call again.
        """
        return _is_transforming()

    def list_frames(self) -> List[OwnFrame]:
        """The functions of the program that led to the call, outermost first."""
        return provenance.list_own_frames()

    def record(self) -> rungs.RecordedCall:
        """All that it takes to make the call again in a copy of this process."""
        watched, compiled, args, kwargs = self.call
        if watched.is_export:  # what is made has to be called to be compared
            compiled = exporting.export_afresh(watched.function, watched.options, {"how": "reused"})
        return rungs.RecordedCall(
            function=watched.function,
            compiled=compiled,
            args=args,
            kwargs=kwargs,
            conditions=rungs.CallConditions(
                watched.options, self.state, configs.find_changed_settings()
            ),
            before=rungs.EarlierCalls(
                self._choose_history(),
                list(watched.earlier or ()) if watched.start is not None else [],
            ),
        )

    def can_start(self) -> bool:
        """Whether the original callable is where the program started from, and the calls since then
        are known; always for a program that keeps no state.
        """
        watched = self.call.watched
        if watched.start is None:
            return True
        return watched.earlier is not None and note_buffers(watched.function) == watched.start

    def note_earlier(self) -> None:
        """Copies the arguments, which the call may change, for the calls that come after it."""
        watched, _, args, kwargs = self.call
        if watched.start is None or watched.earlier is None:
            return
        copies = history.copy_arguments((args, kwargs))
        if copies is None or len(watched.earlier) >= _MAX_HISTORY:
            watched.earlier = None
        else:
            watched.earlier.append(copies)

    def _choose_history(self) -> List[Tuple[Any, Any]]:
        """The calls that decide what the callable is: for an exported program the one that it was
        exported for, if that was another.
        """
        watched, _, args, kwargs = self.call
        if not exporting.is_exported(watched.options):
            return list(watched.history)
        example = watched.example
        if example is None or history.build_layout_key(example) == history.build_layout_key(
            (args, kwargs)
        ):
            return []
        return [history.forget(example)]

    def fork(self, recorded: rungs.RecordedCall, spec: RecorderSpec) -> None:
        """Forks a fork server that waits to repeat the call."""
        server = ForkServer(
            recorded, self.number, spec["socket"], spec["folder"], spec.get("cache", "")
        )
        fork_apart(server.serve)

    def count_room(self) -> Optional[int]:
        """How many more of the program have room on the CUDA device that is fullest, one of them
        in float64; None if it uses none.
        """
        if not _is_cuda_in_use():
            return None
        return min(_measure_room(device) for device in range(torch.cuda.device_count()))

    def keep(self, recorded: rungs.RecordedCall, path: str) -> None:
        """Writes what the call can reach to `path`, for a program that is run again."""
        call_state.keep(recorded, path)

    def stamp(self) -> None:
        """Notes what the call can change, as it is before."""
        self._before = self._find_reachable()
        self._stamps = outputs.stamp_tensors(self._before)
        self._noted = self._note()
        self.checked = True

    def synchronize(self) -> None:
        """Waits for what the call has begun on a CUDA device, so that a kernel's failure is this
        call's and not a later one's.
        """
        if _is_cuda_in_use():
            torch.cuda.synchronize()

    def remember(self) -> None:
        """Adds the call to the history of its callable, for later replays, if its shapes are
        new.
        """
        watched, _, args, kwargs = self.call
        if watched.is_new(self.shapes):
            watched.remember(self.shapes)
            made = (history.forget(args), history.forget(kwargs))
            watched.history = (watched.history + [made])[-_MAX_HISTORY:]

    def save(self, result: Any, path: str) -> None:
        """Writes what the call returned and changed.

        Raises what torch does about outputs that cannot be saved (full disk, exotic tensors); they
        are not checked.
        """
        after = self._find_reachable()
        effects: outputs.SavedEffects = {"before": self._noted, "after": self._note()}
        torch.save(outputs.take(result, self._before, self._stamps, None, after, effects), path)

    def _note(self) -> PythonState:
        return rungs.note_state(self.call.watched.options, *self._list_parts())

    def _find_reachable(self) -> Dict[str, torch.Tensor]:
        return rungs.find_watched_tensors(self.call.watched.options, *self._list_parts())

    def _list_parts(self) -> Tuple[Any, Tuple[Any, ...], Dict[str, Any]]:
        return self.call.watched.function, self.call.args, self.call.kwargs

    def list_differentiable(self, result: Any) -> List[Tuple[int, torch.Tensor]]:
        """(number, tensor) of each output that gradients can flow into; of an exported program
        only where its arguments take some, or parameters that the module has, too.
        """
        options = self.call.watched.options
        if exporting.is_exported(options):
            parameters = rungs.find_parameters(options, self.call.watched.function)
            targets = {**parameters, **self._find_reachable()}
            if not any(x.requires_grad for x in targets.values()):
                return []
        return [
            (index, leaf)
            for index, (_, leaf) in enumerate(outputs.flatten(result))
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad and not leaf.is_leaf
        ]

    def collect_gradients(self, leaves: List[Tuple[int, torch.Tensor]]) -> OutputGradients:
        """Collects what flows into these outputs (see `list_differentiable`) from now on."""
        gradients = OutputGradients(self.number)
        for index, leaf in leaves:
            # a hook of the tensor itself would be seen by the program, as where it saves it
            leaf.grad_fn.register_prehook(gradients.note(index, leaf.output_nr))
        return gradients


def begin(call: CompiledCall, number: int, prepare: Callable[[WatchedCall], None]) -> WatchedCall:
    """Looks at a call that is about to be made, and has it prepared where no mode sees it."""
    state = read_state()  # the default device is a mode
    with leave_modes():
        watched_call = WatchedCall(call, number, state)
        prepare(watched_call)
    return watched_call


def _measure_room(device: int) -> int:
    """How often what this process holds of a CUDA device, doubled for float64, is still free."""
    held = torch.cuda.memory_reserved(device)
    if not held:
        return _MOST_ROOM
    return min(_MOST_ROOM, int(torch.cuda.mem_get_info(device)[0] // (2 * held + _CONTEXT)))


def _is_cuda_in_use() -> bool:
    return bool(torch.cuda.is_available() and torch.cuda.is_initialized())


def _is_transforming() -> bool:
    level = getattr(getattr(torch._C, "_functorch", None), "maybe_current_level", None)
    return level is not None and level() is not None
