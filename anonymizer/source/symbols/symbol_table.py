"""The gathered program with its syntax trees: who inherits what, and what a name on a private
object means.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from collectors.protocol.program_source import (
    ClassRecord,
    FunctionRecord,
    GatheredJson,
    InstanceRecord,
    MethodRecord,
    Reference,
)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class SourceError(ValueError):
    """The gathered source cannot be read here, as when it uses newer syntax than this Python
    knows.
    """


class MethodOwner(NamedTuple):
    """What a gathered function is a method of: the id of the class, the private name of the method,
    and how it is bound, as `MethodRecord` has it.
    """

    key: str
    name: str
    kind: str


@dataclass
class SymbolTable:
    """`gathered` as it came, and `trees`: the definition behind each function id (a lambda becomes
    a def).
    """

    gathered: GatheredJson
    trees: dict[str, FunctionNode] = field(default_factory=dict)

    @classmethod
    def load(cls, gathered: GatheredJson) -> SymbolTable:
        """Parses every function.

        Args:
            gathered: what `collectors.source` found that the call reaches.

        Raises:
            SourceError: this Python cannot read a function.
        """
        symbols = cls(gathered)
        for key, record in gathered["functions"].items():
            try:
                node = ast.parse(record["source"]).body[0]
            except (SyntaxError, ValueError) as problem:
                raise SourceError(
                    f"a function uses syntax that this Python cannot read: {problem}"
                ) from None
            symbols.trees[key] = _read_definition(node)
        return symbols

    def get_function(self, key: str) -> FunctionRecord:
        """The record of a function by its id: name, source, what its names lead to, defaults."""
        return self.gathered["functions"][key]

    def list_partials(self, key: str) -> set[str]:
        """The dotted names by which a function, given by its id, knows `functools.partial`."""
        record = self.get_function(key)
        return {
            dotted
            for dotted, ref in (*record["refs"].items(), *record["chains"].items())
            if ref["kind"] == "stdlib" and ref["name"] == "functools.partial"
        }

    def get_class(self, key: str) -> ClassRecord:
        """The record of a class by its id: name, bases, shape, methods, attributes, fields."""
        return self.gathered["classes"][key]

    def get_instance(self, key: str) -> InstanceRecord:
        """The record of an object by its id: class, state, and what a stock layer was made with."""
        return self.gathered["instances"][key]

    def walk_bases(self, key: str) -> Iterator[str]:
        """A class and its private bases, nearest first."""
        yield key
        for base in self.get_class(key)["bases"]:
            if base["kind"] == "class":
                yield from self.walk_bases(base["id"])

    def find_method(self, key: str, name: str) -> MethodRecord | None:
        """The record of a method found on a class or its private bases, nearest first.

        Args:
            key: the id of the class.
            name: the private name of the method.
        """
        for each in self.walk_bases(key):
            if name in self.get_class(each)["methods"]:
                return self.get_class(each)["methods"][name]
        return None

    def find_attribute(self, key: str, name: str) -> Reference | None:
        """The value of a class attribute that is no method, of a class or its private bases.

        Args:
            key: the id of the class.
            name: the private name of the attribute.
        """
        for each in self.walk_bases(key):
            record = self.get_class(each)
            if name in record["attributes"]:
                return record["attributes"][name]
        return None

    def is_override(self, key: str, name: str) -> bool:
        """Whether torch or Python gives a method its meaning, as with `forward`, or an attribute of
        an `autograd.Function`.

        Args:
            key: the id of the class that defines it, or of one that inherits it.
            name: of the method or attribute.
        """
        records = [self.get_class(each) for each in self.walk_bases(key)]
        return any(
            name in record["overrides"]
            and (name in record["methods"] or record["function"] and name in record["attributes"])
            for record in records
        )

    def list_instances(self, key: str) -> list[str]:
        """Instances of a class or of a subclass."""
        return [
            each
            for each, record in self.gathered["instances"].items()
            if record["class"]["kind"] == "class" and key in self.walk_bases(record["class"]["id"])
        ]

    def map_owners(self) -> dict[str, MethodOwner]:
        """Id of a function → what it is a method of; plain functions are left out."""
        return {
            method["function"]["id"]: MethodOwner(key, name, method["method"])
            for key, record in self.gathered["classes"].items()
            for table in (record["methods"], record.get("setters", {}))
            for name, method in table.items()
            if method["function"]["kind"] == "function"
        }

    def collect_parameters(self) -> set[str]:
        """Names of parameters and of keywords given to them."""
        found: set[str] = set()
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.arg):
                    found.add(node.arg)
        return found

    def collect_read_attributes(self) -> set[str]:
        """Every attribute name that stands in the program's code, whoever it belongs to."""
        return {
            node.attr
            for tree in self.trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
        }

    def collect_attributes(self) -> set[str]:
        """Names of attributes, methods and fields of private objects."""
        found: set[str] = set()
        for record in self.gathered["instances"].values():
            found |= set(record["state"])
        for cls in self.gathered["classes"].values():
            found |= {*cls["methods"], *cls["attributes"], *(name for name, _ in cls["fields"])}
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    found.add(node.attr)
                elif isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
                    found |= {str(e.value) for e in node.args[1:2] if isinstance(e, ast.Constant)}
        return found

    def collect_keys(self) -> set[str]:
        """Names that containers of modules and parameters have for their items, which code asks for
        as text.
        """
        return {
            name
            for record in self.gathered["instances"].values()
            if str(record["class"].get("name")).endswith("Dict")
            for name, _ in record.get("items") or ()
        }

    def collect_texts(self) -> set[str]:
        """Text that stands in the program's code or in its values, keys of dictionaries too."""
        found = {
            node.value
            for tree in self.trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        return found | set(_list_texts(self.gathered))

    def collect_words(self) -> set[str]:
        """Every identifier of the private program, for names that must not be handed out by
        chance.
        """
        found = self.collect_attributes() | self.collect_parameters() | self.collect_keys()
        for key, tree in self.trees.items():
            found.add(self.get_function(key)["name"])
            for node in ast.walk(tree):
                if isinstance(node, ast.Name):
                    found.add(node.id)
                elif isinstance(node, ast.Attribute):
                    found.add(node.attr)
        return found | {record["name"] for record in self.gathered["classes"].values()}


def _list_texts(found: object) -> Iterator[str]:
    """The values of all constants of text, at any depth."""
    if isinstance(found, dict):
        if found.get("kind") == "const" and found.get("text"):
            yield str(found["value"])
        for each in found.values():
            yield from _list_texts(each)
    elif isinstance(found, (list, tuple)):
        for each in found:
            yield from _list_texts(each)


def _read_definition(node: ast.stmt) -> FunctionNode:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Lambda):
        inner = node.value
        made = ast.FunctionDef("lambda_", inner.args, [ast.Return(inner.body)], [], None)
        made.lineno = 1
        if "type_params" in ast.FunctionDef._fields:
            made.type_params = []  # type: ignore[attr-defined]
        return ast.fix_missing_locations(made)
    raise SourceError("a function is no function definition")


def list_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    """Parameters in the order of the signature, starred ones last."""
    given = node.args
    starred = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *starred]


def find_called(call: ast.Call, partials: Collection[str]) -> ast.expr:
    """What takes the keywords of a call: of `functools.partial` the function that it is given.

    Args:
        partials: the dotted names of `functools.partial`.
    """
    called: ast.expr = call
    while isinstance(called, ast.Call) and called.args and ast.unparse(called.func) in partials:
        called = called.args[0]
    return call.func if called is call else called
