"""The recorded call, run in eager under a torch function mode: every operation, within the module
call that made it.

Dynamo's graph is flat, ends at a graph break, and there is none where Dynamo itself fails. This
sees what the program asks of torch whatever Dynamo makes of it, and knows which module asked. Names
are made here; nothing of the user's program but numbers, torch's own words and the order of things
goes into the result.
"""

from __future__ import annotations

import contextlib
import gc
import weakref
from typing import Any, Dict, List, Tuple, Union

import torch
import torch.utils.checkpoint

from ..call import context, history, outputs, rungs
from ..call.reachable import list_roots, name_reachable
from ..machine.public_names import NotInGraphError, collect_public_names, find_public_name
from ..protocol.captured_trace import OpaqueArgument, ReturnedNames, TracedCall, TraceJson
from ..protocol.captured_values import Encoded, EncodedReference, OperationKind
from ..protocol.graphs import TraceAnswer, TraceRequest
from ..protocol.words import CallOutcome
from . import autograd_functions, stand_ins
from .cached_results import empty_caches
from .modes import InterceptMode, NewTensorMode
from .registry import Registry
from .sizes import Size
from .torch_functions import (
    DECISIONS,
    SILENT,
    VIEWS,
    build_empty_module,
    drop_defaults,
    find_implementation,
    find_replaced,
    is_custom,
)
from .writer import OperatorCall, TraceWriter

_REPLACED = "a function of torch that the program has replaced"
_AS_SUBCLASS = torch.Tensor.as_subclass


def trace(call: rungs.RecordedCall, request: TraceRequest) -> TraceAnswer:
    """Runs the call and returns its trace; see `Tracer.build_trace`."""
    if request["way"]["empty_caches"]:
        empty_caches()
    tracer = Tracer(call, look_inside=request["way"]["look_inside"])
    given = name_reachable(call.function, call.args, call.kwargs)
    allowed = (name for name in request.get("allow") or () if name in given)
    tracer.registry.allowed = {id(given[name]) for name in allowed}
    with context.apply_state(call.conditions.state):
        result = tracer.run()
    return {"outcome": CallOutcome.OK, "trace": tracer.build_trace(result)}


