"""The title of an issue: component, what happens, with which operators and values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from anonymizer.kinds import Differentiation, Kind
from templates import kernel
from templates.facts import (
    PLACEHOLDER,
    PROPERTY_NAMES,
    Changes,
    is_eager,
    is_effect,
    is_exception,
    join_operators,
    name_compiler,
    name_exception,
    read_changes,
    read_detail,
    tidy_message,
)
from templates.log import find_explanation, find_raising_frame
from templates.text import fit_on_line

#: Characters of a title, at most.
_TITLE = 150
#: What stands in brackets within a sentence, and is no call.
_ASIDE = re.compile(r" \([^()]*\)(?=[\s,.:;]|$)")
_SENTENCE = re.compile(r"(.{40,}\w)\. (?=[A-Z].*…$)")
TITLES = {
    Kind.CRASH: "{compiler} raises {exception}: {message}",
    Kind.CRASH_ON_RECOMPILE: "{compiler} raises {exception} on the second compile: {message}",
    Kind.WRONG_RESULT: "{compiler}: wrong result with {operators}",
    Kind.WRONG_GRADIENT: "{compiler}: {derivative} with {operators}",
    Kind.WRONG_METADATA: "{compiler}: output {property} differs from eager with {operators}",
    Kind.ACCEPTS_INVALID: "{compiler} accepts {operators} that eager rejects",
    Kind.PROCESS_DEATH: "{compiler}: {exception} kills the process with {operators}: {message}",
    Kind.HANG: "{compiler} hangs with {operators}",
    Kind.STALE_GRAPH: "{compiler}: missing guard, a stale graph is used with {operators}",
    Kind.GRAPH_BREAK: "{compiler}: graph break with {operators}",
    Kind.UNSUPPORTED: "{compiler} does not support this yet: {message}",
    Kind.RECOMPILES: "{compiler} recompiles with {operators}",
}
EAGER_TITLES = {
    Kind.CRASH: "{operators}: {message}",
    Kind.PROCESS_DEATH: "{operators}: {exception} ends the process",
    Kind.WRONG_RESULT: "{operators}: wrong result",
    Kind.WRONG_GRADIENT: "{operators}: {derivative}",
}
#: What is wrong with which derivative, by the word of the verdict.
_DERIVATIVES: Mapping[str, str] = {
    Differentiation.GRADGRADCHECK: "wrong second derivative",
    Differentiation.FORWARD: "wrong derivative in forward mode",
    Differentiation.OVER_FORWARD: "wrong second derivative in forward mode",
    Differentiation.OVER_BACKWARD: "wrong second derivative with torch.func",
    Differentiation.FORWARD_TWICE: "wrong second derivative in nested forward mode",
    Differentiation.IN_INFERENCE: "wrong derivative with torch.func in inference mode",
    Differentiation.ELEMENTWISE: "different derivatives of equal elements",
    Differentiation.TANGENTS: "wrong derivative in forward mode",
}
_CACHE_TITLE = "{compiler}: the cache gives code compiled for other inputs with {operators}"
_EFFECT_TITLE = "{compiler}: Python's state after the call differs from eager with {operators}"


def render_title(report: Mapping[str, Any], log: str = "") -> str:
    """The issue's title: component, what happens, with which operators.

    Args:
        report: report.json.
        log: what the repro prints, tidied; an exception without words of its own is told by where
            it says that it was raised.

    Returns:
        One line of at most 150 characters.
    """
    if kernel.is_kernel(report):
        return kernel.render_title(report)
    verdict = report["verdict"]
    titles = {**TITLES, **EAGER_TITLES} if is_eager(report) else TITLES
    pattern = titles.get(verdict["kind"], verdict["summary"].replace("{", "(").replace("}", ")"))
    if is_effect(verdict):
        pattern = _EFFECT_TITLE
    if verdict.get("is_from_cache"):
        pattern = _CACHE_TITLE
    said = verdict["message"] or ""
    if is_exception(verdict) and (not said or PLACEHOLDER.fullmatch(said)):
        location = find_raising_frame(log)
        where = f" in {location[1]}" if location else ""
        pattern = pattern.replace(": {message}", where + " with {operators}")
    message = tidy_message(verdict).removeprefix("error: ")
    explained = find_explanation(log) if verdict["kind"] == Kind.UNSUPPORTED else None
    changes, detail = read_changes(report), read_detail(verdict)
    unknown = "wrong derivative" if is_eager(report) else "wrong gradient"
    by_exported = verdict.get("is_raised_by_exported")
    values = {
        "compiler": "exported program" if by_exported else name_compiler(report),
        "exception": name_exception(verdict).strip("`"),
        "derivative": _DERIVATIVES.get(verdict.get("derivative"), unknown),
        "property": PROPERTY_NAMES.get(detail, detail) or "metadata",
        "operators": _name_operators_in_title(report, changes) + _describe_condition(changes),
    }
    layer = f"[{verdict['layer']}] "
    room = _TITLE - len(layer + pattern.format(**values, message=""))
    said = _shorten(explained or message, room)
    return fit_on_line((layer + pattern.format(**values, message=said)).rstrip(": "), _TITLE)


def _shorten(said: str, room: int) -> str:
    """What an error says on one line: where that is too long without what stands in brackets, and
    if there is room for a whole sentence, without the next one.
    """
    line = fit_on_line(said, 10 * len(said) + 1)  # what is unseen is written out
    if len(line) <= room:
        return line
    cut = fit_on_line(_ASIDE.sub("", line), max(room, 1))
    whole = _SENTENCE.match(cut)
    return whole[1] if whole else cut


def _name_operators_in_title(report: Mapping[str, Any], changes: Changes) -> str:
    """The operators; a single one with the arguments that the failure needs."""
    if len(report["repro"]["operators"]) != 1:
        return join_operators(report, 3) or "a small program"
    (operator,) = report["repro"]["operators"]
    needed = []
    for what, (fails, right) in changes.items():
        name, _, of = what.removeprefix("argument ").partition(" of ")
        if what.startswith("argument ") and right and of == operator.rpartition(".")[2]:
            needed.append(f"{name}={fails[0]}")
    return join_operators(report, 1) + (f"({', '.join(needed)})" if needed else "")


def _describe_condition(changes: Changes) -> str:
    """The special values that it needs, the dtype, where the failure is seen with no more than two
    of those that were tried, and the size from which on it is seen.
    """
    needed = [
        what.removeprefix("values ").replace("nan", "NaN")
        for what, (_, right) in changes.items()
        if what.startswith("values ") and right
    ]
    special = f" of {' and '.join(needed)}" if needed else ""
    fails, right = changes.get("dtype", ([], []))
    dtypes = f" on {' and '.join(fails)}" if right and 0 < len(fails) <= 2 else ""
    return special + dtypes + _describe_smallest_size(changes)


def _describe_smallest_size(changes: Changes) -> str:
    """The size from which on it fails, where all smaller ones pass and all larger ones fail."""
    for what, (fails, right) in changes.items():
        if not what.startswith("size "):
            continue
        own = int(what.removeprefix("size "))
        seen = {int(size): size in fails for size in (*fails, *right)}
        if {own - 1, own + 1} <= set(seen) and all(seen[n] == (n >= own) for n in seen):
            return f" from size {own} on"
    return ""
