"""What a call did to Python's state: attributes, containers, globals and closure cells that it can
reach, noted before and after.

Only what the program itself defines is looked into: its functions, classes, modules and their
instances, and plain containers. A note holds leaves alone; the labels are private and stay on this
machine. Tensors that the call is given are for `outputs`; of one that it may put into an attribute
or a container the dtype, the shape and two sums count.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import types
from typing import Any, Dict, Iterable, List, Set, Tuple

import torch

from .function_names import is_circumstantial, list_names
from .leaves import MOST_ITEMS, Leaf, note_leaf
from .own_code import is_ordinary, is_own, is_own_name

#: By the label of an object, and by field: attribute, key, index, `length`.
PythonState = Dict[str, Dict[str, Leaf]]

#: Objects that are looked into; a walk that ends here leaves the same ones out each time, since it
#: goes by distance.
_MOST_OBJECTS = 4000
CONTAINERS = (list, dict, set, collections.deque)
#: Nothing is inside of these that counts here.
_LEAVES = (torch.Tensor, str, bytes, int, float, complex, type(None))
#: What every module has; torch's own book-keeping.
_OF_MODULES = frozenset(vars(torch.nn.Module())) - {"training"}
#: Kinds of objects that only lead to others: the attributes that do, and what each adds to the
#: label. No dictionary, since a class need not be hashable.
_REFERRING: Tuple[Tuple[type, Tuple[Tuple[str, str], ...]], ...] = (
    (types.MethodType, (("()", "__func__"), (".self", "__self__"))),
    (functools.partial, (("()", "func"), (".args", "args"), (".keywords", "keywords"))),
    (staticmethod, (("()", "__func__"),)),
    (classmethod, (("()", "__func__"),)),
    (property, ((".fget", "fget"), (".fset", "fset"), (".fdel", "fdel"))),
)
_INTERNAL = ("__", "_torchdynamo", "_dynamo", "_abc_", "_generation", "_is_fsdp")


class Walk:
    """Visits what a callable and its arguments can reach, nearest first.

    `state` is the note; `owners` are the objects that it tells of, by label. What a compiler of the
    program's own, the `backend`, reaches is left out: it runs at its own times.
    """

    def __init__(
        self,
        function: Any,
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        backend: Any = None,
    ) -> None:
        self.state: PythonState = {}
        self.owners: Dict[str, Any] = {}
        self._queue: collections.deque = collections.deque()  # type: ignore[type-arg]
        self._labels: Dict[Any, str] = {}
        self._ignored: Set[Any] = set()
        self._push("function", function)
        for index, value in enumerate(args):
            self._push("argument {}".format(index), value)
        for name, value in kwargs.items():
            self._push("argument " + name, value)
        while self._queue and len(self._labels) < _MOST_OBJECTS:
            label, value = self._queue.popleft()
            with contextlib.suppress(Exception):  # objects may refuse to be looked at
                self._visit(label, value)
        if callable(backend):
            self._ignored.update(Walk(backend, (), {})._labels)
        self._forget_ignored()

    # -- what is visited --------------------------------------------------------------------------

    def _push(self, label: str, value: Any) -> None:
        """Puts an object in line, unless it is known or nothing can be in it."""
        if issubclass(type(value), _LEAVES):
            return
        if id(value) not in self._labels:
            self._labels[id(value)] = label
            self.owners[label] = value  # alive, so that its number is not given out again
            self._queue.append((label, value))

    def _visit(self, label: str, value: Any) -> None:
        kind = type(value)
        referring = next((attributes for known, attributes in _REFERRING if kind is known), ())
        if referring:
            for suffix, attribute in referring:
                self._push(label + suffix, getattr(value, attribute))
        elif kind is types.FunctionType:
            self._visit_function(label, value)
        elif issubclass(kind, type):
            self._visit_class(label, value)
        elif issubclass(kind, torch.nn.Module):
            self._visit_module(label, value)
        elif issubclass(kind, CONTAINERS):
            self._visit_container(label, value)
            if is_own(kind):
                self._visit_object(label + ".", value)
        elif issubclass(kind, (tuple, frozenset)):
            for index, item in enumerate(list(value)[:MOST_ITEMS]):
                self._push("{}[{}]".format(label, index), item)
        elif is_own(kind):
            self._visit_object(label, value)
        else:
            self._visit_wrapper(label, value)

    def _visit_wrapper(self, label: str, value: Any) -> None:
        """A library's object around a function of the program's, such as `functools.lru_cache`,
        whose cache Dynamo says that it ignores.
        """
        wrapped = vars(value).get("__wrapped__")
        if type(wrapped) is types.FunctionType:
            if type(value) is functools._lru_cache_wrapper:
                self._ignore(wrapped)
            self._push(label + "()", wrapped)

    def _visit_function(self, label: str, function: Any) -> None:
        wrapped = vars(function).get("__wrapped__")
        self._push(label + ".wrapped", wrapped)
        names = function.__globals__
        if not is_own_name(names.get("__name__")):
            return
        found = set(list_names(function.__code__))
        if is_circumstantial(function):
            self._ignore(function)
        fields: Dict[str, Leaf] = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if id(cell) not in self._labels:
                self._labels[id(cell)] = label + "/" + name
                self.owners[label + "/" + name + " cell"] = cell
                with contextlib.suppress(ValueError):  # it is empty
                    self._note_field(fields, label, name, cell.cell_contents)
        for name in sorted(found):
            if name in names and (id(names), name) not in self._labels:
                self._labels[(id(names), name)] = label + "/" + name
                self._note_field(fields, label, name, names[name])
                self._note_attributes_of_file(names[name], found)
        for name, value in self._select_plain(vars(function)):
            self._note_field(fields, label, "." + name, value)
        self._push(label + ".defaults", function.__defaults__)
        self._push(label + ".kwdefaults", function.__kwdefaults__)
        self.state[label] = fields

    def _note_attributes_of_file(self, value: Any, found: Set[str]) -> None:
        """Attributes of a file of the program's that a function may name: `settings.steps`."""
        if type(value) is types.ModuleType and is_own_name(value.__name__):
            fields = self.state.setdefault("file " + value.__name__, {})
            for name in sorted(found):
                if name in vars(value):
                    self._note_field(fields, "file " + value.__name__, name, vars(value)[name])

    def _visit_class(self, label: str, value: Any) -> None:
        if not is_own(value) or not is_ordinary(value):
            return
        fields: Dict[str, Leaf] = {}
        for name, item in list(vars(value).items()):
            if type(item) is types.FunctionType:
                self._push(label + "." + name, item)
                if name == "__del__" or is_circumstantial(item):
                    self._ignored.add(id(value))
            elif type(item) is functools._lru_cache_wrapper:
                self._ignored.add(id(value))
        for name, item in self._select_plain(vars(value)):
            self._note_field(fields, label, name, item)
        self.state[label] = fields
        for index, base in enumerate((*value.__bases__, type(value))):
            self._push("{}.base{}".format(label, index), base)

    def _visit_module(self, label: str, value: Any) -> None:
        kind = type(value)
        if is_own(kind):
            fields: Dict[str, Leaf] = {}
            for name, item in self._select_plain(vars(value)):
                if name not in _OF_MODULES:
                    self._note_field(fields, label, name, item)
            self.state[label] = fields
            self._push(label + ".class", kind)
        for name, child in value._modules.items():
            self._push(label + "." + name, child)

    def _visit_object(self, label: str, value: Any) -> None:
        kind = type(value)
        if not is_ordinary(kind):
            return
        fields: Dict[str, Leaf] = {}
        for name, item in self._select_plain(getattr(value, "__dict__", {})):
            self._note_field(fields, label, name, item)
        for name in list_slots(kind):
            with contextlib.suppress(AttributeError):  # never set
                self._note_field(fields, label, name, object.__getattribute__(value, name))
        self.state[label] = fields
        self._push(label + ".class", kind)

    def _visit_container(self, label: str, value: Any) -> None:
        """The length and the items at both ends."""
        fields: Dict[str, Leaf] = {}
        if issubclass(type(value), dict):
            self._note_items(fields, label, value)
            length = dict.__len__(value)
        elif issubclass(type(value), set):
            items = list(set.__iter__(value))
            length = len(items)
            if length <= MOST_ITEMS:
                fields["elements"] = (
                    "elements",
                    tuple(sorted(repr(note_leaf(item)) for item in items)),
                )
        else:
            base = list if issubclass(type(value), list) else collections.deque
            items = list(base.__iter__(value))
            length = len(items)
            for index in _choose_indices(length):
                self._note_field(fields, label, "[{}]".format(index), items[index])
        fields["length"] = ("length", length)
        self.state[label] = fields

    def _note_items(self, fields: Dict[str, Leaf], label: str, value: Any) -> None:
        # an OrderedDict keeps the order in a list of its own, which only its own iterator reads
        is_ordered = isinstance(value, collections.OrderedDict)
        keys = list((collections.OrderedDict if is_ordered else dict).__iter__(value))
        if len(keys) <= MOST_ITEMS:
            fields["order"] = ("order", tuple(repr(note_leaf(key)) for key in keys))
        for index in _choose_indices(len(keys)):
            key = note_leaf(keys[index])
            if key[0] in ("object", "large") or "ADDRESS" in repr(key):
                continue
            self._note_field(
                fields, label, "[{!r}]".format(key), dict.__getitem__(value, keys[index])
            )

    @staticmethod
    def _select_plain(attributes: Any) -> List[Tuple[str, Any]]:
        """Attributes that hold data of the program's."""
        return [
            (name, item)
            for name, item in list(attributes.items())
            if isinstance(name, str)
            and not name.startswith(_INTERNAL)
            and type(item) not in (types.FunctionType, types.MemberDescriptorType)
        ]

    def _note_field(self, fields: Dict[str, Leaf], label: str, name: str, value: Any) -> None:
        fields[name] = note_leaf(value)
        self._push("{}/{}".format(label, name), value)

    # -- what is left out -------------------------------------------------------------------------

    def _ignore(self, function: Any) -> None:
        """Leaves out what a function names: how often it runs is not the compiler's promise."""
        for cell in function.__closure__ or ():
            self._ignored.add(id(cell))
            with contextlib.suppress(ValueError):
                self._ignored.add(id(cell.cell_contents))
        names = function.__globals__
        for name in list_names(function.__code__):
            if name in names:
                self._ignored.update((id(names[name]), (id(names), name)))

    def _forget_ignored(self) -> None:
        out = {self._labels[key] for key in self._ignored if key in self._labels}
        out |= {
            label
            for label, value in self.owners.items()
            # instances of a class that is left out
            if any(id(base) in self._ignored for base in type(value).__mro__)
        }
        if not out:
            return
        below = tuple(one + end for one in out for end in ("/", ".", "[", "("))
        for label in list(self.state):
            if label in out or label.startswith(below):
                del self.state[label]
                continue
            for name in list(self.state[label]):
                if label + "/" + name in out:
                    del self.state[label][name]


