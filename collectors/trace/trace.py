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
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.utils.checkpoint

from ..call import context, outputs, rungs
from ..dynamo.translator import read_tensor_meta
from ..machine.public_names import NotInGraphError, collect_public_names, find_public_name
from ..protocol import TraceAnswer, TraceJson, TraceRequest
from . import functions, stand_ins
from .cached_results import empty_caches
from .modes import Births, WatchMode
from .registry import Registry
from .sizes import Size
from .torch_functions import (
    DECISIONS,
    SILENT,
    VIEWS,
    build_empty_module,
    build_size_key,
    drop_defaults,
    find_implementation,
    find_replaced,
    is_custom,
    read_metas,
)

Json = Dict[str, Any]
REPLACED = "a function of torch that the program has replaced"
_AS_SUBCLASS = torch.Tensor.as_subclass


def trace(call: rungs.RecordedCall, request: TraceRequest) -> TraceAnswer:
    """Runs the call and returns its trace; see `Tracer.document`."""
    if request["way"]["empty_caches"]:
        empty_caches()
    tracer = Tracer(call, look_inside=request["way"]["look_inside"])
    given = context.name_reachable(call.function, call.args, call.kwargs)
    tracer.allowed = {id(given[name]) for name in request.get("allow") or () if name in given}
    with context.apply_state(call.state):
        result = tracer.run()
    return {"outcome": "ok", "trace": tracer.document(result)}


