"""What a generic block calls its own: names for its layers, lists of layers and tensors, given out in the order of use."""

from __future__ import annotations


class Attributes:
    """The attributes of one block: modules (alone or in lists) and tensors, in order of first use."""

    def __init__(self) -> None:
        self.alone: dict[int, str] = {}
        self.lists: dict[str, tuple[int, ...]] = {}
        self.tensors: dict[str, str] = {}
        self.order: list[str] = []
        self._counts: dict[str, int] = {}

    def fresh(self, base: str) -> str:
        """`linear1`, `linear2`, …"""
        self._counts[base] = self._counts.get(base, 0) + 1
        name = f"{base}{self._counts[base]}"
        self.order.append(name)
        return name

    def path(self, module: int) -> str | None:
        """The attribute of a module, `linear1` or `blocks1.0`, if it has one."""
        if module in self.alone:
            return self.alone[module]
        for name, members in self.lists.items():
            if module in members:
                return f"{name}.{members.index(module)}"
        return None

    def free(self, modules: tuple[int, ...]) -> bool:
        """Whether none of the modules has an attribute yet."""
        return all(self.path(module) is None for module in modules)
