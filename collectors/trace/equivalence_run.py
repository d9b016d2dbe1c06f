"""One run of a call or of a program that stands for it, in eager mode with its backward pass: what
a comparison of two such runs needs of each.

Both start from the same random numbers and get the same gradients of their outputs.
"""

from __future__ import annotations

import collections
import contextlib
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, TypedDict

import torch

from ..call import context, outputs, rungs
from ..call.reachable import find_reachable
from ..machine.dispatcher_mode import DispatcherMode
from ..machine.random_state import RandomState
from ..protocol.events import ContextState
from .torch_functions import has_dispatch, pause_watching

_SEED = 1


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
        cls, call: rungs.RecordedCall, rng: RandomState, state: Optional[ContextState] = None
    ) -> EquivalenceRun:
        """A recorded call, run in eager mode with its backward pass.

        Args:
            rng: what the generators are at where the run starts.
            state: the context in place of the call's own; None for that.

        Returns:
            A run whose keys are the ids of the tensors that the call can reach.
        """
        reachable = find_reachable(call.function, call.args, call.kwargs)
        run = cls({id(tensor): tensor for tensor in reachable.values()})
        run.perform(
            state or call.conditions.state,
            rng,
            lambda: call.function(*call.args, **call.kwargs),
        )
        return run

    def perform(self, state: ContextState, rng: RandomState, body: Any) -> None:
        """Runs `body` and its backward pass in eager mode; keeps the tensors that it returns, the
        gradients, and what was counted. Dynamo stays off in this process.

        The gradients of the results are random numbers of a fixed seed, drawn in float32 on the CPU
        and then in the dtype and on the device of each result; results that are not real numbers
        get none.

        Args:
            state: the context of `body`; the backward pass is run outside of it.
            rng: what the generators are at where the run starts.
            body: a function without arguments.

        Raises:
            Exception: whatever `body` or its backward pass raises.
        """
        rng.restore()
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
        dtypes: Dict[int, torch.dtype] = {}

        def strip(tensor: torch.Tensor) -> torch.Tensor:
            found = _strip_subclass(tensor)
            if type(found) is not torch.Tensor or found.layout != torch.strided:
                return found
            # torch saves no two tensors that take the same memory for different dtypes
            place = found.untyped_storage().data_ptr()
            return found if dtypes.setdefault(place, found.dtype) == found.dtype else found.clone()

        return {
            "results": [strip(leaf) for leaf in self.results],
            "gradients": {k: strip(g) for k, g in self.gradients.items() if g is not None},
            "freed": self.freed,
            "after": {key: strip(tensor) for key, tensor in self.tensors.items()},
            "counts": self.counts,
            "layers": self.layers,
        }


def _strip_subclass(tensor: torch.Tensor) -> torch.Tensor:
    """The values, whatever subclass of Tensor holds them: the other process does not know it."""
    with torch._C.DisableTorchFunction():
        found = tensor.detach()
        same = type(found) is torch.Tensor or has_dispatch(found)
        return found if same else found.as_subclass(torch.Tensor)


class _Counting(DispatcherMode):
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
