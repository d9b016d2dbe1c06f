"""Where the parts of a rewritten model lie: the public path of each block, layer, parameter and
buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anonymizer.model.body.attributes import Attributes
from anonymizer.trace.ownership import Ownership
from anonymizer.trace.tree import TracedProgram


@dataclass(frozen=True)
class Paths:
    """The paths below any block; `attributes` of each block that has a class of its own, `made` the
    constructor of each module.
    """

    program: TracedProgram
    ownership: Ownership
    attributes: Mapping[int, Attributes]
    made: Mapping[int, str]

    def list_state(self, block: int, prefix: str) -> list[tuple[str, str]]:
        """Each parameter and buffer below a block.

        Args:
            block: the module number of the block.
            prefix: the public path of the block with a dot behind it; empty for the whole model.

        Returns:
            Pairs of the public path and the label of the given tensor.
        """
        found = []
        for path, module in self._list_members(block):
            if module in self.attributes:
                found += self.list_state(module, f"{prefix}{path}.")
            else:
                state = self.program.modules[module].state
                found += [(f"{prefix}{path}.{name}", label) for name, label in state]
        for label, name in self.attributes[block].tensors.items():
            found.append((prefix + name, label))
        return found

    def list_modules(self, block: int, prefix: str) -> list[tuple[str, int]]:
        """A block, and each block and layer below it.

        Args:
            block: the module number of the block.
            prefix: the public path of the block with a dot behind it; empty for the whole model.

        Returns:
            Pairs of the public path and the number of the private module that it stands for.
        """
        found = [(prefix.rstrip("."), block)]
        for path, module in self._list_members(block):
            if module in self.attributes:
                found += self.list_modules(module, f"{prefix}{path}.")
            else:
                found.append((prefix + path, module))
        return found

    def _list_members(self, block: int) -> list[tuple[str, int]]:
        if self.made.get(block, "").startswith("nn.Sequential"):
            items = self.ownership.calls[block][0].items
            return [
                (str(i), item.module) for i, item in enumerate(items) if item.module is not None
            ]
        attributes = self.attributes[block]
        found = [(name, module) for module, name in attributes.alone.items()]
        for name, members in attributes.lists.items():
            found += [(f"{name}.{index}", module) for index, module in enumerate(members)]
        return found
