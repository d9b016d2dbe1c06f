"""Everything a failing callable reaches, as data: functions as text, objects as the state they are in now.

No constructor of the user's is ever needed: a module is what its attributes are at this moment. So `__init__`, with
its configuration files and credentials, is not even looked at, and of a class only the methods and attributes
whose names some gathered function mentions. Torch and the standard library are named, everything else is
followed; what cannot be followed is `opaque` with a reason.
"""

from __future__ import annotations

import enum
import functools
import importlib
import logging
import sys
import types
from typing import Any, Dict, List, Optional, Set, Tuple

import torch
from torch import nn

from . import source_text, source_values
from .source_public import is_foreign, public_reference, user_code

Ref = Dict[str, Any]

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
_STOCK_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
_FRESH = set(nn.Module().__dict__) | {"training"}
_LARGE = 400


def gather(fn: Any, args: Any, kwargs: Any, backend: Any = None) -> Dict[str, Any]:
    """The callable, its arguments and a custom backend, with all they reach, as JSON-able data."""
    work = _Gatherer()
    entry = work.ref(_original(fn))
    found: Dict[str, Any] = {
        "version": 1,
        "entry": entry,
        "args": [work.ref(value) for value in args],
        "kwargs": {name: work.ref(value) for name, value in kwargs.items()},
        "backend": work.ref(backend) if backend is not None else None,
    }
    work.run()
    found.update(
        functions=work.functions,
        classes=work.classes,
        instances=work.instances,
        tensors=work.tensors,
        storages=work.shared_storages(),
        problems=work.problems,
    )
    return found


def _original(value: Any) -> Any:
    for name in ("_orig_mod", "_torchdynamo_orig_callable"):
        inner = getattr(value, "__dict__", {}).get(name) or getattr(value, "__dict__", {}).get("_modules", {}).get(name)
        if inner is not None:
            return _original(inner)
    return value


