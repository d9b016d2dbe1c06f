"""Reads a traced call from the JSON that `collectors.trace.trace` wrote.

What is read is normalized: a call of a stock layer is one operation, a call that does nothing is
none, and which values each module call takes and leaves follows from who reads what. A private
module's own way of passing arguments plays no part, so nothing of it can show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from anonymizer.graph.ir import ChooseRecipe, Node, Value
from anonymizer.graph.ir_json import (
    read_layer,
    read_meta,
    read_operation,
    read_value,
)
from anonymizer.trace.autograd_functions import read_function
from anonymizer.trace.data_flow import connect, find_readers, prune, splice, unpack
from anonymizer.trace.tree import (
    ROOT,
    GivenTensor,
    Module,
    ModuleCall,
    StandIn,
    Step,
    TracedProgram,
)
from collectors.protocol.captured_trace import (
    OpaqueArgument,
    ReturnedNames,
    TracedCall,
    TracedItem,
    TracedModule,
    TracedOperation,
    TraceJson,
)
from collectors.protocol.captured_values import Encoded, ResultLayout


def read_program(data: TraceJson, recipe: ChooseRecipe) -> TracedProgram:
    """A traced call from the JSON that `collectors.trace` made.

    Args:
        data: tensors, modules, the tree of calls and operations, outputs, and the sets of switches
            (grad mode, inference mode, autocast) that operations ran under.
        recipe: chooses how a given tensor's values are made, from its metadata and statistics.

    Returns:
        The program without what nobody reads and without calls that hold one thing only.
    """
    given = {}
    for item in data["tensors"]:
        meta = read_meta(item["meta"])
        chosen = recipe(meta, item.get("stats") or {})
        given[item["name"]] = GivenTensor(
            item["name"], item["kind"], meta, chosen, item.get("storage"), item.get("offset", 0)
        )
    names = [item["name"] for item in data["tensors"] if item["kind"] == "input"]
    for index, name in enumerate(names):
        shapes = [call[index] for call in data["earlier"] if len(call) == len(names)]
        given[name] = replace(given[name], earlier=tuple(map(tuple, shapes)))
    modules = {item["id"]: _read_module(item) for item in data["modules"]}
    outputs = tuple(value["ref"] for value in data["outputs"])
    metas = _read_metas(data["root"])
    root = _TreeReader(modules, metas).call(ROOT, data["root"], data["state"])
    root = unpack(root, metas, find_readers(root, outputs))
    root = splice(prune(root, set(outputs)))
    root = connect(root, outputs)
    return TracedProgram(root, modules, given, outputs, tuple(data["states"]), metas)


def _read_module(item: TracedModule) -> Module:
    layer = read_layer(item["stock"], item["training"]) if item["stock"] else None
    state = tuple((name, label) for name, label in item["state"])
    return Module(item["id"], layer, item["sequential"], item["training"], state)


def _read_metas(items: list[TracedItem]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in items:
        if "call" in item:
            found.update(_read_metas(item["items"]))
            continue
        found[item["name"]] = read_meta(item["meta"])
        inner = item.get("function")
        if inner:
            found.update((name, read_meta(meta)) for name, meta in inner["metas"].items())
            for part in (inner["forward"], inner["backward"]):
                found.update(_read_metas(part["items"]) if part else {})
    return found


class _TreeReader:
    """Turns the JSON tree into steps and calls."""

    def __init__(self, modules: Mapping[int, Module], metas: Mapping[str, Any]) -> None:
        self.modules = modules
        self.metas = metas

    def call(self, module: int, items: list[TracedItem], state: int) -> ModuleCall:
        read: list[Step | ModuleCall] = []
        for item in items:
            if "call" not in item:
                read.append(self._read_step(item))
                continue
            stock = self._read_stock(item)
            inner = stock or self.call(item["call"], item["items"], item["state"])
            if item.get("wrap"):
                inner = replace(inner, wrap=f"use_reentrant={item['wrap']['use_reentrant']}")
            if stock is not None or item["items"]:
                read.append(inner)
        return ModuleCall(module, tuple(read), state)

    def _read_step(self, item: TracedOperation) -> Step:
        node = read_operation(item, read_meta(item["meta"]))
        if item["op"] == "apply":
            return self._apply(item, node)
        if "stand_in" in item:
            opaque = StandIn(item["stand_in"]["what"], tuple(item["stand_in"]["mutates"]))
            return Step(node, item["state"], item.get("same", ""), stand_in=opaque)
        return Step(node, item["state"], item.get("same", ""))

    def _apply(self, item: TracedOperation, node: Node) -> Step:
        def read(items: list[TracedItem], state: int) -> ModuleCall:
            return self.call(ROOT, items, state)

        found, captured = read_function(item["function"], node.args, read, self.metas)
        node = replace(node, args=(*node.args, *captured))
        results = tuple(item["results"] or ())
        return Step(node, item["state"], item.get("same", ""), results=results, function=found)

    def _read_stock(self, item: TracedCall) -> Step | None:
        """The call as one operation, where the module is stock and its arguments and results are
        values.
        """
        module, result = self.modules[item["call"]], item["result"]
        args, kwargs = _list_values(item["args"]), _list_values(item["kwargs"].values())
        if module.layer is None or args is None or kwargs is None:
            return None
        results = tuple(_list_refs(result))
        if result is None or not results or None in results:
            return None
        made = set(_read_metas(item["items"]))
        single, first = isinstance(result, dict), str(results[0])
        if any(name not in made for name in results):
            if not single:
                return None
            # returned what it was given, as Identity does, or changed it in place
            node = Node(f"{first}_{id(item)}", "module", "module", args, layer=module.layer)
            return Step(node, item["state"], first, module.number)
        node = Node(
            first if single else f"{first}_",
            "module",
            "module",
            args,
            tuple(zip(item["kwargs"], kwargs)),
            read_meta(_find_meta(item["items"], first)) if single else (),
            layer=module.layer,
        )
        names = _nest(result) if isinstance(result, list) else ()
        return Step(node, item["state"], "", module.number, results=names)


def _nest(result: list[ReturnedNames]) -> tuple[Any, ...]:
    """`[ref, [ref, ref]]` as nested tuples of names; None for what was no tensor."""
    return tuple(
        (None if item is None else item["ref"] if isinstance(item, dict) else _nest(item))
        for item in result
    )


def _list_values(data: Iterable[Encoded | OpaqueArgument]) -> tuple[Value, ...] | None:
    """Arguments of a module; None if one of them is more than a value."""
    found = []
    for value in data:
        if isinstance(value, dict) and "opaque" in value:
            return None
        found.append(read_value(value))
    return tuple(found)


def _list_refs(result: ReturnedNames) -> Iterator[str | None]:
    if isinstance(result, list):
        for item in result:
            if item is not None:
                yield from _list_refs(item)
    else:
        yield None if result is None else result["ref"]


def _find_meta(items: list[TracedItem], name: str) -> ResultLayout:
    for item in items:
        if "call" in item:
            found = _find_meta(item["items"], name)
            if found is not None:
                return found
        elif item["name"] == name:
            return item["meta"]
    return None
