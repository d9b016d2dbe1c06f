"""Prefixes of the recorded call's Dynamo graph, in eager, compiled and in float64: where the two
first part.

A prefix is cut, and handed to the call's own compiler, at the moment Dynamo hands over the graph,
so shapes, guards and settings are those of the call; it is measured at the moment the call would
run that graph, on the very tensors it would get. The user's function goes no further, and nothing
of its code is edited.
"""

from __future__ import annotations

import contextlib
import copy
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple, cast

import torch

from ..call import context, outputs, rungs, tolerance
from ..call.variations import precision
from ..machine import torch_settings
from ..machine.compile_options import compile_unwatched, replace_backend, select_for_graphs
from ..machine.files import append_lines
from ..machine.public_names import collect_public_names
from ..machine.random_state import RandomState
from ..machine.tensors import read_version_counter
from ..protocol.comparison import TensorJudgment
from ..protocol.events import ContextState
from ..protocol.graphs import DivergenceAnswer, DivergenceRequest, NumberedGraph, PrefixLine
from ..protocol.words import CallOutcome
from .prefix import cut_at, describe, note_values

_COARSE = (torch.float16, torch.bfloat16)


def measure_divergence(call: rungs.RecordedCall, request: DivergenceRequest) -> DivergenceAnswer:
    """The graphs that the call runs; or measures `positions` of one of them, with two lines each in
    the file `results`.

    Raises:
        NoSuchSettingError: `config` names what this torch does not have.
    """
    rungs.quiet_compile_workers()
    torch_settings.set_settings(request.get("config") or {})
    if request["ask"] == "nodes":
        return _list_nodes(call, request)
    with append_lines(request["results"]) as tell:
        state = RandomState.read(call.conditions.random)
        for position in request["positions"]:
            tell({"position": position, "begun": True})
            state.restore()
            line: PrefixLine = {"position": position}
            try:
                line.update(_measure(call, request, position))
            except Exception as error:  # says nothing of the other prefixes
                line.update({"error": type(error).__name__, "detail": str(error)[-300:]})
            tell(line)
    return {"outcome": CallOutcome.OK}


# -- following the call to one of its graphs -------------------------------------------------------


class PositionReachedError(BaseException):
    """The call has come to the graph in question.

    Not an Exception, so that the user's code lets it through.
    """

    def __init__(self, inputs: Tuple[Any, ...]) -> None:
        self.inputs = inputs
        self.state = context.read_state()


Runnable = Callable[..., Any]


class PrefixCut:
    """The graph `index` of a run up to `position`, in eager and compiled, or `error`: why it cannot
    be compiled.
    """

    def __init__(self, index: int, position: Optional[int]) -> None:
        self.index = index
        self.position = position
        self.eager: Any = None
        self.compiled: Any = None
        self.error: Optional[Exception] = None

    def receive(
        self, compile_graph: Runnable, index: int, module: Any, example_inputs: Any
    ) -> Optional[Runnable]:
        """Cuts the graph in question when Dynamo compiles it.

        Args:
            compile_graph: a backend: called with a graph and the list of its inputs, it returns
                what runs. What it raises is kept in `error`.
            index: number of the graph in the run, from 0.
            module: the graph as Dynamo hands it to a backend, a `torch.fx.GraphModule`.
            example_inputs: fake tensors and sizes, one for each placeholder.

        Returns:
            What runs in place of the graph and raises PositionReachedError with its real inputs;
            None for any other graph.

        Raises:
            IndexError: the graph has no call at the position.
        """
        if index != self.index:
            return None
        self.eager = cut_at(module, self.position)
        try:
            self.compiled = compile_graph(cut_at(module, self.position), list(example_inputs))
        except Exception as error:  # a compiler may refuse a prefix with anything
            self.error = error

        def reach(*inputs: Any) -> Any:
            """Ends the call where the graph would run.

            Raises:
                PositionReachedError: always, with the inputs of the graph.
            """
            raise PositionReachedError(inputs)

        return reach


