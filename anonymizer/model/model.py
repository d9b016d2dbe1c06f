"""A traced program as the model a person would write: classes of generic blocks, equal ones written
once and looped.

Blocks are written innermost first. Two blocks whose text is equal but for numbers share a class
that takes these numbers; so a model's source does not grow with the number of its layers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from anonymizer.graph import stock_layers
from anonymizer.graph.expressions import write_constructor
from anonymizer.graph.ir import Atom, StockLayer
from anonymizer.graph.repro import FUNCTION_CALL, MODULE_CALL, CallSizes, ReproBody, indent
from anonymizer.model import autograd_functions, stand_ins
from anonymizer.model.body.attributes import Attributes
from anonymizer.model.body.body_writer import Method, write_method
from anonymizer.model.body.context import BlockContext
from anonymizer.model.body.phrases import write_attribute_path
from anonymizer.model.class_parameters import add_parameters, list_numbers, mask_numbers
from anonymizer.model.inputs import Inputs, name_varying_sizes, write_attribute
from anonymizer.model.paths import Paths
from anonymizer.trace.ownership import Ownership, Registration
from anonymizer.trace.tree import ROOT, Function, ModuleCall, Step, TracedProgram

NAME = "Repro"
#: A class with more numbers to choose than this is written anew for each use instead.
_MOST_PARAMETERS = 6


@dataclass(frozen=True)
class Counterparts:
    """What of the private model each public name stands for.

    `tensors`: path of a parameter or buffer -> name of the given tensor; `modules`: path of a block
    or layer -> number of the module; `classes` and `functions`: class -> numbers of the modules, of
    the `autograd.Function`s, behind it; `operators`: stand-in -> what it stands for.
    """

    tensors: Mapping[str, str]
    modules: Mapping[str, int]
    classes: Mapping[str, list[int]]
    functions: Mapping[str, list[int]]
    operators: Mapping[str, str]


@dataclass(frozen=True)
class PublicModel:
    """The rewritten model: its text as the body of a repro, and what stands behind its names.

    `arguments`: given tensors in the order of the arguments; `training`: the mode that it is in;
    `calls`: the sizes of successive calls, where they differ.
    """

    body: ReproBody
    arguments: tuple[str, ...]
    training: bool
    calls: tuple[CallSizes, ...]
    counterparts: Counterparts


@dataclass
class _Block:
    """One block while it is written: its methods, and the lines that make its attributes."""

    module: int
    methods: list[Method]
    attributes: Attributes
    lines: list[str] = field(default_factory=list)
    cls: str = ""


def write(program: TracedProgram, weights: str = "", registered: bool = False) -> PublicModel:
    """The program as a model.

    Args:
        program: a traced call.
        weights: a statement that makes the values of each parameter, called `weight`, instead of
            the layers' own way.
        registered: whether stand-ins for opaque operations are operators of torch.library.

    Returns:
        The text of the model, and where each given tensor and each private module went.

    Raises:
        NotPublicError: the program holds what may not leave.
    """
    return Writer(program, weights, registered).write()


class Writer:
    """Writes one program.

    `ownership`: which block what lies in; `blocks`: those that are written, by module; `classes`:
    name of a class -> its lines; `made`: module -> the expression that makes it; `which`: id of a
    call -> the number of the method that it is, in its block; `operators`: text of a stand-in ->
    what it stands for; `functions`: text of an `autograd.Function` -> the numbers of those behind
    it.
    """

    def __init__(self, program: TracedProgram, weights: str = "", registered: bool = False) -> None:
        self.program = program
        self.weights = weights
        self.ownership = Ownership(program)
        self.blocks: dict[int, _Block] = {}
        self.classes: dict[str, list[str]] = {}
        self.made: dict[int, str] = {}
        self.which: dict[int, int] = {}
        self.registered = registered
        self.operators: dict[str, str] = {}
        self.functions: dict[str, list[int]] = {}

    def name_function(self, found: Function) -> str:
        """The name of the class that does what this `autograd.Function` does."""
        text = "\n".join(autograd_functions.write_function_class(found, self.program, self, "?"))
        numbers = self.functions.setdefault(text, [])
        numbers += [found.number] if found.number not in numbers else []
        return _add_number("Function", list(self.functions).index(text))

    def get_attributes(self, block: int) -> Attributes:
        """The attributes of a block that has been written."""
        return self.blocks[block].attributes

    def name_operator(self, step: Step) -> str:
        """The name of the stand-in for an opaque operation; equal ones share it.

        Raises:
            NotPublicError: the operation has no stand-in.
        """
        assert step.stand_in is not None
        given = [self.program.find_meta(name) for name in step.node.list_refs()]
        what, mutates = step.stand_in.what, step.stand_in.mutates
        lines = stand_ins.write_stand_in("?", what, given, step.node.meta, mutates, self.registered)
        text = "\n".join(lines)
        self.operators.setdefault(text, what)
        return _add_number("operator", list(self.operators).index(text))

    def write(self) -> PublicModel:
        """The model, with its blocks written innermost first.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        for level in self._sort_into_levels():
            for module in level:
                self.blocks[module] = self._write_block(module)
            self._share_classes(level)
        root = self.blocks[ROOT]
        is_module = bool(root.attributes.order)
        names = self.ownership.list_arguments(self.program.root)
        sizes, calls = name_varying_sizes([self.program.given[name] for name in names])
        inputs = Inputs(self.program.given, sizes)
        body = ReproBody(
            definitions="\n".join(self._write_definitions(root, is_module)),
            callable=f"{NAME}()" if is_module else NAME.lower(),
            inputs=tuple(inputs.write_lines(names, dict(zip(names, root.methods[0].parameters)))),
            convention=MODULE_CALL if is_module else FUNCTION_CALL,
            sizes=tuple(sizes.values()),
        )
        attributes = {module: block.attributes for module, block in self.blocks.items()}
        paths = Paths(self.program, self.ownership, attributes, self.made)
        counterparts = Counterparts(
            tensors=dict(paths.list_state(ROOT, "")),
            modules=dict(paths.list_modules(ROOT, "")),
            classes=self._group_by_class(),
            functions={
                _add_number("Function", at): n for at, n in enumerate(self.functions.values())
            },
            operators={
                _add_number("operator", at): w for at, w in enumerate(self.operators.values())
            },
        )
        return PublicModel(body, names, _is_in_training(self.program), calls, counterparts)

    def _write_definitions(self, root: _Block, is_module: bool) -> list[str]:
        """Stand-ins, functions and classes, then the model itself."""
        lines = []
        for at, text in enumerate(self.operators):
            lines += [*text.replace("?", _add_number("operator", at)).split("\n"), "", ""]
        for at, text in enumerate(self.functions):
            lines += [*text.replace("?", _add_number("Function", at), 1).split("\n"), "", ""]
        lines += [line for made in self.classes.values() for line in (*made, "", "")]
        return [
            *lines,
            *(self._write_class(root, NAME) if is_module else self._write_function(root)),
        ]

    def _group_by_class(self) -> dict[str, list[int]]:
        """The modules of the private model behind each class; a sequence has none."""
        found: dict[str, list[int]] = {}
        for module, block in self.blocks.items():
            name = NAME if module == ROOT else block.cls
            if name.isidentifier():
                found.setdefault(name, []).append(module)
        return found

    def _sort_into_levels(self) -> list[list[int]]:
        """Blocks by how deep others are nested in them, innermost first."""
        heights: dict[int, int] = {}

        def compute_height(module: int) -> int:
            if module not in heights:
                heights[module] = 0  # should blocks call each other in a circle
                inner = [
                    m
                    for m in self.ownership.calls
                    if m != module and self.ownership.find_parent(m) == module
                ]
                heights[module] = 1 + max(map(compute_height, inner), default=-1)
            return heights[module]

        for module in self.ownership.calls:
            compute_height(module)
        levels: list[list[int]] = [[] for _ in range(max(heights.values()) + 1)]
        for module in self.ownership.calls:
            levels[heights[module]].append(module)
        return levels

    # -- blocks ------------------------------------------------------------------------------------

    def _write_block(self, module: int) -> _Block:
        attributes = Attributes()
        methods: list[Method] = []
        for call in self.ownership.calls[module]:
            method = write_method(
                BlockContext(self.program, self.ownership, call, attributes, self)
            )
            texts = [other.text for other in methods]
            if method.text not in texts:
                methods.append(method)
            self.which[id(call)] = (*texts, method.text).index(method.text)
        return _Block(module, methods, attributes)

    def find_list_key(self, module: int) -> str:
        """Equal for modules that can stand in one list: stock layers of one kind, or blocks of one
        class.
        """
        if module in self.blocks:
            return self.blocks[module].cls
        layer = self.program.modules[module].layer
        return layer.cls if layer is not None else ""

    def choose_attribute_name(self, module: int) -> str:
        """What the attribute of a module is called, without its number."""
        if module in self.blocks:
            return "layers" if self.made[module].startswith("nn.Sequential") else "block"
        layer = self.program.modules[module].layer
        assert layer is not None
        return stock_layers.name_attribute(layer)

    def construct(self, module: int) -> str:
        """The expression that makes a module."""
        if module not in self.made:
            found = self.program.modules[module]
            assert found.layer is not None
            self.made[module] = write_constructor(
                self._add_dtype_and_device(found.layer, found.state)
            ) + self._write_freeze(found.state)
        return self.made[module]

    def _add_dtype_and_device(
        self, layer: StockLayer, state: tuple[tuple[str, str], ...]
    ) -> StockLayer:
        metas = [self.program.given[label].meta for _, label in state]
        floats = {meta.dtype for meta in metas if meta.is_float}
        extra: list[tuple[str, Atom]] = []
        if len(floats) == 1 and floats != {"float32"}:
            extra.append(("dtype", Atom(f"torch.{floats.pop()}")))
        devices = {meta.device for meta in metas} - {"cpu"}
        if len(devices) == 1:
            extra.append(("device", Atom(repr(devices.pop()))))
        return StockLayer(layer.cls, (*layer.kwargs, *extra), layer.training)

    def _write_freeze(self, state: tuple[tuple[str, str], ...]) -> str:
        params = [g for _, label in state if (g := self.program.given[label]).kind == "param"]
        frozen = params and not any(given.meta.requires_grad for given in params)
        return ".requires_grad_(False)" if frozen else ""

    # -- classes -----------------------------------------------------------------------------------

    def _share_classes(self, level: list[int]) -> None:
        """Gives the blocks of one level their classes: one for all that differ in a few numbers
        only.
        """
        groups: dict[tuple[str, ...], list[int]] = {}
        for module in level:
            block = self.blocks[module]
            if module == ROOT:
                continue
            sequence = self._write_sequence(block)
            if sequence is not None:
                self.made[module] = sequence
                block.cls = f"sequence {sequence}"
                continue
            block.lines = self._write_class(block, "?")
            groups.setdefault(mask_numbers("\n".join(block.lines)), []).append(module)
        for shape, members in groups.items():
            self._name_class(shape, members)

    def _name_class(self, shape: tuple[str, ...], members: list[int]) -> None:
        vectors = {m: list_numbers("\n".join(self.blocks[m].lines)) for m in members}
        columns = list(zip(*vectors.values()))
        varying = list(dict.fromkeys(column for column in columns if len(set(column)) > 1))
        if len(varying) > _MOST_PARAMETERS:
            same: dict[tuple[str, ...], list[int]] = {}
            for member in members:
                same.setdefault(vectors[member], []).append(member)
            for group in same.values():
                self._name_class(shape, group)
            return
        name = f"Block{len(self.classes) + 1}"
        parameters = {column: f"size{index + 1}" for index, column in enumerate(varying)}
        text = "\n".join(self.blocks[members[0]].lines)
        chosen = [parameters.get(column) for column in columns]
        self.classes[name] = add_parameters(text, chosen, name, list(parameters.values()))
        for index, member in enumerate(members):
            arguments = ", ".join(column[index] for column in varying)
            self.blocks[member].cls = name
            self.made[member] = f"{name}({arguments})"

    def _write_class(self, block: _Block, name: str) -> list[str]:
        lines = [f"class {name}(nn.Module):"]
        made = self._write_attributes(block)
        if block.module == ROOT and made and self.weights:
            made += ["for weight in self.parameters():", f"    {self.weights}"]
        if made:
            lines += ["    def __init__(self):", "        super().__init__()"]
            lines += ["        " + line for line in made] + [""]
        for index, method in enumerate(block.methods):
            own = "forward" if index == 0 else f"forward{index + 1}"
            parameters = ", ".join(("self", *method.parameters))
            lines += [f"    def {own}({parameters}):"]
            lines += ["        " + line for line in method.lines] + [""]
        return lines[:-1]

    def _write_function(self, block: _Block) -> list[str]:
        method = block.methods[0]
        parameters = ", ".join(method.parameters)
        return [f"def {NAME.lower()}({parameters}):", *indent(method.lines)]

    def _write_attributes(self, block: _Block) -> list[str]:
        attributes = block.attributes
        modules = {name: module for module, name in attributes.alone.items()}
        tensors = {name: label for label, name in attributes.tensors.items()}
        lines = []
        for name in attributes.order:
            if name in modules:
                lines.append(f"self.{name} = {self.construct(modules[name])}")
            elif name in attributes.lists:
                lines.append(
                    f"self.{name} = nn.ModuleList({self._write_list(attributes.lists[name])})"
                )
            elif name in tensors:
                lines.append(write_attribute(name, self.program.given[tensors[name]]))
        for one, other in self.ownership.find_ties():
            paths = [self._find_state_path(block.module, place) for place in (one, other)]
            if None not in paths and self._is_innermost(block.module, one.module, other.module):
                lines.append(f"self.{paths[1]} = self.{paths[0]}")
        return lines

    def _is_innermost(self, block: int, one: int, other: int) -> bool:
        common = self.ownership.find_innermost(
            [self.ownership.find_parent(one), self.ownership.find_parent(other)]
        )
        return common == block

    def _find_state_path(self, block: int, place: Registration) -> str | None:
        path = self.find_path(block, place.module)
        return None if path is None else write_attribute_path(f"{path}.{place.attribute}")

    def find_path(self, block: int, module: int) -> str | None:
        """The public path of a module as seen from a block that it lies in.

        Args:
            block: the module number of the block.
            module: the number of the module.

        Returns:
            Names with dots between them, empty for the block itself; None where there is no path.
        """
        if module == block:
            return ""
        parent = self.ownership.find_parent(module)
        above = self.find_path(block, parent) if parent != ROOT or block == ROOT else None
        if above is None or parent not in self.blocks:
            return None
        here = self._find_relative_path(parent, module)
        return None if here is None else f"{above}.{here}".lstrip(".")

    def _find_relative_path(self, parent: int, module: int) -> str | None:
        """The path of a module from its parent; in a sequence the modules are numbered."""
        if self.made.get(parent, "").startswith("nn.Sequential"):
            order = [item.module for item in self.ownership.calls[parent][0].items]
            return str(order.index(module))
        return self.blocks[parent].attributes.find_path(module)

    def _write_list(self, modules: tuple[int, ...]) -> str:
        made = [self.construct(module) for module in modules]
        if len(set(made)) == 1:
            return f"[{made[0]} for _ in range({len(made)})]"
        classes = {text.split("(")[0] for text in made}
        arguments = [text[text.index("(") + 1 : -1] for text in made]
        if len(classes) == 1 and all(re.fullmatch(r"[\w.+-]+", text) for text in arguments):
            return f"[{classes.pop()}(size) for size in ({', '.join(arguments)})]"
        return f"[{', '.join(made)}]"

    def _write_sequence(self, block: _Block) -> str | None:
        """`nn.Sequential(…)` where the private module was one and its children simply follow each
        other.
        """
        found = self.program.modules[block.module]
        if not found.sequential or len(block.methods) > 1 or block.attributes.tensors:
            return None
        call = self.ownership.calls[block.module][0]
        modules = [item.module for item in call.items]
        if not modules or len(set(modules)) != len(modules) or not self._is_chain(call):
            return None
        made = [self.construct(module) for module in modules if module is not None]
        if len(made) > 2 and len(set(made)) == 1:
            return f"nn.Sequential(*[{made[0]} for _ in range({len(made)})])"
        return f"nn.Sequential({', '.join(made)})"

    def _is_chain(self, call: ModuleCall) -> bool:
        """Whether a call hands its only argument through its children, one after another, and
        returns what the last one makes.
        """
        given = self.ownership.list_arguments(call)
        if len(given) != 1:
            return False
        value = given[0]
        for item in call.items:
            made = self._find_link(call, item, value)
            if made is None:
                return False
            value = made
        return call.leaves == (value,)

    def _find_link(self, call: ModuleCall, item: Step | ModuleCall, value: str) -> str | None:
        """What a child makes of a value that is all it reads; None where it is no link of a chain:
        it belongs to another module, reads something else or has several results.
        """
        if item.module is None or self.ownership.find_parent(item.module) != call.module:
            return None
        if isinstance(item, ModuleCall):
            reads = self.ownership.list_arguments(item)
        else:
            reads = tuple(item.list_refs())
        if reads != (value,):
            return None
        if isinstance(item, Step) and item.same == value:
            return value  # Dropout in evaluation hands on what it got
        if item.module in self.blocks and self.blocks[item.module].methods[1:]:
            return None
        made = item.outs[0] if len(item.outs) == 1 else None
        return made if isinstance(made, str) else None


def _add_number(name: str, index: int) -> str:
    """The name of the n-th of a kind, from 1."""
    return f"{name}{index + 1}"


def _is_in_training(program: TracedProgram) -> bool:
    """The mode that most modules are in."""
    used = [module.training for module in program.modules.values()]
    return 2 * sum(used) >= len(used)
