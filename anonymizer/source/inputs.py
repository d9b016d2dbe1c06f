"""The arguments of a call as the body of `inputs()`."""

from __future__ import annotations

import ast
import itertools
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, TypedDict

from anonymizer.graph.randomness import write_seed
from anonymizer.graph.repro import KEEP_GRADIENT
from anonymizer.source.objects.syntax import parse_expression
from anonymizer.source.objects.tensors import (
    ValueLevel,
    write_flat_storage,
    write_tensor,
    write_view,
)
from anonymizer.source.objects.values import ValueWriter
from collectors.protocol.program_source import (
    DictReference,
    Reference,
    SequenceReference,
    TensorSpec,
)


class DefaultArgument(TypedDict):
    """What the signature gives for a parameter."""

    kind: Literal["tree"]
    tree: ast.expr


class ApartTensor(TypedDict):
    """A tensor that shares no memory with those before it."""

    kind: Literal["tensor"]
    id: str
    apart: bool


class SameTensor(TypedDict):
    """A tensor that stands where `instead` was, which is made all the same."""

    kind: Literal["same"]
    id: str
    instead: str


#: What was gathered, or found out here about calls with other arguments.
Argument = Reference | DefaultArgument | ApartTensor | SameTensor


class InputsWriter:
    """Writes the arguments of calls of one program."""

    def __init__(self, values: ValueWriter) -> None:
        self.values = values
        definitions = values.context.definitions.statements.values()
        self.writes = _writes_in_place(itertools.chain.from_iterable(definitions))
        self.tensors: Mapping[str, TensorSpec] = values.context.symbols.gathered["tensors"]
        #: Expressions of objects: a class may get a function that makes one, and needs it once.
        self.objects: dict[str, str] = {}

    def write(
        self,
        args: Iterable[Argument],
        changed: Mapping[str, TensorSpec] | None = None,
        exact: Collection[str] = (),
    ) -> ast.Module:
        """A seed, one line per tensor, one tuple.

        Args:
            changed: tensors by id that are to be described otherwise than they were gathered.
            exact: ids of the tensors that keep their values, where they are few and small.
        """
        lines: list[str] = []
        made = _Inputs(self, {**self.tensors, **(changed or {})}, frozenset(exact), lines)
        texts = [made.write(each) for each in args]
        listed = ", ".join(texts) + ("," if len(texts) == 1 else "")
        seed = [write_seed(0)] if lines else []
        text = "\n".join([*seed, *lines, f"return ({listed})"])
        body = "\n".join("    " + line for line in text.splitlines())
        (function,) = ast.parse("def inputs():\n" + body).body
        return ast.Module(function.body, [])  # type: ignore[attr-defined]

    def write_expression(self, ref: Reference) -> str:
        """The expression of what is neither a tensor nor a container."""
        key = json.dumps(ref, sort_keys=True)
        if key not in self.objects:
            self.objects[key] = ast.unparse(self.values.build(ref))
        return self.objects[key]


class _Inputs:
    """Tensors get a line each, the containers around them stay in the returned tuple."""

    def __init__(
        self,
        writer: InputsWriter,
        tensors: Mapping[str, TensorSpec],
        exact: Collection[str],
        lines: list[str],
    ) -> None:
        self.writer, self.tensors, self.lines = writer, tensors, lines
        self.exact = exact
        self.known: dict[str, str] = {}
        self.count = 0
        self.bases: dict[str, str] = {}
        gathered = writer.values.context.symbols.gathered
        self.groups = {key: group for group in gathered.get("storages", ()) for key in group}

    def write(self, ref: Argument) -> str:
        """The expression of one argument."""
        if ref["kind"] == "tree":
            return ast.unparse(ref["tree"])
        if ref["kind"] == "tensor":
            return self._name_tensor(ref["id"], bool(ref.get("apart")))
        if ref["kind"] == "array":
            return self._name_tensor(ref["id"], as_what=".numpy()")
        if ref["kind"] == "same":
            self._name_tensor(ref["instead"])
            return self._name_tensor(ref["id"])
        if ref["kind"] in ("list", "tuple", "set"):
            items = [self.write(each) for each in ref["items"]]
            inside = ", ".join(items) + ("," if len(items) == 1 and ref["kind"] == "tuple" else "")
            if ref["kind"] == "set":
                return f"{{{inside}}}" if items else "set()"
            return self._as_type(ref, f"[{inside}]" if ref["kind"] == "list" else f"({inside})")
        if ref["kind"] == "dict":
            pairs = [f"{self.write(key)}: {self.write(value)}" for key, value in ref["items"]]
            return self._as_type(ref, "{" + ", ".join(pairs) + "}")
        return self.writer.write_expression(ref)

    def _as_type(self, ref: SequenceReference | DictReference, display: str) -> str:
        return ast.unparse(self.writer.values.wrap_in_type(ref, parse_expression(display)))

    def _name_tensor(self, key: str, apart: bool = False, as_what: str = "") -> str:
        """The name of a tensor; one that is kept apart shares nothing with those before it. What it
        is given `as` is written behind it.
        """
        if key in self.known:
            return self._write_alone(key) if apart else self.known[key]
        tensors = self.tensors
        name = "x" if self.count == 0 else f"x{self.count}"
        self.count += 1
        self.known[key] = name
        group = [
            each for each in self.groups.get(key, ()) if tensors[each].get("stride") is not None
        ]
        same = {tensors[each]["dtype"] for each in group}
        is_view = len(group) > 1 and len(same) == 1 and not tensors[key]["is_parameter"]
        if is_view and not (apart and group[0] in self.bases):
            base = self.bases.get(group[0])
            if base is None:
                base = self.bases[group[0]] = f"storage{len(self.bases)}"
                specs, level = [tensors[each] for each in group], self.writer.values.context.level
                made = write_flat_storage(specs, level, self.writer.writes)
                self.lines.append(f"{base} = {made}")
            view = write_view(tensors[key], base, self.writer.writes)
            self.lines.append(f"{name} = {view}{as_what}")
        else:
            self.lines.append(f"{name} = {self._write_alone(key)}{as_what}")
        return name

    def _write_alone(self, key: str) -> str:
        level = ValueLevel.EXACT if key in self.exact else self.writer.values.context.level
        return write_tensor(self.tensors[key], level, self.writer.writes)


def _writes_in_place(statements: Iterable[ast.stmt]) -> bool:
    """Whether a program may change a tensor that it is given, or asks for its gradient to be kept,
    which says nothing of a leaf.
    """
    return any(
        isinstance(node, ast.AugAssign)
        or isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        or isinstance(node, ast.Attribute)
        and (node.attr.endswith("_") and not node.attr.endswith("__") or node.attr == KEEP_GRADIENT)
        for statement in statements
        for node in ast.walk(statement)
    )
