"""What is known of a compiled callable, so that no call of it is looked at that can show nothing
new.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from ..machine.tensors import read_version_counter
from ..protocol.events import CompileOptions

_NUMBERS = itertools.count()
#: So many calls that differ in plain numbers and texts alone are new ones. Dynamo compiles for a
#: few of them, and a step or a learning rate is another one at each call.
_MOST_VALUES = 32
#: So deep objects inside each other tell calls apart, by so many of the things that one holds.
_OBJECT_DEPTH, _MOST_HELD = 2, 64
#: Objects of these count by their class.
_LIBRARIES = ("torch", "numpy", "builtins")


class WatchedCallable:
    """One result of torch.compile or torch.export: the original callable, the options, and the
    shapes it has been called with.
    """

    def __init__(self, function: Any, options: Dict[str, Any]) -> None:
        self.function = function
        self.options = options
        self.history: List[Tuple[Any, Any]] = []
        #: By what they are without their plain numbers and texts.
        self.known_shapes: Dict[str, Set[str]] = {}
        self.number = next(_NUMBERS)
        self.calls = 0
        self.watcher: Any = None
        #: What a program was exported for, as (args, kwargs).
        self.example: Optional[Tuple[Any, Any]] = None
        #: Whether a call makes the program, and not what it computes.
        self.is_export = False
        #: Of a program that keeps state of its own from call to call: the calls so far, with copies
        #: of their arguments; None once they cannot be made again.
        self.earlier: Optional[List[Tuple[Any, Any]]] = []
        #: The state that it started from, as `note_buffers` of the original callable had it; None
        #: for a program without any.
        self.start: Optional[List[Tuple[int, int]]] = None

    def start_watching(self, recorder: Any) -> None:
        """A new recorder knows nothing of what an earlier one has seen: it looks at this callable
        anew.
        """
        if self.watcher is not recorder:
            self.watcher = recorder
            self.calls = 0
            self.known_shapes.clear()

    def is_new(self, shapes: CallShapes) -> bool:
        """Whether a call needs a look: none like it was remembered, nor many that differ in plain
        numbers and texts alone.
        """
        known = self.known_shapes.get(shapes.kinds, ())
        return shapes.values not in known and len(known) < _MOST_VALUES

    def remember(self, shapes: CallShapes) -> None:
        """Calls like this one are not new from now on."""
        self.known_shapes.setdefault(shapes.kinds, set()).add(shapes.values)


class CallShapes(NamedTuple):
    """What tells calls apart that need no second look: `values` with plain numbers and texts as
    they are, `kinds` by their types.
    """

    values: str
    kinds: str


def note_buffers(module: Any) -> List[Tuple[int, int]]:
    """Which tensors a module's buffers are, and how often each was written to: equal as long as
    nothing of it has changed.
    """
    return [(id(buffer), read_version_counter(buffer)) for buffer in module.buffers()]


class CompiledCall(NamedTuple):
    """One call of a compiled callable, as the program makes it."""

    watched: WatchedCallable
    compiled: Callable[..., Any]
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]


def build_signature(value: Any, has_values: bool, depth: int = _OBJECT_DEPTH) -> Any:
    """Shapes and dtypes of a structure of arguments; small values as they are, with `has_values`,
    or numbers and texts by their types.

    Args:
        depth: how many objects inside each other are looked into.
    """
    kind = type(value)  # objects may answer whatever they are asked, or with an error
    if hasattr(kind, "shape") and hasattr(kind, "dtype"):
        return (tuple(value.shape), str(value.dtype), bool(getattr(value, "requires_grad", False)))
    if isinstance(value, dict):
        return tuple(
            (str(key), build_signature(item, has_values, depth)) for key, item in value.items()
        )
    if isinstance(value, (list, tuple)):
        return tuple(build_signature(item, has_values, depth) for item in value)
    if isinstance(value, (bool, type(None))):
        return value
    if has_values and isinstance(value, (int, float, str)):
        return value
    if depth == 0 or callable(value) or isinstance(value, (int, float, str)):
        return kind.__name__
    return (
        kind.__name__,
        *(
            (name, _describe_held(item, has_values, depth - 1))
            for name, item in itertools.islice(_read_attributes(value).items(), _MOST_HELD)
        ),
    )


def _read_attributes(value: object) -> Dict[str, object]:
    """What an object of the program's holds by name."""
    if type(value).__module__.split(".")[0] in _LIBRARIES:
        return {}
    fields = getattr(type(value), "__dataclass_fields__", {})  # they may be slots
    held: Dict[str, object] = {}
    for name in fields:
        with contextlib.suppress(AttributeError):
            held[name] = object.__getattribute__(value, name)
    with contextlib.suppress(AttributeError):
        held.update(object.__getattribute__(value, "__dict__"))
    return held


def _describe_held(value: object, has_values: bool, depth: int) -> object:
    """As `build_signature`; a container by the sorts of what it holds, since objects keep lists
    that grow from call to call.
    """
    if not isinstance(value, (list, tuple, dict)):
        return build_signature(value, has_values, depth)
    items = value.values() if isinstance(value, dict) else value
    described = (
        _describe_held(item, has_values, depth) for item in itertools.islice(items, _MOST_HELD)
    )
    return (type(value).__name__, *dict.fromkeys(described))


def convert_options_to_json(options: Dict[str, Any]) -> CompileOptions:
    """The torch.compile arguments as JSON; a callable backend becomes a marker."""
    return {key: _make_public(value) for key, value in options.items()}


def _make_public(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _make_public(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_make_public(item) for item in value]
    if isinstance(value, (str, bool, int, float, type(None))):
        return value
    return {"callable": True} if callable(value) else {"repr": type(value).__name__}
