"""What happens, where it starts and how surely it is seen; what eager mode does, and what the
compiled program does instead.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from anonymizer.kinds import (
    CUSTOM,
    UNBOUND,
    Backend,
    CandidateOutcome,
    Differentiation,
    Kind,
    RungOutcome,
)
from templates import kernel
from templates.facts import (
    BACKENDS,
    LAYER_NAMES,
    PLACEHOLDER,
    PROPERTY_NAMES,
    describe_off,
    is_eager,
    is_effect,
    is_exception,
    name_compiler,
    name_exception,
    read_detail,
    tidy_message,
)
from templates.log import find_raising_frame, find_scalars
from templates.release_order import find_regressions, is_earlier
from templates.text import fit_on_line, format_number, render_code

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
EAGER_WHAT = {
    Kind.CRASH: "an internal assertion of torch fails in eager mode: {exception}",
    Kind.PROCESS_DEATH: "an operator ends the Python process with {exception} in eager mode",
    Kind.WRONG_RESULT: "an operator gives a wrong result in eager mode, without any error",
    Kind.WRONG_GRADIENT: "a derivative of an operator is not that of its values in eager mode",
}
_CACHE_WHAT = "`{compiler}` takes code from its cache that was compiled for other inputs"
#: What is expected of a derivative in eager mode that is held against something else than finite
#: differences, by the word of the verdict.
_EXPECTED_DERIVATIVES: Mapping[str, str] = {
    Differentiation.ELEMENTWISE: "the same derivative for equal elements, each computed by itself",
    Differentiation.FORWARD_TWICE: "the derivative that backward mode gives, in float64",
    Differentiation.IN_INFERENCE: "the derivative that is computed outside of inference mode",
}
_EXPORTED_CALL_WHAT = "the exported program raises {exception} where the module itself runs"
_EFFECT_WHAT = "`{compiler}` does not leave Python's state as eager mode does"


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


def _write_what(report: Mapping[str, Any], log: str) -> str:
    verdict = report["verdict"]
    location = find_raising_frame(log) if is_exception(verdict) else None
    where = f" in `{location[1]}` (`{location[0]}`)" if location else ""
    words = {**WHAT, **EAGER_WHAT} if is_eager(report) else WHAT
    said = words.get(verdict["kind"], fit_on_line(verdict["summary"]).rstrip("."))
    if is_effect(verdict):
        said = _EFFECT_WHAT
    if verdict.get("is_from_cache"):
        said = _CACHE_WHAT
    if verdict.get("is_raised_by_exported"):
        said = _EXPORTED_CALL_WHAT
    for name, value in (
        ("compiler", name_compiler(report)),
        ("exception", name_exception(verdict) + where),
    ):
        said = said.replace(f"{{{name}}}", value)
    what = said
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
    """What other releases do with the same repro.

    Args:
        report: has rows in `differs_from`.

    Returns:
        The word for it, `Regression` or `Difference`, and a clause that says where it passes.
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

    Returns:
        (expected, actual): clauses in Markdown, without a full stop.
    """
    if kernel.is_kernel(report):
        return kernel.describe_expected_and_actual(report)
    verdict = report["verdict"]
    kind = verdict["kind"]
    if is_exception(verdict):
        return _expect_result(report), _name_raised(verdict)
    if kind == Kind.ACCEPTS_INVALID:
        return _expect_eager_error(report) or _expect_error(verdict), "no error, and a result"
    if kind == Kind.PROCESS_DEATH:
        said = f": {render_code(verdict['message'])}" if verdict["message"] else ""
        expected = _expect_eager_error(report) or _expect_result(report)
        return expected, f"the process dies with {name_exception(verdict)}{said}"
    if kind == Kind.HANG:
        return "the program comes to an end, as in eager mode", "it does not"
    return _describe_wrong_result(report)


def _expect_result(report: Mapping[str, Any]) -> str:
    if is_eager(report):
        return "a result, or an exception that says what is wrong with the arguments"
    return "the program runs, as in eager mode"


def _expect_eager_error(report: Mapping[str, Any]) -> str:
    """The exception that eager mode raises; empty where it raises none that is known."""
    rejected = report["repro"].get("eager_error")
    return f"{render_code(rejected)}, as in eager mode" if rejected else ""


def _expect_error(verdict: Mapping[str, Any]) -> str:
    """As `_expect_eager_error`, for reports that are older than that key."""
    error = render_code(read_detail(verdict)) or "error"
    return f"the {error} that eager mode raises"


def _name_raised(verdict: Mapping[str, Any]) -> str:
    """The exception with its message."""
    said = f": {render_code(tidy_message(verdict))}" if verdict["message"] else ""
    if PLACEHOLDER.search(verdict["message"] or ""):
        said += ", where `text1` and the like stand for texts of the original program"
    return f"{name_exception(verdict)}{said}"


def _describe_wrong_result(report: Mapping[str, Any]) -> tuple[str, str]:
    """As `describe_expected_and_actual`, where both sides come to an end and differ."""
    verdict = report["verdict"]
    kind = verdict["kind"]
    actual = (
        render_code(verdict["message"]) if verdict["message"] else _make_clause(verdict["summary"])
    )
    if is_effect(verdict):
        return "the same state as eager mode leaves", actual
    if kind == Kind.WRONG_METADATA:
        detail = read_detail(verdict)
        name = PROPERTY_NAMES.get(detail, detail) or "metadata"
        return f"the {name} that eager mode gives", _show_pair(verdict) or actual
    if kind == Kind.WRONG_GRADIENT and is_eager(report):
        usual = "the derivative that finite differences give, in float64"
        return _EXPECTED_DERIVATIVES.get(str(verdict.get("derivative")), usual), actual
    actual = _describe_elements(report) or actual
    worst = _find_worst(report)
    if worst is not None:
        actual += _describe_numbers(worst, actual)
    reference = "with the same inputs in float64, rounded" if is_eager(report) else "in eager mode"
    return f"the same as {reference}, within the default tolerances", actual


def _make_clause(sentence: str) -> str:
    """A sentence without its full stop and, but for a name such as AOTAutograd, its capital."""
    line = fit_on_line(sentence, 300).rstrip(".")
    return line[:1].lower() + line[1:] if line[1:2].islower() else line


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


def _describe_elements(report: Mapping[str, Any]) -> str:
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
    return f"{which}{describe_off(found['off'], found['elements'])}: {'; '.join(rows)}"


def _write(value: Any) -> str:
    return str(value) if isinstance(value, (bool, str)) else f"{value:.6g}"


def describe_duration(report: Mapping[str, Any]) -> str:
    """Until when the repro is expected to fail, as a clause for a sentence."""
    is_request = report["verdict"]["kind"] == Kind.UNSUPPORTED
    return "as long as this is not supported" if is_request else "while the bug is there"