def _follow(
    call: rungs.RecordedCall,
    request: DivergenceRequest,
    received: Callable[[int, Any, Any], Optional[Runnable]],
) -> None:
    """Runs the call. `received(index, graph, inputs)` sees each graph when Dynamo compiles it.

    What it returns runs instead of the graph when the recorded call itself (not one replayed before
    it) gets there.
    """
    now = {"recorded": False, "graphs": 0}

    def backend(module: Any, example_inputs: Any) -> Any:
        index = now["graphs"]
        now["graphs"] += 1
        note_values(module, example_inputs)
        instead = received(index, module, example_inputs)

        def run(*inputs: Any) -> Any:
            chosen = instead if instead is not None and now["recorded"] else module.forward
            return chosen(*inputs)

        return run

    with context.apply_state(call.conditions.state):
        torch._dynamo.reset()
        options = {**select_for_graphs(call.conditions.options), "backend": backend}
        function = compile_unwatched(call.function, options)
        if request.get("replay"):
            state = RandomState.read()
            rungs.replay_history(call, function)
            state.restore()
        now["recorded"] = True
        function(*call.args, **call.kwargs)


def _list_nodes(call: rungs.RecordedCall, request: DivergenceRequest) -> DivergenceAnswer:
    names = collect_public_names()
    described: Dict[int, NumberedGraph] = {}
    ran: List[int] = []

    def receive(index: int, module: Any, example_inputs: Any) -> Runnable:
        described[index] = {"graph": index, **describe(module, names)}

        def run(*inputs: Any) -> Any:
            if index not in ran:
                ran.append(index)
            return module.forward(*inputs)

        return run

    error = None
    try:
        _follow(call, request, receive)
    except Exception as raised:  # an invalid program still has a graph
        error = type(raised).__name__
    return {
        "outcome": CallOutcome.OK,
        "graphs": [described[index] for index in ran],
        "error": error,
    }


def _find_compiler(call: rungs.RecordedCall, backend: Optional[str]) -> Any:
    options = dict(call.conditions.options)
    if backend is not None:
        replace_backend(options, backend)
    return resolve_compiler(call.function, options)


def resolve_compiler(function: Any, options: Dict[str, Any]) -> Any:
    """The backend that torch.compile makes of a name, a mode and options: taken from torch.compile
    itself.

    Args:
        function: what is compiled; it is not called.
        options: the keyword arguments of torch.compile.

    Returns:
        What is called with a graph and its inputs, and returns what runs.

    Raises:
        Exception: whatever torch.compile raises about its arguments.
    """
    kept: List[Any] = []

    def optimize(*args: Any, **kwargs: Any) -> Any:
        kept.append(args[0] if args else kwargs["backend"])
        return lambda function: function

    genuine = torch._dynamo.optimize
    torch._dynamo.optimize = optimize
    try:
        compile_unwatched(function, options)
    finally:
        torch._dynamo.optimize = genuine
    if isinstance(kept[0], str):
        from torch._dynamo.backends.registry import lookup_backend

        return lookup_backend(kept[0])
    return kept[0]


# -- measuring one prefix --------------------------------------------------------------------------


def _measure(
    call: rungs.RecordedCall, request: DivergenceRequest, position: Optional[int]
) -> PrefixLine:
    """How eager and compiled compare on one prefix; from position `coarse_from` on, half-precision
    noise is expected.
    """
    cut = PrefixCut(request["graph"], position)
    compile_graph = _find_compiler(call, request.get("backend"))
    try:
        _follow(call, request, partial(cut.receive, compile_graph))
    except PositionReachedError as reached:
        if cut.error is not None:
            raise cut.error from None
        prefix = PrefixRun(reached, cut.eager, bool(request.get("grads")))
        since = request.get("coarse_from")
        coarse = since is not None and (position is None or position >= since)
        return cast(PrefixLine, prefix.compare(cut.compiled, coarse))
    return {"error": "not reached"}


