"""The body of one block as Python: one statement per operation, names reused as a person would,
repetition as a loop.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anonymizer.graph.ir import Ref, TensorMeta
from anonymizer.model.attributes import Attributes, ModelNames
from anonymizer.model.flow import flat
from anonymizer.model.lifetimes import Lifetimes
from anonymizer.model.loops import Loop, Statement, find
from anonymizer.model.operations import Operations
from anonymizer.model.ownership import Ownership, module_name, module_number
from anonymizer.model.phrases import (
    as_expression,
    last_value,
    pattern,
    regions,
    unroll,
    wrap_in_checkpoint,
)
from anonymizer.model.tree import ROOT, ModuleCall, Step, TracedProgram

#: Longest expression that is written inside of another.
_SHORT = 44
_PLAIN_NAMES = ("x", "y", "z", "w")


@dataclass(frozen=True)
class Method:
    """A written body: names of its parameters, its lines, and all of it as one text to compare
    by.
    """

    parameters: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join((", ".join(self.parameters), *self.lines))


def write_method(
    program: TracedProgram,
    own: Ownership,
    call: ModuleCall,
    attributes: Attributes,
    writer: ModelNames,
) -> Method:
    """The body of one call of a block; its attributes are noted in `attributes`.

    Raises NotPublic.
    """
    return BlockBody(program, own, call, attributes, writer).method()


class BlockBody(Operations):
    """A body that is being written."""

    def __init__(
        self,
        program: TracedProgram,
        own: Ownership,
        call: ModuleCall,
        attributes: Attributes,
        writer: ModelNames,
    ) -> None:
        super().__init__()
        self.program = program
        self.own = own
        self.call = call
        self.attributes = attributes
        self.writer = writer
        self.life = Lifetimes(program, own, call)
        self.items = call.items
        self.lines: list[str] = []
        self.depth = 0
        self.state = call.state
        self.counter = {"v": 0, "n": 0}
        self.prefer: dict[str, str] = {}
        self.lent: dict[str, str] = {}
        self.loop_text: dict[int, str] = (
            {}
        )  # how a module is called inside the loop that runs over it
        self.holder: dict[str, str] = {}  # variable -> the value that it holds
        self.breaks: set[int] = set()  # where a loop begins or ends

    # -- the method
    # ------------------------------------------------------------------------------------

    def method(self) -> Method:
        names = self.own.arguments(self.call)
        parameters = self._parameters(names)
        for name, parameter in zip(names, parameters):
            self.text[name] = parameter
            self.holder[parameter] = name
        self.write()
        return self._method(parameters)

    def write(self) -> None:
        """Writes the statements; what is given must have its text by now."""
        runs = self._runs()
        for loop, start, end in runs:
            self.breaks |= {start, end} | ({start + loop.length} if loop is not None else set())
        self.life.settle(self.breaks)
        for loop, start, end in runs:
            if loop is None:
                self._statements(start, end)
            else:
                self._loop(loop)
        self._switch(self.call.state)

    def _method(self, parameters: Sequence[str]) -> Method:
        shown = unroll([self._value(name) for name in self.life.results])
        if len(shown) == 1:
            shown = [last_value(self.lines, shown[0])]
        if shown:
            plural = self.call.module == ROOT or len(shown) > 1
            starred = shown[0].startswith("*")
            text = (
                f"{shown[0]},"
                if starred and len(shown) == 1
                else shown[0] if len(shown) == 1 else ", ".join(shown)
            )
            self.lines.append(f"return ({text})" if plural and len(shown) > 1 else f"return {text}")
        elif not self.lines or self.call.module == ROOT:
            self.lines.append("return None")
        return Method(tuple(parameters), tuple(self.lines))

    def _parameters(self, names: Sequence[str]) -> list[str]:
        values = [name for name in names if module_number(name) is None]
        plain = iter(_PLAIN_NAMES if len(values) <= 4 else [f"x{i}" for i in range(len(values))])
        layers = iter(range(1, len(names) + 1))
        return [
            next(plain) if module_number(name) is None else f"layer{next(layers)}" for name in names
        ]

    def _runs(self) -> list[tuple[Loop | None, int, int]]:
        """The statements as loops and what stands between them."""
        statements = [self._statement(i, item) for i, item in enumerate(self.items)]
        after = {name: int(min(use, len(self.items))) for name, use in self.life.last.items()}
        runs: list[tuple[Loop | None, int, int]] = []
        at = 0
        for loop in find(statements, after):
            if not self._lists(loop):
                continue
            runs += [(None, at, loop.start), (loop, loop.start, loop.end)]
            at = loop.end
        return [*runs, (None, at, len(self.items))]

    def _statement(self, index: int, item: Step | ModuleCall) -> Statement:
        reads = tuple(name for name in self.life.reads[index])
        shown = tuple(self._shape_of(name) for name in reads)
        if isinstance(item, ModuleCall):
            method = self.writer.which[id(item)]
            shape: Any = ("call", method, item.wrap, shown, len(item.leaves), item.state)
        else:
            node = item.node.map_refs(lambda ref: Ref(""))
            shape = (node.op, node.target, node.args, node.kwargs, item.state, bool(item.same))
            shape = (
                *shape,
                item.wrap,
                shown,
                pattern(item.outs),
                self.writer.function(item.function) if item.function is not None else "",
                self.writer.operator(item) if item.stand_in is not None else "",
            )
        module = item.module
        local = module is not None and self.own.parent(module) == self.call.module
        makes = tuple(flat(item.outs))
        kin = self.writer.kin(module) if module is not None else None
        return Statement(shape, reads, makes, module if local else None, kin)

    def _shape_of(self, name: str) -> Any:
        """What may not differ between the readers of a loop: whether a thing is a tensor of this
        block or a value.
        """
        return self.own.reaches(self.call.module, name)

    # -- statements
    # ------------------------------------------------------------------------------------

    def _statements(self, start: int, end: int) -> None:
        for index in range(start, end):
            self._item(index, self.items[index])

    def _item(self, index: int, item: Step | ModuleCall) -> None:
        if isinstance(item, Step) and item.node.name in self.life.inlined:
            self.text[item.node.name] = self._expression(item)
            return
        self._switch(item.state)
        expression = (
            self._invocation(item) if isinstance(item, ModuleCall) else self._expression(item)
        )
        if isinstance(item, Step) and item.same:
            changed = self._value(item.same)
            if item.in_place:
                self._line(expression)
            elif re.fullmatch(r"\w+", changed):
                self._line(f"{changed} = {expression}")
            elif self.life.last.get(item.same, -1) > index:
                # returned as it was, `self.weight1.float()`: what follows reads it under this name
                self.counter["v"] += 1
                self._line(f"{self._hold('v' + str(self.counter['v']), item.same)} = {expression}")
            return
        live = [name for name in flat(item.outs) if name in self.life.last]
        if not live:
            self._line(expression)
            return
        if self._chain(item, expression):
            return
        target = self._target(index, item)
        self._line(f"{target} = {expression}")

    def _chain(self, item: Step | ModuleCall, expression: str) -> bool:
        """Keeps an expression for the statement that reads it, where the two are short together."""
        name = item.outs[0]
        after = self.life.chained.get(name, -1) if isinstance(name, str) else -1
        if after < 0:
            return False
        if len(expression) > _SHORT:
            self.life.unchain(name)
            return False
        self.text[name] = expression
        return True

    def _target(self, index: int, item: Step | ModuleCall) -> str:
        outs = item.outs
        if len(outs) == 1 and isinstance(outs[0], str):
            return self._name(index, outs[0])
        return ", ".join(self._nested(index, name) for name in outs) + (
            "," if len(outs) == 1 else ""
        )

    def _nested(self, index: int, name: Any) -> str:
        if isinstance(name, tuple):
            inner = ", ".join(self._nested(index, part) for part in name)
            return f"({inner}{',' if len(name) == 1 else ''})"
        return "_" if name is None or name not in self.life.last else self._name(index, name)

    def _name(self, index: int, value: str) -> str:
        """A variable for a new value: one whose value nobody reads any more, if a statement just
        read it.
        """
        preferred = self.prefer.get(value)
        if preferred is not None and self._dead(preferred, index):
            return self._hold(preferred, value)
        number = self.program.meta_of(value) == "int"
        for name in () if number else self._deep_reads(index):
            text = self.text.get(name, "")
            if self.holder.get(text) == name and self._dead(text, index):
                if isinstance(self.program.meta_of(name), TensorMeta):
                    return self._hold(text, value)
        kind = "n" if number else "v"
        self.counter[kind] += 1
        return self._hold(f"{kind}{self.counter[kind]}", value)

    def _deep_reads(self, index: int) -> list[str]:
        """What a statement reads, and what the expressions written inside of it read."""
        found: list[str] = []
        for name in self.life.reads[index]:
            inner = next(
                (i for i in range(index - 1, -1, -1) if name in flat(self.items[i].outs)), None
            )
            written = (
                name in self.life.inlined
                or name in self.life.chained
                and name not in self.holder.values()
            )
            found += self._deep_reads(inner) if written and inner is not None else [name]
        return found

    def _dead(self, variable: str, index: int) -> bool:
        held = self.holder.get(variable)
        return held is None or self.life.last.get(held, -1) <= index

    def _hold(self, variable: str, value: str) -> str:
        self.holder[variable] = value
        self.text[value] = variable
        return variable

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _switch(self, state: int) -> None:
        """Opens and closes the region in which other switches hold than in the block."""
        if state == self.state:
            return
        if self.state != self.call.state:
            self.depth -= 1
        self.state = state
        if state != self.call.state:
            states = self.program.states
            opened = ", ".join(regions(states[self.call.state], states[state]))
            self._line(f"with {opened}:")
            self.depth += 1

    # -- expressions
    # -----------------------------------------------------------------------------------

    def _value(self, name: str) -> str:
        return self._bare(Ref(name))

    def _arg(self, value: Any) -> str:
        if isinstance(value, Ref) and value.name not in self.text:
            self.text[value.name] = self._reached(value.name)
        return super()._arg(value)

    def _bare(self, value: Any) -> str:
        if isinstance(value, Ref) and value.name not in self.text:
            self.text[value.name] = self._reached(value.name)
        return super()._bare(value)

    def _reached(self, name: str) -> str:
        """A given tensor as an attribute of this block or of what it holds."""
        block, module, attribute = self.own.homes[name]
        if module != block or attribute:
            return f"{self._module(module)}.{attribute}"
        if block == self.call.module:
            if name not in self.attributes.tensors:
                kind = "weight" if self.program.given[name].kind == "param" else "buffer"
                self.attributes.tensors[name] = self.attributes.fresh(kind)
            return f"self.{self.attributes.tensors[name]}"
        inner = self.writer.attributes_of(block).tensors[name]
        return f"{self._module(block)}.{as_expression(inner)}"

    def _module(self, module: int) -> str:
        """How this block writes a module: a loop's variable, an attribute, or an argument."""
        if module in self.loop_text:
            return self.loop_text[module]
        given = module_name(module)
        if given in self.text:
            return self.text[given]
        parent = self.own.parent(module)
        if parent != self.call.module:
            path = self.writer.path(parent, module)
            return f"{self._module(parent)}.{as_expression(path or '')}"
        if self.attributes.path(module) is None:
            self.attributes.alone[module] = self.attributes.fresh(self.writer.base(module))
        return "self." + as_expression(self.attributes.path(module) or "")

    def _invocation(self, call: ModuleCall) -> str:
        method = self.writer.which[id(call)]
        called = self._module(call.module) + (f".forward{method + 1}" if method else "")
        arguments = []
        for name in self.own.arguments(call):
            number = module_number(name)
            arguments.append(self._value(name) if number is None else self._module(number))
        return wrap_in_checkpoint(f"{called}({', '.join(arguments)})", call.wrap)

    def _expression(self, step: Step) -> str:
        node = step.node
        if step.module is not None and step.wrap:
            return wrap_in_checkpoint(self._call(node, 0, self._module(step.module)), step.wrap)
        if step.module is not None:
            return self._call(node, 0, self._module(step.module))
        if step.function is not None:
            return self._call(node, 0, f"{self.writer.function(step.function)}.apply")
        if step.stand_in is not None:
            return self._call(node, 0, self.writer.operator(step))
        return self._operation(node)

    # -- loops over lists of layers ---------------------------------------------------------------

    def _lists(self, loop: Loop) -> bool:
        """Makes the lists of modules that a loop runs over; False where they do not fit those there
        are.
        """
        fits = [
            len(set(modules)) == 1
            or self.attributes.free(modules)
            or modules in self.attributes.lists.values()
            for modules in loop.modules.values()
        ]
        if not all(fits):
            return False
        for modules in loop.modules.values():
            if len(set(modules)) > 1 and modules not in self.attributes.lists.values():
                name = self.attributes.fresh(self.writer.base(modules[0]).rstrip("s") + "s")
                self.attributes.lists[name] = modules
        return True

    # -- loops
    # -----------------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        first = range(loop.start, loop.start + loop.length)
        self._switch(self.call.state)
        variables = self._carry(loop)
        heads, lists = self._heads(loop)
        self._keep(loop)
        gathered = self._gather(loop)
        if not lists:
            self._line(f"for _ in range({loop.times}):")
        elif len(lists) == 1:
            self._line(f"for {heads[0]} in self.{lists[0]}:")
        else:
            zipped = ", ".join(f"self.{name}" for name in lists)
            self._line(f"for {', '.join(heads)} in zip({zipped}):")
        self.depth += 1
        for index in first:
            self._item(index, self.items[index])
        self._switch(self.call.state)
        moved = [
            (variables[initial], self._value(made))
            for initial, made in loop.carried.items()
            if self._value(made) != variables[initial]
        ]
        for name, values in gathered.items():
            self._line(f"{values}.append({self._value(name)})")
        if moved:
            self._line(f"{', '.join(v for v, _ in moved)} = {', '.join(t for _, t in moved)}")
        self.depth -= 1
        self._after(loop, variables)
        for name, values in gathered.items():
            for window, value in enumerate(loop.collected[name]):
                self.text[value] = f"{values}[{window}]"

    def _gather(self, loop: Loop) -> dict[str, str]:
        """A list for each value that is read of every window after the loop."""
        lists: dict[str, str] = {}
        for name in loop.collected:
            self.counter["v"] += 1
            lists[name] = f"v{self.counter['v']}"
            self._line(f"{lists[name]} = []")
            self.holder[lists[name]] = loop.collected[name][-1]  # not to be used for something else
            self.life.keep_until(loop.collected[name][-1], math.inf)
            self.life.keep_until(name, max(self.life.last.get(name, -1), loop.end - 1))
        return lists

    def _carry(self, loop: Loop) -> dict[str, str]:
        """A variable for each value that goes from window to window, which holds the first one's
        before the loop.
        """
        variables: dict[str, str] = {}
        for initial, made in loop.carried.items():
            text = self._value(initial)
            own = self.holder.get(text) == initial and text not in variables.values()
            if not own or self.life.last.get(initial, -1) >= loop.start + loop.length:
                self.counter["v"] += 1
                variable = f"v{self.counter['v']}"
                self._line(f"{variable} = {text}")
                self.lent[initial] = text  # the value itself is read after the loop
                self.text[initial] = text = variable
                copy = f"copy of {initial}"
                self.holder[variable] = copy
                self.life.keep_until(copy, loop.start + loop.length - 1)
            variables[initial] = text
            self.prefer[made] = text
        return variables

    def _heads(self, loop: Loop) -> tuple[list[str], list[str]]:
        heads: list[str] = []
        lists: list[str] = []
        for modules in loop.modules.values():
            if len(set(modules)) == 1:
                continue
            name = next(n for n, m in self.attributes.lists.items() if m == modules)
            if name not in lists:
                lists.append(name)
                heads.append(re.sub(r"s(\d+)$", r"\1", name))
            for module in modules:
                self.loop_text[module] = heads[lists.index(name)]
        return heads, lists

    def _keep(self, loop: Loop) -> None:
        """What the last window leaves is read after the loop: its counterpart in the first must not
        be overwritten.
        """
        for offset in range(loop.length):
            last = self.items[loop.end - loop.length + offset]
            for name, final in zip(flat(self.items[loop.start + offset].outs), flat(last.outs)):
                if self.life.last.get(final, -1) >= loop.end:
                    self.life.keep_until(name, max(self.life.last.get(name, -1), loop.end - 1))

    def _after(self, loop: Loop, variables: Mapping[str, str]) -> None:
        held = {made: variables[initial] for initial, made in loop.carried.items()}
        for variable in [v for v, value in self.holder.items() if value not in self.text]:
            del self.holder[variable]
        for offset in range(loop.length):
            firsts = flat(self.items[loop.start + offset].outs)
            finals = flat(self.items[loop.end - loop.length + offset].outs)
            for name, final in zip(firsts, finals):
                text = held.get(name) or self.text.get(name)
                if text is not None and self.life.last.get(final, -1) >= loop.end:
                    self.text[final] = text
                    if re.fullmatch(r"\w+", text):
                        self.holder[text] = final
        self.text.update(self.lent)
        self.lent.clear()
        for modules in loop.modules.values():
            for module in modules:
                self.loop_text.pop(module, None)
