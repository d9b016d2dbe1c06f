"""How a block writes what it reads: values by their expressions, tensors and modules as attributes
of itself or of what it holds.
"""

from __future__ import annotations

from collections.abc import Iterable

from anonymizer.model.body.context import BlockContext
from anonymizer.model.body.phrases import write_attribute_path
from anonymizer.model.body.variables import Variables
from anonymizer.trace.ownership import name_module


class References:
    """Expressions of what a block reads; what it owns gets an attribute at its first use."""

    def __init__(self, context: BlockContext, variables: Variables) -> None:
        self._context = context
        self._variables = variables
        self._loop_variables: dict[int, str] = {}

    def read(self, name: str) -> str:
        """The expression of a value or of a given tensor, by its name in the trace."""
        text = self._variables.get(name)
        if text is None:
            text = self._reach(name)
            self._variables.put(name, text)
        return text

    def read_module(self, module: int) -> str:
        """How this block writes a module: a loop's variable, an attribute, or an argument."""
        if module in self._loop_variables:
            return self._loop_variables[module]
        given = self._variables.get(name_module(module))
        if given is not None:
            return given
        context, attributes = self._context, self._context.attributes
        parent = context.ownership.find_parent(module)
        if parent != context.call.module:
            path = context.model.find_path(parent, module)
            return f"{self.read_module(parent)}.{write_attribute_path(path or '')}"
        if attributes.find_path(module) is None:
            attributes.alone[module] = attributes.take_name(
                context.model.choose_attribute_name(module)
            )
        return "self." + write_attribute_path(attributes.find_path(module) or "")

    def enter_loop(self, modules: Iterable[int], variable: str) -> None:
        """Until `leave_loop`, a loop's variable stands for each of these modules."""
        self._loop_variables.update(dict.fromkeys(modules, variable))

    def leave_loop(self, modules: Iterable[int]) -> None:
        """These modules go by their attributes again."""
        for module in modules:
            self._loop_variables.pop(module, None)

    def _reach(self, name: str) -> str:
        """A given tensor as an attribute of this block or of what it holds."""
        context, attributes = self._context, self._context.attributes
        block, module, attribute = context.ownership.owners[name]
        if module != block or attribute:
            return f"{self.read_module(module)}.{attribute}"
        if block == context.call.module:
            if name not in attributes.tensors:
                kind = "weight" if context.program.given[name].kind == "param" else "buffer"
                attributes.tensors[name] = attributes.take_name(kind)
            return f"self.{attributes.tensors[name]}"
        inner = context.model.get_attributes(block).tensors[name]
        return f"{self.read_module(block)}.{write_attribute_path(inner)}"