class PrefixRun:
    """One prefix and the tensors it is run on, put back after each run."""

    def __init__(self, reached: PositionReachedError, plain: Any, grads: bool) -> None:
        self.inputs = reached.inputs
        self.state = reached.state
        self.plain = plain
        self.grads = grads
        self.random = RandomState.read()
        self.tensors = _drop_repeats([*reached.inputs, *_list_own_tensors(plain)])
        self.required = [tensor.requires_grad for tensor in self.tensors]
        self.contents: Dict[int, Any] = {}
        for tensor in self.tensors:
            if tensor.layout == torch.strided:
                storage = tensor.untyped_storage()
                self.contents.setdefault(storage.data_ptr(), (storage, storage.clone()))
        self.changed: Optional[List[int]] = None
        self.flows: Optional[List[torch.Tensor]] = None

    def compare(self, compiled: Any, coarse: bool) -> TensorJudgment:
        """The worst difference of eager and compiled, with float64 as the judge where they differ
        at all.

        Args:
            compiled: the prefix as a compiler made it, run on the same inputs as `plain`.
            coarse: half-precision noise is expected, though no input is in half precision.

        Returns:
            Of the tensor that is furthest off: one that the rule minds before one that it does not.

        Raises:
            Exception: whatever one of the two runs raises.
        """
        eager = self.perform(self.plain)
        has_drawn = bool(self.random.find_moved())
        actual = self.perform(compiled)
        computed_in = torch.bfloat16 if coarse or self._is_coarse() else None
        found = _find_worst(eager, actual, None, computed_in)
        if found["equal"]:
            return found
        try:
            exact = self.perform_exactly()
        except Exception:  # not every program has a float64 form
            return found
        judged = _find_worst(eager, actual, exact, computed_in)
        # a float64 run that drew other random numbers is no judge
        off = judged.get("eager_error_vs_fp64") or 0.0
        return found if has_drawn and off > 0.05 * (judged.get("scale") or 0.0) else judged

    def _is_coarse(self) -> bool:
        autocast = any(on and "float16" in dtype for on, dtype in self.state["autocast"].values())
        return autocast or any(tensor.dtype in _COARSE for tensor in self.tensors)

    def perform(self, function: Runnable) -> List[Optional[torch.Tensor]]:
        """The prefix's tensors and the inputs it changed, or else the gradients of everything that
        requires one.
        """
        return self._perform(function, self.inputs, self.tensors, self.state)

    def _perform(
        self, function: Runnable, inputs: Tuple[Any, ...], tensors: List[Any], state: ContextState
    ) -> List[Optional[torch.Tensor]]:
        self.random.restore()
        before = [read_version_counter(tensor) for tensor in tensors]
        try:
            with context.apply_state(state):
                made = function(*inputs)
            leaves = [leaf for _, leaf in outputs.flatten(made) if isinstance(leaf, torch.Tensor)]
            if self.grads:  # outside the call's autocast, as training scripts go backward
                return self._compute_gradients(leaves, tensors)
            if self.changed is None:
                self.changed = [
                    i
                    for i, tensor in enumerate(tensors)
                    if read_version_counter(tensor) != before[i]
                ]
            return [outputs.copy_for_saving(leaf) for leaf in leaves] + [
                outputs.copy_for_saving(tensors[i]) for i in self.changed
            ]
        finally:
            self._restore()

    def _compute_gradients(
        self, leaves: List[torch.Tensor], tensors: List[Any]
    ) -> List[Optional[torch.Tensor]]:
        if self.flows is None:
            generator = torch.Generator().manual_seed(0)
            self.flows = [
                torch.randn(leaf.shape, generator=generator, device="cpu").to(
                    leaf.device, leaf.dtype
                )
                for leaf in leaves
            ]
        pairs = [
            (leaf, flow.to(leaf.dtype))
            for leaf, flow in zip(leaves, self.flows)
            if leaf.requires_grad
        ]
        targets = [tensor for tensor, wanted in zip(tensors, self.required) if wanted]
        if not pairs or not targets:
            return []
        with torch.enable_grad():
            found = torch.autograd.grad(
                [leaf for leaf, _ in pairs], targets, [flow for _, flow in pairs], allow_unused=True
            )
        return [None if grad is None else outputs.copy_for_saving(grad) for grad in found]

    def _restore(self) -> None:
        for storage, content in self.contents.values():
            storage.copy_(content)
        for tensor, wanted in zip(self.tensors, self.required):
            if tensor.requires_grad and not wanted:
                with contextlib.suppress(RuntimeError):
                    tensor.detach_()

    def perform_exactly(self) -> List[Optional[torch.Tensor]]:
        """As `perform`, with everything in float64; raises what the program does about that."""
        plain = copy.deepcopy(self.plain) if _list_own_tensors(self.plain) else self.plain
        precision.convert_to_double(
            {str(i): tensor for i, tensor in enumerate(_list_own_tensors(plain))}
        )
        copies = {id(t): t.detach() for t in self.tensors}
        copies.update(
            (id(old), new)
            for old, new in zip(_list_own_tensors(self.plain), _list_own_tensors(plain))
        )
        precision.convert_to_double({str(key): tensor for key, tensor in copies.items()})
        for tensor, wanted in zip(self.tensors, self.required):
            if wanted and self.grads and copies[id(tensor)].is_leaf:
                copies[id(tensor)].requires_grad_()
                if not tensor.is_leaf:  # one that the program may change in place
                    copies[id(tensor)] = copies[id(tensor)].clone()
        inputs = tuple(copies.get(id(value), value) for value in self.inputs)
        with precision.promote():
            return self._perform(
                plain,
                inputs,
                [copies[id(tensor)] for tensor in self.tensors],
                {**self.state, "autocast": {}},
            )


