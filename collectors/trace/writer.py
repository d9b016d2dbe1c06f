"""A trace while it is written: blocks of operations, by the names of their values.

What a size was computed from is written where the size is first wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import torch

from ..call import context
from ..dynamo.encoded_values import build_refusal, encode_value
from ..dynamo.translator import read_tensor_meta
from ..protocol.captured_trace import Switches, TracedBlock, TracedItem, TracedOperation
from ..protocol.captured_values import Encoded, EncodedReference, OperationKind, ResultLayout
from .registry import Registry
from .sizes import Size
from .torch_functions import build_size_key, read_metas


@dataclass(frozen=True)
class OperatorCall:
    """What is called, and with what, as the graph IR has it."""

    op: OperationKind
    target: str
    args: List[Encoded]
    kwargs: Dict[str, Encoded] = field(default_factory=dict)


class TraceWriter:
    """Writes to the innermost block, the last of `stack`; `registry` has the names of what was
    given.
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.states: List[Switches] = []
        self.root: List[TracedItem] = []
        self.stack: List[TracedBlock] = [{"items": self.root, "state": 0}]
        self.function: Any = None  # the autograd.Function that is being followed
        self.functions: Dict[Any, int] = {}
        self.alive: List[Any] = []  # so that an id stays one block's or one tensor's
        #: Private operations that nobody can look into, in the order of their calls.
        self.opaque: List[Callable[..., Any]] = []
        self._count = 0
        #: Of a size: its name, and the id of the block where it was written.
        self._sizes_read: Dict[Any, Tuple[str, int]] = {}

    def encode(self, value: Any) -> Encoded:
        """A value as the graph IR has it.

        Raises:
            NotInGraphError: the graph IR has no form for it.
        """
        if isinstance(value, torch.Tensor):
            return {"ref": self.registry.resolve_name(value)}
        if type(value) is Size:
            return self._refer_to_size(value)
        if isinstance(value, type) and value in (bool, int, float):
            return {"atom": value.__name__}
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            raise build_refusal(value)
        return encode_value(value, self.encode)

    def _refer_to_size(self, size: Size) -> Union[int, EncodedReference]:
        """A reference to the size, read or computed in the block where it is first wanted."""
        key = build_size_key(size)
        found = self._sizes_read.get(key)
        if found is not None and found[1] in (id(item) for item in self._list_blocks()):
            return {"ref": found[0]}
        op: OperationKind
        kind, *operands = size.derivation
        if kind == "item":
            return {"ref": operands[0]}
        if kind == "size":
            op, target, args = "method", "size", [{"ref": operands[0]}, operands[1]]
        else:
            op, target = "function", operands[0]
            args = [
                self._refer_to_size(item) if type(item) is Size else int(item)
                for item in operands[1]
            ]
            if not any(isinstance(item, dict) for item in args):
                return int(size)
        call = OperatorCall(op, target, args)
        if self.function is not None and kind == "size" and not self.function.holds(operands[0]):
            self.stack.append(self.function.forward)  # which hands it to the backward
            name = self.write_node(call, {"scalar": "int"}, self.stack[-1]["state"])
            self._sizes_read[key] = (name, id(self.stack.pop()))
            return {"ref": name}
        name = self.write_node(call, {"scalar": "int"})
        self._sizes_read[key] = (name, id(self.stack[-1]))
        return {"ref": name}

    def _list_blocks(self) -> List[TracedBlock]:
        """The blocks whose values the present one can read."""
        return self.stack if self.function is None else [*self.stack, self.function.forward]

    def note_result(self, result: Any, call: OperatorCall, state: int) -> Any:
        """Notes an operation that has run, and returns its result, a number read as a `Size`.

        Args:
            result: a tensor, nested tuples or lists of tensors, the number that `item` gives, or
                None. Anything else is not noted.
            call: the operation, with what it was given.
            state: number of the switches under which it ran, from `find_state` before it.
        """
        if isinstance(result, torch.Tensor):
            same = self.registry.find_name(result) or ""
            name = self.write_node(call, read_tensor_meta(result), state, same)
            self.registry.bind(result, same or name)
            return result
        if isinstance(result, (tuple, list)):
            name = self.write_node(call, read_metas(result), state)
            self._write_items(result, name)
            return result
        if type(result) in (int, float) and call.target == "item":
            meta: ResultLayout = {"scalar": type(result).__name__}
            name = self.write_node(call, meta, state)
            return Size(result, ("item", name)) if type(result) is int else result
        if result is None:
            self.write_node(call, None, state)
        return result

    def _write_items(self, result: Any, name: str) -> None:
        for index, item in enumerate(result):
            call = OperatorCall("function", "operator.getitem", [{"ref": name}, index])
            if isinstance(item, torch.Tensor):
                if self.registry.find_name(item) is None:
                    inner = self.write_node(call, read_tensor_meta(item))
                    self.registry.bind(item, inner)
            elif isinstance(item, (tuple, list)):
                inner = self.write_node(call, read_metas(item))
                self._write_items(item, inner)

    def take_name(self) -> str:
        """A name for a value."""
        self._count += 1
        return "n{}".format(self._count - 1)

    def write_node(
        self,
        call: OperatorCall,
        meta: ResultLayout,
        state: Optional[int] = None,
        same: str = "",
    ) -> str:
        """Writes an operation as the graph IR has it, and returns the name of its value.

        Args:
            meta: dtype, shape, strides and device of the result or of each item; None without any.
            state: number of the switches, from `find_state`; None for those that are on now.
            same: the name of the value that it changes in place, "" for none.
        """
        name = self.take_name()
        node: TracedOperation = {
            "name": name,
            "op": call.op,
            "target": call.target,
            "args": call.args,
            "kwargs": call.kwargs,
            "meta": meta,
            "state": self.find_state() if state is None else state,
        }
        if same:
            node["same"] = same
        self.stack[-1]["items"].append(node)
        return name

    def find_state(self) -> int:
        """The number of the switches that are on: gradients, inference mode, autocast."""
        now: Switches = {
            "grad": torch.is_grad_enabled(),
            "inference": torch.is_inference_mode_enabled(),
            "autocast": {d: context.read_autocast_settings(d) for d in ("cpu", "cuda")},
        }
        if now not in self.states:
            self.states.append(now)
        return self.states.index(now)
