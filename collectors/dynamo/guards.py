"""Which guard is missing: a compiled graph was reused where something it depends on had changed.

A reused graph passed all its guards, so whatever differs between the call it was compiled for and
the call that reused it is unguarded. Of these changes the graph's own size expressions say which it
depends on, and holding one of them static — so that its change does cause a compile — says whether
that guard is the missing one.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from ..call import context, failure, history, outputs, rungs
from ..call.reachable import find_reachable
from ..machine.files import write_whole
from ..machine.random_state import RandomState
from ..protocol.compilation import ArgumentChange, GuardsAnswer, GuardsRequest
from ..protocol.words import CallOutcome
from .guard_words import Labels, label_frame, label_parameters, publish
from .observer import ObservedGraph, Observer, list_call_arguments

_MAX_LISTED = 12


def find(call: rungs.RecordedCall, request: GuardsRequest) -> GuardsAnswer:
    """Replays the history and the call with the user's own backend and tells what the last call
    reused.

    With `vary`, everything else in the history is as in the call. What the calls raise is the
    answer `raises`; the outcome is `unsupported` where `static` asks for what this torch cannot
    mark.
    """
    rungs.quiet_compile_workers()
    observer = Observer().install()
    static = list(request.get("static") or ())
    if static and not hasattr(torch._dynamo, "mark_static"):
        return {"outcome": CallOutcome.UNSUPPORTED}
    try:
        vary = request.get("vary")
        calls = list_call_arguments(call) if vary is None else _isolate(call, vary)
        _run(call, calls, observer, static, request["snapshot"])
    except BaseException as error:  # the calls are the program's code
        return {"outcome": CallOutcome.RAISES, "failure": failure.describe(error)}
    reused = _find_reused(observer, len(calls) - 1)
    changed = _find_changes(reused, calls, call)
    return {
        "outcome": CallOutcome.OK,
        "snapshot": request["snapshot"],
        "reused": len(reused),
        "changed": _order_by_dependence(changed, reused, call),
        "checked": _list_size_guards(reused, call),
        "used": _drop_repeats(text for graph in reused for text in graph.sizes)[:_MAX_LISTED],
        "symbols": {
            name: "{}, dimension {}".format(where, dim) if dim is not None else where
            for name, (where, dim) in _label_symbols(reused, call).items()
        },
    }


def _run(
    call: rungs.RecordedCall,
    calls: List[Tuple[Any, Any]],
    observer: Observer,
    static: List[ArgumentChange],
    path: str,
) -> None:
    """Runs the calls, the recorded one last, and saves what that one left behind."""
    if any(change["dimension"] is None for change in static):
        with contextlib.suppress(AttributeError):
            torch._dynamo.config.specialize_int = True
    for args, kwargs in calls:
        found = _label_leaves(call, args, kwargs)
        for change in static:
            value = found.get(change["where"])
            if change["dimension"] is not None and isinstance(value, torch.Tensor):
                torch._dynamo.mark_static(value, change["dimension"])
    with context.apply_state(call.conditions.state):
        reachable = find_reachable(call.function, call.args, call.kwargs)
        function = rungs.compile_with(call, {})
        state = RandomState.read(call.conditions.random)
        for observer.call, (args, kwargs) in enumerate(calls[:-1]):
            with contextlib.suppress(Exception):  # the program's code; the last call counts
                function(*args, **kwargs)
        state.restore()
        stamps = outputs.stamp_tensors(reachable)
        observer.call = len(calls) - 1
        result = function(*call.args, **call.kwargs)
    with write_whole(path) as part:
        torch.save(outputs.take(result, reachable, stamps), part)


def _isolate(call: rungs.RecordedCall, vary: List[ArgumentChange]) -> List[Tuple[Any, Any]]:
    """The sequence in which only the places of `vary` change: does the graph depend on these
    alone?
    """
    dimensions = {(change["where"], change["dimension"]) for change in vary}
    earlier = []
    for args, kwargs in call.before.history:
        then = _label_leaves(call, args, kwargs)

        def mix(label: str, value: Any, then: Dict[str, Any] = then) -> Any:
            old = then.get(label)
            if not isinstance(value, torch.Tensor):
                return old if (label, None) in dimensions else value
            made = history.Placeholder(value)
            if isinstance(old, history.Placeholder) and len(old.shape) == value.dim():
                pairs = enumerate(zip(old.shape, value.shape))
                made.shape = tuple(a if (label, dim) in dimensions else b for dim, (a, b) in pairs)
            return made

        earlier.append(_map(call, mix))
    return list_call_arguments(replace(call, before=replace(call.before, history=earlier)))


def _find_reused(observer: Observer, last: int) -> List[ObservedGraph]:
    found: List[ObservedGraph] = []
    for call, graph in observer.ran:
        if call == last and graph.call < last and graph not in found:
            found.append(graph)
    return found


def _drop_repeats(texts: Any) -> List[str]:
    return list(dict.fromkeys(texts))


# -- what changed ----------------------------------------------------------------------------------


def _label_leaves(call: rungs.RecordedCall, args: Any, kwargs: Any) -> Dict[str, Any]:
    """Every tensor and plain value among the arguments, by its public label."""
    found: Dict[str, Any] = {}

    def note(label: str, value: Any) -> Any:
        found[label] = value
        return value

    _map(call, note, args, kwargs)
    return found


def _map(
    call: rungs.RecordedCall,
    change: Callable[[str, Any], Any],
    args: Any = None,
    kwargs: Any = None,
) -> Tuple[Any, Any]:
    """Arguments (the call's own unless given) with each leaf replaced by what `change` makes of its
    label and value.
    """
    args = call.args if args is None else args
    kwargs = call.kwargs if kwargs is None else kwargs

    def visit(label: str, value: Any, depth: int) -> Any:
        if depth and isinstance(value, dict):
            items = enumerate(value.items())
            return {k: visit("{}, item {}".format(label, i), v, depth - 1) for i, (k, v) in items}
        if depth and type(value) in (list, tuple):
            labeled = [("{}, item {}".format(label, i), v) for i, v in enumerate(value)]
            return type(value)(visit(where, item, depth - 1) for where, item in labeled)
        return change(label, value)

    names = label_parameters(call).parameters
    made = tuple(visit("argument {}".format(i), value, 4) for i, value in enumerate(args))
    named = {}
    for index, (name, value) in enumerate(kwargs.items()):
        named[name] = visit(names.get(name) or "keyword argument {}".format(index), value, 4)
    return made, named


def _find_changes(
    reused: List[ObservedGraph], calls: List[Tuple[Any, Any]], call: rungs.RecordedCall
) -> List[ArgumentChange]:
    """What differs between the calls the reused graphs were compiled for and the last one."""
    now = _label_leaves(call, *calls[-1])
    changes: Dict[Tuple[str, Optional[int]], ArgumentChange] = {}
    for made in sorted({graph.call for graph in reused}):
        then = _label_leaves(call, *calls[made])
        for where, value in now.items():
            for dim, before, after in _list_differences(then.get(where), value):
                changes.setdefault(
                    (where, dim),
                    {"where": where, "dimension": dim, "compiled": before, "now": after},
                )
    return list(changes.values())


def _list_differences(before: Any, after: Any) -> List[Tuple[Optional[int], Any, Any]]:
    if isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor):
        if before.dim() != after.dim():
            return []
        pairs = enumerate(zip(before.shape, after.shape))
        return [(dim, int(old), int(new)) for dim, (old, new) in pairs if old != new]
    plain = (bool, int, float)
    if isinstance(before, plain) and isinstance(after, plain) and before != after:
        return [(None, before, after)]
    return []


def _label_names(graph: ObservedGraph, call: rungs.RecordedCall) -> Labels:
    return label_frame(graph.compilation.code, call) if graph.compilation is not None else Labels()


def _label_symbols(
    reused: List[ObservedGraph], call: rungs.RecordedCall
) -> Dict[str, Tuple[str, Optional[int]]]:
    found: Dict[str, Tuple[str, Optional[int]]] = {}
    for graph in reused:
        for symbol, (source, dim) in graph.symbols.items():
            where, cut = publish(source, _label_names(graph, call))
            found.setdefault(symbol, ("a value that is no argument" if cut else where, dim))
    return found


def _order_by_dependence(
    changed: List[ArgumentChange], reused: List[ObservedGraph], call: rungs.RecordedCall
) -> List[ArgumentChange]:
    """The changes with `used`: the size expressions of the reused graphs that hold their symbol;
    most used first.
    """
    symbols = {place: symbol for symbol, place in _label_symbols(reused, call).items()}
    expressions = _drop_repeats(text for graph in reused for text in graph.sizes)
    for change in changed:
        symbol = symbols.get((change["where"], change["dimension"]))
        pattern = re.compile(r"\b{}\b".format(re.escape(symbol))) if symbol else None
        change["used"] = [text for text in expressions if pattern and pattern.search(text)]
    return sorted(changed, key=lambda change: -len(change["used"]))


def _list_size_guards(reused: List[ObservedGraph], call: rungs.RecordedCall) -> List[str]:
    """The guards of the reused entries that say something about sizes or values, with public words
    only.
    """
    found = []
    for graph in reused:
        names = _label_names(graph, call)
        for part in graph.compilation.guards if graph.compilation is not None else ():
            part = re.sub(
                r"^check_tensor\((.+?), .*\bsize=\[([^\]]*)\].*", r"\1.shape is [\2]", part
            ).replace("None", "any")
            if _SIZES.search(part) and "___check" not in part and "hasattr" not in part:
                text, cut = publish(part, names)
                if text and not cut and "a local value" not in text:
                    found.append(text)
    return _drop_repeats(found)[:_MAX_LISTED]


#: Guards on sizes, strides and numbers; the others could not have told the two calls apart.
_SIZES = re.compile(r"size\(\)|stride\(\)|\.shape is |[<>]=?|==|!=|%")
