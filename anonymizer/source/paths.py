"""Where the private tensors are in a rewritten program, as expressions: what the proof that both
are one program needs.

A public tensor is named by how it is reached, `entry.attr2[0].weight`: `entry` is the callable (the
object of a bound method), `given` the tuple that `inputs()` returns, and globals, classes and
functions go by their public names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from anonymizer.source.inputs import Argument
from anonymizer.source.objects.context import ProgramContext
from anonymizer.source.objects.values import ValueWriter
from collectors.protocol.program_source import Reference

#: Objects within objects are followed so far.
_DEEP = 24


def find_tensor_paths(
    values: ValueWriter, entry: tuple[str, Reference] | None, given: Sequence[Argument]
) -> tuple[tuple[str, str], ...]:
    """Where the tensors of the private program are in the public one.

    Args:
        values: what wrote the public program.
        entry: expression and value of the object that is called, None where that is a function.
        given: the arguments.

    Returns:
        (public expression, id of the gathered tensor or of the stock layer that holds tensors), as
        often as there are copies.
    """
    context = values.context
    walk = _TensorWalk(context, values)
    found = list(walk.find_tensors(*entry)) if entry is not None else []
    for name, ref in context.definitions.roots.items():
        found += walk.find_tensors(name, ref)
    for path, ref in (*_list_attributes(context), *_list_defaults(context)):
        found += walk.find_tensors(path, ref)
    for index, argument in enumerate(given):
        found += walk.find_tensors(f"given[{index}]", argument)
    return tuple(dict.fromkeys(found))


def _list_attributes(context: ProgramContext) -> Iterator[tuple[str, Reference]]:
    """What stands in the bodies of classes."""
    public = context.definitions.public
    for key, record in context.symbols.gathered["classes"].items():
        for name, ref in record["attributes"].items() if key in public else ():
            yield f"{public[key]}.{context.decisions.name_member(key, name)}", ref


def _list_defaults(context: ProgramContext) -> Iterator[tuple[str, Reference]]:
    """Default values of functions and methods."""
    owners, public = context.owners, context.definitions.public
    for key, record in context.symbols.gathered["functions"].items():
        if key in owners and owners[key].key in public:
            owner, name = owners[key].key, owners[key].name
            path = f"{public[owner]}.{context.decisions.name_member(owner, name)}"
        elif key in public:
            path = public[key]
        else:
            continue
        for index, ref in enumerate(record["defaults"]):
            yield f"{path}.__defaults__[{index}]", ref


class _TensorWalk:
    """Goes down from a value to the tensors in it, the way in which `ValueWriter` builds it."""

    def __init__(self, context: ProgramContext, values: ValueWriter) -> None:
        self.context = context
        self.values = values
        self.above: list[str] = []

    def find_tensors(self, path: str, ref: Argument) -> Iterator[tuple[str, str]]:
        """The tensors in a value that the public program reaches by `path`."""
        if ref["kind"] == "tensor":
            yield path, ref["id"]
        elif ref["kind"] == "instance":
            if ref["id"] not in self.above and len(self.above) < _DEEP:
                self.above.append(ref["id"])
                yield from self._list_inside(path, ref["id"])
                self.above.pop()
        else:
            for step, each in self._list_items(ref):
                yield from self.find_tensors(path + step, each)

    def _list_items(self, ref: Argument) -> Iterator[tuple[str, Reference]]:
        if ref["kind"] in ("list", "tuple"):
            yield from ((f"[{index}]", each) for index, each in enumerate(ref["items"]))
        elif ref["kind"] == "dict":
            for key, each in ref["items"]:
                yield f"[{ast.unparse(self.values.build(key))}]", each
        elif ref["kind"] == "partial":
            yield ".func", ref["function"]
            yield from ((f".args[{index}]", each) for index, each in enumerate(ref["args"]))
            for name, each in ref["kwargs"].items():
                own = ref["function"]["kind"] in ("torch", "builtin", "stdlib")
                public = name if own else self.context.names.name_variable(name, "arg")
                yield f".keywords[{public!r}]", each

    def _list_inside(self, path: str, key: str) -> Iterator[tuple[str, str]]:
        record = self.context.symbols.get_instance(key)
        names = self.context.names
        stock = record.get("stock")
        if stock is not None and "items" not in record:
            yield path, key
            for name, each in stock["args"].items():  # what a layer was given it keeps by that name
                yield from self.find_tensors(f"{path}.{name}", each)
        mapped = str(record["class"].get("name")).endswith("Dict")
        for index, (name, each) in enumerate(record.get("items") or ()):
            step = f"[{names.name_attribute(name)!r}]" if mapped else f"[{index}]"
            yield from self.find_tensors(path + step, each)
        for name, each in record["state"].items():
            yield from self.find_tensors(f"{path}.{self.context.decisions.name_state(name)}", each)