def _list_own_tensors(module: Any) -> List[torch.Tensor]:
    """Tensors a graph holds itself: parameters before 2.5, constants always."""
    loose = [value for value in vars(module).values() if isinstance(value, torch.Tensor)]
    return _drop_repeats([*module.parameters(), *module.buffers(), *loose])


def _drop_repeats(values: List[Any]) -> List[torch.Tensor]:
    return list({id(v): v for v in values if isinstance(v, torch.Tensor)}.values())


def _find_worst(
    eager: List[Optional[torch.Tensor]],
    actual: List[Optional[torch.Tensor]],
    exact: Optional[List[Optional[torch.Tensor]]],
    computed_in: Optional[torch.dtype],
) -> TensorJudgment:
    """The comparison of the tensor that is furthest off: one that the rule minds before one that it
    does not.
    """
    if len(eager) != len(actual):
        return {"equal": False, "same": False}
    judged: List[TensorJudgment] = []
    for index, (a, b) in enumerate(zip(eager, actual)):
        fine = exact[index] if exact is not None and len(exact) == len(eager) else None
        judged.append(_judge(a, b, fine, computed_in))
    if not judged:
        return {"equal": True, "same": True, "elements": 0, "mismatched": 0}
    return max(judged, key=lambda one: (not one["same"], one.get("max_abs_error") or 0.0))


def _judge(
    a: Optional[torch.Tensor],
    b: Optional[torch.Tensor],
    exact: Optional[torch.Tensor],
    computed_in: Optional[torch.dtype],
) -> TensorJudgment:
    if a is None or b is None:  # no gradient and a gradient of zeros mean the same
        given = a if a is not None else b
        if given is None:
            return {"equal": True, "same": True, "max_abs_error": 0.0}
        a, b = (torch.zeros_like(given) if t is None else t for t in (a, b))
    if a.shape != b.shape:
        return {"equal": False, "same": False}
    wide = a.to(torch.complex128) if b.is_complex() or a.is_complex() else a.double()
    if a.dtype != b.dtype and bool((wide != b.to(wide.dtype)).any()):
        b = b.to(a.dtype)
    elif a.dtype != b.dtype:
        b = a
    return {
        "max_ulp": None,
        "mismatched": 0,
        "elements": a.numel(),
        **tolerance.judge_values(a, b, exact, computed_in),
    }
