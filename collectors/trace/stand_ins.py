"""Operations that nobody can look into: operators that only the dispatcher knows, Triton kernels.

In the trace such a call is one opaque step with the tensors that it was given, those that it
changed and what it returned. The rewritten model has a stand-in of stock functions there. That the
rest of the model is the same is proved with the private operation in the stand-in's place, which is
why `RepeatableOperation` keeps it callable.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any, Callable, Iterator, List

import torch

from ..machine.public_names import NotInGraphError
from ..protocol.captured_values import Encoded
from .torch_functions import pause_watching
from .writer import OperatorCall, TraceWriter


def call(
    writer: TraceWriter,
    what: str,
    func: Callable[..., Any],
    args: Any,
    kwargs: Any,
    again: Any = None,
) -> Any:
    """Runs an opaque operation, notes it in the trace, and returns what it does.

    Where it cannot be noted, the registry has the reason. Each tensor that the operation is given
    is copied before, on its device, to see which ones it changes.

    Args:
        what: what it is, in public words.
        func: called once, with `args` and `kwargs`. What it raises comes through.
        again: called in place of `func` when the operation is repeated; None where calling `func`
            itself would not be noted anew.
    """
    tensors = list(_list_tensors([list(args), dict(kwargs)]))
    try:
        named: List[Encoded] = [{"ref": writer.registry.resolve_name(tensor)} for tensor in tensors]
    except NotInGraphError as reason:
        writer.registry.note(str(reason))
        return func(*args, **kwargs)
    with torch.no_grad(), pause_watching():
        before = [tensor.clone() for tensor in tensors]
    state = writer.find_state()
    result = func(*args, **kwargs)
    with torch.no_grad(), pause_watching():
        mutates = [i for i, t in enumerate(tensors) if not _are_same(before[i], t)]
    items = writer.stack[-1]["items"]
    at = len(items)
    writer.note_result(result, OperatorCall("stand_in", "stand_in", named), state)
    if len(items) == at:
        writer.registry.note("an operation that returns no tensors")
        return result
    noted = items[at]
    assert "call" not in noted
    noted["stand_in"] = {"what": what, "mutates": mutates}
    writer.opaque.append(RepeatableOperation(again or func, args, kwargs))
    return result


class RepeatableOperation:
    """A private operation that can be called again, on other tensors in place of those that it
    got.
    """

    def __init__(self, func: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.func = func
        self.args = _without_tensors(list(args))
        self.kwargs = _without_tensors(dict(kwargs))

    def __call__(self, *tensors: torch.Tensor) -> Any:
        given = iter(tensors)
        args, kwargs = _fill([self.args, self.kwargs], given)
        return self.func(*args, **kwargs)


class _Place:
    """Where a tensor goes."""


def _list_tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _list_tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _list_tensors(item)


def _without_tensors(value: Any) -> Any:
    return _map(value, lambda leaf: _Place() if isinstance(leaf, torch.Tensor) else leaf)


def _fill(value: Any, given: Iterator[torch.Tensor]) -> Any:
    return _map(value, lambda leaf: next(given) if type(leaf) is _Place else leaf)


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) in (list, tuple):
        return type(value)([_map(item, change) for item in value])
    if type(value) is dict:
        return {key: _map(item, change) for key, item in value.items()}
    return change(value)


def _are_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype.is_floating_point:
        return bool(((one == other) | (one.isnan() & other.isnan())).all())
    return bool(torch.equal(one, other))


@contextlib.contextmanager
def watch_kernels(writer: TraceWriter) -> Iterator[None]:
    """Where launches of Triton kernels are seen by the tracer; nothing happens where the program
    has no Triton.
    """
    changed: List[Any] = []
    inside: List[bool] = []

    def watch(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if inside:  # an autotuned kernel launches another
                return original(self, *args, **kwargs)

            def launch(*given: Any, **named: Any) -> None:
                inside.append(True)
                try:
                    with pause_watching():
                        original(self, *given, **named)
                finally:
                    inside.pop()

            again = functools.partial(original, self)
            call(writer, "a Triton kernel", launch, args, kwargs, again)
            return None

        return run

    for cls in _list_launchers():
        changed.append((cls, cls.run))
        cls.run = watch(cls.run)
    try:
        yield
    finally:
        for cls, run in changed:
            cls.run = run


def _list_launchers() -> Iterator[Any]:
    for module, names in (
        ("triton.runtime.jit", ("JITFunction",)),
        ("triton.runtime.interpreter", ("InterpretedFunction",)),
        ("triton.runtime.autotuner", ("Autotuner", "Heuristics")),
    ):
        for name in names:
            cls = getattr(sys.modules.get(module), name, None)
            if cls is not None and "run" in vars(cls):
                yield cls
