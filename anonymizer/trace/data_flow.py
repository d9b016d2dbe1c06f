"""Passes over the tree of a traced call: who reads what, what nobody reads, what is a wrapper
only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from anonymizer.graph.ir import Node, Ref
from anonymizer.trace.tree import ROOT, ModuleCall, Step


def flatten_names(names: tuple[Any, ...]) -> Iterator[str]:
    """The names in nested tuples."""
    for name in names:
        if isinstance(name, tuple):
            yield from flatten_names(name)
        elif name is not None:
            yield name


#: Tuples of more items are indexed, not unpacked.
_MOST_UNPACKED = 6


def find_readers(root: ModuleCall, outputs: tuple[str, ...]) -> dict[str, list[str]]:
    """Name of a value -> names of the operations that read it; "" stands for the caller, who reads
    the `outputs`.
    """
    found: dict[str, list[str]] = {name: [""] for name in outputs}
    for step in root.list_steps():
        for name in step.list_refs():
            found.setdefault(name, []).append(step.node.name)
    return found


def unpack(
    call: ModuleCall, metas: Mapping[str, Any], readers: Mapping[str, list[str]]
) -> ModuleCall:
    """With `a, b = chunk(x, 2)` for an operation whose result is only ever taken apart.

    Args:
        metas: name of a value -> its metadata; a tuple of metadata for several results.
        readers: as `find_readers` has them.
    """
    items = [
        unpack(item, metas, readers) if isinstance(item, ModuleCall) else item
        for item in call.items
    ]
    parts = _find_parts(items, metas)
    gone: set[str] = set()
    done: list[Step | ModuleCall] = []
    for item in items:
        name = item.node.name if isinstance(item, Step) else ""
        if isinstance(item, Step) and name in parts and not item.results:
            length = len(metas[name])
            if length <= _MOST_UNPACKED and set(readers[name]) <= set(parts[name].values()):
                names = tuple(parts[name].get(index) for index in range(length))
                item = replace(item, results=names)
                gone.update(parts[name].values())
        if not (isinstance(item, Step) and name in gone):
            done.append(item)
    return replace(call, items=tuple(done))


def _find_parts(
    items: Iterable[Step | ModuleCall], metas: Mapping[str, object]
) -> dict[str, dict[int, str]]:
    """Of each operation with several results: index -> the name of what is taken out there."""
    parts: dict[str, dict[int, str]] = {}
    for item in items:
        if isinstance(item, Step) and item.node.target == "operator.getitem":
            of, index = item.node.args
            if not (isinstance(of, Ref) and isinstance(index, int)):
                continue
            if isinstance(metas.get(of.name), tuple):
                parts.setdefault(of.name, {})[index] = item.node.name
    return parts


def connect(root: ModuleCall, outputs: tuple[str, ...]) -> ModuleCall:
    """The tree with `takes` and `leaves` of every call: a value crosses the calls between its
    producer and its reader.

    Args:
        outputs: names of the values that the whole program returns.
    """
    crossings = _Crossings()
    crossings.define(root, ())
    crossings.follow(root, ())
    for name in outputs:
        crossings.use(name, ())
    return crossings.rebuild(root, ())


#: Where a call stands: the places of the calls around it, and its own, each in the one before.
_Path = tuple[int, ...]


class _Crossings:
    """Which values go into each call, and which come out of it."""

    def __init__(self) -> None:
        self._homes: dict[str, _Path] = {}
        self._takes: dict[_Path, dict[str, None]] = {}
        self._leaves: dict[_Path, dict[str, None]] = {}

    def define(self, call: ModuleCall, path: _Path) -> None:
        """Notes which call makes each value."""
        for index, item in enumerate(call.items):
            if isinstance(item, ModuleCall):
                self.define(item, (*path, index))
            else:
                for name in flatten_names(item.outs):
                    self._homes[name] = path

    def follow(self, call: ModuleCall, path: _Path) -> None:
        """Brings each value to the operations that read it."""
        for index, item in enumerate(call.items):
            if isinstance(item, ModuleCall):
                self.follow(item, (*path, index))
            else:
                for name in item.list_refs():
                    self.use(name, path)

    def use(self, name: str, path: _Path) -> None:
        """Brings a value to the call at `path`."""
        home = self._homes.get(name)
        common = 0
        if home is not None:
            while common < min(len(home), len(path)) and home[common] == path[common]:
                common += 1
            for length in range(common + 1, len(home) + 1):
                self._leaves.setdefault(home[:length], {})[name] = None
        for length in range(common + 1, len(path) + 1):
            self._takes.setdefault(path[:length], {})[name] = None

    def rebuild(self, call: ModuleCall, path: _Path) -> ModuleCall:
        """The call with what goes into it and comes out of it."""
        items = tuple(
            self.rebuild(item, (*path, index)) if isinstance(item, ModuleCall) else item
            for index, item in enumerate(call.items)
        )
        takes, leaves = self._takes.get(path, ()), self._leaves.get(path, ())
        return replace(call, items=items, takes=tuple(takes), leaves=tuple(leaves))


def prune(call: ModuleCall, needed: set[str]) -> ModuleCall:
    """Without what nobody reads: facts that the program asked for, and calls that are empty after
    that.

    Args:
        needed: names of the values that are read afterwards. What the call reads is added to it.
    """
    kept: list[Step | ModuleCall] = []
    for item in reversed(call.items):
        if isinstance(item, ModuleCall):
            inner = prune(item, needed)
            if inner.items:
                kept.append(inner)
        elif (
            item.same
            or item.changes
            or _has_effect(item.node)
            or not needed.isdisjoint(flatten_names(item.outs))
        ):
            needed.update(item.list_refs())
            kept.append(item)
    return replace(call, items=tuple(reversed(kept)))


def splice(call: ModuleCall) -> ModuleCall:
    """With each call that holds one thing only replaced by that thing: a wrapper says nothing about
    the program.

    A root that does nothing but call a module is that module's call.
    """
    items: list[Step | ModuleCall] = []
    for item in call.items:
        inner = splice(item) if isinstance(item, ModuleCall) else item
        alone = isinstance(inner, ModuleCall) and len(inner.items) == 1
        if isinstance(inner, ModuleCall) and inner.wrap and alone:
            only = inner.items[0]
            alone = only.module is not None and not only.wrap
            inner = replace(inner, items=(replace(only, wrap=inner.wrap),)) if alone else inner
        items += inner.items if isinstance(inner, ModuleCall) and alone else [inner]
    whole = items[0] if len(items) == 1 and call.module == ROOT else None
    if isinstance(whole, ModuleCall) and whole.state == call.state and not whole.wrap:
        return replace(call, items=whole.items)
    return replace(call, items=tuple(items))


def _has_effect(node: Node) -> bool:
    """Whether an operation has an effect: it changes an argument, or moves the random stream."""
    if node.meta is None and node.op != "module":
        return True
    is_training = any(value is True for key, value in node.kwargs if key == "training")
    return is_training or node.operator in ("__setitem__", "setitem", "item")
