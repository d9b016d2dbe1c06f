"""An `autograd.Function` of the private model as one of the public model: the same operations,
forward and backward.

What it is given and what it keeps for its backward follows from the flow of values: a tensor that
it reads from around it becomes an argument, a size that its backward reads is kept on `ctx`.
Functions of equal text are one class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from anonymizer.graph.ir import Json, Recipe, Ref
from anonymizer.model.attributes import Attributes, ModelNames
from anonymizer.model.body.body_writer import BodyWriter, name_parameters
from anonymizer.model.body.context import BlockContext
from anonymizer.model.flow import flat, prune, readers, unpack
from anonymizer.model.ownership import Ownership
from anonymizer.model.phrases import last_value
from anonymizer.model.tree import ROOT, Function, Given, ModuleCall, Step, TracedProgram

_NOTHING = Recipe("randn")


def function(
    data: Json,
    args: tuple[Any, ...],
    read: Callable[[list[Json], int], ModuleCall],
    metas: Mapping[str, Any],
) -> tuple[Function, tuple[Ref, ...]]:
    """The function in a trace's `data`, applied to `args`; and the values from around it that it is
    given besides.
    """
    parameters = tuple(data["parameters"])
    table = {arg.name: name for arg, name in zip(args, parameters)}
    back = data["backward"]
    forward = _renamed(read(data["forward"]["items"], data["forward"]["state"]), table)
    backward = _renamed(read(back["items"], back["state"]), table) if back else None
    returned = tuple(item and table.get(item, item) for item in back["returned"]) if back else ()
    results = tuple(table.get(name, name) for name in data["results"])
    saved = tuple(dict.fromkeys(table.get(name, name) for name in data["saved"]))
    grads = tuple(back["grads"]) if back else ()
    if backward is not None:
        backward = _tidy(backward, metas, tuple(name for name in returned if name))
    wanted = _outside(backward, grads) if backward is not None else ()
    wanted = tuple(dict.fromkeys((*wanted, *(n for n in returned if n and n not in grads))))
    made = {name for step in backward.steps() for name in flat(step.outs)} if backward else set()
    extra = tuple(name for name in wanted if name not in saved and name not in made)
    forward = _tidy(forward, metas, (*results, *saved, *extra))
    captured = tuple(
        dict.fromkeys(
            (*_outside(forward, parameters), *_loose(forward, parameters, (*saved, *extra)))
        )
    )
    found = Function(
        data["number"],
        forward,
        backward,
        (*parameters, *captured),
        results,
        saved,
        extra,
        tuple(table.get(name, name) for name in data["dirty"]),
        tuple(table.get(name, name) for name in data["constant"]),
        data["materialize"],
        grads,
        (*returned, *([None] * len(captured))) if back else (),
    )
    return found, tuple(map(Ref, captured))


def _renamed(call: ModuleCall, table: Mapping[str, str]) -> ModuleCall:
    """With arguments by the names that they have inside."""
    items = []
    for item in call.items:
        assert isinstance(item, Step)
        node = item.node.map_refs(lambda ref: Ref(table.get(ref.name, ref.name)))
        items.append(replace(item, node=node, same=table.get(item.same, item.same)))
    return replace(call, items=tuple(items))


def _tidy(call: ModuleCall, metas: Mapping[str, Any], results: tuple[str, ...]) -> ModuleCall:
    return prune(unpack(call, metas, readers(call, results)), set(results))


def _outside(call: ModuleCall, known: tuple[str, ...]) -> tuple[str, ...]:
    """Values that a body reads and neither makes nor is given."""
    made = set(known)
    found: dict[str, None] = {}
    for step in call.steps():
        for name in (*step.refs(), *((step.same,) if step.same else ())):
            if name not in made:
                found[name] = None
        made.update(flat(step.outs))
    return tuple(found)


def _loose(call: ModuleCall, known: tuple[str, ...], names: tuple[str, ...]) -> Iterator[str]:
    made = {*known, *(name for step in call.steps() for name in flat(step.outs))}
    return (name for name in names if name not in made)


# -- as Python
# ---------------------------------------------------------------------------------------


def lines(found: Function, program: TracedProgram, model: ModelNames, name: str) -> list[str]:
    """The class, called `name`, as lines. Raises NotPublic."""
    wanted = (*found.results, *found.saved, *found.extra)
    context = _context(found.forward, found.parameters, wanted, program, model)
    forward = BodyWriter(context)
    _begin(forward, context, {})
    kept = {name: forward.read(name) for name in (*found.saved, *found.extra)}
    parameters = ", ".join(("ctx", *map(forward.read, found.parameters)))
    made = [f"class {name}(torch.autograd.Function):", "    @staticmethod"]
    made += [f"    def forward({parameters}):", *("        " + line for line in forward.lines)]
    if found.dirty:
        made.append(f"        ctx.mark_dirty({', '.join(map(forward.read, found.dirty))})")
    if found.constant:
        shown = ", ".join(map(forward.read, found.constant))
        made.append(f"        ctx.mark_non_differentiable({shown})")
    if not found.materialize:
        made.append("        ctx.set_materialize_grads(False)")
    if found.saved and found.backward is not None:
        made.append(f"        ctx.save_for_backward({', '.join(kept[n] for n in found.saved)})")
    attributes: dict[str, str] = {}
    for value in found.extra:
        attributes[value] = f"ctx.{_identifier(kept[value], len(attributes))}"
        made.append(f"        {attributes[value]} = {kept[value]}")
    made.append(f"        return {', '.join(map(forward.read, found.results))}")
    if found.backward is not None:
        given = (*found.saved, *found.extra, *found.grads)
        returned = tuple(name for name in found.returned if name)
        context = _context(found.backward, given, returned, program, model)
        # no name of the forward stands for something else here
        backward = BodyWriter(context, forward.variables.counts)
        several = len(found.grads) > 1
        text = {name: f"grad{i + 1}" if several else "grad" for i, name in enumerate(found.grads)}
        text.update((name, _identifier(kept[name], at)) for at, name in enumerate(found.saved))
        _begin(backward, context, {**text, **attributes})
        made += ["", *_backward(found, backward, text)]
    return made


def _backward(found: Function, body: BodyWriter, text: Mapping[str, str]) -> list[str]:
    """The static method; `text` is what gradients and saved tensors are called in it."""
    assert found.backward is not None
    results = tuple(name for name in found.returned if name)
    read = {name for step in found.backward.steps() for name in step.refs()} | set(results)
    head = ", ".join(("ctx", *(text[name] for name in found.grads)))
    made = ["    @staticmethod", f"    def backward({head}):"]
    if read.intersection(found.saved):
        names = ", ".join(text[n] if n in read else "_" for n in found.saved)
        made.append(f"        {names}{',' if len(found.saved) == 1 else ''} = ctx.saved_tensors")
    shown = [body.read(name) if name else "None" for name in found.returned]
    if len(results) == 1:
        only = last_value(body.lines, body.read(results[0]))
        shown = [only if name else "None" for name in found.returned]
    made += ["        " + line for line in body.lines]
    return [*made, f"        return {', '.join(shown) or 'None'}"]


def _identifier(text: str, number: int) -> str:
    return text if re.fullmatch(r"[a-z]\w*", text) else f"value{number + 1}"


def _context(
    call: ModuleCall,
    given: tuple[str, ...],
    results: tuple[str, ...],
    program: TracedProgram,
    model: ModelNames,
) -> BlockContext:
    """A forward or a backward as a body of its own, whose results stay at hand until its end."""
    inputs = {name: Given(name, "input", program.meta_of(name), _NOTHING) for name in given}
    root = replace(call, module=ROOT)
    inner = replace(program, root=root, modules={}, given=inputs, outputs=results)
    return BlockContext(inner, Ownership(inner), root, Attributes(), model)


def _begin(body: BodyWriter, context: BlockContext, text: Mapping[str, str]) -> None:
    """Writes the statements of a body.

    `text` says how values that are given are called, where that is not free. Raises NotPublic.
    """
    given = context.program.given
    free = iter(name_parameters([name for name in given if name not in text]))
    body.take((name, text[name] if name in text else next(free)) for name in given)
    body.write()
