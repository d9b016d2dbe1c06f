"""Sentences from measurements: each says one thing a maintainer can act on, with the number that
supports it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from anonymizer.kinds import (
    CRASHES,
    CUSTOM,
    EXPORTERS,
    UNBOUND,
    Backend,
    CandidateOutcome,
    Compiler,
    Kind,
    Layer,
    RungOutcome,
)
from templates import kernel
from templates.log import find_explanation, find_raising_frame, find_scalars
from templates.releases import find_regressions, is_earlier
from templates.text import fit_on_line, format_number, render_code

BACKENDS = tuple(Backend)
LAYER_NAMES = {
    Layer.DYNAMO: "Dynamo",
    Layer.AOT_AUTOGRAD: "AOTAutograd",
    Layer.DECOMPOSITION: "a decomposition",
    Layer.INDUCTOR: "Inductor",
    Layer.BACKEND: "the custom backend",
    Layer.TRITON: "Triton",
    Layer.EXPORT: "torch.export",
    Layer.AOTI: "AOTInductor",
    Layer.ONNX: "the exporter to ONNX",
    Layer.EAGER: "eager mode",
}
#: What the anonymizer writes in the place of a private text.
_PLACEHOLDER = re.compile(r"\b(text\d+\s*)+\b")
#: Characters of a title, at most.
_TITLE = 150
#: What stands in brackets within a sentence, and is no call.
_ASIDE = re.compile(r" \([^()]*\)(?=[\s,.:;])")
_SENTENCE = re.compile(r"(.{40,}\w)\. (?=[A-Z].*…$)")
WHAT = {
    Kind.CRASH: "`{compiler}` raises {exception} on a program that runs in eager mode",
    Kind.CRASH_ON_RECOMPILE: (
        "`{compiler}` raises {exception} when it compiles the same program for a second time"
    ),
    Kind.WRONG_RESULT: "`{compiler}` gives a wrong result without any error",
    Kind.WRONG_GRADIENT: "`{compiler}` gives a wrong gradient without any error",
    Kind.WRONG_METADATA: "`{compiler}` gives an output whose metadata is not that of eager mode",
    Kind.ACCEPTS_INVALID: "`{compiler}` accepts a program that eager mode rejects with an error",
    Kind.PROCESS_DEATH: "the compiled program kills the Python process with {exception}",
    Kind.HANG: "`{compiler}` does not come to an end",
    Kind.STALE_GRAPH: "a compiled graph is used again where it no longer holds: a guard is missing",
    Kind.GRAPH_BREAK: "`{compiler}` breaks the graph",
    Kind.UNSUPPORTED: "`{compiler}` raises {exception} on a program that runs in eager mode",
    Kind.RECOMPILES: "`{compiler}` compiles the same program again and again",
}
#: Properties of an output (`repro_words.Property` of the protocol) that a title calls otherwise.
PROPERTY_NAMES = {"alias": "aliasing", "python value": "Python value"}
_SIDE_EFFECT = "side effect"
#: By what was changed beside a repro: the values with which it fails, and with which it passes.
_Changes = dict[str, tuple[list[str], list[str]]]
#: What makes the callable, as an issue calls it.
COMPILERS = {
    Compiler.COMPILE: "torch.compile",
    Compiler.EXPORT: "torch.export",
    Compiler.AOTI: "AOTInductor",
    Compiler.ONNX: "torch.onnx.export",
    Compiler.EAGER: "eager mode",
}
#: The verdict in one sentence that says nothing measured on the private program.
SUMMARIES = {
    Kind.CRASH: "Compiling raises {exception}; eager runs.",
    Kind.CRASH_ON_RECOMPILE: (
        "Compiling again for another shape or value raises {exception}; eager runs."
    ),
    Kind.WRONG_RESULT: "The compiled call returns wrong values without an error.",
    Kind.WRONG_GRADIENT: "The compiled backward pass returns wrong gradients.",
    Kind.WRONG_METADATA: "The compiled result has another {property} than eager's.",
    Kind.ACCEPTS_INVALID: (
        "Eager refuses the call with {exception}; the compiled call returns a result."
    ),
    Kind.PROCESS_DEATH: "The compiled call ends the process with {signal}.",
    Kind.HANG: "The compiled call does not end.",
    Kind.STALE_GRAPH: (
        "A compiled graph that is reused for other inputs returns wrong values; compiled afresh it"
        " is right."
    ),
}
#: The same of a crash that is no compile's.
RUNNING_SUMMARY = "The compiled code, while it runs, raises {exception}; eager runs."
#: The same of what torch refuses, with the first line of its message.
STATED_LIMIT = "Torch says that it does not support this: {}."
#: The same of an exported program, where it is another sentence.
EXPORT_SUMMARIES = {
    Kind.CRASH: "Exporting raises {exception}; eager runs.",
    Kind.WRONG_RESULT: "The exported program returns wrong values without an error.",
    Kind.WRONG_METADATA: "The result of the exported program has another {property} than eager's.",
    Kind.ACCEPTS_INVALID: (
        "Eager refuses the call with {exception}; the exported program returns a result."
    ),
    Kind.PROCESS_DEATH: "The exported program ends the process with {signal}.",
    Kind.HANG: "Exporting the program, or calling what was exported, does not end.",
}
AOTI_SUMMARIES = {**EXPORT_SUMMARIES, Kind.CRASH: "AOTInductor raises {exception}; eager runs."}
#: The same where no compiler is needed.
EAGER_SUMMARIES = {
    Kind.CRASH: "An operator raises {exception} in eager mode, which torch itself asks to report.",
    Kind.PROCESS_DEATH: "An operator ends the process with {signal} in eager mode.",
    Kind.WRONG_RESULT: "An operator returns wrong values in eager mode, without an error.",
    Kind.WRONG_GRADIENT: "A derivative of an operator is not that of its values in eager mode.",
}
EAGER_WHAT = {
    Kind.CRASH: "an internal assertion of torch fails in eager mode: {exception}",
    Kind.PROCESS_DEATH: "an operator ends the Python process with {exception} in eager mode",
    Kind.WRONG_RESULT: "an operator gives a wrong result in eager mode, without any error",
    Kind.WRONG_GRADIENT: "a derivative of an operator is not that of its values in eager mode",
}
#: The same of a stale graph that came out of the compiler's cache.
CACHE_SUMMARY = (
    "The compiler's cache gives code that was compiled for other inputs, which returns wrong"
    " values; with the caches off it is right."
)
_CACHE_WHAT = "`{compiler}` takes code from its cache that was compiled for other inputs"
_CACHE_TITLE = "{compiler}: the cache gives code compiled for other inputs with {operators}"
EAGER_TITLES = {
    Kind.CRASH: "{operators}: {message}",
    Kind.PROCESS_DEATH: "{operators}: {exception} ends the process",
    Kind.WRONG_RESULT: "{operators}: wrong result",
    Kind.WRONG_GRADIENT: "{operators}: wrong derivative",
}
#: Of wrong metadata that is no output's, in the place of the row for its kind.
EFFECT_SUMMARY = "The compiled call does not leave Python's state as eager does."
#: All of these, which stand in a repro whatever the program.
ALL_SUMMARIES = (
    RUNNING_SUMMARY,
    STATED_LIMIT,
    CACHE_SUMMARY,
    EFFECT_SUMMARY,
    *SUMMARIES.values(),
    *EXPORT_SUMMARIES.values(),
    *AOTI_SUMMARIES.values(),
    *EAGER_SUMMARIES.values(),
)
_EFFECT_WHAT = "`{compiler}` does not leave Python's state as eager mode does"
_EFFECT_TITLE = "{compiler}: Python's state after the call differs from eager with {operators}"
TITLES = {
    Kind.CRASH: "{compiler} raises {exception}: {message}",
    Kind.CRASH_ON_RECOMPILE: "{compiler} raises {exception} on the second compile: {message}",
    Kind.WRONG_RESULT: "{compiler}: wrong result with {operators}",
    Kind.WRONG_GRADIENT: "{compiler}: wrong gradient with {operators}",
    Kind.WRONG_METADATA: "{compiler}: output {property} differs from eager with {operators}",
    Kind.ACCEPTS_INVALID: "{compiler} accepts {operators} that eager rejects",
    Kind.PROCESS_DEATH: "{compiler}: {exception} kills the process with {operators}: {message}",
    Kind.HANG: "{compiler} hangs with {operators}",
    Kind.STALE_GRAPH: "{compiler}: missing guard, a stale graph is used with {operators}",
    Kind.GRAPH_BREAK: "{compiler}: graph break with {operators}",
    Kind.UNSUPPORTED: "{compiler} does not support this yet: {message}",
    Kind.RECOMPILES: "{compiler} recompiles with {operators}",
}


def render_title(report: Mapping[str, Any], log: str = "") -> str:
    """The issue's title: component, what happens, with which operators.

    One line of at most 150 characters.

    An exception without words of its own is told by where the (tidied) `log` says that it was
    raised.
    """
    if kernel.is_kernel(report):
        return kernel.render_title(report)
    verdict = report["verdict"]
    titles = {**TITLES, **EAGER_TITLES} if is_eager(report) else TITLES
    pattern = titles.get(verdict["kind"], verdict["summary"].replace("{", "(").replace("}", ")"))
    if _is_effect(verdict):
        pattern = _EFFECT_TITLE
    if verdict.get("is_from_cache"):
        pattern = _CACHE_TITLE
    said = verdict["message"] or ""
    if _raises(verdict) and (not said or _PLACEHOLDER.fullmatch(said)):
        location = find_raising_frame(log)
        where = f" in {location[1]}" if location else ""
        pattern = pattern.replace(": {message}", where + " with {operators}")
    message = _tidy_message(verdict).removeprefix("error: ")
    explained = find_explanation(log) if verdict["kind"] == Kind.UNSUPPORTED else None
    changes, detail = read_changes(report), _read_detail(verdict)
    values = {
        "compiler": name_compiler(report),
        "exception": _name_exception(verdict).strip("`"),
        "property": PROPERTY_NAMES.get(detail, detail) or "metadata",
        "operators": _name_operators_in_title(report, changes) + _describe_condition(changes),
    }
    layer = f"[{verdict['layer']}] "
    room = _TITLE - len(layer + pattern.format(**values, message=""))
    said = _shorten(explained or message, room)
    return fit_on_line((layer + pattern.format(**values, message=said)).rstrip(": "), _TITLE)


def _read_detail(verdict: Mapping[str, object]) -> str:
    """What follows kind and layer in the signature: the property that differs, or the exception;
    empty where there is none.
    """
    return next(iter(str(verdict["signature"]).split(" · ")[2:]), "")


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


def name_compiler(report: Mapping[str, Any]) -> str:
    """What makes the callable: torch.compile, torch.export, AOTInductor or torch.onnx.export."""
    return COMPILERS[report["repro"].get("compiler") or Compiler.COMPILE]


def is_exported(report: Mapping[str, Any]) -> bool:
    """Whether the repro exports its program."""
    return report["repro"].get("compiler") in EXPORTERS


def is_eager(report: Mapping[str, Any]) -> bool:
    """Whether the failure needs no compiler."""
    return bool(report["verdict"]["layer"] == Layer.EAGER)


def describe_duration(report: Mapping[str, Any]) -> str:
    """Until when the repro is expected to fail, as a clause for a sentence."""
    is_request = report["verdict"]["kind"] == Kind.UNSUPPORTED
    return "as long as this is not supported" if is_request else "while the bug is there"


def _raises(verdict: Mapping[str, object]) -> bool:
    """Whether the failure is an exception of the compiler."""
    return verdict["kind"] in CRASHES | {Kind.UNSUPPORTED}


def _is_effect(verdict: Mapping[str, object]) -> bool:
    """Whether the property that differs is Python's state after the call, and no output's."""
    return verdict["kind"] == Kind.WRONG_METADATA and _read_detail(verdict) == _SIDE_EFFECT


def read_changes(report: Mapping[str, Any]) -> _Changes:
    """By what was changed beside the repro: with which values it fails, its own first, and with
    which it passes.
    """
    rows: _Changes = {}
    for row in report["repro"].get("neighbours") or ():
        what, _, value = row["change"].partition(": ")
        rows.setdefault(what, ([], []))[not row["fails"]].append(value)
    return rows


def _name_operators_in_title(report: Mapping[str, Any], changes: _Changes) -> str:
    """The operators; a single one with the arguments that the failure needs."""
    if len(report["repro"]["operators"]) != 1:
        return _join_operators(report, 3) or "a small program"
    (operator,) = report["repro"]["operators"]
    needed = []
    for what, (fails, right) in changes.items():
        name, _, of = what.removeprefix("argument ").partition(" of ")
        if what.startswith("argument ") and right and of == operator.rpartition(".")[2]:
            needed.append(f"{name}={fails[0]}")
    return _join_operators(report, 1) + (f"({', '.join(needed)})" if needed else "")


def _describe_condition(changes: _Changes) -> str:
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


def _describe_smallest_size(changes: _Changes) -> str:
    """The size from which on it fails, where all smaller ones pass and all larger ones fail."""
    for what, (fails, right) in changes.items():
        if not what.startswith("size "):
            continue
        own = int(what.removeprefix("size "))
        seen = {int(size): size in fails for size in (*fails, *right)}
        if {own - 1, own + 1} <= set(seen) and all(seen[n] == (n >= own) for n in seen):
            return f" from size {own} on"
    return ""


def describe_failure(report: Mapping[str, Any], culprit: str = "", log: str = "") -> list[str]:
    """Three sentences: what happens, where it starts, how surely it is seen.

    Args:
        report: `report.json`; where it is of a Triton kernel, the two texts are not read.
        culprit: what bisection names, such as `lowerings, application 1 of 1 (aten.min.dim)`; ""
            where it has found nothing.
        log: the error log after `tidy_log`, in which the frame that raises is looked for.
    """
    if kernel.is_kernel(report):
        return kernel.describe_failure(report)
    return [_write_what(report, log), _write_where(report, culprit), _describe_certainty(report)]


def _tidy_message(verdict: Mapping[str, Any]) -> str:
    """What the error says on one line; where it said only which operator it was about, that follows
    in brackets.
    """
    said = re.sub(r", please report a bug to PyTorch\.", ".", verdict["message"] or "")
    return re.sub(r":? \| target: (.*)$", r" (\1)", said)


def _name_exception(verdict: Mapping[str, Any]) -> str:
    return render_code(verdict["exception"]) or "an error" if verdict["exception"] else "an error"


def _join_operators(report: Mapping[str, Any], limit: int) -> str:
    names = list(report["repro"]["operators"])
    shown = ", ".join(names[:limit])
    return shown + (", …" if len(names) > limit else "")


def _write_what(report: Mapping[str, Any], log: str) -> str:
    verdict = report["verdict"]
    location = find_raising_frame(log) if _raises(verdict) else None
    where = f" in `{location[1]}` (`{location[0]}`)" if location else ""
    words = {**WHAT, **EAGER_WHAT} if is_eager(report) else WHAT
    said = words.get(verdict["kind"], fit_on_line(verdict["summary"]).rstrip("."))
    if _is_effect(verdict):
        said = _EFFECT_WHAT
    if verdict.get("is_from_cache"):
        said = _CACHE_WHAT
    what = said.format(compiler=name_compiler(report), exception=_name_exception(verdict) + where)
    operators = report["repro"]["operators"]
    more = ", …" if len(operators) > 6 else ""
    used = (
        f"; the program below does it with {_join_names(operators[:6])}{more}" if operators else ""
    )
    different = report.get("differs_from_stock") or {}
    needed = different.get("needs")
    source = (report.get("equivalence") or {}).get("rewritten_from") == "source"
    passes = different.get("skeleton") == CandidateOutcome.PASSES
    if needed and source:
        alone = ", and its operations alone compile" if passes else ""
        used = f"; the model below needs {' and '.join(needed)} for that{alone}"
    elif needed:
        without = ", and not without" if passes else ""
        used = f"; a model of stock layers does that with {' and '.join(needed)}{without}"
    elif needed is not None:
        used = "; the whole model is below, rewritten with stock layers"
    return what[0].upper() + what[1:] + used + "."


def _write_where(report: Mapping[str, Any], culprit: str) -> str:
    if is_eager(report):
        return "Nothing is compiled."
    layer = LAYER_NAMES.get(report["verdict"]["layer"], report["verdict"]["layer"])
    rungs = {rung["rung"]: rung["outcome"] for rung in report["ladder"]}
    fine = [name for name in BACKENDS if rungs.get(name) == RungOutcome.OK]
    unknown = {None, RungOutcome.OK, RungOutcome.SKIPPED}
    if report["verdict"]["kind"] != Kind.HANG:
        unknown.add(RungOutcome.TIMEOUT)
    failing = [name for name in BACKENDS if rungs.get(name) not in unknown]
    what = "limit" if report["verdict"]["kind"] == Kind.UNSUPPORTED else "fault"
    sentence = f"The {what} is in {layer}"
    if rungs.get(CUSTOM) not in unknown:
        failing = []
        sentence += (
            f": backend {_join_names(fine)} is right, the one in the program is not" if fine else ""
        )
    if failing and fine:
        right = (
            f"backend {_join_names(fine)} is"
            if len(fine) == 1
            else f"backends {_join_names(fine)} are"
        )
        sentence += f": {right} right, `{failing[0]}` is not"
        if failing[0] == Backend.AOT_EAGER and rungs.get(UNBOUND) == RungOutcome.OK:
            sentence += " unless it traces the operators' C++ kernels"
    elif failing:
        sentence += f": already backend `{failing[0]}` fails"
    return (
        sentence
        + (f", and bisection names {render_code(culprit.strip().rstrip('.'))}" if culprit else "")
        + "."
    )


def describe_difference(report: Mapping[str, Any]) -> tuple[str, str]:
    """What other releases do with the same repro, and the word for it; `report` has rows in
    `differs_from`.
    """
    rows = report["differs_from"]
    word = "Regression" if find_regressions(report["torch"], rows) else "Difference"
    locations = []
    for row in rows:
        later = "the later " if is_earlier(report["torch"], row["torch"]) else ""
        python = f" with Python {row['python']}" if row["torch"] == report["torch"] else ""
        locations.append(f"{later}torch {row['torch']}{python}")
    return (
        word,
        f"fails on torch {report['torch']}, passes on {' and '.join(locations)} (same repro)",
    )


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(map(render_code, names))


def _describe_certainty(report: Mapping[str, Any]) -> str:
    seen, of = report["verdict"]["reproduced"]
    return (
        f"It was seen in {seen} of {of} fresh processes with torch {report['torch']}, "
        f"Python {report['python']}, device {report['device']}."
    )


def describe_expected_and_actual(report: Mapping[str, Any]) -> tuple[str, str]:
    """What eager mode does, and what the compiled program does instead, with the measured
    numbers.
    """
    if kernel.is_kernel(report):
        return kernel.describe_expected_and_actual(report)
    verdict = report["verdict"]
    worst = _find_worst(report)
    kind = verdict["kind"]
    expected = "the program runs, as in eager mode"
    if is_eager(report):
        expected = "a result, or an exception that says what is wrong with the arguments"
    if _raises(verdict):
        said = f": {render_code(_tidy_message(verdict))}" if verdict["message"] else ""
        if _PLACEHOLDER.search(verdict["message"] or ""):
            said += ", where `text1` and the like stand for texts of the original program"
        return expected, f"{_name_exception(verdict)}{said}"
    rejected = report["repro"].get("eager_error")
    if rejected:
        expected = f"{render_code(rejected)}, as in eager mode"
    if kind == Kind.ACCEPTS_INVALID:
        if not rejected:  # as in reports that are older than this key
            error = render_code(_read_detail(verdict)) or "error"
            expected = f"the {error} that eager mode raises"
        return expected, "no error, and a result"
    if kind == Kind.PROCESS_DEATH:
        said = f": {render_code(verdict['message'])}" if verdict["message"] else ""
        return expected, f"the process dies with {_name_exception(verdict)}{said}"
    if kind == Kind.HANG:
        return "the program comes to an end, as in eager mode", "it does not"
    actual = (
        render_code(verdict["message"])
        if verdict["message"]
        else fit_on_line(verdict["summary"], 300)
    )
    if _is_effect(verdict):
        return "the same state as eager mode leaves", actual
    if kind == Kind.WRONG_METADATA:
        return "dtype, shape, strides and aliasing as in eager mode", _show_pair(verdict) or actual
    if kind == Kind.WRONG_GRADIENT and is_eager(report):
        return "the derivative that finite differences give, in float64", actual
    shown = describe_elements(report)
    if shown:
        actual = shown
    if worst is not None:
        actual += _describe_numbers(worst, actual)
    reference = "with the same inputs in float64, rounded" if is_eager(report) else "in eager mode"
    return f"the same as {reference}, within the default tolerances", actual


def _show_pair(verdict: Mapping[str, Any]) -> str | None:
    """What both sides have, where a plain form fails with `(actual, expected)`; else None."""
    try:
        pair = ast.parse(verdict["message"] or "", mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return None
    compiled, eager = map(ast.unparse, pair.elts)
    return f"eager {render_code(eager)}, compiled {render_code(compiled)}"


def _find_worst(report: Mapping[str, Any]) -> Mapping[str, Any] | None:
    rungs = [
        rung
        for rung in report["ladder"]
        if rung["outcome"] == RungOutcome.DIFFERS
        and (rung["max_abs_error"] is not None or rung["error_vs_fp64"] is not None)
    ]
    named = {rung["rung"]: rung for rung in rungs}
    return next(
        (named[name] for name in reversed(BACKENDS) if name in named), rungs[-1] if rungs else None
    )


def _describe_numbers(rung: Mapping[str, Any], said: str) -> str:
    if rung["max_abs_error"] is None and "from float64" in said:
        return ""  # the repro's own assertion has told it
    parts = []
    if rung["max_abs_error"] is not None and "max abs error" not in said:
        parts.append(f"largest absolute difference to eager {format_number(rung['max_abs_error'])}")
    if rung["error_vs_fp64"] is not None:
        parts.append(f"error against float64 {format_number(rung['error_vs_fp64'])}")
    if rung["eager_error_vs_fp64"] is not None:
        parts.append(
            f"eager's own error against float64 {format_number(rung['eager_error_vs_fp64'])}"
        )
    return f" ({'; '.join(parts)})" if parts else ""


def describe_elements(report: Mapping[str, Any]) -> str:
    """What both sides gave, where a reader can check it by eye: `eager [2], compiled [5]`.

    Of a large output the worst elements with their index; empty where nothing was measured.
    """
    scalars = find_scalars(report["verdict"]["message"] or "")
    if scalars:
        eager, compiled = map(render_code, scalars)
        return f"eager {eager}, compiled {compiled}"
    found = ((report.get("pictures") or {}).get("error_map")) or {}
    worst = found.get("worst") or ()
    if not worst:
        return ""
    which = f"output {found['output']}: " if found["of"] > 1 else ""
    if len(worst) == found["elements"]:
        sides = (", ".join(_write(row[side]) for row in worst) for side in ("eager", "compiled"))
        eager, compiled = (render_code(f"[{side}]") for side in sides)
        return f"{which}eager {eager}, compiled {compiled}"
    rows = [
        f"at {render_code(str(row['index']))} eager {render_code(_write(row['eager']))},"
        f" compiled {render_code(_write(row['compiled']))}"
        for row in worst
    ]
    return f"{which}{found['off']} of {found['elements']} elements are off: {'; '.join(rows)}"


def _write(value: Any) -> str:
    return str(value) if isinstance(value, (bool, str)) else f"{value:.6g}"


def name_unit(report: Mapping[str, Any]) -> str:
    """What the size of a repro is counted in."""
    return "statement" if kernel.is_kernel(report) else "tensor operation"


def name_subject(report: Mapping[str, Any]) -> str:
    """The project at fault with its release."""
    if kernel.is_kernel(report):
        return f"Triton {report['triton']['version']}"
    return f"torch {report['torch']}"
