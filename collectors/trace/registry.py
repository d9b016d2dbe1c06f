"""What a traced call was given, and the names by which the trace speaks of it: modules, parameters,
buffers, constants.

A tensor is known by its identity for as long as it lives. One that is neither known nor older than
the call was made where torch functions are not seen, and is refused rather than taken for a
constant.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import Any, Collection, Dict, Iterator, List, Optional, Tuple

import torch

from ..dynamo import stock_layers
from ..dynamo.translator import read_tensor_meta
from ..dynamo.value_statistics import list_literal_values, measure_distribution
from ..machine.public_names import NotInGraphError, is_torch_owned
from ..protocol.captured_trace import TracedKind, TracedModule, TracedNames, TracedTensor
from .torch_functions import (
    build_empty_module,
    copy_values,
    has_dispatch,
    is_wrapped,
    pause_watching,
)


class Registry:
    """Modules and values of one traced run by their names in the trace.

    `given` are arguments, parameters, buffers, constants; `keep` makes copies of their values.
    `why` are the reasons for which the trace may not be the program.
    """

    def __init__(self, keep: bool) -> None:
        self.values: Dict[str, torch.Tensor] = {}  # copies of what was given, with `keep`
        self.keep = keep
        self.known: Dict[int, Tuple[Any, str]] = {}
        self.given: Dict[str, torch.Tensor] = {}
        self.kinds: Dict[str, TracedKind] = {}
        self.modules: Dict[int, TracedModule] = {}
        self.held: List[Any] = []  # modules stay alive, so that an id stays one module's
        self.created: Dict[int, Any] = {}
        self.allowed: Collection[int] = ()  # whose values may leave
        self.before: Dict[int, Any] = {}  # the tensors that there were before the call
        self.why: List[str] = []

    def note(self, reason: str) -> None:
        """Something that the trace cannot say faithfully; the proof of equivalence decides
        whether it matters.
        """
        if reason not in self.why:
            self.why.append(reason)

    # -- modules -----------------------------------------------------------------------------------

    def number_module(self, module: Any) -> int:
        """The number of a module in the trace."""
        key = id(module)
        if key not in self.modules:
            self.held.append(module)
            number = len(self.modules)
            entry = build_empty_module(number)
            entry["training"] = bool(module.training)
            entry["sequential"] = stock_layers.is_plain_sequential(module)
            self.modules[key] = entry
            with contextlib.suppress(NotInGraphError):
                entry["stock"] = stock_layers.read_constructor(module)
            for name, tensor in self._list_own(module, entry["stock"] is not None):
                label = self._name_state(tensor)
                if label:
                    entry["state"].append([name, label])
            for child in module.children():
                entry["children"].append(self.number_module(child))
        return self.modules[key]["id"]

    def _list_own(self, module: Any, deep: bool) -> Iterator[Tuple[str, torch.Tensor]]:
        for name, parameter in module.named_parameters(recurse=deep, remove_duplicate=False):
            yield name, parameter
        for name, buffer in module.named_buffers(recurse=deep, remove_duplicate=False):
            yield name, buffer

    def _name_state(self, tensor: torch.Tensor) -> str:
        if id(tensor) in self.known:
            return self.known[id(tensor)][1]
        kind: TracedKind = "param" if isinstance(tensor, torch.nn.Parameter) else "buffer"
        return self.give("p{}".format(len(self.given)), kind, tensor)

    def give(self, name: str, kind: TracedKind, tensor: torch.Tensor) -> str:
        """Takes in a tensor that the program was given, and returns its name.

        Args:
            tensor: held from now on; with `keep`, its values are copied as they are now.
        """
        if not isinstance(tensor, torch.nn.Parameter) and not is_torch_owned(type(tensor)):
            self.note("a tensor subclass")  # a plain one stands for it
        self.given[name] = tensor
        self.kinds[name] = kind
        if self.keep:
            with torch.no_grad(), pause_watching():
                self.values[name] = copy_values(tensor)
        self.bind(tensor, name)
        return name

    # -- values ------------------------------------------------------------------------------------

    def bind(self, tensor: torch.Tensor, name: str) -> None:
        """From now on the trace speaks of this tensor by this name.

        The tensor is not kept alive by it.
        """
        self.known[id(tensor)] = (weakref.ref(tensor), name)

    def find_name(self, tensor: torch.Tensor) -> Optional[str]:
        """The name that a tensor has by now."""
        found = self.known.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def resolve_name(self, tensor: torch.Tensor) -> str:
        """The trace name of a tensor; one that was there before the call and that nobody registered
        is a constant.

        Raises:
            NotInGraphError: it cannot be followed; the text says why.
        """
        found = self.find_name(tensor)
        if found is not None:
            return found
        if id(tensor) in self.created and self.created[id(tensor)]() is tensor:
            raise NotInGraphError("a tensor computed where torch functions are not seen")
        before = self.before.get(id(tensor))
        if self.before and (before is None or before() is not tensor):
            raise NotInGraphError("a tensor computed where torch functions are not seen")
        if is_wrapped(tensor):
            raise NotInGraphError("a tensor inside a function transform (torch.func)")
        if has_dispatch(tensor):
            raise NotInGraphError("a tensor subclass with a dispatch of its own")
        kind: TracedKind = "param" if isinstance(tensor, torch.nn.Parameter) else "constant"
        return self.give("c{}".format(len(self.given)), kind, tensor)

    # -- for the document --------------------------------------------------------------------------

    def describe_private(self, function: Any) -> TracedNames:
        """What the user calls the modules and what is in them; this goes into the private mapping
        and nowhere else.
        """
        found: TracedNames = {"modules": {}, "tensors": {}}
        function = getattr(function, "__self__", function)
        paths = {}
        if isinstance(function, torch.nn.Module):
            paths = {id(module): name for name, module in function.named_modules()}
        labels = {id(tensor): name for name, tensor in self.given.items()}
        for module in self.held:
            entry = self.modules[id(module)]
            found["modules"][str(entry["id"])] = [
                paths.get(id(module), ""),
                type(module).__qualname__,
            ]
            for name, tensor in self._list_own(module, False):
                label = labels.get(id(tensor))
                if label and label not in found["tensors"]:
                    path = paths.get(id(module), "")
                    found["tensors"][label] = ".".join(part for part in (path, name) if part)
        return found

    def describe_tensor(self, name: str) -> TracedTensor:
        """What was given by this name: its layout, values as far as they may leave, memory."""
        tensor = self.given[name]
        entry: TracedTensor = {
            "name": name,
            "kind": self.kinds[name],
            "meta": read_tensor_meta(tensor),
        }
        if tensor.layout == torch.strided and tensor.device.type != "meta":
            entry["stats"] = measure_distribution(tensor)
            if id(tensor) in self.allowed:
                entry["stats"]["values"] = list_literal_values(tensor)
            if tensor.numel():
                entry["storage"] = tensor.untyped_storage().data_ptr()
                entry["offset"] = int(tensor.storage_offset())
        return entry
