"""A user's `autograd.Function` in a trace: its forward and its backward, each as operations on what
it was given.

torch calls the forward with gradients off and asks the backward much later. Here the backward runs
once, right after the forward, on made-up gradients and a stand-in for `ctx` that holds what the
forward left there. A Function that cannot be followed is taken apart instead: its operations stand
where it was called, and whether that is the same is for the proof of equivalence to say.
"""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

import torch

from ..dynamo.translator import read_tensor_meta
from ..machine.public_names import NotInGraphError, is_torch_owned
from ..machine.random_state import RandomState
from ..protocol.captured_trace import ContextFlags, TracedBackward, TracedBlock, TracedOperation
from ..protocol.captured_values import ResultLayout
from .torch_functions import pause_watching
from .writer import TraceWriter


def apply(writer: TraceWriter, original: Any, cls: Any, args: Tuple[Any, ...], kwargs: Any) -> Any:
    """`cls.apply(*args)`, which is `original(*args)`, noted as one operation of the trace with its
    forward and backward.

    It is only called, and noted by what it does, where the class is torch's own, inside of another
    such function, and with keyword arguments.

    Args:
        original: `cls.apply` without the tracer; what it raises comes through.
        cls: a subclass of `torch.autograd.Function`.
    """
    if is_torch_owned(cls) or writer.function is not None or kwargs:
        return original(*args, **kwargs)
    record = _Record(writer, cls)
    writer.function = record
    writer.alive.append(record.forward)  # so that an id stays one block's
    reasons = len(writer.registry.why)
    try:
        with record.watch():
            result = original(*args, **kwargs)
        record.leave(result)
        if record.ctx is not None and any(leaf.requires_grad for leaf in record.leaves):
            record.trace_backward()
    finally:
        writer.function = None
        record.restore(record.outer)
    if record.failed or len(writer.registry.why) > reasons:
        writer.registry.note("torch.autograd.Function")
        record.take_apart()
    else:
        record.finish()
    return result


