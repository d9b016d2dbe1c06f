"""A traced call as data: operations inside the module calls that made them, and what was given from outside.

`program` reads what `collectors.trace` wrote and normalises it: a call of a stock layer is one operation, a call that
does nothing is none, and which values each module call takes and leaves follows from who reads what. A private module's
own way of passing arguments plays no part, so nothing of it can show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anonymizer.ir import (
    Json,
    Layer,
    Node,
    Recipe,
    Ref,
    Seq,
    TensorMeta,
    Value,
    json_value,
    meta_from_json,
    value_from_json,
)

ROOT = -1


@dataclass(frozen=True)
class Given:
    """A tensor from outside the call. `kind`: input, param, buffer, constant; `storage` is equal for views of one memory.

    `earlier` are the shapes that an input had in the calls before this one.
    """

    name: str
    kind: str
    meta: TensorMeta
    recipe: Recipe
    storage: int | None = None
    offset: int = 0
    earlier: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Module:
    """A module of the user's: its parameters and buffers by attribute, and the stock layer that it is, if it is one."""

    number: int
    layer: Layer | None
    sequential: bool
    training: bool
    children: tuple[int, ...]
    state: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Step:
    """An operation in place: `state` are the switches it ran under, `same` the value that it changed and returned.

    For a stock layer `module` says which, and `results` names what it returned, nested as it was.
    """

    node: Node
    state: int
    same: str = ""
    module: int | None = None
    wrap: str = ""
    results: tuple[Any, ...] = ()

    @property
    def in_place(self) -> bool:
        """Whether the value it returned was changed; `x.to(torch.float32)` may return `x` as it was."""
        short = self.node.target.rsplit(".", 1)[-1]
        marked = short.endswith("_") and not short.endswith("__")
        return marked or short in ("__setitem__", "setitem") or dict(self.node.kwargs).get("out") is not None  # fmt: skip

    @property
    def outs(self) -> tuple[Any, ...]:
        """Names of the values that this brings into being."""
        return self.results or (() if self.same else (self.node.name,))

    def refs(self) -> Iterator[str]:
        """Names of the values that this reads."""
        yield from self.node.refs()


@dataclass(frozen=True)
class Call:
    """A call of a private module: what it did, which outside values it read, and which of its own were read later.

    `wrap` are keyword arguments of `torch.utils.checkpoint.checkpoint`, where that made the call.
    """

    module: int
    items: tuple[Step | Call, ...]
    state: int
    takes: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    wrap: str = ""

    @property
    def outs(self) -> tuple[str, ...]:
        return self.leaves

    def refs(self) -> Iterator[str]:
        """Names of the values that this reads from outside."""
        yield from self.takes

    def steps(self) -> Iterator[Step]:
        """All operations, in order."""
        for item in self.items:
            if isinstance(item, Step):
                yield item
            else:
                yield from item.steps()

    def calls(self) -> Iterator[Call]:
        """This call and all calls inside it."""
        yield self
        for item in self.items:
            if isinstance(item, Call):
                yield from item.calls()


@dataclass(frozen=True)
class Program:
    """A whole traced call."""

    root: Call
    modules: Mapping[int, Module]
    given: Mapping[str, Given]
    outputs: tuple[str, ...]
    states: tuple[Json, ...]
    reasons: tuple[str, ...]
    metas: Mapping[str, Any] = field(default_factory=dict)

    def meta_of(self, name: str) -> Any:
        """The metadata of a value, as in the graph IR."""
        given = self.given.get(name)
        return given.meta if given is not None else self.metas.get(name)

    @property
    def statements(self) -> int:
        """Operations of the program, a stock layer counting as one."""
        return sum(step.node.counts for step in self.root.steps())


def program(data: Json, recipe: Callable[[TensorMeta, Json], Recipe]) -> Program:
    """The traced call in `data`; `recipe` chooses how a given tensor's values are made."""
    given = {}
    for item in data["tensors"]:
        meta = meta_from_json(item["meta"])
        chosen = recipe(meta, item.get("stats") or {})
        given[item["name"]] = Given(
            item["name"], item["kind"], meta, chosen, item.get("storage"), item.get("offset", 0)
        )
    names = [item["name"] for item in data["tensors"] if item["kind"] == "input"]
    for index, name in enumerate(names):
        shapes = [call[index] for call in data["earlier"] if len(call) == len(names)]
        given[name] = replace(given[name], earlier=tuple(map(tuple, shapes)))
    modules = {item["id"]: _module(item) for item in data["modules"]}
    outputs = tuple(value["ref"] for value in data["outputs"])
    root = _Reader(modules).call(ROOT, data["root"], data["state"])
    metas = _metas(data["root"])
    root = _unpacked(root, metas, _readers(root, outputs))
    root = _spliced(pruned(root, set(outputs)))
    root = connected(root, outputs)
    states, reasons = tuple(data["states"]), tuple(data["reasons"])
    return Program(root, modules, given, outputs, states, reasons, metas)


