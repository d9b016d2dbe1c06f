"""Calls of torch's own functions, counted or watched, for a program that fails without a compiler.

A first run counts them and notes, in a file that outlives the process, the last one that began and
the last one that raised; where that is a backward pass, the call whose derivative was under way. A
second run watches the call of that number like a compiled one.
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import struct
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

from ..call.operators.derivatives import (
    Derivative,
    is_in_forward_mode,
    isolate,
    leave_modes,
    take_own_function,
    widen,
)
from ..call.operators.measurement import OperatorMeasurement
from ..call.operators.sharding import ShardedMeasurement
from ..call.probe import ZeroMemoryMode
from ..call.variations import lone_training, precision
from ..protocol.starting import OPERATORS_LAYOUT, DerivativeKind, RecorderSpec
from .native_calls import NativeCalls
from .watched_callable import WatchedCallable

#: Modes that are never left. While torch prints a tensor it takes them away, and torch 2.6 does not
#: keep them alive.
_ENTERED: List[Any] = []


class OperatorMode(TorchFunctionMode):  # type: ignore[misc]
    """Sees every call of a torch function that the main thread makes.

    `path` is the file that is written to, `wanted` the number of the call that is handed to the
    recorder, or that of its `derivative`.
    """

    def __init__(
        self,
        recorder: Any,
        path: str,
        wanted: Optional[int],
        derivative: Optional[DerivativeKind] = None,
    ) -> None:
        super().__init__()
        self.recorder = recorder
        self.wanted = wanted
        self.derivative = derivative
        #: What looks at every call, at its operators and at its derivatives.
        self.measurement: Optional[OperatorMeasurement] = None
        self.pid = os.getpid()
        #: A derivative that is to be watched, and its arguments.
        self.waiting: Optional[Tuple[WatchedCallable, Derivative, Any]] = None
        self.count = 0
        self.raised = -1
        #: The call whose derivative comes next in the backward pass under way, and what that was
        #: when the last call raised.
        self.differentiated = self.raised_in = -1
        with open(path, "wb") as file:
            file.write(struct.pack(OPERATORS_LAYOUT, -1, -1, -1, -1))
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), struct.calcsize(OPERATORS_LAYOUT))

    def __torch_function__(
        self, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named: Dict[str, Any] = kwargs or {}
        is_looking = self.measurement is not None and self.measurement.is_looking
        if getattr(func, "__name__", "") == "__get__" or os.getpid() != self.pid or is_looking:
            return func(*args, **named)
        number = self.count
        self.count += 1
        self._call_waiting()
        if self.measurement is not None:  # its time is that of the operators alone
            self.measurement.started += self.measurement.derivatives.look(number, func, args, named)
        if number == self.wanted:
            self.recorder.compiles += 1
            if self.derivative is not None:
                self._differentiate(func, args, named, self.derivative)
                return func(*args, **named)
            watched = WatchedCallable(func, {"compiler": "eager"})
            return self.recorder.call(watched, func, args, named)
        self.differentiated = -1
        self._note(number)
        try:
            result = func(*args, **named)
        except BaseException:
            self.raised, self.raised_in = number, self.differentiated
            self._note(number)
            raise
        if self.measurement is None and self.wanted is None:
            self._mark(number, result)
        return result

    def _mark(self, number: int, result: Any) -> None:
        """Has autograd say when it is about to compute the derivative of this call."""

        def note(_: Any) -> None:
            self.differentiated = number
            self._note(self.count - 1)

        # results of every class come by here, and what is none of torch's may answer with an error
        with contextlib.suppress(Exception):
            for leaf in tree_flatten(result)[0]:
                if type(leaf) is torch.Tensor and leaf.grad_fn is not None:
                    leaf.grad_fn.register_prehook(note)

    def _differentiate(self, func: Any, args: Any, named: Any, kind: DerivativeKind) -> None:
        """Makes the call whose error is that of the derivative; the program does not see it."""
        func, args = take_own_function(func, args)
        derivative = Derivative(func, kind)
        watched = WatchedCallable(derivative, {"compiler": "eager", "derivative": kind})
        with leave_modes():
            is_own = kind in ("backward", "elementwise")
            given = isolate(args, named) if is_own else widen(args, named)
        self.waiting = (watched, derivative, given)
        self._call_waiting()

    def _call_waiting(self) -> None:
        """Makes the call that waits, once forward mode is left, which cannot be nested."""
        if self.waiting is None or is_in_forward_mode():
            return
        (watched, derivative, given), self.waiting = self.waiting, None
        with leave_modes(), torch.enable_grad(), contextlib.suppress(Exception):
            self.recorder.call(watched, derivative, *given)

    def _note(self, number: int) -> None:
        self._memory[:] = struct.pack(
            OPERATORS_LAYOUT, number, self.differentiated, self.raised, self.raised_in
        )


def watch_operators(recorder: Any, spec: RecorderSpec) -> None:
    """Sees the calls of torch's functions from now on, to the end of the process."""
    mode = OperatorMode(recorder, spec["operators"], spec.get("operator"), spec.get("derivative"))
    _enter(mode)
    if "native_calls" in spec:
        NativeCalls(spec["native_calls"]).watch()
    if "measured" in spec:
        measurement = OperatorMeasurement(spec["measured"], lambda: mode.count - 1)
        mode.measurement = measurement
        _enter(measurement)
        if spec.get("sharded"):
            _enter(ShardedMeasurement(measurement.note_sharded, measurement.number))
        atexit.register(measurement.save)
    if "alone" in spec:
        lone_training.train_alone(spec["alone"])
    if spec.get("zeroed"):
        _enter(ZeroMemoryMode())
    if spec.get("exact"):
        _enter(precision.promote())


def take_part(spec: RecorderSpec) -> None:
    """Takes part in what another process looks at, whose collectives need this one."""
    if spec.get("sharded"):
        _enter(ShardedMeasurement(lambda error: None, lambda: -1))
    if "alone" in spec:
        lone_training.train_alone()


def _enter(mode: Any) -> None:
    mode.__enter__()
    _ENTERED.append(mode)