class Tracer:
    """One traced run: shows what the program asks of torch to the `writer`.

    It can `look_inside` custom operators that are written in Python.
    """

    def __init__(
        self, call: rungs.RecordedCall, keep: bool = False, look_inside: bool = True
    ) -> None:
        self.call = call
        self.look_inside = look_inside
        self.registry = Registry(keep)
        self.writer = TraceWriter(self.registry)
        self.names = collect_public_names()
        self.start = 0  # the state in which the call was made

    # -- running -----------------------------------------------------------------------------------

    def run(self) -> Any:
        """The result of the call."""
        if next(find_replaced(), None) is not None:
            self.registry.note(_REPLACED)
        for index, (_, value) in enumerate(
            outputs.flatten([list(self.call.args), dict(self.call.kwargs)])
        ):
            if isinstance(value, torch.Tensor) and id(value) not in self.registry.known:
                self.registry.give("x{}".format(index), "input", value)
        for _, value in list_roots(self.call.function):
            if isinstance(value, torch.nn.Module):
                self.registry.number_module(value)
        original = torch.nn.Module.__call__
        tracer = self

        def call_module(module: Any, *args: Any, **kwargs: Any) -> Any:
            return tracer.trace_module_call(original, module, args, kwargs)

        apply = vars(torch.autograd.Function)["apply"]

        def apply_function(cls: Any, *args: Any, **kwargs: Any) -> Any:
            return autograd_functions.apply(
                tracer.writer, apply.__get__(None, cls), cls, args, kwargs
            )

        saved = torch.utils.checkpoint.checkpoint
        self.saved = (original, apply, saved)
        torch.nn.Module.__call__ = call_module  # this process is a fork: nobody else sees it
        torch.autograd.Function.apply = classmethod(apply_function)
        torch.utils.checkpoint.checkpoint = (
            lambda function, *args, **kwargs: tracer.trace_checkpoint(saved, function, args, kwargs)
        )
        torch.Tensor.as_subclass = lambda tensor, cls: tracer.trace_as_subclass(tensor, cls)
        torch._dynamo.config.disable = True
        self.registry.before = {
            id(value): weakref.ref(value)
            for value in gc.get_objects()
            if issubclass(type(value), torch.Tensor)
        }
        self.start = self.writer.find_state()
        watching = InterceptMode(self._trace_operation, self.registry.note)
        with NewTensorMode(self.registry.created), watching, stand_ins.watch_kernels(self.writer):
            return self.call.function(*self.call.args, **self.call.kwargs)

    def leave(self) -> None:
        """Takes the tracer out of torch again."""
        torch.nn.Module.__call__, torch.autograd.Function.apply = self.saved[:2]
        torch.utils.checkpoint.checkpoint = self.saved[2]
        torch.Tensor.as_subclass = _AS_SUBCLASS

    def trace_module_call(self, original: Any, module: Any, args: Any, kwargs: Any) -> Any:
        """`Module.__call__`, noted with what it was given and what it returned."""
        item: TracedCall = {
            "call": self.registry.number_module(module),
            "items": [],
            "state": self.writer.find_state(),
            "args": [self._encode_argument(value) for value in args],
            "kwargs": {name: self._encode_argument(value) for name, value in kwargs.items()},
            "result": None,
        }
        self.writer.stack[-1]["items"].append(item)
        self.writer.stack.append(item)
        try:
            result = original(module, *args, **kwargs)
        finally:
            self.writer.stack.pop()
        item["result"] = self._encode_result(result)
        return result

    def trace_checkpoint(self, original: Any, function: Any, args: Any, kwargs: Any) -> Any:
        """`torch.utils.checkpoint.checkpoint`: a block of its own, whatever function it is."""
        number = len(self.registry.modules)
        # a number of its own, as if it were a module
        self.registry.modules[-1 - number] = build_empty_module(number)
        reentrant = bool(kwargs.get("use_reentrant", True))
        item: TracedCall = {
            "call": number,
            "items": [],
            "state": self.writer.find_state(),
            "args": [],
            "kwargs": {},
            "result": None,
            "wrap": {"use_reentrant": reentrant},
        }
        self.writer.stack[-1]["items"].append(item)
        seen = [False]

        def watch(*inner: Any, **more: Any) -> Any:
            if seen[0]:  # once more, for the backward pass
                return function(*inner, **more)
            seen[0] = True
            self.writer.stack.append(item)
            try:
                return function(*inner, **more)
            finally:
                self.writer.stack.pop()

        return original(watch, *args, **kwargs)

    def _encode_argument(self, value: Any) -> Union[Encoded, OpaqueArgument]:
        """An argument of a module, which may be anything; what the IR cannot hold is told by
        `{"opaque": 1}`.
        """
        try:
            return self.writer.encode(value)
        except NotInGraphError:
            return {"opaque": 1}

    def _encode_result(self, value: Any) -> ReturnedNames:
        """Which values a module returned, as nested lists of references."""
        if isinstance(value, torch.Tensor):
            with contextlib.suppress(NotInGraphError):
                return {"ref": self.registry.resolve_name(value)}
            return None
        if type(value) in (tuple, list):
            return [self._encode_result(item) for item in value]
        return None

    # -- operations --------------------------------------------------------------------------------

    def _trace_operation(self, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Runs one torch function and notes it."""
        short = getattr(func, "__name__", "")
        if short in ("__get__", "__set__"):
            return self._trace_attribute(func, short, args, kwargs)
        if short in SILENT:
            return func(*args, **kwargs)
        if short in DECISIONS:
            return self._trace_decision(func, short, args, kwargs)
        if short == "size" and torch.Tensor.size == func:
            return self._trace_shape(args[0], func(*args, **kwargs), args[1:], kwargs)
        if is_custom(func):
            self.registry.note("a custom operator")
            inner = find_implementation(func) if self.look_inside else None
            if inner is None:
                return stand_ins.call(self.writer, "a custom operator", func, args, kwargs)
            with InterceptMode(
                self._trace_operation, self.registry.note
            ):  # what it does may be torch's own operations
                return inner(*args, **kwargs)
        try:
            op, target = self._find_target(func, short)
            encoded = [self.writer.encode(value) for value in args]
            spoken = drop_defaults(func, kwargs)
            named = {name: self.writer.encode(value) for name, value in spoken.items()}
        except NotInGraphError as reason:
            self.registry.note(str(reason))
            return func(*args, **kwargs)
        state = self.writer.find_state()
        result = func(*args, **kwargs)
        return self.writer.note_result(result, OperatorCall(op, target, encoded, named), state)

    def trace_as_subclass(self, tensor: Any, cls: Any) -> Any:
        """`Tensor.as_subclass`: the plain tensor stands for it."""
        with torch.utils._python_dispatch._disable_current_modes():
            result = _AS_SUBCLASS(tensor, cls)
        with contextlib.suppress(NotInGraphError):
            self.registry.bind(result, self.registry.resolve_name(tensor))
            self.writer.alive.append(result)
        return result

    def _trace_decision(self, func: Any, short: str, args: Tuple[Any, ...], kwargs: Any) -> Any:
        """A tensor's value that Python gets to see: asked for again where the rewritten program
        stands there.
        """
        with contextlib.suppress(NotInGraphError):
            encoded = [self.writer.encode(args[0])]
            if short == "tolist":
                self.writer.write_node(OperatorCall("method", short, encoded), None)
            elif short == "numpy":
                self.registry.note("NumPy")
            else:
                name = {"__index__": "int"}.get(short, short.strip("_"))
                self.writer.write_node(OperatorCall("function", name, encoded), None)
        return func(*args, **kwargs)

    def _find_target(self, func: Any, short: str) -> Tuple[OperationKind, str]:
        method = getattr(torch.Tensor, short, None)
        if method is not None and method == func:
            return "method", short
        if isinstance(func, torch._ops.OpOverloadPacket):
            return "function", "torch.ops." + str(func).replace("::", ".")
        return "function", find_public_name(func, self.names)

    def _trace_attribute(self, func: Any, short: str, args: Tuple[Any, ...], kwargs: Any) -> Any:
        name = getattr(getattr(func, "__self__", None), "__name__", "")
        result = func(*args, **kwargs)
        if short == "__set__":
            if name not in ("grad", "requires_grad", "_backward_hooks"):
                self.registry.note("an assignment to an attribute of a tensor")
            return result
        if name == "shape":
            return self._trace_shape(args[0], result, (), {})
        if name in VIEWS and isinstance(result, torch.Tensor):
            try:
                encoded: List[Encoded] = [{"ref": self.registry.resolve_name(args[0])}, name]
            except NotInGraphError as reason:
                self.registry.note(str(reason))
                return result
            call = OperatorCall("function", "getattr", encoded)
            return self.writer.note_result(result, call, self.writer.find_state())
        return result

    def _trace_shape(self, tensor: Any, result: Any, args: Tuple[Any, ...], kwargs: Any) -> Any:
        try:
            name = self.registry.resolve_name(tensor)
        except NotInGraphError:
            return result
        if isinstance(result, int):
            dim = (*args, *kwargs.values())[0]
            return Size(result, ("size", name, int(dim)))
        return torch.Size([Size(size, ("size", name, dim)) for dim, size in enumerate(result)])

    # -- the document ------------------------------------------------------------------------------

    def build_trace(self, result: Any) -> TraceJson:
        """The trace as JSON.

        `root`: a tree of `{"call": module, "items"}` and nodes as in the graph IR, with `state`
        (index into `states`) and `same` (the name of the value that an operation changed in place).
        `modules`: by number. `tensors`: what was given. `reasons`: what could not be followed.
        """
        leaves: List[EncodedReference] = []
        for _, leaf in outputs.flatten(result):
            if isinstance(leaf, torch.Tensor):
                try:
                    leaves.append({"ref": self.registry.resolve_name(leaf)})
                except NotInGraphError as reason:
                    self.registry.note(str(reason))
        function = self.call.function
        root = getattr(function, "__self__", function)
        owner = self.registry.modules.get(id(root)) if isinstance(root, torch.nn.Module) else None
        return {
            "root": self.writer.root,
            "state": self.start,
            "owner": owner["id"] if owner else None,
            "outputs": leaves,
            "states": self.writer.states,
            "modules": sorted(self.registry.modules.values(), key=lambda entry: entry["id"]),
            "tensors": [self.registry.describe_tensor(name) for name in self.registry.given],
            "reasons": self.registry.why,
            "earlier": [_read_shapes(args, kwargs) for args, kwargs in self.call.before.history],
            "private": {
                **self.registry.describe_private(function),
                "functions": {str(n): c.__qualname__ for c, n in self.writer.functions.items()},
            },
        }


def _read_shapes(args: Any, kwargs: Any) -> List[List[int]]:
    """The shapes of the tensors of an earlier call, in the order of the arguments."""
    leaves = outputs.flatten([list(history.materialize(args)), dict(history.materialize(kwargs))])
    return [list(leaf.shape) for _, leaf in leaves if isinstance(leaf, torch.Tensor)]
