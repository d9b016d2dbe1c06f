"""Which block of the rewritten model owns which module and tensor, and what has to be handed down
as an argument.

A module belongs to the block that calls it; one that several blocks call, or a tensor that several
read, belongs to the innermost block around all of them. What a block does not own, nor anything
inside it, it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from anonymizer.trace.tree import ROOT, ModuleCall, Step, TracedProgram

_MODULE = "module:"


def name_module(number: int) -> str:
    """The name under which a module is handed down like a value."""
    return f"{_MODULE}{number}"


def parse_module_name(name: str) -> int | None:
    """The module behind such a name."""
    return int(name[len(_MODULE) :]) if name.startswith(_MODULE) else None


class TensorOwner(NamedTuple):
    """Where a given tensor is: the block, and the module with the attribute that hold it.

    The module is the block itself where the attribute is made for the rewritten model ("").
    """

    block: int
    module: int
    attribute: str


class Registration(NamedTuple):
    """Where a parameter or buffer is registered: the number of the module, and the attribute."""

    module: int
    attribute: str


class Ownership:
    """The tree of blocks (by module number; `ROOT` is the traced function) and what each of them
    holds.

    `callers`: number of a module -> those that call it, in order; `calls`: number of a block -> its
    calls; `owners`: label of a given tensor that is read -> where it is.
    """

    def __init__(self, program: TracedProgram) -> None:
        self.program = program
        self.callers: dict[int, dict[int, None]] = {}
        self.calls: dict[int, list[ModuleCall]] = {}
        for call in program.root.list_calls():
            self.calls.setdefault(call.module, []).append(call)
            for item in call.items:
                if item.module is not None:
                    self.callers.setdefault(item.module, {})[call.module] = None
        self._parents: dict[int, int] = {}
        self.owners = self._find_owners()

    def find_parent(self, module: int) -> int:
        """The block, by its module number, that a module is an attribute of."""
        if module == ROOT:
            return ROOT
        if module not in self._parents:
            self._parents[module] = ROOT  # should modules call each other in a circle
            callers = [caller for caller in self.callers.get(module, ()) if caller != module]
            self._parents[module] = self.find_innermost(callers)
        return self._parents[module]

    def _list_enclosing(self, module: int) -> list[int]:
        """A block and those around it, outermost last."""
        found = [module]
        while found[-1] != ROOT:
            found.append(self.find_parent(found[-1]))
        return found

    def find_innermost(self, modules: list[int]) -> int:
        """The innermost block around all of these modules."""
        chains = [list(reversed(self._list_enclosing(module))) for module in modules]
        common = ROOT
        for level in zip(*chains):
            if len(set(level)) > 1:
                break
            common = level[0]
        return common

    def _find_owners(self) -> dict[str, TensorOwner]:
        in_layers: dict[str, Registration] = {}
        for label, place in self._list_in_layers():
            in_layers.setdefault(label, place)
        users = self._find_users()
        owners: dict[str, TensorOwner] = {}
        for label, given in self.program.given.items():
            if given.kind == "input":
                owners[label] = TensorOwner(ROOT, ROOT, "")
            elif label in in_layers:
                layer, attribute = in_layers[label]
                owners[label] = TensorOwner(self.find_parent(layer), layer, attribute)
            elif label in users:
                block = self.find_innermost(list(users[label]))
                owners[label] = TensorOwner(block, block, "")
        return owners

    def _list_in_layers(self) -> Iterator[tuple[str, Registration]]:
        """The labels of what stock layers that are called hold, each with its place."""
        for module in self.program.modules.values():
            if module.number in self.callers and module.number not in self.calls:
                for attribute, label in module.state:
                    yield label, Registration(module.number, attribute)

    def _find_users(self) -> dict[str, dict[int, None]]:
        """The numbers of the blocks that read a value, by its name, in order."""
        users: dict[str, dict[int, None]] = {}
        for call in self.program.root.list_calls():
            for item in call.items:
                for name in item.list_refs() if isinstance(item, Step) else ():
                    users.setdefault(name, {})[call.module] = None
        for name in self.program.outputs:
            users.setdefault(name, {})[ROOT] = None
        return users

    def find_ties(self) -> Iterator[tuple[Registration, Registration]]:
        """Of parameters that several stock layers hold: the first place, and each other one."""
        first: dict[str, Registration] = {}
        for label, place in self._list_in_layers():
            if first.setdefault(label, place) != place:
                yield first[label], place

    def reaches(self, block: int, name: str) -> bool:
        """Whether a block can write a given tensor or a module as an attribute of its own, or of
        what it holds.

        Args:
            block: the module number of the block.
            name: the label of the tensor, or what `name_module` makes of the number of a module.
        """
        number = parse_module_name(name)
        if number is not None:
            return self.find_parent(number) == block
        owner = self.owners.get(name)
        if owner is None or self.program.given[name].kind == "input":
            return False
        return block in self._list_enclosing(owner.block)

    def list_arguments(self, call: ModuleCall) -> tuple[str, ...]:
        """What a call is given: the values, tensors and modules from outside that it cannot write
        as its own.

        Modules are among them by the names of `name_module`.
        """
        taken = [name for name in call.takes if not self.reaches(call.module, name)]
        if call.module == ROOT:
            given = self.program.given
            return tuple(n for n in given if given[n].kind == "input" and n in self.owners)
        return (*taken, *self._list_modules(call))

    def _list_modules(self, call: ModuleCall) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for item in call.items:
            if item.module is not None and self.find_parent(item.module) != call.module:
                found[name_module(item.module)] = None
            if isinstance(item, ModuleCall):
                for name in self._list_modules(item):
                    if not self.reaches(call.module, name):
                        found[name] = None
        return tuple(found)
