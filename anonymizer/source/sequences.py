"""Earlier calls of the same callable: what differed between them becomes parameters of `inputs()`.

Of an earlier call the shapes of its tensors and its plain values are known, and no tensor's values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, cast

from anonymizer.graph.repro import CallSizes
from anonymizer.source.inputs import Argument, InputsWriter
from anonymizer.source.objects.tensors import has_contiguous_strides
from anonymizer.source.program import CallSequence
from collectors.protocol.program_source import PlaceholderReference, SpecStatistics, TensorSpec

#: How often a call is repeated whose arguments do not show what differed.
_REPEATED = 3
_NAMES = ("n", "m", "k")


class _OtherStructure(ValueError):
    """Two calls differ in more than numbers."""


def find_sequences(
    writer: InputsWriter, args: Sequence[Argument], earlier: Sequence[Sequence[Argument]]
) -> Iterator[CallSequence]:
    """What several calls may be: those that were recorded, then the same call with other values of
    its one-element tensors, then the same call again and again.

    Args:
        args: the arguments of the failing call, the last of them.
        earlier: those of the calls before it, with placeholders for tensors.
    """
    recorded = _find_recorded(writer, args, earlier)
    if recorded is not None:
        yield recorded
    numbered = _build_numbered(writer, args)
    if numbered is not None:
        yield numbered
    yield CallSequence(writer.write(args), ((),) * _REPEATED)


def _find_recorded(
    writer: InputsWriter, args: Sequence[Argument], earlier: Sequence[Sequence[Argument]]
) -> CallSequence | None:
    shapes: list[dict[str, list[int]]] = []
    calls: list[list[Argument]] = []
    for call in earlier:
        found: dict[str, list[int]] = {}
        try:
            if len(call) != len(args):
                raise _OtherStructure
            pairing = _Pairing(writer, found)
            paired = [pairing.pair(one, last) for one, last in zip(call, args)]
        except _OtherStructure:
            continue
        shapes.append(found)
        calls.append(paired)
    changing = {key for found in shapes for key in found}
    last = {key: list(writer.tensors[key]["shape"]) for key in changing}
    modules = [
        writer.write(
            call,
            {key: _resize(writer.tensors[key], found.get(key, last[key])) for key in changing},
        )
        for call, found in zip([*calls, list(args)], [*shapes, {}])
    ]
    return _merge(modules)


class _Pairing:
    """Arguments of an earlier call with the last one's tensors in them; `shapes` gets the sizes of
    those that had others.
    """

    def __init__(self, writer: InputsWriter, shapes: dict[str, list[int]]) -> None:
        self.writer = writer
        self.shapes = shapes
        #: The tensor that stands for each tensor of the earlier call, and the other way round.
        self.known: dict[int, str] = {}
        self.owners: dict[str, int | None] = {}

    def pair(self, one: Argument, last: Argument) -> Argument:
        """An argument, or what is in it.

        Raises:
            _OtherStructure: the trees differ in more than that.
        """
        if one["kind"] == "placeholder":
            return self._pair_tensor(one, last)
        if one["kind"] != last["kind"]:
            raise _OtherStructure
        if one["kind"] in ("list", "tuple", "set") and last["kind"] in ("list", "tuple", "set"):
            if len(one["items"]) != len(last["items"]):
                raise _OtherStructure
            items = [self.pair(a, b) for a, b in zip(one["items"], last["items"])]
            return cast(Argument, {**last, "items": items})
        if one["kind"] == "dict" and last["kind"] == "dict":
            if [key for key, _ in one["items"]] != [key for key, _ in last["items"]]:
                raise _OtherStructure
            rows = [
                [key, self.pair(value, other)]
                for (key, value), (_, other) in zip(one["items"], last["items"])
            ]
            return cast(Argument, {**last, "items": rows})
        return one

    def _pair_tensor(self, one: PlaceholderReference, last: Argument) -> Argument:
        """Tensors of an earlier call are one where they were, and share no memory otherwise."""
        if last["kind"] != "tensor":
            raise _OtherStructure
        key, number = last["id"], one.get("number")
        spec = self.writer.tensors[key]
        is_second = self.owners.setdefault(key, number) != number
        if one["shape"] != list(spec["shape"]):
            if (
                len(one["shape"]) != len(spec["shape"])
                or not has_contiguous_strides(spec)
                or is_second
            ):
                raise _OtherStructure
            self.shapes[key] = one["shape"]
        if number is None:
            return last
        if number not in self.known:
            self.known[number] = key
            return {"kind": "tensor", "id": key, "apart": True}
        if is_second:
            raise _OtherStructure
        first = self.known[number]
        return last if first == key else {"kind": "same", "id": first, "instead": key}


def _resize(spec: TensorSpec, shape: list[int]) -> TensorSpec:
    stats: SpecStatistics = {**spec["stats"], "numel": prod(shape)}
    stats.pop("distinct", None)
    stats.pop("pattern", None)
    stats.pop("small", None)
    resized: TensorSpec = {**spec, "shape": shape, "stats": stats}
    resized.pop("stride", None)
    return resized


def _build_numbered(writer: InputsWriter, args: Sequence[Argument]) -> CallSequence | None:
    """One call for each of the values 1, 2 and 3 of the one-element tensors."""
    single = [key for ref in args for key in _find_single_tensors(ref, writer)]
    if not single:
        return None
    modules = []
    for number in range(1, _REPEATED + 1):
        stats: SpecStatistics = {"numel": 1, "small": [number]}
        changed: dict[str, TensorSpec] = {
            key: {**writer.tensors[key], "stats": stats} for key in single
        }
        modules.append(writer.write(args, changed, single))
    return _merge(modules)


def _find_single_tensors(ref: Argument, writer: InputsWriter) -> Iterator[str]:
    if ref["kind"] == "tensor":
        spec = writer.tensors[ref["id"]]
        is_number = spec.get("dtype") not in ("bool", "complex64", "complex128")
        if is_number and "shape" in spec and prod(spec["shape"]) == 1:
            if not spec["requires_grad"] and spec["layout"] == "strided":
                yield ref["id"]
    elif ref["kind"] in ("list", "tuple", "set"):
        for each in ref["items"]:
            yield from _find_single_tensors(each, writer)
    elif ref["kind"] == "dict":
        for _, each in ref["items"]:
            yield from _find_single_tensors(each, writer)


def _merge(modules: Sequence[ast.Module]) -> CallSequence | None:
    """The calls as one; None where they differ in nothing, or in more than numbers."""
    work = _Numbers()
    try:
        inputs = ast.fix_missing_locations(work.merge(modules))
    except _OtherStructure:
        return None
    return CallSequence(inputs, work.list_calls(len(modules))) if work.names else None


class _Numbers:
    """Names for the numbers in which trees of the same form differ."""

    def __init__(self) -> None:
        #: The name of a number by what stands in each tree, and its values.
        self.names: dict[str, str] = {}
        self.values: dict[str, list[float]] = {}

    def list_calls(self, count: int) -> tuple[CallSizes, ...]:
        """The values of the names, call by call."""
        return tuple(
            tuple((name, values[at]) for name, values in self.values.items()) for at in range(count)
        )

    def merge(self, nodes: Sequence[Any]) -> Any:
        """One tree.

        Raises:
            _OtherStructure: the trees differ in more than that.
        """
        nodes = [_fold_sign(node) for node in nodes]
        first = nodes[-1]
        if any(type(node) is not type(first) for node in nodes):
            raise _OtherStructure
        if isinstance(first, ast.Constant):
            return self._name_constant([node.value for node in nodes])
        if isinstance(first, (ast.Assign, ast.Return)):
            return self._rebuild(nodes, value=self._choose([node.value for node in nodes]))
        if isinstance(first, ast.AST):
            return self._rebuild(nodes)
        if isinstance(first, list):
            if len({len(node) for node in nodes}) > 1:
                raise _OtherStructure
            return [self.merge(items) for items in zip(*nodes)]
        if any(node != first for node in nodes):
            raise _OtherStructure
        return first

    def _rebuild(self, nodes: Sequence[ast.AST], **given: ast.AST) -> ast.AST:
        """A tree of the same form, with the given fields as they are."""
        merged = {
            name: self.merge([getattr(node, name, None) for node in nodes])
            for name in nodes[-1]._fields
            if name not in given
        }
        return type(nodes[-1])(**merged, **given)

    def _choose(self, nodes: Sequence[ast.expr]) -> ast.expr:
        """One expression, which is a choice between two where they differ in more than numbers.

        Raises:
            _OtherStructure: the trees differ in more than that.
        """
        sizes = {len(node.elts) if isinstance(node, ast.Tuple) else None for node in nodes}
        if len(sizes) == 1 and None not in sizes:
            items = zip(*(node.elts for node in nodes if isinstance(node, ast.Tuple)))
            return ast.Tuple([self._choose(each) for each in items], ast.Load())
        before = self.names.copy(), self.values.copy()
        try:
            merged: ast.expr = self.merge(nodes)
            return merged
        except _OtherStructure:
            self.names, self.values = before
        texts = [ast.unparse(node) for node in nodes]
        if len(set(texts)) != 2:
            raise _OtherStructure
        condition = self._name_constant([int(text == texts[-1]) for text in texts])
        other = next(node for node, text in zip(nodes, texts) if text != texts[-1])
        return ast.IfExp(condition, nodes[-1], other)

    def _name_constant(self, values: list[Any]) -> ast.expr:
        if len({repr(value) for value in values}) == 1:  # 0.0 is not -0.0 here
            return ast.Constant(values[-1])
        if any(type(value) not in (int, float) for value in values):
            raise _OtherStructure
        count = len(self.names)
        name = _NAMES[count] if count < len(_NAMES) else f"n{count}"
        name = self.names.setdefault(repr(values), name)
        self.values[name] = values
        return ast.Name(name, ast.Load())


def _fold_sign(node: Any) -> Any:
    """A negative number as one constant."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = getattr(node.operand, "value", None)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return ast.Constant(-value)
    return node