class _Record:
    """One application.

    Inside, its arguments have names of their own: `parameters`; outside, `outer`.
    """

    def __init__(self, writer: TraceWriter, cls: Any) -> None:
        self.writer = writer
        self.cls = cls
        self.ctx: Any = None
        self.failed = False
        self.state = writer.find_state()
        self.given: List[Optional[str]] = []  # by argument: the outer name of a tensor
        self.parameters: List[Optional[str]] = []
        self.metas: Dict[str, ResultLayout] = {}
        self.outer: List[Tuple[torch.Tensor, str]] = []
        self.inner: List[Tuple[torch.Tensor, str]] = []
        self.saved: List[Tuple[torch.Tensor, str]] = []
        self.leaves: List[torch.Tensor] = []
        self.results: List[str] = []
        self.single = False
        self.names: List[str] = []
        self.same = ""
        self.back: Optional[TracedBackward] = None
        self.forward: TracedBlock = {"items": [], "state": self.state}
        self.flags: ContextFlags = {"dirty": [], "constant": [], "materialize": True}

    # -- the forward -----------------------------------------------------------------------------

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """The class with a forward that tells us what it is given and what it leaves; this process
        is a fork.
        """
        cls = self.cls
        kept = {name: vars(cls).get(name) for name in ("forward", "setup_context")}
        forward, setup = cls.forward, cls.setup_context
        two_parts = setup is not torch.autograd.function._SingleLevelFunction.setup_context

        def watch_forward(*given: Any) -> Any:
            self.ctx = None if two_parts else given[0]
            self._enter(given if two_parts else given[1:])
            result = forward(*given)
            if not two_parts:
                self._note_returned(result)
            return result

        def watch_setup(ctx: Any, inputs: Any, output: Any) -> Any:
            self.ctx = ctx
            setup(ctx, inputs, output)
            self._note_returned(output)

        cls.forward = staticmethod(watch_forward)
        if two_parts:
            cls.setup_context = staticmethod(watch_setup)
        depth = len(self.writer.stack)
        try:
            yield
        finally:
            del self.writer.stack[depth:]  # the block of the forward, which may have raised
            for name, value in kept.items():
                if value is not None:
                    setattr(cls, name, value)
                elif name in vars(cls):
                    delattr(cls, name)

    def _enter(self, given: Tuple[Any, ...]) -> None:
        writer = self.writer
        for value in given:
            outer: Optional[str] = None
            if isinstance(value, torch.Tensor):
                try:
                    outer = writer.registry.resolve_name(value)
                    self.outer.append((value, outer))
                except NotInGraphError as reason:
                    writer.registry.note(str(reason))
                    self.failed = True
            self.given.append(outer)
            self.parameters.append(None if outer is None else writer.take_name())
        for value, name in zip(given, self.parameters):
            if name is not None:
                self.inner.append((value, name))
                self.metas[name] = read_tensor_meta(value)
        self.restore(self.inner)
        self.forward["state"] = writer.find_state()
        writer.stack.append(self.forward)

    def restore(self, names: List[Tuple[torch.Tensor, str]]) -> None:
        """Gives tensors these names."""
        for tensor, name in names:
            self.writer.registry.bind(tensor, name)

    def _name(self, tensors: Any) -> List[Tuple[torch.Tensor, str]]:
        """Tensors with their names; what has none makes this a Function that is taken apart."""
        found = []
        for tensor in tensors or ():
            if isinstance(tensor, torch.Tensor):
                try:
                    found.append((tensor, self.writer.registry.resolve_name(tensor)))
                except NotInGraphError as reason:
                    self.writer.registry.note(str(reason))
                    self.failed = True
        return found

    def _note_returned(self, result: Any) -> None:
        """Notes what the forward returned, and what it asked of its ctx, which torch forgets
        afterwards.
        """
        self.single = isinstance(result, torch.Tensor)
        leaves = (result,) if self.single else result if isinstance(result, tuple) else ()
        self.results = [name for _, name in self._name(leaves)]
        self.saved = self._name(getattr(self.ctx, "to_save", None))
        dirty = self._name(getattr(self.ctx, "dirty_tensors", None))
        constant = self._name(getattr(self.ctx, "non_differentiable", None))
        self.flags["dirty"] = [name for _, name in dirty]
        self.flags["constant"] = [name for _, name in constant]
        self.flags["materialize"] = bool(getattr(self.ctx, "materialize_grads", True))

    def leave(self, result: Any) -> None:
        """Notes what `apply` returned; names hold outside again."""
        self.restore(self.outer)
        found = (result,) if isinstance(result, torch.Tensor) else result
        self.leaves = [leaf for leaf in found or () if isinstance(leaf, torch.Tensor)]
        known = {id(tensor): name for tensor, name in self.outer}
        for leaf in self.leaves:
            if id(leaf) in known:  # changed in place and returned
                self.same = known[id(leaf)]
                self.failed |= len(self.leaves) > 1
                continue
            self.names.append(self.writer.take_name())
            self.outer.append((leaf, self.names[-1]))
        self.failed |= len(self.leaves) != len(self.results) or not self.leaves

    # -- the backward ----------------------------------------------------------------------------

    def trace_backward(self) -> None:
        """Runs the backward on made-up gradients and notes what it does."""
        writer = self.writer
        random = RandomState.read()
        generator = torch.Generator().manual_seed(len(writer.stack))
        grads = []
        with pause_watching():
            for leaf in self.leaves:
                made = torch.zeros(leaf.shape, dtype=leaf.dtype, device=leaf.device)
                if leaf.dtype.is_floating_point:
                    made += torch.rand(leaf.shape, generator=generator, device="cpu").to(made) + 0.5
                grads.append(made)
        named = [(grad, writer.take_name()) for grad in grads]
        self.metas.update((name, read_tensor_meta(grad)) for grad, name in named)
        self.restore([*self.inner, *zip(self.leaves, self.results), *named])
        try:
            with torch.no_grad(), _disable_autocast():
                self.back = {
                    "items": [],
                    "state": writer.find_state(),
                    "grads": [name for _, name in named],
                    "returned": [],
                }
                writer.stack.append(self.back)
                try:
                    found = _find_backward(self.cls)(self._build_context(), *grads)
                    self._note_gradients(found)
                finally:
                    writer.stack.pop()
        except Exception:  # the user's own backward may raise whatever it likes
            self.failed = True
        random.restore()

    def _build_context(self) -> Any:
        made = _Context()
        vars(made).update(vars(self.ctx))
        made.saved_tensors = tuple(tensor for tensor, _ in self.saved)
        made.needs_input_grad = tuple(self.ctx.needs_input_grad)
        return made

    def _note_gradients(self, found: Any) -> None:
        assert self.back is not None
        returned = list(found) if isinstance(found, (tuple, list)) else [found]
        returned += [None] * (len(self.given) - len(returned))
        refs = []
        for outer, value in zip(self.given, returned):
            named = self._name([value])
            if outer is not None:
                refs.append(named[0][1] if named else None)
        self.back["returned"] = refs

    def holds(self, name: str) -> bool:
        """Whether the backward has this value at hand: a gradient, what was saved, or what it made
        itself.
        """
        if self.back is None:
            return True
        own = [item.get("name") for item in self.back["items"]]
        return name in (*self.back["grads"], *(saved for _, saved in self.saved), *own)

    # -- what goes into the trace ------------------------------------------------------------------

    def finish(self) -> None:
        """The application as one operation."""
        writer = self.writer
        args = [name for name in self.given if name is not None]
        metas: List[ResultLayout] = [read_tensor_meta(leaf) for leaf in self.leaves]
        number = writer.functions.setdefault(self.cls, len(writer.functions))
        item: TracedOperation = {
            "name": self.same or (self.names[0] if self.single else self.names[0] + "_"),
            "op": "apply",
            "target": "torch.autograd.Function",
            "args": [{"ref": name} for name in args],
            "kwargs": {},
            "meta": metas[0] if self.single else metas,
            "state": self.state,
            "results": None if self.single else self.names,
            "function": {
                **self.flags,
                "number": number,
                "parameters": [name for name in self.parameters if name is not None],
                "metas": {**self.metas, **dict(zip(self.names, metas))},
                "forward": self.forward,
                "results": self.results,
                "saved": [name for _, name in self.saved],
                "backward": self.back,
            },
        }
        if self.same:
            item["name"], item["same"] = writer.take_name(), self.same
        inside = [*self.forward["items"], *(self.back["items"] if self.back else ())]
        if any("call" in node for node in inside):
            writer.registry.note("torch.autograd.Function")  # a module inside of it
            self.take_apart()
            return
        writer.stack[-1]["items"].append(item)

    def take_apart(self) -> None:
        """The operations of the forward where it was called, under the names that hold there."""
        table = {
            inner: outer
            for inner, outer in zip(self.parameters, self.given)
            if inner is not None and outer is not None
        }
        state = {self.forward["state"]: self.state}
        self.writer.stack[-1]["items"] += _rename(self.forward["items"], table, state)
        for leaf, inner in zip(self.leaves, self.results):
            if leaf is not None and inner not in table:
                self.writer.registry.bind(leaf, inner)
            elif leaf is not None and not self.same:
                # a view of an argument, made out of sight
                self.writer.registry.known.pop(id(leaf), None)