class Tracer(Registry):
    """One traced run.

    `tensors` are what the program was given: arguments, parameters, buffers, constants. It can
    `look_inside` custom operators that are written in Python.
    """

    def __init__(
        self, call: rungs.RecordedCall, keep: bool = False, look_inside: bool = True
    ) -> None:
        super().__init__(call, keep)
        self.look_inside = look_inside
        self.names = collect_public_names()
        self.states: List[Json] = []
        self.start = 0
        self.count = 0
        self.root: Json = {"module": None, "items": []}
        self.stack: List[Json] = [self.root]
        self.sizes_read: Dict[Any, Json] = {}
        self.why: List[str] = []
        self.function: Any = None  # the autograd.Function that is being followed
        self.functions: Dict[Any, int] = {}
        self.blocks: List[Any] = []  # kept alive
        self.opaque: List[stand_ins.Opaque] = []  # in the order of their calls

    # -- running -----------------------------------------------------------------------------------

    def run(self) -> Any:
        """The result of the call."""
        if next(find_replaced(), None) is not None:
            self.note(REPLACED)
        for index, (_, value) in enumerate(
            outputs.flatten([list(self.call.args), dict(self.call.kwargs)])
        ):
            if isinstance(value, torch.Tensor) and id(value) not in self.known:
                self._give("x{}".format(index), "input", value)
        for _, value in context.list_roots(self.call.function):
            if isinstance(value, torch.nn.Module):
                self._module(value)
        original = torch.nn.Module.__call__
        tracer = self

        def call_module(module: Any, *args: Any, **kwargs: Any) -> Any:
            return tracer.module_call(original, module, args, kwargs)

        apply = vars(torch.autograd.Function)["apply"]

        def apply_function(cls: Any, *args: Any, **kwargs: Any) -> Any:
            return functions.apply(tracer, apply.__get__(None, cls), cls, args, kwargs)

        saved = torch.utils.checkpoint.checkpoint
        self.saved = (original, apply, saved)
        torch.nn.Module.__call__ = call_module  # this process is a fork: nobody else sees it
        torch.autograd.Function.apply = classmethod(apply_function)
        torch.utils.checkpoint.checkpoint = lambda function, *args, **kwargs: tracer.checkpoint(
            saved, function, args, kwargs
        )
        torch.Tensor.as_subclass = lambda tensor, cls: tracer.as_subclass(tensor, cls)
        torch._dynamo.config.disable = True
        self.before = {
            id(value): weakref.ref(value)
            for value in gc.get_objects()
            if issubclass(type(value), torch.Tensor)
        }
        self.start = self.find_state()
        with Births(self.born), WatchMode(self), stand_ins.watch_kernels(self):
            return self.call.function(*self.call.args, **self.call.kwargs)

    def leave(self) -> None:
        """Takes the tracer out of torch again."""
        torch.nn.Module.__call__, torch.autograd.Function.apply = self.saved[:2]
        torch.utils.checkpoint.checkpoint = self.saved[2]
        torch.Tensor.as_subclass = _AS_SUBCLASS

    def module_call(self, original: Any, module: Any, args: Any, kwargs: Any) -> Any:
        """`Module.__call__`, noted with what it was given and what it returned."""
        item: Json = {
            "call": self._module(module),
            "items": [],
            "state": self.find_state(),
            "module": id(module),
        }
        item["args"] = [self._maybe_value(value) for value in args]
        item["kwargs"] = {name: self._maybe_value(value) for name, value in kwargs.items()}
        self.stack[-1]["items"].append(item)
        self.stack.append(item)
        try:
            result = original(module, *args, **kwargs)
        finally:
            self.stack.pop()
        item["result"] = self._result(result)
        return result

    def checkpoint(self, original: Any, function: Any, args: Any, kwargs: Any) -> Any:
        """`torch.utils.checkpoint.checkpoint`: a block of its own, whatever function it is."""
        number = len(self.modules)
        # a number of its own, as if it were a module
        self.modules[-1 - number] = build_empty_module(number)
        reentrant = bool(kwargs.get("use_reentrant", True))
        item: Json = {
            "call": number,
            "items": [],
            "state": self.find_state(),
            "args": [],
            "kwargs": {},
        }
        item.update(result=None, wrap={"use_reentrant": reentrant})
        self.stack[-1]["items"].append(item)
        seen = [False]

        def watch(*inner: Any, **more: Any) -> Any:
            if seen[0]:  # once more, for the backward pass
                return function(*inner, **more)
            seen[0] = True
            self.stack.append(item)
            try:
                return function(*inner, **more)
            finally:
                self.stack.pop()

        return original(watch, *args, **kwargs)

    def _maybe_value(self, value: Any) -> Any:
        """An argument of a module, which may be anything; what the IR cannot hold is told by
        `{"opaque": 1}`.
        """
        try:
            return self.encode(value)
        except NotInGraphError:
            return {"opaque": 1}

    def _result(self, value: Any) -> Any:
        """Which values a module returned, as nested lists of references."""
        if isinstance(value, torch.Tensor):
            with contextlib.suppress(NotInGraphError):
                return self.encode(value)
            return None
        if type(value) in (tuple, list):
            return [self._result(item) for item in value]
        return None

    def note(self, reason: str) -> None:
        """Something that the trace cannot say faithfully; the equivalence check decides whether it
        matters.
        """
        if reason not in self.why:
            self.why.append(reason)

    def _size(self, size: Size) -> Any:
        """A reference to the size, read or computed in the block where it is first wanted."""
        key = build_size_key(size)
        found = self.sizes_read.get(key)
        if found is not None and found["block"] in (id(item) for item in self._blocks()):
            return {"ref": found["name"]}
        kind, *operands = size.derivation
        if kind == "item":
            return {"ref": operands[0]}
        if kind == "size":
            op, target, args = "method", "size", [{"ref": operands[0]}, operands[1]]
        else:
            op, target = "function", operands[0]
            args = [self._size(item) if type(item) is Size else int(item) for item in operands[1]]
            if not any(isinstance(item, dict) for item in args):
                return int(size)
        if self.function is not None and kind == "size" and not self.function.holds(operands[0]):
            self.stack.append(self.function.forward)  # which hands it to the backward
            name = self._node(op, target, args, {}, {"scalar": "int"}, self.stack[-1]["state"])
            self.sizes_read[key] = {"block": id(self.stack.pop()), "name": name}
            return {"ref": name}
        name = self._node(op, target, args, {}, {"scalar": "int"})
        self.sizes_read[key] = {"block": id(self.stack[-1]), "name": name}
        return {"ref": name}

    def _blocks(self) -> List[Json]:
        """The blocks whose values the present one can read."""
        return self.stack if self.function is None else [*self.stack, self.function.forward]

    # -- operations --------------------------------------------------------------------------------

    def operation(self, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Runs one torch function and notes it."""
        short = getattr(func, "__name__", "")
        if short in ("__get__", "__set__"):
            return self._attribute(func, short, args, kwargs)
        if short in SILENT:
            return func(*args, **kwargs)
        if short in DECISIONS:
            return self._decision(func, short, args, kwargs)
        if short == "size" and torch.Tensor.size == func:
            return self._shape(args[0], func(*args, **kwargs), args[1:], kwargs)
        if is_custom(func):
            self.note("a custom operator")
            inner = find_implementation(func) if self.look_inside else None
            if inner is None:
                return stand_ins.call(self, "a custom operator", func, args, kwargs)
            with WatchMode(self):  # what it does may be torch's own operations
                return inner(*args, **kwargs)
        try:
            op, target = self._target(func, short)
            encoded = [self.encode(value) for value in args]
            spoken = drop_defaults(func, kwargs)
            named = {name: self.encode(value) for name, value in spoken.items()}
        except NotInGraphError as reason:
            self.note(str(reason))
            return func(*args, **kwargs)
        state = self.find_state()
        result = func(*args, **kwargs)
        return self.note_result(result, op, target, encoded, named, state)

    def as_subclass(self, tensor: Any, cls: Any) -> Any:
        """`Tensor.as_subclass`: the plain tensor stands for it."""
        with torch.utils._python_dispatch._disable_current_modes():
            result = _AS_SUBCLASS(tensor, cls)
        with contextlib.suppress(NotInGraphError):
            self.bind(result, self.name_of(tensor))
            self.blocks.append(result)
        return result

    def _decision(self, func: Any, short: str, args: Tuple[Any, ...], kwargs: Any) -> Any:
        """A tensor's value that Python gets to see: asked for again where the rewritten program
        stands there.
        """
        with contextlib.suppress(NotInGraphError):
            encoded = [self.encode(args[0])]
            if short == "tolist":
                self._node("method", short, encoded, {}, None)
            elif short == "numpy":
                self.note("NumPy")
            else:
                name = {"__index__": "int"}.get(short, short.strip("_"))
                self._node("function", name, encoded, {}, None)
        return func(*args, **kwargs)

    def _target(self, func: Any, short: str) -> Tuple[str, str]:
        method = getattr(torch.Tensor, short, None)
        if method is not None and method == func:
            return "method", short
        if isinstance(func, torch._ops.OpOverloadPacket):
            return "function", "torch.ops." + str(func).replace("::", ".")
        return "function", find_public_name(func, self.names)

    def _attribute(self, func: Any, short: str, args: Tuple[Any, ...], kwargs: Any) -> Any:
        name = getattr(getattr(func, "__self__", None), "__name__", "")
        result = func(*args, **kwargs)
        if short == "__set__":
            if name not in ("grad", "requires_grad", "_backward_hooks"):
                self.note("an assignment to an attribute of a tensor")
            return result
        if name == "shape":
            return self._shape(args[0], result, (), {})
        if name in VIEWS and isinstance(result, torch.Tensor):
            encoded = [{"ref": self.name_of(args[0])}, name]
            return self.note_result(result, "function", "getattr", encoded, {}, self.find_state())
        return result

    def _shape(self, tensor: Any, result: Any, args: Tuple[Any, ...], kwargs: Any) -> Any:
        try:
            name = self.name_of(tensor)
        except NotInGraphError:
            return result
        if isinstance(result, int):
            dim = (*args, *kwargs.values())[0]
            return Size(result, ("size", name, int(dim)))
        return torch.Size([Size(size, ("size", name, dim)) for dim, size in enumerate(result)])

    def note_result(
        self, result: Any, op: str, target: str, args: List[Any], kwargs: Json, state: int
    ) -> Any:
        """Notes an operation that has run, and returns its result, a number read as a `Size`."""
        if isinstance(result, torch.Tensor):
            found = self.known.get(id(result))
            same = found[1] if found is not None and found[0]() is result else ""
            name = self._node(op, target, args, kwargs, read_tensor_meta(result), state, same)
            self.bind(result, same or name)
            return result
        if isinstance(result, (tuple, list)):
            name = self._node(op, target, args, kwargs, read_metas(result), state)
            self._items(result, name)
            return result
        if type(result) in (int, float) and target == "item":
            name = self._node(op, target, args, kwargs, {"scalar": type(result).__name__}, state)
            return Size(result, ("item", name)) if type(result) is int else result
        if result is None:
            self._node(op, target, args, kwargs, None, state)
        return result

    def _items(self, result: Any, name: str) -> None:
        for index, item in enumerate(result):
            place = [{"ref": name}, index]
            if isinstance(item, torch.Tensor):
                if id(item) not in self.known or self.known[id(item)][0]() is not item:
                    inner = self._node(
                        "function", "operator.getitem", place, {}, read_tensor_meta(item)
                    )
                    self.bind(item, inner)
            elif isinstance(item, (tuple, list)):
                self._items(
                    item, self._node("function", "operator.getitem", place, {}, read_metas(item))
                )

    def fresh(self) -> str:
        """A name for a value."""
        self.count += 1
        return "n{}".format(self.count - 1)

    def _node(
        self,
        op: str,
        target: str,
        args: List[Any],
        kwargs: Json,
        meta: Any,
        state: Optional[int] = None,
        same: str = "",
    ) -> str:
        name = self.fresh()
        node: Json = {"name": name, "op": op, "target": target, "args": args, "kwargs": kwargs}
        node.update(meta=meta, state=self.find_state() if state is None else state)
        if same:
            node["same"] = same
        self.stack[-1]["items"].append(node)
        return name

    def find_state(self) -> int:
        """The number of the switches that are on: gradients, inference mode, autocast."""
        now = {
            "grad": torch.is_grad_enabled(),
            "inference": torch.is_inference_mode_enabled(),
            "autocast": {d: list(context.read_autocast_settings(d)) for d in ("cpu", "cuda")},
        }
        if now not in self.states:
            self.states.append(now)
        return self.states.index(now)

    # -- the document ------------------------------------------------------------------------------

    def document(self, result: Any) -> TraceJson:
        """The trace as JSON.

        `root`: a tree of `{"call": module, "items"}` and nodes as in the graph IR, with `state`
        (index into `states`) and `same` (the name of the value that an operation changed in place).
        `modules`: by number. `tensors`: what was given. `reasons`: what could not be followed.
        """
        leaves = []
        for _, leaf in outputs.flatten(result):
            if isinstance(leaf, torch.Tensor):
                try:
                    leaves.append({"ref": self.name_of(leaf)})
                except NotInGraphError as reason:
                    self.note(str(reason))
        function = self.call.function
        root = getattr(function, "__self__", function)
        owner = self.modules.get(id(root)) if isinstance(root, torch.nn.Module) else None
        return {
            "root": self.root["items"],
            "state": self.start,
            "owner": owner["id"] if owner else None,
            "outputs": leaves,
            "states": self.states,
            "modules": sorted(self.modules.values(), key=lambda entry: int(entry["id"])),
            "tensors": [self._tensor(name) for name in self.given],
            "reasons": self.why,
            "earlier": [self._shapes(args, kwargs) for args, kwargs in self.call.history],
            "private": {
                **self._private(),
                "functions": {n: cls.__qualname__ for cls, n in self.functions.items()},
            },
        }
