"""The statements of one body as loops and what stands between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anonymizer.graph.ir import Ref
from anonymizer.model.body.context import BlockContext
from anonymizer.model.body.lifetimes import Lifetimes
from anonymizer.model.body.loops import Loop, Statement, find
from anonymizer.model.body.phrases import read_nesting
from anonymizer.trace.data_flow import flatten_names
from anonymizer.trace.tree import ModuleCall, Step


@dataclass(frozen=True)
class StatementRange:
    """The statements from `start` up to but not `end`; with `loop`, all of its windows."""

    loop: Loop | None
    start: int
    end: int


def divide(context: BlockContext, life: Lifetimes) -> list[StatementRange]:
    """All statements of a body, in order.

    The lists of modules that its loops run over become attributes of the block.

    Raises:
        NotPublicError: it holds what may not leave.
    """
    statements = [
        _build_statement(context, life.reads[index], item) for index, item in enumerate(life.items)
    ]
    after = {name: int(min(use, len(life.items))) for name, use in life.last.items()}
    ranges: list[StatementRange] = []
    at = 0
    for loop in find(statements, after):
        if not _make_lists(context, loop):
            continue
        ranges += [StatementRange(None, at, loop.start), StatementRange(loop, loop.start, loop.end)]
        at = loop.end
    return [*ranges, StatementRange(None, at, len(life.items))]


def _build_statement(
    context: BlockContext, reads: tuple[str, ...], item: Step | ModuleCall
) -> Statement:
    ownership, model, block = context.ownership, context.model, context.call.module
    # what may not differ between the readers of a loop: whether a thing is a tensor of this block
    # or a value
    reached = tuple(ownership.reaches(block, name) for name in reads)
    if isinstance(item, ModuleCall):
        method = model.which[id(item)]
        shape: Any = ("call", method, item.wrap, reached, len(item.leaves), item.state)
    else:
        node = item.node.map_refs(lambda ref: Ref(""))
        shape = (
            *(node.op, node.target, node.args, node.kwargs, item.state, bool(item.same)),
            item.wrap,
            reached,
            read_nesting(item.outs),
            model.name_function(item.function) if item.function is not None else "",
            model.name_operator(item) if item.stand_in is not None else "",
        )
    module = item.module
    local = module is not None and ownership.find_parent(module) == block
    key = model.find_list_key(module) if module is not None else None
    return Statement(shape, reads, tuple(flatten_names(item.outs)), module if local else None, key)


def _make_lists(context: BlockContext, loop: Loop) -> bool:
    """Makes the lists of modules that a loop runs over; False where they do not fit those there
    are.
    """
    attributes = context.attributes
    fits = [
        len(set(modules)) == 1
        or attributes.are_free(modules)
        or modules in attributes.lists.values()
        for modules in loop.modules.values()
    ]
    if not all(fits):
        return False
    for modules in loop.modules.values():
        if len(set(modules)) > 1 and modules not in attributes.lists.values():
            one = context.model.choose_attribute_name(modules[0])
            attributes.lists[attributes.take_name(one.rstrip("s") + "s")] = modules
    return True
