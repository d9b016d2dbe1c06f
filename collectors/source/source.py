"""Everything a failing callable reaches, as data: functions as text, objects as the state they are
in now.

No constructor of the user's is ever needed: a module is what its attributes are at this moment. So
`__init__`, with its configuration files and credentials, is not even looked at, and of a class only
the methods and attributes whose names some gathered function mentions. Torch and the standard
library are named, everything else is followed; what cannot be followed is `opaque` with a reason.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import functools
import logging
import types
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Set, Tuple, Union

import torch

from ..call.history import Placeholder
from ..call.operators.derivatives import Derivative, is_own_function
from ..call.rungs import RecordedCall
from ..machine.libraries import is_of_python_or_torch
from ..protocol.graphs import GatherAnswer, GatherRequest
from ..protocol.program_source import (
    CallArguments,
    DictReference,
    FunctionRecord,
    GatheredJson,
    Reference,
    SequenceKind,
    SequenceReference,
)
from ..protocol.words import CallOutcome
from ..trace import custom_operators
from . import function_source, introspection, parsed_arguments
from .classes import ObjectRecorder
from .provenance import find_public_reference, is_user_code
from .records import Records

_LARGE = 400
#: Containers in each other, of which more are no arguments.
_MOST_LEVELS = 20
#: Items of all containers: some lead to each other by very many ways.
_MOST_ITEMS = 100_000
#: More functions than a program to rewrite has: a library was reached that leads to all of itself
#: and what it imports.
_MOST_FUNCTIONS = 1000
_CONTAINERS = (list, tuple, set, frozenset, dict, collections.deque)
#: Those that are not written as a display.
_OF_COLLECTIONS = (
    collections.OrderedDict,
    collections.deque,
    collections.defaultdict,
    collections.Counter,
)
#: Functions that mark a region: that of torch.compiler, and the one behind it.
_REGIONS = ("nested_compile_region", "mark_compile_region")


class ProgramTooLargeError(Exception):
    """What is reached is no program that anybody could rewrite, let alone read."""


@dataclass(frozen=True)
class _Refusal:
    """What stands for a callable that is not followed."""

    reason: str


_TOO_LARGE = _Refusal("more than {} functions are reached".format(_MOST_FUNCTIONS))
_OF_TORCH = _Refusal("the derivative is that of a function of torch")


def gather_call(call: RecordedCall, request: GatherRequest) -> GatherAnswer:
    """What `gather` finds behind a recorded call, with its backend if that is a callable."""
    given = call.conditions.options.get("backend")
    backend = given if callable(given) else None
    function = call.function
    if isinstance(function, Derivative):  # the assertion is ours
        function = function.function
        if not is_own_function(function):  # what it calls is torch's
            function = _OF_TORCH
    if function is _OF_TORCH:
        gathered = _gather(_ObjectGatherer(), _OF_TORCH, (), {}, None)
    else:
        gathered = gather(function, call.args, call.kwargs, backend, call.before.history)
    return {
        "outcome": CallOutcome.OK,
        "gathered": gathered,
        "parsed": parsed_arguments.collect(),
    }


def gather(fn: Any, args: Any, kwargs: Any, backend: Any = None, history: Any = ()) -> GatheredJson:
    """The callable, its arguments and a custom backend, with all they reach, as JSON-able data.

    Args:
        fn: the callable, compiled or not.
        backend: that of torch.compile if it is a callable, else None.
        history: the (args, kwargs) of earlier calls, as `call.history.forget` leaves them.

    Returns:
        Where the callable reaches too much it is `opaque`, and only the backend is followed.
    """
    attempts: List[Any] = [(fn, args, kwargs, backend, history), (_TOO_LARGE, (), {}, backend)]
    for attempt in attempts:
        with contextlib.suppress(ProgramTooLargeError):
            return _gather(_ObjectGatherer(), *attempt)
    return _gather(_ObjectGatherer(), _TOO_LARGE, (), {}, None)


def gather_objects(fn: Any, args: Any, kwargs: Any, backend: Any = None) -> Dict[str, Any]:
    """The live objects behind the ids that `gather` gives them in a process of the same state.

    Args:
        fn: the callable, compiled or not.
        backend: that of torch.compile if it is a callable, else None; the one that `gather` had.

    Raises:
        ProgramTooLargeError: the call reaches more than can be gathered.
    """
    work = _ObjectGatherer()
    _gather(work, fn, args, kwargs, backend)
    return {work.records.known[id(value)]: value for value in work.records.alive}


def _gather(
    work: _ObjectGatherer, fn: Any, args: Any, kwargs: Any, backend: Any, history: Any = ()
) -> GatheredJson:
    if isinstance(fn, _Refusal):
        entry = work.records.note_opaque(fn.reason)
    else:
        entry = work.refer_to(introspection.find_original(fn))
    records = work.records
    found: GatheredJson = {
        "version": 1,
        "entry": entry,
        **work.refer_to_arguments(args, kwargs),
        "backend": work.refer_to(backend) if backend is not None else None,
        "earlier": [
            work.refer_to_arguments(given, named)
            for given, named in history
            if _is_plain((given, named), [*args, *kwargs.values()])
        ],
        "functions": records.functions,
        "classes": records.classes,
        "instances": records.instances,
        "tensors": records.tensors,
        "storages": [],
        "problems": records.problems,
    }
    work.run()
    found["storages"] = records.find_shared_storages()
    return found


def _is_plain(value: Any, known: List[Any]) -> bool:
    """Whether a value of an earlier call is made of numbers, texts and tensors that are no more, or
    is one of the objects of this call: others would count as objects of the program.
    """
    if isinstance(value, Placeholder) or any(value is each for each in known):
        return True
    if isinstance(value, dict):
        return all(_is_plain(each, known) for pair in value.items() for each in pair)
    if type(value) in (list, tuple, set, frozenset):
        return all(_is_plain(each, known) for each in value)
    return introspection.build_constant(value) is not None


class _ObjectGatherer:
    """Walks live objects from an entry."""

    def __init__(self) -> None:
        self.records = Records()
        self.objects = ObjectRecorder(self.records, self.refer_to)
        self.placeholders: Dict[int, int] = {}
        self.generators: Dict[int, Tuple[object, int]] = {}
        self.path: Set[int] = set()  # ids of the containers that are being taken in
        self.count = 0  # of their items, each time that one is taken in

    def run(self) -> None:
        """Takes in what has been mentioned until nothing new is."""
        while True:
            ready = self.records.take_mentioned()
            for name, value, into in ready:
                into(name, self.refer_to(value))
            if not ready and not self._take_constructor():
                return

    def refer_to_arguments(self, args: Any, kwargs: Any) -> CallArguments:
        """What a call was given."""
        return {
            "args": [self.refer_to(value) for value in args],
            "kwargs": {name: self.refer_to(value) for name, value in kwargs.items()},
        }

    def _take_constructor(self) -> bool:
        """`__init__` of the classes that gathered code may call; of modules only if no live one
        shows the state.
        """
        for key in sorted(self.records.constructed):
            record = self.records.classes[key]
            if record["init_seen"] or (record["module"] and key in self.records.with_instances):
                continue
            record["init_seen"] = True
            live = self.records.live_classes[key]
            for base in live.__mro__[1:]:
                if id(base) in self.records.known:
                    self.records.constructed.add(self.records.known[id(base)])
            if record["shape"] == "dataclass":
                record["fields"] = [
                    (name, self._refer_to_default(given, factory))
                    for name, given, factory in introspection.list_fields(live)
                ]
            for name in ("__init__", "__post_init__"):
                method = live.__dict__.get(name)
                if isinstance(method, types.FunctionType) and is_user_code(method):
                    record["methods"][name] = {"method": "plain", "function": self.refer_to(method)}
            return True
        return False

    def _refer_to_default(self, given: Any, factory: Any) -> Optional[Reference]:
        if factory is not None:
            return {"kind": "factory", "function": self.refer_to(factory)}
        return self.refer_to(given[0]) if given is not None else None

    def refer_to(self, value: Any) -> Reference:
        """What a live value is; one that raises when it is looked at is opaque."""
        refused = self.records.find_refused(value)
        if refused is not None:
            return refused
        try:
            return self._refer_to_original(introspection.find_original(value))
        except ProgramTooLargeError:
            raise
        except Exception:  # an object of the program may be anything
            return self.records.refuse(value, "an object that raises when it is read")

    def _refer_to_original(self, value: Any) -> Reference:
        for refer in (
            introspection.build_constant,
            self._refer_to_data,
            self._refer_to_generator,
            self._refer_to_holder,
            self._refer_to_callable,
            find_public_reference,
        ):
            found: Optional[Reference] = refer(value)
            if found is not None:
                return found
        if isinstance(value, type):
            return self.objects.refer_to_class(value)
        return self.objects.refer_to_instance(value)

    def _refer_to_data(self, value: Any) -> Optional[Reference]:
        """A tensor, an array, what stands for one of an earlier call, or a container."""
        if isinstance(value, torch.Tensor):
            return self.records.refer_to_tensor(value)
        if introspection.is_array(value):
            return self.records.refer_to_array(value)
        if isinstance(value, Placeholder):
            number = self.placeholders.setdefault(id(value), len(self.placeholders))
            return {"kind": "placeholder", "shape": list(value.shape), "number": number}
        if isinstance(value, _CONTAINERS) and not hasattr(type(value), "_fields"):
            return self._refer_to_container(value)
        return None

    def _refer_to_generator(self, value: Any) -> Optional[Reference]:
        """What hands out numbers one after another, by how it is made anew."""
        made = introspection.find_generator(value)
        if made is None:
            return None
        name, given = made
        known = self.generators.setdefault(id(value), (value, len(self.generators)))
        return {
            "kind": "generator",
            "name": name,
            "args": [self.refer_to(each) for each in given],
            "number": known[1],
        }

    def _refer_to_holder(self, value: Any) -> Optional[Reference]:
        """An object of Python's own that stands for others: a module, a logger, a bound call."""
        if isinstance(value, types.ModuleType):
            name = value.__name__
            if is_of_python_or_torch(name):
                return {"kind": "module", "name": name}
            return self.records.note_opaque("module " + name)
        if isinstance(value, logging.Logger):
            return {"kind": "logger"}
        if isinstance(value, functools.partial):
            return {
                "kind": "partial",
                "function": self.refer_to(value.func),
                "args": [self.refer_to(each) for each in value.args],
                "kwargs": {name: self.refer_to(each) for name, each in value.keywords.items()},
            }
        if isinstance(value, types.MethodType):
            return self._refer_to_method(value)
        return None

    def _refer_to_callable(self, value: Any) -> Optional[Reference]:
        """A custom operator, `torch.compile` itself or a function that is not a library's."""
        operator = custom_operators.find_definition(value)
        if operator is not None:
            found = custom_operators.build_operator_reference(operator, self.refer_to)
            return found or self.records.note_opaque("a custom operator")
        if value is torch.compile:
            return {"kind": "torch", "name": "torch.compile"}
        if not isinstance(value, types.FunctionType):
            return None
        marked = introspection.find_region_function(value)
        if marked is not None:
            return self._refer_to_region(marked)
        inner = introspection.unwrap(value)
        return self._record_function(inner) if is_user_code(inner) is not False else None

    def _refer_to_container(self, value: Any) -> Reference:
        if id(value) in self.path:
            return self.records.note_opaque("a container that holds itself")
        self.count += len(value)
        if len(value) > _LARGE or len(self.path) > _MOST_LEVELS or self.count > _MOST_ITEMS:
            return self.records.note_opaque("a large " + type(value).__name__)
        self.path.add(id(value))
        try:
            found: Union[SequenceReference, DictReference]
            if isinstance(value, dict):
                pairs = [(self.refer_to(name), self.refer_to(each)) for name, each in value.items()]
                found = DictReference(kind="dict", items=pairs)
            else:
                kind: SequenceKind = "tuple" if isinstance(value, tuple) else "list"
                kind = "set" if isinstance(value, (set, frozenset)) else kind
                found = SequenceReference(kind=kind, items=[self.refer_to(each) for each in value])
            if type(value) in _OF_COLLECTIONS:
                found["type"] = "collections." + type(value).__name__
            if isinstance(value, collections.deque) and value.maxlen is not None:
                found["longest"] = self.refer_to(value.maxlen)
            if isinstance(value, collections.defaultdict) and value.default_factory is not None:
                found["factory"] = self.refer_to(value.default_factory)
            return found
        finally:
            self.path.remove(id(value))

    def _refer_to_method(self, value: types.MethodType) -> Reference:
        owner, name = self.refer_to(value.__self__), getattr(value.__func__, "__name__", None)
        if name is None:  # no function: `types.MethodType(functools.partial(f), owner)`
            inner = self.refer_to(value.__func__)
            return {"kind": "partial", "function": inner, "args": [owner], "kwargs": {}}
        self.records.wanted.add(name)
        if owner["kind"] in ("torch", "stdlib", "builtin"):
            return {"kind": owner["kind"], "name": owner["name"] + "." + name}
        return {"kind": "method", "owner": owner, "name": name}

    def _record_function(self, value: types.FunctionType) -> Reference:
        if id(value) in self.records.known:
            return {"kind": "function", "id": self.records.known[id(value)]}
        node = function_source.find_node(value)
        if node is None:
            return self.records.note_opaque("function without source: " + value.__name__)
        if len(self.records.functions) >= _MOST_FUNCTIONS:
            raise ProgramTooLargeError
        owner = value.__qualname__.split(".")[-2] if value.__qualname__.count(".") else ""
        source = function_source.unparse(node, "" if owner == "<locals>" else owner)
        names, every = function_source.find_used_names(ast.parse(source))
        self.records.wanted |= names
        self.records.all_wanted = self.records.all_wanted or every
        record: FunctionRecord = {
            "name": value.__name__,
            "line": value.__code__.co_firstlineno,
            "module": value.__module__,
            "source": source,
            "refs": {},
            "chains": {},
            "defaults": [],
            "kwdefaults": {},
        }
        key = self.records.add(value, "f", self.records.functions, record)
        record["defaults"] = [self.refer_to(each) for each in value.__defaults__ or ()]
        record["kwdefaults"] = {
            name: self.refer_to(each) for name, each in (value.__kwdefaults__ or {}).items()
        }
        self._record_names(record, value, node)
        return {"kind": "function", "id": key}

    def _refer_to_region(self, marked: Any) -> Reference:
        """A function that is compiled as a region of its own: what marks it stands in its source as
        a decorator, or is called on it.
        """
        inner = self.refer_to(marked)
        node = function_source.find_node(marked) if isinstance(marked, types.FunctionType) else None
        for decorator in getattr(node, "decorator_list", ()):
            called = getattr(decorator, "func", decorator)
            if function_source.find_last_name(called) in _REGIONS:
                return inner
        return {"kind": "region", "function": inner}

    def _record_names(self, record: FunctionRecord, value: types.FunctionType, node: Any) -> None:
        """Fills `refs` (a global or captured name gives a value) and `chains` (a dotted name from a
        module does).
        """
        live: Dict[str, Any] = {}
        body = function_source.list_global_names(value.__code__)
        for name in body | function_source.list_decorator_names(node):
            if name in value.__globals__ and (
                name in body or introspection.matters_again(value.__globals__[name])
            ):
                live[name] = value.__globals__[name]
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            try:
                live[name] = cell.cell_contents
            except ValueError:
                continue
        live.pop("__class__", None)
        for name, (module, attribute) in function_source.find_local_imports(node).items():
            found = introspection.import_path(module, attribute)
            if found is not None:
                live[name] = found
        dotted = function_source.find_chains(node)
        for name, thing in sorted(live.items(), key=lambda pair: pair[0]):
            if isinstance(thing, types.ModuleType):
                self._record_chains(record, name, thing, dotted)
                if not is_of_python_or_torch(thing.__name__):
                    continue
            record["refs"][name] = self._note_class(self.refer_to(thing))

    def _record_chains(
        self, record: FunctionRecord, name: str, module: Any, dotted: Set[Tuple[str, ...]]
    ) -> None:
        for chain in sorted(chain for chain in dotted if chain[0] == name):
            thing: Any = module
            for length, attribute in enumerate(chain[1:], 2):
                try:
                    thing = getattr(thing, attribute)
                except Exception:  # modules of the program may compute their attributes
                    break
                if isinstance(thing, types.ModuleType):
                    continue
                reference = self._note_class(self.refer_to(thing))
                # an overload of an operator is the operator
                deeper = reference["kind"] in ("torch", "operator") and length < len(chain)
                record["chains"][".".join(chain[:length])] = reference
                if not deeper:
                    break

    def _note_class(self, reference: Reference) -> Reference:
        if reference["kind"] == "class":
            self.records.constructed.add(reference["id"])
        return reference
