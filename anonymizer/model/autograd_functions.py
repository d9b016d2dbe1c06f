"""An `autograd.Function` of the private model as one of the public model: the same operations,
forward and backward.

Functions of equal text are one class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from anonymizer.graph.ir import Recipe
from anonymizer.model.body.attributes import Attributes, ModelNames
from anonymizer.model.body.body_writer import BodyWriter, name_parameters
from anonymizer.model.body.context import BlockContext
from anonymizer.model.body.phrases import take_last_value
from anonymizer.trace.ownership import Ownership
from anonymizer.trace.tree import ROOT, Backward, Function, GivenTensor, ModuleCall, TracedProgram

_NOTHING = Recipe("randn")


def write_function_class(
    found: Function, program: TracedProgram, model: ModelNames, name: str
) -> list[str]:
    """The class that does what an `autograd.Function` does.

    Args:
        found: its forward and its backward.
        program: the program that it is of, for the metadata of values.
        model: knows the names outside of the class.
        name: what the class is called.

    Returns:
        Lines of Python at the top level.

    Raises:
        NotPublicError: it holds what may not leave.
    """
    ctx, back = found.context, found.backward
    wanted = (*found.results, *ctx.kept)
    context = _build_context(found.forward, found.parameters, wanted, program, model)
    forward = BodyWriter(context)
    _begin(forward, context, {})
    kept = {name: forward.read(name) for name in ctx.kept}
    extra = {name: f"ctx.{_choose_identifier(kept[name], at)}" for at, name in enumerate(ctx.extra)}
    made = [f"class {name}(torch.autograd.Function):", *_write_forward(found, forward, kept, extra)]
    if back is None:
        return made
    returned = tuple(name for name in back.returned if name)
    context = _build_context(back.call, (*ctx.kept, *back.grads), returned, program, model)
    # no name of the forward stands for something else here
    backward = BodyWriter(context, forward.variables.counts)
    several = len(back.grads) > 1
    text = {name: f"grad{i + 1}" if several else "grad" for i, name in enumerate(back.grads)}
    text.update((name, _choose_identifier(kept[name], at)) for at, name in enumerate(ctx.saved))
    _begin(backward, context, {**text, **extra})
    return [*made, "", *_write_backward(back, ctx.saved, backward, text)]


def _write_forward(
    found: Function, body: BodyWriter, kept: Mapping[str, str], extra: Mapping[str, str]
) -> list[str]:
    """The static method; `kept` is what values for the backward are called in it, `extra` the
    attributes of `ctx` that some of them become.
    """
    ctx = found.context
    parameters = ", ".join(("ctx", *map(body.read, found.parameters)))
    made = ["    @staticmethod", f"    def forward({parameters}):"]
    made += ["        " + line for line in body.lines]
    if ctx.dirty:
        made.append(f"        ctx.mark_dirty({', '.join(map(body.read, ctx.dirty))})")
    if ctx.constant:
        shown = ", ".join(map(body.read, ctx.constant))
        made.append(f"        ctx.mark_non_differentiable({shown})")
    if not ctx.materialize:
        made.append("        ctx.set_materialize_grads(False)")
    if ctx.saved and found.backward is not None:
        made.append(f"        ctx.save_for_backward({', '.join(kept[n] for n in ctx.saved)})")
    made += [f"        {attribute} = {kept[name]}" for name, attribute in extra.items()]
    return [*made, f"        return {', '.join(map(body.read, found.results))}"]


def _write_backward(
    found: Backward, saved: Sequence[str], body: BodyWriter, text: Mapping[str, str]
) -> list[str]:
    """The static method; `text` is what gradients and saved tensors are called in it."""
    results = tuple(name for name in found.returned if name)
    read = {name for step in found.call.list_steps() for name in step.list_refs()} | set(results)
    head = ", ".join(("ctx", *(text[name] for name in found.grads)))
    made = ["    @staticmethod", f"    def backward({head}):"]
    if read.intersection(saved):
        names = ", ".join(text[n] if n in read else "_" for n in saved)
        made.append(f"        {names}{',' if len(saved) == 1 else ''} = ctx.saved_tensors")
    shown = [body.read(name) if name else "None" for name in found.returned]
    if len(results) == 1:
        only = take_last_value(body.lines, body.read(results[0]))
        shown = [only if name else "None" for name in found.returned]
    made += ["        " + line for line in body.lines]
    return [*made, f"        return {', '.join(shown) or 'None'}"]


def _choose_identifier(text: str, number: int) -> str:
    return text if re.fullmatch(r"[a-z]\w*", text) else f"value{number + 1}"


def _build_context(
    call: ModuleCall,
    given: tuple[str, ...],
    results: tuple[str, ...],
    program: TracedProgram,
    model: ModelNames,
) -> BlockContext:
    """A forward or a backward as a body of its own, whose results stay at hand until its end."""
    inputs = {name: GivenTensor(name, "input", program.find_meta(name), _NOTHING) for name in given}
    root = replace(call, module=ROOT)
    inner = replace(program, root=root, modules={}, given=inputs, outputs=results)
    return BlockContext(inner, Ownership(inner), root, Attributes(), model)


def _begin(body: BodyWriter, context: BlockContext, text: Mapping[str, str]) -> None:
    """Writes the statements of a body.

    `text` says how values that are given are called, where that is not free.

    Raises:
        NotPublicError: it holds what may not leave.
    """
    given = context.program.given
    free = iter(name_parameters([name for name in given if name not in text]))
    body.take((name, text[name] if name in text else next(free)) for name in given)
    body.write()