class _Gatherer:
    """Walks live objects. `wanted` are the attribute names mentioned so far; `later` waits for a mention."""

    def __init__(self) -> None:
        self.functions: Dict[str, Any] = {}
        self.classes: Dict[str, Any] = {}
        self.instances: Dict[str, Any] = {}
        self.tensors: Dict[str, Any] = {}
        self.problems: List[str] = []
        self.wanted: Set[str] = set()
        self.all_wanted = False
        self.constructed: Set[str] = set()
        self.with_instances: Set[str] = set()
        self.later: List[Tuple[str, Any, Dict[str, Any]]] = []
        self.known: Dict[int, str] = {}
        self.alive: List[Any] = []
        self.live_classes: Dict[str, Any] = {}
        self.storages: Dict[Tuple[str, int], List[str]] = {}
        self.depth = 0

    def run(self) -> None:
        """Takes in what has been mentioned until nothing new is."""
        while True:
            ready = [entry for entry in self.later if self.all_wanted or entry[0] in self.wanted]
            if ready:
                self.later = [entry for entry in self.later if not (self.all_wanted or entry[0] in self.wanted)]
                for name, value, into in ready:
                    into[name] = self.ref(value)
            elif not self._constructors():
                return

    def _constructors(self) -> bool:
        """`__init__` of the classes that gathered code may call; of modules only if no live one shows the state."""
        for key in sorted(self.constructed):
            record = self.classes[key]
            if record["init_seen"] or (record["module"] and key in self.with_instances):
                continue
            record["init_seen"] = True
            live = self.live_classes[key]
            for base in live.__mro__[1:]:
                if id(base) in self.known:
                    self.constructed.add(self.known[id(base)])
            for name in ("__init__", "__post_init__"):
                method = live.__dict__.get(name)
                if isinstance(method, types.FunctionType) and user_code(method):
                    record["methods"][name] = {"method": "plain", "function": self.ref(method)}
            return True
        return False

    def _key(self, value: Any, prefix: str, table: Dict[str, Any]) -> str:
        key = prefix + str(len(table))
        self.known[id(value)] = key
        self.alive.append(value)
        return key

    def opaque(self, reason: str) -> Ref:
        """A thing that cannot be rebuilt."""
        self.problems.append(reason)
        return {"kind": "opaque", "reason": reason}

    def ref(self, value: Any) -> Ref:
        """What a live value is."""
        value = _original(value)
        simple = _constant(value)
        if simple is not None:
            return simple
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple, set, frozenset, dict)) and not hasattr(value, "_fields"):
            return self._container(value)
        if isinstance(value, types.ModuleType):
            name = value.__name__
            return {"kind": "module", "name": name} if is_foreign(name) else self.opaque("module " + name)
        if isinstance(value, logging.Logger):
            return {"kind": "logger"}
        if isinstance(value, functools.partial):
            return {
                "kind": "partial",
                "function": self.ref(value.func),
                "args": [self.ref(each) for each in value.args],
                "kwargs": {name: self.ref(each) for name, each in value.keywords.items()},
            }
        if isinstance(value, types.MethodType):
            return self._method(value)
        if value is torch.compile:
            return {"kind": "torch", "name": "torch.compile"}
        if isinstance(value, types.FunctionType) and user_code(value) is not False:
            return self._function(value)
        public = public_reference(value)
        if public is not None:
            return public
        if isinstance(value, type):
            return self._class(value)
        return self._instance(value)

    def _tensor(self, value: torch.Tensor, values: bool = True) -> Ref:
        if id(value) in self.known:
            return {"kind": "tensor", "id": self.known[id(value)]}
        if type(value) not in (torch.Tensor, nn.Parameter) and type(value).__module__.split(".")[0] != "torch":
            return self.opaque("tensor subclass " + type(value).__name__)
        key = self._key(value, "t", self.tensors)
        try:
            self.tensors[key] = source_values.tensor_spec(value, values)
        except Exception as problem:
            self.tensors[key] = {}
            return self.opaque("tensor: " + type(problem).__name__)
        if self.tensors[key]["layout"] == "strided" and value.numel() and value.device.type != "meta":
            place = (value.device.type, value.untyped_storage().data_ptr())
            self.storages.setdefault(place, []).append(key)
        return {"kind": "tensor", "id": key}

    def shared_storages(self) -> List[List[str]]:
        """Groups of tensors that lie in the same memory."""
        return [group for group in self.storages.values() if len(group) > 1]

    def _container(self, value: Any) -> Ref:
        if len(value) > _LARGE or self.depth > 20:
            return self.opaque("a large " + type(value).__name__)
        self.depth += 1
        try:
            if isinstance(value, dict):
                pairs = [[self.ref(name), self.ref(each)] for name, each in value.items()]
                return {"kind": "dict", "items": pairs}
            kind = "tuple" if isinstance(value, tuple) else "list" if isinstance(value, list) else "set"
            return {"kind": kind, "items": [self.ref(each) for each in value]}
        finally:
            self.depth -= 1

    def _method(self, value: types.MethodType) -> Ref:
        owner, name = self.ref(value.__self__), value.__func__.__name__
        self.wanted.add(name)
        if owner["kind"] in ("torch", "stdlib", "builtin"):
            return {"kind": owner["kind"], "name": owner["name"] + "." + name}
        return {"kind": "method", "owner": owner, "name": name}

    def _function(self, value: types.FunctionType) -> Ref:
        if id(value) in self.known:
            return {"kind": "function", "id": self.known[id(value)]}
        node = source_text.find_node(value)
        if node is None:
            return self.opaque("function without source: " + value.__name__)
        key = self._key(value, "f", self.functions)
        owner = value.__qualname__.split(".")[-2] if value.__qualname__.count(".") else ""
        names, every = source_text.used_names(node)
        self.wanted |= names
        self.all_wanted = self.all_wanted or every
        record: Dict[str, Any] = {
            "name": value.__name__,
            "qualname": value.__qualname__,
            "line": value.__code__.co_firstlineno,
            "module": value.__module__,
            "source": source_text.unparse(node, "" if owner == "<locals>" else owner),
            "refs": {},
            "chains": {},
        }
        self.functions[key] = record
        record["defaults"] = [self.ref(each) for each in value.__defaults__ or ()]
        record["kwdefaults"] = {name: self.ref(each) for name, each in (value.__kwdefaults__ or {}).items()}
        self._names(record, value, node)
        return {"kind": "function", "id": key}

    def _names(self, record: Dict[str, Any], value: types.FunctionType, node: Any) -> None:
        """Fills `refs` (a global or captured name gives a value) and `chains` (a dotted name from a module does)."""
        live: Dict[str, Any] = {}
        body = source_text.global_names(value.__code__)
        for name in body | source_text.decorator_names(node):
            if name in value.__globals__ and (name in body or _known(value.__globals__[name])):
                live[name] = value.__globals__[name]
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            try:
                live[name] = cell.cell_contents
            except ValueError:
                continue
        live.pop("__class__", None)
        for name, (module, attribute) in source_text.imported(node).items():
            found = _import(module, attribute)
            if found is not None:
                live[name] = found
        dotted = source_text.chains(node)
        for name, thing in sorted(live.items(), key=lambda pair: pair[0]):
            if isinstance(thing, types.ModuleType):
                self._module_chains(record, name, thing, dotted)
                if not is_foreign(thing.__name__):
                    continue
            record["refs"][name] = self._called(self.ref(thing))

    def _module_chains(self, record: Dict[str, Any], name: str, module: Any, dotted: Set[Tuple[str, ...]]) -> None:
        for chain in sorted(chain for chain in dotted if chain[0] == name):
            thing: Any = module
            for length, attribute in enumerate(chain[1:], 2):
                try:
                    thing = getattr(thing, attribute)
                except Exception:
                    break
                if isinstance(thing, types.ModuleType):
                    continue
                reference = self._called(self.ref(thing))
                deeper = reference["kind"] == "torch" and length < len(chain)
                record["chains"][".".join(chain[:length])] = reference
                if not deeper:
                    break

    def _called(self, reference: Ref) -> Ref:
        if reference["kind"] == "class":
            self.constructed.add(reference["id"])
        return reference

    def _class(self, value: type) -> Ref:
        if id(value) in self.known:
            return {"kind": "class", "id": self.known[id(value)]}
        key = self._key(value, "c", self.classes)
        record: Dict[str, Any] = {
            "name": value.__name__,
            "module": issubclass(value, nn.Module),
            "function": issubclass(value, torch.autograd.Function),
            "shape": _shape(value),
            "methods": {},
            "attributes": {},
            "fields": [],
            "slots": [value.__dict__["__slots__"]] if isinstance(value.__dict__.get("__slots__"), str) else list(value.__dict__.get("__slots__", ())),
            "init_seen": False,
        }
        self.classes[key] = record
        self.live_classes[key] = value
        record["bases"] = [self.ref(base) for base in value.__bases__ if base is not object]
        foreign = [base for base in value.__mro__[1:] if is_foreign(base.__module__) and base is not object]
        record["overrides"] = sorted(name for name in value.__dict__ if any(hasattr(base, name) for base in foreign))
        if record["shape"] == "enum":
            record["fields"] = [[member.name, self.ref(member.value)] for member in value]  # type: ignore[attr-defined]
        elif record["shape"] == "namedtuple":
            given = getattr(value, "_field_defaults", {})
            record["fields"] = [[name, self.ref(given[name]) if name in given else None] for name in value._fields]  # type: ignore[attr-defined]
        elif record["shape"] == "dataclass":
            record["frozen"] = bool(value.__dataclass_params__.frozen)  # type: ignore[attr-defined]
        self._members(value, record)
        return {"kind": "class", "id": key}

    def _members(self, value: type, record: Dict[str, Any]) -> None:
        members = record["fields"] and {name for name, _ in record["fields"]} or set()
        for name, thing in list(value.__dict__.items()):
            if name in _LEFT_OUT or name in members or name.startswith(("__dataclass", "_field")):
                continue
            method = _method_kind(thing)
            if method is not None:
                kind, function = method
                if not isinstance(_unwrapped(function), types.FunctionType) or name == "__init__":
                    continue
                dunder = name.startswith("__") and name.endswith("__")
                into = _Methods(self, record["methods"], kind)
                if name in _PROTOCOL or dunder:
                    if user_code(_unwrapped(function)) is True:
                        into[name] = self.ref(function)
                else:
                    self.later.append((name, function, into))
            elif not (name.startswith("__") and name.endswith("__")) and not isinstance(thing, types.MemberDescriptorType):
                self.later.append((name, thing, record["attributes"]))

    def _instance(self, value: Any) -> Ref:
        if id(value) in self.known:
            return {"kind": "instance", "id": self.known[id(value)]}
        cls = type(value)
        if isinstance(value, enum.Enum):
            return {"kind": "member", "class": self.ref(cls), "name": value.name}
        if isinstance(value, nn.Module):
            return self._module(value)
        if is_foreign(cls.__module__):
            return self.opaque("an object of " + cls.__module__ + "." + cls.__name__)
        key = self._key(value, "i", self.instances)
        record: Dict[str, Any] = {"module": False, "state": {}}
        self.instances[key] = record
        record["class"] = self.ref(cls)
        if record["class"]["kind"] != "class":
            return self.opaque("an object of " + cls.__name__)
        self.with_instances.add(record["class"]["id"])
        if hasattr(value, "_fields") and isinstance(value, tuple):
            record["state"] = {name: self.ref(each) for name, each in zip(value._fields, value)}  # type: ignore[attr-defined]
            return {"kind": "instance", "id": key}
        state = dict(getattr(value, "__dict__", {}))
        for base in cls.__mro__:
            slots = base.__dict__.get("__slots__", ())
            state.update({name: getattr(value, name) for name in ((slots,) if isinstance(slots, str) else slots) if hasattr(value, name)})
        self.later.extend((name, each, record["state"]) for name, each in state.items())
        return {"kind": "instance", "id": key}

    def _module(self, value: nn.Module) -> Ref:
        key = self._key(value, "i", self.instances)
        record: Dict[str, Any] = {"module": True, "state": {}, "training": bool(value.training), "stock": None}
        self.instances[key] = record
        if value._forward_hooks or value._forward_pre_hooks:
            self.problems.append("forward hooks are left out")
        cls = type(value)
        if cls.__module__.split(".")[0] == "torch":
            self._stock(value, record)
            return {"kind": "instance", "id": key}
        record["class"] = self.ref(cls)
        if record["class"]["kind"] == "class":
            self.with_instances.add(record["class"]["id"])
        numbered = isinstance(value, _STOCK_CONTAINERS)
        if numbered:
            record["items"] = [[name, self.ref(child)] for name, child in value._modules.items()]
        state = {name: each for name, each in value.__dict__.items() if name not in _FRESH}
        for table in (value._parameters, value._buffers, value._modules):
            state.update({name: each for name, each in table.items() if not numbered or table is not value._modules})  # type: ignore[attr-defined]
        record["buffers"] = list(value._buffers)
        self.later.extend((name, each, record["state"]) for name, each in state.items())
        return {"kind": "instance", "id": key}

    def _stock(self, value: nn.Module, record: Dict[str, Any]) -> None:
        reference = public_reference(type(value))
        record["class"] = reference or self.opaque("layer " + type(value).__name__)
        record["stock"] = {"args": {}, "factory": {}}
        if isinstance(value, _STOCK_CONTAINERS):
            if isinstance(value, (nn.ParameterList, nn.ParameterDict)):
                pairs: Any = value.items() if isinstance(value, nn.ParameterDict) else enumerate(value)
            else:
                pairs = value._modules.items()
            record["items"] = [[str(name), self.ref(child)] for name, child in pairs]
            return
        arguments = source_values.stock_arguments(value)
        if arguments is None:
            record["class"] = self.opaque("layer " + type(value).__name__)
            return
        record["stock"] = {
            "args": {name: self.ref(each) for name, each in arguments.items()},
            "factory": source_values.factory(value),
        }
        own = list(value.named_parameters())
        record["frozen"] = bool(own) and not any(each.requires_grad for _, each in own)
        record["parameters"] = {name: self._tensor(each, values=False).get("id") for name, each in own}