def _module(item: Json) -> Module:
    layer = None
    if item["stock"]:
        kwargs = tuple((key, json_value(value)) for key, value in item["stock"]["kwargs"].items())
        layer = Layer(item["stock"]["class"], kwargs, item["training"])
    state = tuple((name, label) for name, label in item["state"])
    return Module(
        item["id"], layer, item["sequential"], item["training"], tuple(item["children"]), state
    )


def _metas(items: list[Json]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in items:
        if "call" in item:
            found.update(_metas(item["items"]))
        else:
            found[item["name"]] = meta_from_json(item["meta"])
    return found


class _Reader:
    """Turns the JSON tree into steps and calls."""

    def __init__(self, modules: Mapping[int, Module]) -> None:
        self.modules = modules

    def call(self, module: int, items: list[Json], state: int) -> Call:
        read: list[Step | Call] = []
        for item in items:
            if "call" not in item:
                read.append(self._step(item))
                continue
            stock = self._stock(item)
            inner = stock or self.call(item["call"], item["items"], item["state"])
            if item.get("wrap"):
                inner = replace(inner, wrap=f"use_reentrant={item['wrap']['use_reentrant']}")
            if stock is not None or item["items"]:
                read.append(inner)
        return Call(module, tuple(read), state)

    def _step(self, item: Json) -> Step:
        node = Node(
            item["name"],
            item["op"],
            item["target"],
            tuple(value_from_json(value) for value in item["args"]),
            tuple((key, value_from_json(value)) for key, value in item["kwargs"].items()),
            meta_from_json(item["meta"]),
        )
        return Step(node, item["state"], item.get("same", ""))

    def _stock(self, item: Json) -> Step | None:
        """The call as one operation, where the module is stock and its arguments and results are values."""
        module = self.modules[item["call"]]
        if module.layer is None or not _simple(item["args"]) or not _simple(item["kwargs"]):
            return None
        results = tuple(_refs(item["result"]))
        if item["result"] is None or not results or None in results:
            return None
        made = set(_metas(item["items"]))
        single = isinstance(item["result"], dict)
        if any(name not in made for name in results):
            # returned what it was given, as Identity does, or changed it in place
            return self._unchanged(item, module, str(results[0])) if single else None
        node = Node(
            str(results[0]) if single else f"{results[0]}_",
            "module",
            "module",
            tuple(value_from_json(value) for value in item["args"]),
            tuple((key, value_from_json(value)) for key, value in item["kwargs"].items()),
            meta_from_json(_meta_named(item["items"], str(results[0]))) if single else (),
            layer=module.layer,
        )
        names = () if single else _nested(item["result"])
        return Step(node, item["state"], "", module.number, results=names)

    def _unchanged(self, item: Json, module: Module, same: str) -> Step:
        args = tuple(value_from_json(value) for value in item["args"])
        node = Node(f"{same}_{id(item)}", "module", "module", args, layer=module.layer)
        return Step(node, item["state"], same, module.number)


def _nested(result: Any) -> tuple[Any, ...]:
    """`[ref, [ref, ref]]` as nested tuples of names; None for what was no tensor."""
    return tuple(
        (None if item is None else item["ref"] if isinstance(item, Mapping) else _nested(item))
        for item in result
    )


def _simple(data: Any) -> bool:
    if isinstance(data, Mapping):
        return "opaque" not in data and all(_simple(value) for value in data.values())
    return all(_simple(value) for value in data) if isinstance(data, list) else True


def _refs(result: Any) -> Iterator[str | None]:
    if isinstance(result, list):
        for item in result:
            if item is not None:
                yield from _refs(item)
    else:
        yield None if result is None else result["ref"]


def _meta_named(items: list[Json], name: str) -> Any:
    for item in items:
        if "call" in item:
            found = _meta_named(item["items"], name)
            if found is not None:
                return found
        elif item["name"] == name:
            return item["meta"]
    return None


def flat(names: tuple[Any, ...]) -> Iterator[str]:
    """The names in nested tuples."""
    for name in names:
        if isinstance(name, tuple):
            yield from flat(name)
        elif name is not None:
            yield name


#: Tuples of more items are indexed, not unpacked.
_MOST_UNPACKED = 6


def _readers(root: Call, outputs: tuple[str, ...]) -> dict[str, list[str]]:
    """For each value, the operations that read it; "" stands for the caller."""
    found: dict[str, list[str]] = {name: [""] for name in outputs}
    for step in root.steps():
        for name in step.refs():
            found.setdefault(name, []).append(step.node.name)
    return found


def _unpacked(call: Call, metas: Mapping[str, Any], readers: Mapping[str, list[str]]) -> Call:
    """With `a, b = chunk(x, 2)` for an operation whose result is only ever taken apart."""
    items = [
        _unpacked(item, metas, readers) if isinstance(item, Call) else item for item in call.items
    ]
    parts: dict[str, dict[int, str]] = {}
    for item in items:
        if isinstance(item, Step) and item.node.target == "operator.getitem":
            of, index = item.node.args
            if isinstance(of, Ref) and isinstance(metas.get(of.name), tuple):
                if isinstance(index, int):
                    parts.setdefault(of.name, {})[index] = item.node.name
    gone: set[str] = set()
    done: list[Step | Call] = []
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


def connected(root: Call, outputs: tuple[str, ...]) -> Call:
    """The tree with `takes` and `leaves` of every call: a value crosses the calls between its maker and its reader."""
    homes: dict[str, tuple[int, ...]] = {}
    takes: dict[tuple[int, ...], dict[str, None]] = {}
    leaves: dict[tuple[int, ...], dict[str, None]] = {}

    def define(call: Call, path: tuple[int, ...]) -> None:
        for index, item in enumerate(call.items):
            if isinstance(item, Call):
                define(item, (*path, index))
            else:
                for name in flat(item.outs):
                    homes[name] = path

    def use(name: str, path: tuple[int, ...]) -> None:
        home = homes.get(name)
        common = 0
        if home is not None:
            while common < min(len(home), len(path)) and home[common] == path[common]:
                common += 1
            for length in range(common + 1, len(home) + 1):
                leaves.setdefault(home[:length], {})[name] = None
        for length in range(common + 1 if home is not None else 1, len(path) + 1):
            takes.setdefault(path[:length], {})[name] = None

    def visit(call: Call, path: tuple[int, ...]) -> None:
        for index, item in enumerate(call.items):
            if isinstance(item, Call):
                visit(item, (*path, index))
            else:
                for name in item.refs():
                    use(name, path)

    def rebuilt(call: Call, path: tuple[int, ...]) -> Call:
        items = tuple(
            rebuilt(item, (*path, index)) if isinstance(item, Call) else item
            for index, item in enumerate(call.items)
        )
        return replace(
            call, items=items, takes=tuple(takes.get(path, ())), leaves=tuple(leaves.get(path, ()))
        )

    define(root, ())
    visit(root, ())
    for name in outputs:
        use(name, ())
    return rebuilt(root, ())


def pruned(call: Call, needed: set[str]) -> Call:
    """Without what nobody reads: facts that the program asked for, and calls that are empty after that."""
    kept: list[Step | Call] = []
    for item in reversed(call.items):
        if isinstance(item, Call):
            inner = pruned(item, needed)
            if inner.items:
                kept.append(inner)
        elif item.same or _changes(item.node) or not needed.isdisjoint(flat(item.outs)):
            needed.update(item.refs())
            kept.append(item)
    return replace(call, items=tuple(reversed(kept)))


def _spliced(call: Call) -> Call:
    """With each call that holds one thing only replaced by that thing: a wrapper says nothing about the program.

    A root that does nothing but call a module is that module's call.
    """
    items: list[Step | Call] = []
    for item in call.items:
        inner = _spliced(item) if isinstance(item, Call) else item
        alone = isinstance(inner, Call) and len(inner.items) == 1
        if isinstance(inner, Call) and inner.wrap and alone:
            only = inner.items[0]
            alone = only.module is not None and not only.wrap
            inner = replace(inner, items=(replace(only, wrap=inner.wrap),)) if alone else inner
        items += inner.items if isinstance(inner, Call) and alone else [inner]
    whole = items[0] if len(items) == 1 and call.module == ROOT else None
    if isinstance(whole, Call) and whole.state == call.state and not whole.wrap:
        return replace(call, items=whole.items)
    return replace(call, items=tuple(items))


def _changes(node: Node) -> bool:
    """Whether an operation has an effect: it changes an argument, or moves the random stream."""
    if node.meta is None and node.op != "module":
        return True
    short = node.target.rsplit(".", 1)[-1]
    return any(value is True for key, value in node.kwargs if key == "training") or short in (
        "__setitem__",
        "setitem",
        "item",
    )


def map_numbers(value: Value, change: Callable[[int], int]) -> Value:
    """An argument with every integer inside it replaced; booleans are none."""
    if isinstance(value, Seq):
        if value.kind == "dict":
            return Seq("dict", tuple((k, map_numbers(item, change)) for k, item in value.items))
        return Seq(value.kind, tuple(map_numbers(item, change) for item in value.items))
    if isinstance(value, int) and not isinstance(value, bool):
        return change(value)
    return value


__all__ = [
    "ROOT",
    "Call",
    "Given",
    "Module",
    "Program",
    "Ref",
    "Step",
    "flat",
    "map_numbers",
    "program",
]
