"""What a generic block calls its own: names for its layers, lists of layers and tensors, given out
in the order of use.
"""

from __future__ import annotations

from typing import Protocol

from anonymizer.trace.tree import Function, Step


class Attributes:
    """The attributes of one block: modules (alone or in lists) and tensors, in order of first
    use.
    """

    def __init__(self) -> None:
        self.alone: dict[int, str] = {}
        self.lists: dict[str, tuple[int, ...]] = {}
        self.tensors: dict[str, str] = {}
        self.order: list[str] = []
        self._counts: dict[str, int] = {}

    def take_name(self, base: str) -> str:
        """`linear1`, `linear2`, …"""
        self._counts[base] = self._counts.get(base, 0) + 1
        name = f"{base}{self._counts[base]}"
        self.order.append(name)
        return name

    def find_path(self, module: int) -> str | None:
        """The attribute of a module, `linear1` or `blocks1.0`, if it has one."""
        if module in self.alone:
            return self.alone[module]
        for name, members in self.lists.items():
            if module in members:
                return f"{name}.{members.index(module)}"
        return None

    def are_free(self, modules: tuple[int, ...]) -> bool:
        """Whether none of the modules has an attribute yet."""
        return all(self.find_path(module) is None for module in modules)


class ModelNames(Protocol):
    """What the body of one block asks of the model that it is written for."""

    #: id of a call -> the number of the method that it is, in its block
    which: dict[int, int]

    def name_function(self, found: Function) -> str:
        """The name of the class that does what an `autograd.Function` does."""

    def name_operator(self, step: Step) -> str:
        """The name of the stand-in for an opaque operation."""

    def find_list_key(self, module: int) -> str:
        """What modules have in common that may stand in one list."""

    def choose_attribute_name(self, module: int) -> str:
        """What the attribute of a module is called, without its number."""

    def find_path(self, block: int, module: int) -> str | None:
        """The attribute path from a block to a module inside it."""

    def get_attributes(self, block: int) -> Attributes:
        """The attributes of a block that has been written."""
