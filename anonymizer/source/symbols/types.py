"""Infers whether the value of an expression is torch's and Python's own or the private program's.

That is enough to tell `layer.weight` of a stock layer from a private attribute.

The live objects are known, so `self.a.b` is looked up rather than guessed; calls between gathered
functions carry types along. A type is a set of atoms: ("pub",) for everything of torch's and
Python's, ("inst", id), ("obj", class id), ("cls", id), ("fn", id), ("meth", function id, owner
atom), ("nested", function id, number), ("seq", element atoms) and ("row", type, type, …) for a pair
of `enumerate`, `zip` or `items`. The empty set means unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from anonymizer.source.symbols.symbol_table import SymbolTable, list_parameters
from collectors.protocol.program_source import Reference

Atom = tuple[Any, ...]
Type = frozenset[Atom]
PUBLIC: Type = frozenset({("pub",)})
UNKNOWN: Type = frozenset()
_ROUNDS = 8


def build_sequence_type(element: Type) -> Type:
    """A list, or whatever else is gone through, of such elements."""
    return frozenset({("seq", element)})


def build_tuple_type(*items: Type) -> Type:
    """A tuple of items of these types."""
    return frozenset({("row", *items)})


def infer_element(kind: Type) -> Type:
    """What iterating or indexing gives."""
    found: set[Atom] = set()
    for atom in kind:
        if atom[0] == "seq":
            found |= atom[1]
        elif atom[0] == "pub":
            found.add(atom)
    return frozenset(found)


def is_private(kind: Type) -> bool:
    """Whether a call of it runs gathered code."""
    return any(atom[0] in ("fn", "meth", "inst", "obj", "cls", "nested") for atom in kind)


class Types:
    """Runs to a fixed point over all functions; then `receivers` and `callees` hold the answers by
    the ids of attributes, and of the expressions that are called (`find_called`).

    `walk(types, function id)` visits one function (`anonymizer.source.symbols.inference`).
    """

    def __init__(self, symbols: SymbolTable, walk: Callable[[Types, str], None]) -> None:
        self.symbols = symbols
        self.owners = symbols.map_owners()
        self.env: dict[tuple[str, str], Type] = {}
        self.returns: dict[Any, Type] = {}
        self.nested: dict[tuple[str, int], ast.AST] = {}
        self.receivers: dict[int, Type] = {}
        self.callees: dict[int, Type] = {}
        self.changed = True
        self._seed()
        for _ in range(_ROUNDS):
            if not self.changed:
                break
            self.changed = False
            for key in symbols.trees:
                walk(self, key)

    def _seed(self) -> None:
        entry = self.infer(self.symbols.gathered["entry"])
        given = [self.infer(each) for each in self.symbols.gathered["args"]]
        named = {name: self.infer(each) for name, each in self.symbols.gathered["kwargs"].items()}
        self.infer_call(entry, given, named)
        backend = self.symbols.gathered.get("backend")
        if backend:
            self.infer_call(self.infer(backend), [PUBLIC, PUBLIC], {})
        for key, tree in self.symbols.trees.items():
            record = self.symbols.get_function(key)
            names = [*tree.args.posonlyargs, *tree.args.args]
            for name, default in zip(reversed(names), reversed(record["defaults"])):
                self.bind((key, name.arg), self.infer(default))
            for name_, default in record["kwdefaults"].items():
                self.bind((key, name_), self.infer(default))
            if key in self.owners:
                self._bind_own(key, tree)

    def _bind_own(self, key: str, tree: Any) -> None:
        owner, name, kind = self.owners[key]
        names = list_parameters(tree)
        if not names or kind == "static":
            if self.symbols.get_class(owner)["function"]:
                for each in names:
                    self.bind((key, each.arg), PUBLIC)
            return
        if kind == "class" or name in ("__new__", "__init_subclass__"):
            self.bind((key, names[0].arg), frozenset({("cls", owner)}))
            return
        live = frozenset(("inst", each) for each in self.symbols.list_instances(owner))
        self.bind((key, names[0].arg), live or frozenset({("obj", owner)}))

    def bind(self, key: tuple[str, str], kind: Type) -> None:
        """Joins a type into a variable."""
        old = self.env.get(key, UNKNOWN)
        if not kind <= old:
            self.env[key] = old | kind
            self.changed = True

    def infer(self, ref: Reference | None, depth: int = 0) -> Type:
        """The type of a gathered value."""
        if ref is None or ref["kind"] == "opaque":
            return UNKNOWN
        if ref["kind"] in ("function", "class"):
            return frozenset({("fn" if ref["kind"] == "function" else "cls", ref["id"])})
        if ref["kind"] in ("list", "tuple", "set"):
            return self._infer_sequence(ref["items"], depth)
        if ref["kind"] == "dict":
            return self._infer_sequence([value for _, value in ref["items"]], depth)
        if ref["kind"] == "instance":
            record = self.symbols.get_instance(ref["id"])
            if record["class"]["kind"] == "class":
                return frozenset({("inst", ref["id"])})
            if "items" in record:
                return self._infer_sequence([each[1] for each in record["items"]], depth) | PUBLIC
            return PUBLIC if record["class"]["kind"] == "torch" else UNKNOWN
        if ref["kind"] == "member":
            cls = ref["class"]
            return frozenset({("obj", cls["id"])}) if cls["kind"] == "class" else UNKNOWN
        if ref["kind"] == "method":
            return self.infer_attribute(self.infer(ref["owner"]), ref["name"])
        if ref["kind"] in ("partial", "operator", "region"):
            return self.infer(ref["function"])
        return PUBLIC

    def _infer_sequence(self, items: Sequence[Reference], depth: int) -> Type:
        if depth > 6:
            return UNKNOWN
        found: set[Atom] = set()
        for each in items:
            found |= self.infer(each, depth + 1)
        return build_sequence_type(frozenset(found))

    def infer_attribute(self, receiver: Type, name: str) -> Type:
        """The type of `receiver.name`."""
        found: set[Atom] = set()
        for atom in receiver:
            found |= self._infer_atom_attribute(atom, name)
        return frozenset(found)

    def _infer_atom_attribute(self, atom: Atom, name: str) -> Type:
        if atom[0] in ("pub", "seq", "row"):
            return PUBLIC
        if atom[0] not in ("inst", "obj", "cls"):
            return UNKNOWN
        if name == "__class__":
            return self.infer_class(frozenset({atom}))
        if atom[0] == "inst":
            record = self.symbols.get_instance(atom[1])
            if name in record["state"]:
                return self.infer(record["state"][name])
            assert record["class"]["kind"] == "class"
            key = record["class"]["id"]
        else:
            key = atom[1]
        method = self.symbols.find_method(key, name)
        if method is not None:
            target = method["function"]
            if target["kind"] != "function":
                return UNKNOWN
            if method["method"] in ("property", "cached_property"):
                return self.returns.get(target["id"], UNKNOWN)
            bound = method["method"] != "static" and (
                atom[0] != "cls" or method["method"] == "class"
            )
            return frozenset({("meth", target["id"], atom) if bound else ("fn", target["id"])})
        value = self.symbols.find_attribute(key, name)
        if value is not None:
            return self.infer(value)
        return self.env.get(
            ("attr", f"{key}.{name}"), UNKNOWN if name in self._find_assigned(key) else PUBLIC
        )

    def infer_class(self, kind: Type) -> Type:
        """The type of `type(value)`."""
        found: set[Atom] = set()
        for atom in kind:
            if atom[0] == "inst":
                reference = self.symbols.get_instance(atom[1])["class"]
                assert reference["kind"] == "class"
                found.add(("cls", reference["id"]))
            elif atom[0] == "obj":
                found.add(("cls", atom[1]))
            else:
                found |= PUBLIC
        return frozenset(found)

    def _find_assigned(self, key: str) -> set[str]:
        return {
            field[0]
            for each in self.symbols.walk_bases(key)
            for field in self.symbols.get_class(each)["fields"]
        }

    def infer_call(self, callee: Type, args: list[Type], kwargs: dict[str, Type]) -> Type:
        """The type of what a call returns, after the types of its arguments have been joined into
        the parameters of what it calls.

        Args:
            callee: a type as the module describes it; all that it may be is called.
            args: one type for each positional argument, without the receiver of a method.
            kwargs: parameter -> type.

        Returns:
            `UNKNOWN` as long as nothing is known of the result.
        """
        found: set[Atom] = set()
        for atom in callee:
            found |= self._infer_atom_call(atom, args, kwargs)
        return frozenset(found)

    def _infer_atom_call(self, atom: Atom, args: list[Type], kwargs: dict[str, Type]) -> Type:
        if atom[0] in ("pub", "seq", "row"):
            return PUBLIC
        if atom[0] == "fn":
            return self._enter(atom[1], atom[1], self.symbols.trees[atom[1]], args, kwargs)
        if atom[0] == "meth":
            return self._enter(
                atom[1], atom[1], self.symbols.trees[atom[1]], [frozenset({atom[2]}), *args], kwargs
            )
        if atom[0] == "nested":
            return self._enter(
                (atom[1], atom[2]), atom[1], self.nested[atom[1], atom[2]], args, kwargs
            )
        if atom[0] in ("inst", "obj"):
            for name in ("forward", "__call__"):
                target = self._infer_atom_attribute(atom, name)
                if target != PUBLIC and target:
                    return self.infer_call(target, args, kwargs)
            return PUBLIC
        return self._construct(atom[1], args, kwargs)

    def _construct(self, key: str, args: list[Type], kwargs: dict[str, Type]) -> Type:
        start = self.symbols.find_method(key, "__init__")
        made: Atom = ("obj", key)
        if start is not None and start["function"]["kind"] == "function":
            self._infer_atom_call(("meth", start["function"]["id"], made), args, kwargs)
        return frozenset({made})

    def _enter(
        self, result: Any, key: str, tree: Any, args: list[Type], kwargs: dict[str, Type]
    ) -> Type:
        names = [each.arg for each in [*tree.args.posonlyargs, *tree.args.args]]
        for index, kind in enumerate(args):
            if index < len(names):
                self.bind((key, names[index]), kind)
            elif tree.args.vararg is not None:
                self.bind((key, tree.args.vararg.arg), build_sequence_type(kind))
        for name, kind in kwargs.items():
            self.bind((key, name), kind)
        return self.returns.get(result, UNKNOWN)