class _Methods(Dict[str, Any]):
    """Takes a method's reference and files it with its kind under the class's methods."""

    def __init__(self, owner: _Gatherer, table: Dict[str, Any], kind: str) -> None:
        super().__init__()
        self.owner, self.table, self.kind = owner, table, kind

    def __setitem__(self, name: str, reference: Any) -> None:
        if reference["kind"] == "function":
            self.table[name] = {"method": self.kind, "function": reference}


def _constant(value: Any) -> Optional[Ref]:
    if value is None or value is Ellipsis or type(value) in (bool, int, float, complex, str, bytes):
        return {"kind": "const", "value": value if isinstance(value, str) else repr(value), "text": isinstance(value, str)}
    if isinstance(value, torch.Size):
        return {"kind": "tuple", "items": [{"kind": "const", "value": repr(int(each)), "text": False} for each in value]}
    if isinstance(value, torch.device):
        return {"kind": "device", "name": str(value)}
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return {"kind": "torch", "name": str(value)}
    if isinstance(value, (slice, range)):
        parts = [value.start, value.stop, value.step]
        if all(each is None or type(each) is int for each in parts):
            return {"kind": "const", "value": repr(value), "text": False}
    return None


def _known(value: Any) -> bool:
    """Whether a decorator may matter again: a user's has done its work already, torch's and Python's may."""
    return isinstance(value, types.ModuleType) and is_foreign(value.__name__) or public_reference(value) is not None


def _import(module: str, attribute: Optional[str]) -> Any:
    try:
        loaded = importlib.import_module(module) if is_foreign(module) else sys.modules[module]
        if attribute is None:
            return loaded
        return getattr(loaded, attribute) if hasattr(loaded, attribute) else importlib.import_module(module + "." + attribute)
    except Exception:
        return None


def _shape(value: type) -> str:
    if issubclass(value, enum.Enum):
        return "enum"
    if issubclass(value, tuple) and hasattr(value, "_fields"):
        return "namedtuple"
    return "dataclass" if "__dataclass_fields__" in value.__dict__ else "class"


def _unwrapped(function: Any) -> Any:
    function = _original(function)
    while isinstance(function, types.FunctionType) and user_code(function) is False and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _method_kind(thing: Any) -> Optional[Tuple[str, Any]]:
    if isinstance(thing, staticmethod):
        return "static", thing.__func__
    if isinstance(thing, classmethod):
        return "class", thing.__func__
    if isinstance(thing, property):
        return "property", thing.fget
    if isinstance(thing, functools.cached_property):
        return "cached_property", thing.func
    return ("plain", thing) if isinstance(_original(thing), types.FunctionType) else None
