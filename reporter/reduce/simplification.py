"""Changes that make a program plainer without making it shorter: what surrounds it, what feeds it,
its dtype and device.

The functions `propose_…` list the changes to try on a candidate, likeliest first; each looks again
at the candidate that it is then applied to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from anonymizer.graph import stock_layers
from anonymizer.graph.ir import Graph, Input, Recipe
from anonymizer.graph.layouts import compute_contiguous_strides
from anonymizer.graph.repro import ReproAssertion
from reporter.core.candidate import Candidate
from reporter.core.kinds import WRONG_AT_ONCE, WRONG_VALUES, Differentiation, Kind
from reporter.diagnose.rungs import CASTS_SETTING, RANDOM_SETTING
from reporter.reduce.candidate_questions import Change, require_graph
from reporter.reduce.graph_cuts import replace_input, retype

#: A plainer input made from one, or None where it is plain already.
_Step = Callable[[Input], "Input | None"]
#: Without it operators may give another result each time, which is no wrong one.
_DETERMINISTIC = "torch.use_deterministic_algorithms"
_SINGLE = {"float16": "float32", "bfloat16": "float32", "float64": "float32"}


def propose_options(candidate: Candidate, with_backend: bool = False) -> Iterator[Change]:
    """Without what surrounds the program: contexts, switches of torch, config assignments,
    torch.compile arguments, what is compared beside the outputs.

    The backend goes last of all (`with_backend`): a cheaper one than the user's makes every
    candidate before cheaper.
    """
    assertion = candidate.assertion
    for context in assertion.contexts:
        yield functools.partial(_drop_item, "contexts", context)
    for setting in _list_removable_settings(assertion):
        yield functools.partial(_drop_setting, setting)
    for item in _list_removable(candidate):
        yield functools.partial(_drop_item, "config", item)
    for item in assertion.arguments:
        if item[0] != "backend" or with_backend and not _draws_alike(candidate):
            yield functools.partial(_drop_item, "arguments", item)
    yield lambda c: c.with_assertion(evaluation=False)
    yield lambda c: c.with_assertion(compare_inputs=False)


def _list_removable_settings(assertion: ReproAssertion) -> list[str]:
    fixed = assertion.kind in WRONG_VALUES
    return [
        setting
        for setting in assertion.list_settings()
        if not (fixed and setting.startswith(_DETERMINISTIC))
    ]


def _list_removable(candidate: Candidate) -> Iterator[tuple[str, str]]:
    """The config assignments that may go without making the comparison itself wrong."""
    fixed = _draws_alike(candidate)
    for item in candidate.assertion.config:
        if fixed and item[0] == RANDOM_SETTING:
            continue
        if item[0] == CASTS_SETTING and candidate.coarse:
            continue  # without it the difference could be a skipped rounding, which is no bug
        yield item


def _draws_alike(candidate: Candidate) -> bool:
    """Whether values of a program that draws are compared: nothing goes then that makes both sides
    draw alike.
    """
    return candidate.draws and candidate.assertion.kind in WRONG_AT_ONCE


def _drop_item(field: str, item: object, candidate: Candidate) -> Candidate:
    left = tuple(each for each in getattr(candidate.assertion, field) if each != item)
    return candidate.with_assertion(**{field: left})


def _drop_setting(setting: str, candidate: Candidate) -> Candidate | None:
    assertion = candidate.assertion
    if setting not in assertion.list_settings():
        return None
    return replace(candidate, assertion=assertion.without_setting(setting))


def drop_backend(candidate: Candidate) -> Candidate | None:
    """Under the default backend; None where that is the one it has, or draws other numbers."""
    left = candidate.assertion.without_argument("backend").arguments
    if left == candidate.assertion.arguments or _draws_alike(candidate):
        return None
    return candidate.with_assertion(arguments=left)


def drop_config(candidate: Candidate) -> Candidate:
    """Without any config assignment that may go."""
    return _apply_all(
        (functools.partial(_drop_item, "config", item) for item in _list_removable(candidate)),
        candidate,
    )


def strip_surroundings(candidate: Candidate) -> Candidate:
    """Without contexts, switches of torch and torch.compile arguments other than the backend; what
    is compared and config stay.
    """
    settings = _list_removable_settings(candidate.assertion)
    candidate = _apply_all((functools.partial(_drop_setting, item) for item in settings), candidate)
    backend = tuple(item for item in candidate.assertion.arguments if item[0] == "backend")
    return candidate.with_assertion(contexts=(), arguments=backend, evaluation=False)


def propose_backward(_: Candidate) -> Iterator[Change]:
    """The simplest way to ask for gradients: none, where they are not what is wrong, or those of a
    plain sum.
    """
    for how in (Differentiation.NONE, Differentiation.SUM):
        yield functools.partial(_with_backward, how)


def _with_backward(how: Differentiation, candidate: Candidate) -> Candidate | None:
    return (
        candidate.with_assertion(backward=how)
        if how in _list_plainer(candidate.assertion)
        else None
    )


def _list_plainer(assertion: ReproAssertion) -> list[Differentiation]:
    """The plainer ways to ask for gradients, plainest first."""
    if assertion.backward in (Differentiation.NONE, Differentiation.TANGENTS):
        return []
    ways = [] if assertion.kind == Kind.WRONG_GRADIENT else [Differentiation.NONE]
    return ways if assertion.backward == Differentiation.SUM else [*ways, Differentiation.SUM]


def simplify_backward(candidate: Candidate) -> Candidate:
    """Without gradients, or with those of a sum where they are what is wrong."""
    plainer = _list_plainer(candidate.assertion)
    return candidate.with_assertion(backward=plainer[0]) if plainer else candidate


def propose_arguments(candidate: Candidate) -> Iterator[Change]:
    """A parameter nobody needs as a layer as a plain argument: the module disappears when it adds
    nothing. Of wrong gradients those of layers too, unless the program is one layer.
    """
    yield convert_to_arguments
    if candidate.assertion.kind == Kind.WRONG_GRADIENT and len(require_graph(candidate).nodes) > 1:
        yield functools.partial(convert_to_arguments, with_layers=True)


def convert_to_arguments(candidate: Candidate, with_layers: bool = False) -> Candidate:
    """All parameters as arguments, behind the others.

    Args:
        candidate: of a graph.
        with_layers: those that layers own as well.
    """
    graph = require_graph(candidate)
    moved = [
        item
        for item in graph.inputs
        if item.kind == "param" and (with_layers or not _owns_memory(graph, item))
    ]
    kept = [item for item in graph.inputs if item not in moved]
    inputs = (*kept, *(replace(item, kind="input") for item in moved))
    return candidate.with_graph(replace(graph, inputs=inputs))


def _owns_memory(graph: Graph, item: Input) -> bool:
    users = graph.map_users()
    matches = (stock_layers.match(graph, node, users) for node in graph.nodes)
    return any(match is not None and item.name in match.owns for match in matches)


def propose_precision(_: Candidate) -> Iterator[Change]:
    """Dtype and device of the whole program at once: the CPU, and single precision."""
    yield lambda c: c.with_graph(retype(require_graph(c), {}, "cpu"))
    yield lambda c: c.with_graph(retype(require_graph(c), _SINGLE, None))


def propose_inputs(candidate: Candidate) -> Iterator[Change]:
    """Plainer inputs, all at once and one by one: no gradient, default layout, no alias, plain
    random floats; private state as plain arguments.
    """
    changes = list(_list_changes(candidate, (*_STEPS, _simplify_dtype)))
    yield functools.partial(_apply_all, changes)
    yield from changes


def simplify_inputs(candidate: Candidate) -> Candidate:
    """All of it at once, except that every dtype stays, and gradients that are wrong."""
    is_asked = candidate.assertion.kind == Kind.WRONG_GRADIENT
    steps = [step for step in _STEPS if step is not _drop_grad or not is_asked]
    return _apply_all(_list_changes(candidate, steps), candidate)


def _list_changes(candidate: Candidate, steps: Iterable[_Step]) -> Iterator[Change]:
    for item in require_graph(candidate).inputs:
        for step in steps:
            yield functools.partial(_change, item.name, step)


def _apply_all(changes: Iterable[Change], candidate: Candidate) -> Candidate:
    for change in changes:
        candidate = change(candidate) or candidate
    return candidate


def _change(name: str, step: _Step, candidate: Candidate) -> Candidate | None:
    graph = require_graph(candidate)
    item = graph.find_input(name)
    new = step(item) if item is not None else None
    return candidate.with_graph(replace_input(graph, item, new)) if item and new else None


def _drop_grad(item: Input) -> Input | None:
    return (
        replace(item, meta=replace(item.meta, requires_grad=False))
        if item.kind == "input"
        else None
    )


def _make_argument(item: Input) -> Input | None:
    return replace(item, kind="input") if item.kind == "buffer" else None


def _drop_alias(item: Input) -> Input | None:
    return (
        replace(
            item,
            alias=None,
            meta=replace(item.meta, stride=compute_contiguous_strides(item.meta.shape)),
        )
        if item.alias
        else None
    )


def _make_contiguous(item: Input) -> Input | None:
    return (
        replace(item, meta=replace(item.meta, stride=compute_contiguous_strides(item.meta.shape)))
        if item.meta.stride and not item.alias
        else None
    )


def _simplify_recipe(item: Input) -> Input | None:
    if item.kind == "param" and item.meta.is_float and item.recipe != Recipe("randn"):
        return replace(item, recipe=Recipe("randn"))
    plain = (
        item.recipe.kind in ("randn", "rand", "bool", "zeros", "ones") and not item.recipe.specials
    )
    if plain or item.kind != "input":
        return None
    if item.meta.is_float or item.recipe.kind == "complex":
        return replace(item, recipe=Recipe("randn"))
    if item.recipe.kind == "randint" and item.recipe.low != 0 and item.recipe.high > 1:
        return replace(item, recipe=Recipe("randint", 0, item.recipe.high))
    return None


def _make_ordinary(item: Input) -> Input | None:
    """Without its zeros, NaNs and infinities."""
    return replace(item, recipe=replace(item.recipe, specials=())) if item.recipe.specials else None


def _make_small(item: Input) -> Input | None:
    if item.recipe.kind == "randint" and item.recipe.high > 2:
        return replace(item, recipe=Recipe("randint", 0, 2))
    return None


def _simplify_dtype(item: Input) -> Input | None:
    if item.meta.is_float and item.meta.dtype != "float32":
        return replace(item, meta=replace(item.meta, dtype="float32"))
    return None


_STEPS: tuple[_Step, ...] = (
    _drop_grad,
    _make_argument,
    _drop_alias,
    _make_contiguous,
    _simplify_recipe,
    _make_ordinary,
    _make_small,
)
