"""An `autograd.Function` in a trace: its forward and its backward, and what passes between them.

What it is given and what it keeps for its backward follows from the flow of values: a tensor that
it reads from around it becomes an argument, a size that its backward reads is kept on `ctx`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from anonymizer.graph.ir import Ref
from anonymizer.trace.data_flow import find_readers, flatten_names, prune, unpack
from anonymizer.trace.tree import Backward, Function, FunctionContext, ModuleCall, Step
from collectors.protocol.captured_trace import TracedBackward, TracedFunction, TracedItem


def read_function(
    data: TracedFunction,
    args: tuple[Any, ...],
    read: Callable[[list[TracedItem], int], ModuleCall],
    metas: Mapping[str, Any],
) -> tuple[Function, tuple[Ref, ...]]:
    """The `autograd.Function` in a trace's `data`, applied to `args`.

    Args:
        data: its number, forward and backward, parameters, what it saves and marks.
        args: the references that the trace gives to `apply`.
        read: turns recorded items into a call; its second argument is the index of the switches
            (gradients, autocast) under which they ran.
        metas: name of a value -> its metadata, as in the graph IR.

    Returns:
        The function, and the values from around it that it is given besides `args`.
    """
    parameters = tuple(data["parameters"])
    table = {arg.name: name for arg, name in zip(args, parameters)}
    forward = _rename(read(data["forward"]["items"], data["forward"]["state"]), table)
    backward = _read_backward(data["backward"], table, read) if data["backward"] else None
    if backward is not None:
        returned = tuple(name for name in backward.returned if name)
        backward = replace(backward, call=_tidy(backward.call, metas, returned))
    results = tuple(table.get(name, name) for name in data["results"])
    saved = tuple(dict.fromkeys(table.get(name, name) for name in data["saved"]))
    wanted = _list_wanted_values(backward) if backward else ()
    extra = tuple(name for name in wanted if name not in saved)
    forward = _tidy(forward, metas, (*results, *saved, *extra))
    outside = _list_outside_values(forward, parameters)
    kept = _select_not_made(forward, parameters, (*saved, *extra))
    captured = tuple(dict.fromkeys((*outside, *kept)))
    if backward is not None:
        backward = replace(backward, returned=(*backward.returned, *([None] * len(captured))))
    found = Function(
        data["number"],
        forward,
        backward,
        (*parameters, *captured),
        results,
        FunctionContext(
            saved,
            extra,
            tuple(table.get(name, name) for name in data["dirty"]),
            tuple(table.get(name, name) for name in data["constant"]),
            data["materialize"],
        ),
    )
    return found, tuple(map(Ref, captured))


def _read_backward(
    data: TracedBackward,
    table: Mapping[str, str],
    read: Callable[[list[TracedItem], int], ModuleCall],
) -> Backward:
    """The backward, which returns something for each parameter; `table` has the names that
    arguments have inside.
    """
    returned = tuple(item and table.get(item, item) for item in data["returned"])
    call = _rename(read(data["items"], data["state"]), table)
    return Backward(call, tuple(data["grads"]), returned)


def _list_wanted_values(backward: Backward) -> tuple[str, ...]:
    """What a backward reads or returns, and neither makes nor is given: values of the forward."""
    call, grads = backward.call, backward.grads
    returned = (name for name in backward.returned if name and name not in grads)
    wanted = dict.fromkeys((*_list_outside_values(call, grads), *returned))
    made = {name for step in call.list_steps() for name in flatten_names(step.outs)}
    return tuple(name for name in wanted if name not in made)


def _rename(call: ModuleCall, table: Mapping[str, str]) -> ModuleCall:
    """With arguments by the names that they have inside."""
    items = []
    for item in call.items:
        assert isinstance(item, Step)
        node = item.node.map_refs(lambda ref: Ref(table.get(ref.name, ref.name)))
        items.append(replace(item, node=node, same=table.get(item.same, item.same)))
    return replace(call, items=tuple(items))


def _tidy(call: ModuleCall, metas: Mapping[str, Any], results: tuple[str, ...]) -> ModuleCall:
    """The body without steps that `results` do not need, and with tuples unpacked."""
    return prune(unpack(call, metas, find_readers(call, results)), set(results))


def _list_outside_values(call: ModuleCall, known: tuple[str, ...]) -> tuple[str, ...]:
    """Values that a body reads and neither makes nor is given."""
    made = set(known)
    found: dict[str, None] = {}
    for step in call.list_steps():
        for name in (*step.list_refs(), *((step.same,) if step.same else ())):
            if name not in made:
                found[name] = None
        made.update(flatten_names(step.outs))
    return tuple(found)


def _select_not_made(
    call: ModuleCall, known: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[str]:
    """Those of `names` that the body neither makes nor is given."""
    made = {*known, *(name for step in call.list_steps() for name in flatten_names(step.outs))}
    return (name for name in names if name not in made)
