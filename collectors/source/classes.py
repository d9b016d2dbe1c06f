"""Classes and objects as data: of a class what is mentioned, of an object the state it is in
now.
"""

from __future__ import annotations

import enum
import types
from typing import Any, Callable, Dict, Generic, Set

import torch
from torch import nn

from ..machine.libraries import is_of_python_or_torch
from ..protocol.program_source import ClassRecord, InstanceRecord, MethodRecord, Reference
from . import introspection, stock_layers
from .provenance import find_public_reference, is_user_code
from .records import Records

_PROTOCOL = {"forward", "backward", "setup_context", "vmap", "jvp"}
_LEFT_OUT = {
    "__module__",
    "__dict__",
    "__weakref__",
    "__doc__",
    "__qualname__",
    "__init__",
    "__annotations__",
    "__slots__",
    "__match_args__",
    "__hash__",
    "__firstlineno__",
    "__static_attributes__",
    "__orig_bases__",
    "__parameters__",
    "__abstractmethods__",
    "_abc_impl",
    "__annotate_func__",
    "__annotations_cache__",
    "__post_init__",
}
_STOCK_CONTAINERS = (
    nn.Sequential,
    nn.ModuleList,
    nn.ModuleDict,
    nn.ParameterList,
    nn.ParameterDict,
)
_FRESH = set(nn.Module().__dict__) | {"training"}


