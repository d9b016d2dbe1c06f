"""The tables of what a callable reaches, and the live values behind their ids."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Set, Tuple, TypeVar

import torch
from torch import nn

from ..protocol.program_source import (
    ClassRecord,
    FunctionRecord,
    InstanceRecord,
    Reference,
    TensorSpec,
)
from .values import read_tensor_spec

_Record = TypeVar("_Record")
#: An attribute that waits for a mention: its name, its value, and what files its reference.
Waiting = Tuple[str, Any, Callable[[str, Reference], None]]


class Records:
    """Tables of what was found.

    `wanted` are the attribute names mentioned so far; `later` waits for a mention.
    """

    def __init__(self) -> None:
        self.functions: Dict[str, FunctionRecord] = {}
        self.classes: Dict[str, ClassRecord] = {}
        self.instances: Dict[str, InstanceRecord] = {}
        self.tensors: Dict[str, TensorSpec] = {}
        self.problems: List[str] = []
        self.wanted: Set[str] = set()
        self.all_wanted = False
        self.constructed: Set[str] = set()
        self.with_instances: Set[str] = set()
        self.later: List[Waiting] = []
        self.known: Dict[int, str] = {}
        self.alive: List[Any] = []
        self.live_classes: Dict[str, Any] = {}
        self._refused: Dict[int, Tuple[object, Reference]] = {}
        self._storages: Dict[Tuple[str, int], List[str]] = {}
        self._arrays: Dict[int, torch.Tensor] = {}

    def add(self, value: Any, prefix: str, table: Dict[str, _Record], record: _Record) -> str:
        """Puts the record of a live value in a table, and returns its id.

        The value is kept alive, so that Python's id of it stays its own.

        Args:
            prefix: one letter, which tells the tables apart.
            table: where its record is then, under this id; records are numbered as they come.
        """
        key = prefix + str(len(table))
        table[key] = record
        self.known[id(value)] = key
        self.alive.append(value)
        return key

    def take_mentioned(self) -> List[Waiting]:
        """What has waited and is mentioned by now; it waits no longer."""
        ready: List[Waiting] = []
        waiting: List[Waiting] = []
        for entry in self.later:
            (ready if self.all_wanted or entry[0] in self.wanted else waiting).append(entry)
        self.later = waiting
        return ready

    def note_opaque(self, reason: str) -> Reference:
        """A thing that cannot be rebuilt."""
        self.problems.append(reason)
        return {"kind": "opaque", "reason": reason}

    def refuse(self, value: object, reason: str) -> Reference:
        """A live value that is opaque from now on, even if it has a record already."""
        reference = self.note_opaque(reason)
        self._refused[id(value)] = (value, reference)
        return reference

    def find_refused(self, value: object) -> Optional[Reference]:
        """The reference of a value that was refused; None for any other."""
        return self._refused.get(id(value), (value, None))[1]

    def refer_to_tensor(self, value: torch.Tensor, values: bool = True) -> Reference:
        """A tensor, with its record, which tells of its `values` too."""
        if id(value) in self.known:
            return {"kind": "tensor", "id": self.known[id(value)]}
        if (
            type(value) not in (torch.Tensor, nn.Parameter)
            and type(value).__module__.split(".")[0] != "torch"
        ):
            return self.note_opaque("tensor subclass " + type(value).__name__)
        record: TensorSpec = {}
        key = self.add(value, "t", self.tensors, record)
        try:
            self.tensors[key] = read_tensor_spec(value, values)
        except Exception as problem:  # a tensor may be of a class that refuses
            return self.note_opaque("tensor: " + type(problem).__name__)
        if (
            self.tensors[key]["layout"] == "strided"
            and value.numel()
            and value.device.type != "meta"
        ):
            place = (value.device.type, value.untyped_storage().data_ptr())
            self._storages.setdefault(place, []).append(key)
        return {"kind": "tensor", "id": key}

    def refer_to_array(self, value: object) -> Reference:
        """An array of NumPy, with the record of the tensor that lies in its memory."""
        if id(value) not in self._arrays:
            try:
                tensor = torch.from_numpy(value)
            except (TypeError, ValueError):  # strings, negative strides
                return self.note_opaque("an array of NumPy that is no tensor")
            self._arrays[id(value)] = tensor  # which keeps the array alive
        found = self.refer_to_tensor(self._arrays[id(value)])
        return {"kind": "array", "id": found["id"]} if found["kind"] == "tensor" else found

    def find_shared_storages(self) -> List[List[str]]:
        """Groups of tensors that lie in the same memory."""
        return [group for group in self._storages.values() if len(group) > 1]
