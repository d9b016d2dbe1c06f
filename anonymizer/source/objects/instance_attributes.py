"""What the live instances of a class have in common, and in what they differ."""

from __future__ import annotations

import ast

from anonymizer.source.objects.context import ProgramContext, Values
from collectors.protocol.program_source import InstanceRecord


class InstanceAttributes:
    """Attributes of instances by class; a class is looked at once."""

    def __init__(self, context: ProgramContext, values: Values) -> None:
        self._symbols = context.symbols
        self._values = values
        self._attributes: dict[str, tuple[list[str], list[str]]] = {}

    def read_state(self, record: InstanceRecord) -> dict[str, str]:
        """Private attribute -> text of its value; numbered children of a container subclass are
        `*items`.
        """
        found = {
            name: ast.unparse(self._values.build(each)) for name, each in record["state"].items()
        }
        if record.get("items"):
            items = ", ".join(ast.unparse(self._values.build(each)) for _, each in record["items"])
            found["*items"] = f"({items},)"
        return found

    def split(self, key: str) -> tuple[list[str], list[str]]:
        """Of a class: attributes equal in all instances, and attributes to be given as
        arguments.
        """
        if key not in self._attributes:
            live = [
                record
                for record in self._symbols.gathered["instances"].values()
                if record["class"]["kind"] == "class" and record["class"]["id"] == key
            ]
            self._attributes[key] = ([], [])
            states = [self.read_state(record) for record in live]
            everything = list(dict.fromkeys(name for state in states for name in state))
            same = [name for name in everything if len({state.get(name) for state in states}) == 1]
            self._attributes[key] = (same, [name for name in everything if name not in same])
        return self._attributes[key]
