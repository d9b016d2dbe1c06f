"""Decides whether an attribute name of the private program is kept or renamed.

An attribute belongs to the object it is read from, so the same word may need both answers.

Where the object is unknown and the word is one of torch's *and* one of the user's, it is kept on
both sides: it is public anyway, and the program keeps its meaning.
"""

from __future__ import annotations

import ast
from typing import Any

from anonymizer.source.symbols.names import PublicNames
from anonymizer.source.symbols.symbol_table import SymbolTable, list_parameters
from anonymizer.source.symbols.types import UNKNOWN, Type, Types


class NamingPolicy:
    """What each attribute name means, for the whole program at once: a name kept anywhere doubtful
    stays kept.
    """

    def __init__(self, symbols: SymbolTable, types: Types, names: PublicNames) -> None:
        self.symbols, self.types, self.names = symbols, types, names
        self.private = symbols.collect_attributes()
        self.stored = {key: self._find_stored(key) for key in symbols.gathered["classes"]}
        self.sticky: set[str] = set()
        # Globals and captured variables that some function assigns: those are state, not values.
        self.assigned = {
            name
            for tree in symbols.trees.values()
            for node in ast.walk(tree)
            if isinstance(node, (ast.Global, ast.Nonlocal))
            for name in node.names
        }
        for tree in symbols.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and self._is_doubtful(node):
                    self.sticky.add(node.attr)

    def _find_stored(self, key: str) -> set[str]:
        found: set[str] = set()
        record = self.symbols.get_class(key)
        for method in (*record["methods"].values(), *record.get("setters", {}).values()):
            tree = self.symbols.trees.get(str(method["function"].get("id")))
            names = list_parameters(tree) if tree is not None else []
            for node in ast.walk(tree) if tree is not None and names else ():
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    if isinstance(node.value, ast.Name) and node.value.id == names[0].arg:
                        found.add(node.attr)
        return found

    def _owns(self, atom: tuple[Any, ...], name: str) -> bool:
        if atom[0] not in ("inst", "obj", "cls"):
            return False
        key = atom[1]
        if atom[0] == "inst":
            record = self.symbols.get_instance(key)
            if name in record["state"]:
                return True
            assert record["class"]["kind"] == "class"
            key = record["class"]["id"]
        if self.symbols.is_override(key, name):
            return False
        if (
            self.symbols.find_method(key, name) is not None
            or self.symbols.find_attribute(key, name) is not None
        ):
            return True
        lineage = list(self.symbols.walk_bases(key))
        fields = {field[0] for each in lineage for field in self.symbols.get_class(each)["fields"]}
        return name in fields or any(name in self.stored[each] for each in lineage)

    def _is_doubtful(self, node: ast.Attribute) -> bool:
        kind = self.types.receivers.get(id(node), UNKNOWN)
        if node.attr not in self.private or node.attr not in self.names.vocabulary:
            return False
        owned = [self._owns(atom, node.attr) for atom in kind]
        return not owned or any(owned) and not all(owned)

    def name_attribute(self, name: str, kind: Type) -> str:
        """The public form of an attribute name.

        Args:
            name: the word in the private program.
            kind: the type of what it is read from, as `Types` infers it.
        """
        if self.names.is_public_dunder(name):
            return name
        known = (
            name in self.names.vocabulary
            or hasattr(str, name)
            or hasattr(dict, name)
            or hasattr(list, name)
        )
        if name in self.sticky and known:
            return name
        if any(self._owns(atom, name) for atom in kind):
            return self.names.name_attribute(name)
        is_function = any(atom[0] == "fn" for atom in kind)
        if (kind == UNKNOWN or is_function) and name in self.private:
            return self.names.name_attribute(name)
        return name if known else self.names.name_attribute(name)

    def name_member(self, key: str, name: str) -> str:
        """The public form of a name that the class with the id `key` itself defines."""
        if (
            self.names.is_public_dunder(name)
            or self.symbols.is_override(key, name)
            or name in self.sticky
        ):
            return name
        return self.names.name_attribute(
            name, "method" if self.symbols.find_method(key, name) else "attr"
        )

    def name_state(self, name: str) -> str:
        """The public form of a name in an instance's state."""
        if name in self.sticky or self.names.is_public_dunder(name):
            return name
        return self.names.name_attribute(name)