def note(
    function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], backend: Any = None
) -> PythonState:
    """The plain state that a call can reach.

    Args:
        function: what is called, not compiled.
        backend: the argument of torch.compile.

    Returns:
        nothing at all where the program cannot be looked at; it never raises.
    """
    try:
        return {**Walk(function, args, kwargs, backend).state, "torch": _note_defaults()}
    except Exception:  # objects of the program may do anything when they are looked at
        return {}


def _note_defaults() -> Dict[str, Leaf]:
    """What a program may set for all that torch does, in every thread and whatever the context."""
    fields: Dict[str, Leaf] = {}
    for name in (
        "get_default_dtype",
        "are_deterministic_algorithms_enabled",
        "get_float32_matmul_precision",
    ):
        if hasattr(torch, name):
            fields[name] = ("setting", str(getattr(torch, name)()))
    return fields


def list_slots(kind: type) -> List[str]:
    """The slots of a class and its bases, by the names that attributes have."""
    found: List[str] = []
    for base in kind.__mro__:
        given = vars(base).get("__slots__", ())
        for name in (given,) if isinstance(given, str) else tuple(given):
            mangled = name.startswith("__") and not name.endswith("__")
            found.append("_{}{}".format(base.__name__.lstrip("_"), name) if mangled else name)
    return [name for name in found if name not in ("__dict__", "__weakref__")]


def _choose_indices(length: int) -> Iterable[int]:
    if length <= 2 * MOST_ITEMS:
        return range(length)
    return [*range(MOST_ITEMS), *range(length - MOST_ITEMS, length)]
