"""What a model has that stock layers have not, and the same model without some of it.

A non-stock operation stands outside of stock layers and can be left out without changing any shape:
the value goes on as it came in. Adding two streams of the model is none, that is what residual
connections do; adding a bias that is computed from positions is one. What only such an operation
needed goes with it. Repeated blocks have the same ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from anonymizer.graph.ir import Ref, TensorMeta
from anonymizer.model.model import PublicModel
from anonymizer.trace.data_flow import connect, flatten_names, prune
from anonymizer.trace.tree import ModuleCall, Step, TracedProgram

_RESIDUAL = frozenset({"add", "add_", "operator.add", "operator.iadd", "torch.add", "__iadd__"})
#: Products of two streams, which attention layers have.
_ATTENTION = frozenset({"matmul", "bmm", "baddbmm", "einsum", "scaled_dot_product_attention"})


@dataclass(frozen=True)
class NonStockOperation:
    """An operation at one place of a class of blocks, or at the same place of all blocks of that
    class.

    `instead`: its name in the trace, once for each block -> the value that is handed on when it is
    left out.
    """

    instead: Mapping[str, str]


def find_non_stock_operations(
    program: TracedProgram, written: PublicModel
) -> list[NonStockOperation]:
    """All operations outside of stock layers that can be left out, in the order of the program.

    Args:
        written: the program as a model, which says what class each block has.

    Returns:
        Each with the value of the same shape that stands for it where it is left out.
    """
    behind = written.counterparts.classes
    classes = {number: name for name, numbers in behind.items() for number in numbers}
    streams = _find_streams(program)
    found: dict[tuple[str, int, str], dict[str, str]] = {}
    for call in program.root.list_calls():
        for index, item in enumerate(call.items):
            if isinstance(item, Step):
                instead = _find_substitute(program, item, streams)
                if instead is not None:
                    key = (classes[call.module], index, item.node.target)
                    found.setdefault(key, {})[item.node.name] = instead
    return [NonStockOperation(instead) for instead in found.values()]


def remove_operations(
    program: TracedProgram, left_out: Collection[NonStockOperation]
) -> TracedProgram:
    """The program without some of its operations, and without what is read by nobody after that."""
    instead = {name: value for item in left_out for name, value in item.instead.items()}

    def find_final(name: str) -> str:
        while name in instead:
            name = instead[name]
        return name

    def rename(call: ModuleCall) -> ModuleCall:
        items: list[Step | ModuleCall] = []
        for item in call.items:
            if isinstance(item, ModuleCall):
                items.append(rename(item))
            elif item.node.name not in instead:
                node = item.node.map_refs(lambda ref: Ref(find_final(ref.name)))
                items.append(
                    replace(item, node=node, same=find_final(item.same) if item.same else "")
                )
        return replace(call, items=tuple(items))

    outputs = tuple(map(find_final, program.outputs))
    root = connect(prune(rename(program.root), set(outputs)), outputs)
    return replace(program, root=root, outputs=outputs)


def _find_streams(program: TracedProgram) -> frozenset[str]:
    """Values that depend on what the model is fed: its inputs and what layers make of them; sizes
    do not count.
    """
    found = {g.name for g in program.given.values() if g.kind == "input"}
    for step in program.root.list_steps():
        # what is as large as an input says nothing about what is in it
        size = step.node.target == "size" or step.node.meta == "int"
        if step.module is not None or not size and any(name in found for name in step.list_refs()):
            found.update(flatten_names(step.outs))
    return frozenset(found)


def _find_substitute(program: TracedProgram, step: Step, streams: Collection[str]) -> str | None:
    """The operand that could stand for the result; None where the operation is part of the stock
    structure.
    """
    meta = step.node.meta
    if step.module is not None or step.same or not isinstance(meta, TensorMeta):
        return None
    if not meta.is_float or step.node.name not in streams:
        return None
    reads = [name for name in dict.fromkeys(step.list_refs()) if name in streams]
    alike = [name for name in reads if _have_same_meta(program.find_meta(name), meta)]
    structure = step.node.target in _RESIDUAL or step.node.plain_operator in _ATTENTION
    if not alike or len(reads) > 1 and structure or step.node.plain_operator == "softmax":
        return None
    return alike[0]


def _have_same_meta(one: object, other: object) -> bool:
    return (
        isinstance(one, TensorMeta)
        and isinstance(other, TensorMeta)
        and (one.shape, one.dtype) == (other.shape, other.dtype)
        and one.device == other.device
    )


# -- in words --------------------------------------------------------------------------------------

_JOINS = {
    "add": "added to", "sub": "subtracted from", "mul": "multiplied into", "div": "dividing",
    "masked_fill": "masking",
    "where": "masking", "pow": "raising to a power", "remainder": "modulo", "maximum": "bounding",
    "minimum": "bounding",
    "addcmul": "added to",
}  # fmt: skip
#: Operations that say nothing of how a value came about.
_PLAIN = frozenset(
    """view reshape transpose permute unsqueeze squeeze expand to float type half bfloat16 double
    long int contiguous add sub mul div neg getitem size chunk split flatten t mT T getattr clone
    detach type_as expand_as view_as reshape_as abs""".split()
)
_NOUNS = {
    "add": "a bias",
    "sub": "a bias",
    "addcmul": "a bias",
    "mul": "a factor",
    "div": "a divisor",
    "masked_fill": "a mask",
    "where": "a mask",
}
_MADE = frozenset(
    "arange zeros ones full linspace triu tril eye rand randn randint randperm tensor empty"
    " scalar_tensor one_hot cumsum logspace".split()
)


def describe(program: TracedProgram, item: NonStockOperation) -> str:
    """The operation in words, with public names only: "a bias built from `arange` with a symbolic
    size, added to the attention scores".
    """
    words = _Words(program)
    first, stream = next(iter(item.instead.items()))
    step = words.steps[first]
    others = [name for name in dict.fromkeys(step.list_refs()) if name != stream]
    name = step.node.plain_operator
    times = f" ({len(item.instead)} times)" if len(item.instead) > 1 else ""
    where = words.describe_role(stream, first)
    if others and name in _JOINS:
        side = words.describe_side(others, _NOUNS.get(name, "a value"))
        return f"{side}, {_JOINS[name]} {where}{times}"
    if step.stand_in is not None:
        return f"{step.stand_in.what} (here a stand-in) applied to {where}{times}"
    if step.function is not None:
        return f"an `autograd.Function` applied to {where}{times}"
    with_what = f" with {words.describe_side(others, 'a value')}" if others else ""
    return f"`{name}`{with_what} applied to {where}{times}"


class _Words:
    """Looks around in a program."""

    def __init__(self, program: TracedProgram) -> None:
        self.program = program
        self.steps: dict[str, Step] = {}
        self.readers: dict[str, list[Step]] = {}
        for step in program.root.list_steps():
            for name in flatten_names(step.outs):
                self.steps[name] = step
            for name in step.list_refs():
                self.readers.setdefault(name, []).append(step)

    def describe_side(self, names: list[str], noun: str) -> str:
        """What the other operands are: how they were made."""
        made: dict[str, None] = {}
        for name in names:
            for word in self._list_sources(name, set()):
                made[word] = None
        found = list(made)
        if not found:
            return f"{noun} of the model"
        return f"{noun} built from " + " and ".join(
            [", ".join(found[:-1]), found[-1]] if found[1:] else found
        )

    def _list_sources(self, name: str, seen: set[str]) -> Iterator[str]:
        if name in seen:
            return
        seen.add(name)
        given = self.program.given.get(name)
        if given is not None:
            kinds = {"param": "a parameter", "buffer": "a buffer", "constant": "a constant tensor"}
            yield kinds.get(given.kind, "an input")
            return
        step = self.steps.get(name)
        if step is None or step.node.target == "size":
            return
        target = step.node.plain_operator
        if step.module is not None and step.node.layer is not None:
            yield f"`nn.{step.node.layer.cls}`"
            return
        if step.stand_in is not None:
            yield f"{step.stand_in.what} (here a stand-in)"
        elif step.function is not None:
            yield "an `autograd.Function`"
        elif target not in _PLAIN and (step.node.op == "function" or target in _MADE):
            symbolic = target in _MADE and any(self._is_size(ref) for ref in step.list_refs())
            yield f"`{target}`" + (" with a symbolic size" if symbolic else "")
        elif target not in _PLAIN:
            yield f"`{target}`"
        for ref in step.list_refs():
            yield from self._list_sources(ref, seen)

    def _is_size(self, name: str) -> bool:
        return bool(self.program.find_meta(name) == "int")

    def describe_role(self, name: str, reader: str) -> str:
        """What a value is in the model: attention scores, the output of a layer, …"""
        if self._is_product(name, 6):
            return "the attention scores"
        step = self.steps.get(name)
        for _ in range(8):
            if step is None:
                break
            if step.module is not None and step.node.layer is not None:
                return f"what comes from `nn.{step.node.layer.cls}`"
            step = self.steps.get(next(iter(step.list_refs()), ""))
        users = [user.node.layer for user in self.readers.get(reader, []) if user.node.layer]
        return f"what goes into `nn.{users[0].cls}`" if users else "the stream"

    def _is_product(self, name: str, depth: int) -> bool:
        """Whether a value is the product of two values of the model, but for scales, biases and
        masks.
        """
        step = self.steps.get(name)
        if step is None or step.module is not None or not depth:
            return False
        target = step.node.plain_operator
        if target in ("matmul", "bmm", "baddbmm", "einsum"):
            return len(set(step.list_refs())) > 1
        alike = [
            n
            for n in step.list_refs()
            if _have_same_meta(self.program.find_meta(n), step.node.meta)
        ]
        return any(self._is_product(other, depth - 1) for other in alike)