class ObjectRecorder:
    """Fills the tables of classes and objects; `ref` says what a live value is."""

    def __init__(self, records: Records, ref: Callable[[Any], Reference]) -> None:
        self.records = records
        self.refer_to = ref

    def refer_to_class(self, value: type) -> Reference:
        """A class of the program, with its record."""
        if id(value) in self.records.known:
            return {"kind": "class", "id": self.records.known[id(value)]}
        record: ClassRecord = {
            "name": value.__name__,
            "module": issubclass(value, nn.Module),
            "function": issubclass(value, torch.autograd.Function),
            "shape": introspection.classify_class(value),
            "bases": [],
            "overrides": [],
            "methods": {},
            "setters": {},
            "attributes": {},
            "fields": [],
            "slots": introspection.list_slots(value),
            "init_seen": False,
        }
        key = self.records.add(value, "c", self.records.classes, record)
        self.records.live_classes[key] = value
        record["bases"] = [
            self.refer_to(base) for base in value.__bases__ if base not in (object, Generic)
        ]
        self._note_overrides(value)
        if record["shape"] == "enum":
            members: Any = value
            record["fields"] = [(member.name, self.refer_to(member.value)) for member in members]
        elif record["shape"] == "namedtuple":
            given = getattr(value, "_field_defaults", {})
            fields = value._fields  # type: ignore[attr-defined]
            record["fields"] = [
                (name, self.refer_to(given[name]) if name in given else None) for name in fields
            ]
        elif record["shape"] == "dataclass":
            record["fields"] = [(name, None) for name, _, _ in introspection.list_fields(value)]
            record["frozen"] = bool(value.__dataclass_params__.frozen)  # type: ignore[attr-defined]
        if record["function"]:  # torch reads it, and no code of the program needs to name it
            self.records.wanted.add("generate_vmap_rule")
        self._record_members(value, record)
        return {"kind": "class", "id": key}

    def _note_overrides(self, value: type) -> None:
        """Notes what a class and its bases override, as `forward` of a mixin, which is no module
        itself.
        """
        foreign = [
            base
            for base in value.__mro__[1:]
            if is_of_python_or_torch(base.__module__) and base is not object
        ]
        for each in value.__mro__:
            record = self.records.classes.get(self.records.known.get(id(each), ""))
            if record is not None:
                names = {name for name in each.__dict__ if any(hasattr(f, name) for f in foreign)}
                record["overrides"] = sorted(names.union(record["overrides"]))

    def _record_members(self, value: type, record: ClassRecord) -> None:
        members = record["fields"] and {name for name, _ in record["fields"]} or set()
        for name, thing in list(value.__dict__.items()):
            if name in _LEFT_OUT or name in members or name.startswith(("__dataclass", "_field")):
                continue
            method = introspection.classify_member(thing)
            if method is not None:
                kind, function = method
                written = introspection.find_function(function)
                if not isinstance(written, types.FunctionType) or name == "__init__":
                    continue
                if getattr(function, "__isabstractmethod__", False):  # a derived class has it
                    continue
                dunder = name.startswith("__") and name.endswith("__")
                into = _file_as(record["methods"], kind)
                if name in _PROTOCOL or dunder:
                    if is_user_code(written) is True:
                        into(name, self.refer_to(function))
                else:
                    self.records.later.append((name, function, into))
                    if isinstance(thing, property) and thing.fset is not None:
                        setters = _file_as(record["setters"], "setter")
                        self.records.later.append((name, thing.fset, setters))
            elif not (name.startswith("__") and name.endswith("__")) and not isinstance(
                thing, types.MemberDescriptorType
            ):
                self.records.later.append((name, thing, record["attributes"].__setitem__))

    def refer_to_instance(self, value: Any) -> Reference:
        """An object, with the record of its state."""
        if id(value) in self.records.known:
            return {"kind": "instance", "id": self.records.known[id(value)]}
        cls = type(value)
        if isinstance(value, enum.Enum):
            if value.name in cls.__members__:
                return {"kind": "member", "class": self.refer_to(cls), "name": value.name}
            # flags put together, which only their number names
            return {
                "kind": "member",
                "class": self.refer_to(cls),
                "value": self.refer_to(value.value),
            }
        if isinstance(value, nn.Module):
            return self._record_module(value)
        if is_of_python_or_torch(cls.__module__):
            return self.records.note_opaque("an object of " + cls.__module__ + "." + cls.__name__)
        record: InstanceRecord = {"module": False, "state": {}}
        key = self.records.add(value, "i", self.records.instances, record)
        record["class"] = self.refer_to(cls)
        if record["class"]["kind"] != "class":
            return self.records.note_opaque("an object of " + cls.__name__)
        self.records.with_instances.add(record["class"]["id"])
        if isinstance(value, tuple) and hasattr(cls, "_fields"):
            names = value._fields  # type: ignore[attr-defined]
            record["state"] = {name: self.refer_to(each) for name, each in zip(names, value)}
            return {"kind": "instance", "id": key}
        state = dict(getattr(value, "__dict__", {}))
        for base in cls.__mro__:
            slots = [each for each in introspection.list_slots(base) if hasattr(value, each)]
            state.update({name: getattr(value, name) for name in slots if name != "__dict__"})
        self._keep_state(value, state, record)
        return {"kind": "instance", "id": key}

    def _keep_state(self, owner: Any, state: Dict[str, Any], record: InstanceRecord) -> None:
        """Notes the attributes of an object for later."""
        self.records.later.extend(
            (name, each, record["state"].__setitem__)
            for name, each in state.items()
            if not introspection.is_own_method(owner, name, each)
        )

    def _record_module(self, value: nn.Module) -> Reference:
        record: InstanceRecord = {
            "module": True,
            "state": {},
            "training": bool(value.training),
            "stock": None,
        }
        key = self.records.add(value, "i", self.records.instances, record)
        if value._forward_hooks or value._forward_pre_hooks:
            self.records.problems.append("forward hooks are left out")
        cls = type(value)
        if cls.__module__.split(".")[0] == "torch":
            self._record_stock(value, record)
            return {"kind": "instance", "id": key}
        record["class"] = self.refer_to(cls)
        if record["class"]["kind"] == "class":
            self.records.with_instances.add(record["class"]["id"])
        numbered = isinstance(value, _STOCK_CONTAINERS)
        if numbered:
            record["items"] = [
                (name, self.refer_to(child)) for name, child in value._modules.items()
            ]
        inherited = set() if numbered else self._record_stock_base(value, record)
        state = {
            name: each
            for name, each in value.__dict__.items()
            if name not in _FRESH and name not in inherited
        }
        for table in (value._parameters, value._buffers, *(() if numbered else (value._modules,))):
            state.update({name: each for name, each in table.items() if name not in inherited})
        record["buffers"] = [name for name in value._buffers if name not in inherited]
        self._keep_state(value, state, record)
        return {"kind": "instance", "id": key}

    def _record_stock_base(self, value: nn.Module, record: InstanceRecord) -> Set[str]:
        """Of a user's subclass of a stock layer: what that layer's own constructor makes."""
        base = next(
            each
            for each in type(value).__mro__
            if issubclass(each, nn.Module) and is_of_python_or_torch(each.__module__)
        )
        if base is nn.Module:
            return set()
        stock, arguments = stock_layers.build_stock_layer(value, base)
        if stock is None:
            self.records.note_opaque("a subclass of the layer " + base.__name__)
            return set()
        record["stock"] = {"args": {name: self.refer_to(each) for name, each in arguments.items()}}
        tables = (stock.__dict__, stock._parameters, stock._buffers, stock._modules)
        return {name for table in tables for name in table}

    def _record_stock(self, value: nn.Module, record: InstanceRecord) -> None:
        reference = find_public_reference(type(value))
        record["class"] = reference or self.records.note_opaque("layer " + type(value).__name__)
        record["stock"] = {"args": {}, "factory": {}}
        if isinstance(value, _STOCK_CONTAINERS):
            if isinstance(value, (nn.ParameterList, nn.ParameterDict)):
                pairs: Any = (
                    value.items() if isinstance(value, nn.ParameterDict) else enumerate(value)
                )
            else:
                pairs = value._modules.items()
            record["items"] = [(str(name), self.refer_to(child)) for name, child in pairs]
            return
        arguments = stock_layers.find_stock_arguments(value)
        if arguments is None:
            record["class"] = self.records.note_opaque("layer " + type(value).__name__)
            return
        record["stock"] = {
            "args": {name: self.refer_to(each) for name, each in arguments.items()},
            "factory": stock_layers.read_factory_kwargs(value),
        }
        own = list(value.named_parameters())
        record["parameters"] = {}
        record["frozen"] = bool(own) and not any(each.requires_grad for _, each in own)
        for name, each in own:
            tensor = self.records.refer_to_tensor(each, values=False)
            record["parameters"][name] = tensor["id"] if tensor["kind"] == "tensor" else None


def _file_as(table: Dict[str, MethodRecord], kind: str) -> Callable[[str, Reference], None]:
    """What files the function of a method, under its name and with the kind of method it is."""

    def file(name: str, reference: Reference) -> None:
        if reference["kind"] == "function":
            table[name] = {"method": kind, "function": reference}

    return file