class _Context:
    """What a backward asks of its `ctx`."""

    saved_tensors: Tuple[Any, ...]
    needs_input_grad: Tuple[bool, ...]

    @property
    def saved_variables(self) -> Tuple[Any, ...]:
        return self.saved_tensors


def _find_backward(cls: Any) -> Any:
    base = torch.autograd.function._SingleLevelFunction
    return cls.vjp if cls.backward is base.backward else cls.backward


@contextlib.contextmanager
def _disable_autocast() -> Iterator[None]:
    """As backward passes run: outside of the autocast region that the forward was in."""
    with contextlib.ExitStack() as stack:
        for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
            stack.enter_context(torch.autocast(device, enabled=False))
        yield


def _rename(data: Any, table: Mapping[str, str], states: Mapping[int, int]) -> Any:
    """Items of a trace with other names for some values, and other switches."""
    if isinstance(data, list):
        return [_rename(item, table, states) for item in data]
    if not isinstance(data, dict):
        return data
    found = {key: _rename(value, table, states) for key, value in data.items()}
    if "ref" in found:
        found["ref"] = table.get(found["ref"], found["ref"])
    if "same" in found:
        found["same"] = table.get(found["same"], found["same"])
    if "state" in found:
        found["state"] = states.get(found["state"], found["state"])
    return found
