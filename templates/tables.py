"""Tables from measurements, as rows: where the repro fails, what was varied, what it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anonymizer.kinds import DYNAMIC_SUFFIX, Kind, Layer, RungOutcome
from templates import kernel
from templates.facts import BACKENDS, read_changes
from templates.text import render_code

#: Outcomes of a variation beside those of a rung. The first says more of the machine than of the
#: compiler.
NO_END, NOT_RUN = "no end in time", "–"
#: Outcomes that tell of no failure.
_NO_FAILURE = (RungOutcome.OK, RungOutcome.SKIPPED, NO_END, NOT_RUN)
#: Values of `list_requirements` that ask for nothing, and what to call them then.
_NOTHING = ("no", "none", "default", "default (None)")
_UNNEEDED = {
    "backward": "backward pass",
    "dynamic shapes": "setting of `dynamic`",
    "mode": "other mode",
}
_CUSTOM_OP = re.compile(
    r"\btorch\.library\b|\btorch\.ops\.(?!aten\b|prims\b|prim\b|quantized\b|higher_order\b)"
)
_SUBCLASS = re.compile(r"^\s*class \w+\((?:torch\.)?Tensor\)|_make_subclass|_make_wrapper", re.M)


def list_columns(report: Mapping[str, Any]) -> tuple[str, ...]:
    """What stands above the outcomes in a row of `build_grid`."""
    if kernel.is_kernel(report):
        return ("compiled for it",)
    return ("dynamic default", "dynamic=True", "dynamic=False")


class GridCell(NamedTuple):
    """What the repro did in one variation."""

    outcome: str
    #: Where it is another than the verdict's.
    exception: str = ""

    @property
    def text(self) -> str:
        """As people read it."""
        return f"{self.outcome} {self.exception}".rstrip()


def build_grid(report: Mapping[str, Any]) -> list[tuple[str, list[GridCell]]]:
    """The ablation table.

    Returns:
        A row for each variant: its name, and what came of it with dynamic=None, True and False.
        Of a kernel a row for each target, with one outcome. `list_columns` names the columns.
    """
    if kernel.is_kernel(report):
        return [(rung["rung"], [GridCell(rung["outcome"])]) for rung in report["ladder"]]
    own = str(report["requires"]["dynamic"])
    rows: dict[str, dict[str, GridCell]] = {}
    for rung in report["ladder"]:
        name, _, dynamic = rung["rung"].partition(DYNAMIC_SUFFIX)
        rows.setdefault(name, {})[dynamic or own] = _build_cell(rung, report["verdict"])
    return [
        (name, [row.get(dynamic, GridCell(NOT_RUN)) for dynamic in ("None", "True", "False")])
        for name, row in rows.items()
    ]


def _build_cell(rung: Mapping[str, Any], verdict: Mapping[str, Any]) -> GridCell:
    if rung["outcome"] == RungOutcome.TIMEOUT and verdict["kind"] != Kind.HANG:
        return GridCell(NO_END)
    raises = rung["outcome"] == RungOutcome.RAISES
    another = raises and rung["detail"] != verdict["exception"]
    return GridCell(rung["outcome"], rung["detail"] if another else "")


def write_variant(name: str) -> str:
    """The variant of a row as an argument of torch.compile, where it is one."""
    key, _, value = name.partition("=")
    if name in BACKENDS:
        return f'backend="{name}"'
    return f'{key}="{value}"' if key == "mode" else name


def write_grid(rows: Sequence[tuple[str, Sequence[GridCell]]]) -> list[tuple[str, ...]]:
    """The rows of `build_grid` in Markdown, what fails in bold."""
    return [(f"`{write_variant(name)}`", *map(_write_cell, cells)) for name, cells in rows]


def _write_cell(cell: GridCell) -> str:
    if cell.outcome in _NO_FAILURE:
        return cell.outcome
    return f"**{cell.outcome}** {cell.exception}".rstrip()


def list_neighbour_rows(report: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What was varied, for which values the repro fails, and for which it passes."""

    def say(values: list[str]) -> str:
        return ", ".join(value if value == "left out" else render_code(value) for value in values)

    return [(what, say(fails), say(right)) for what, (fails, right) in read_changes(report).items()]


class MeasuredErrors(NamedTuple):
    """How far a variant is off from eager mode and from float64: absolute, None where it was not
    measured. `own` is how far eager mode is off from float64.
    """

    eager: float | None
    fp64: float | None
    own: float | None


def describe_measured(report: Mapping[str, Any]) -> list[tuple[str, MeasuredErrors]]:
    """Variants and their errors, one row for all that measured the same; none where the text above
    says it all.
    """
    rows: dict[MeasuredErrors, list[str]] = {}
    for rung in report["ladder"]:
        errors = MeasuredErrors(
            rung["max_abs_error"], rung["error_vs_fp64"], rung["eager_error_vs_fp64"]
        )
        if errors.eager is not None or errors.fp64 is not None:
            rows.setdefault(errors, []).append(rung["rung"])
    if len(rows) < 2:
        return []
    return [
        (names[0] + (f" and {len(names) - 1} more" if names[1:] else ""), errors)
        for errors, names in rows.items()
    ]


def list_requirements(report: Mapping[str, Any], repro: str = "") -> list[tuple[str, str]]:
    """What the repro needs and what it does not: the receiving side asks for each of them by name.

    Args:
        report: report.json.
        repro: the text of the repro.

    Returns:
        Rows of what may be needed, and what is to be said of it in Markdown.
    """
    if kernel.is_kernel(report):
        return kernel.list_requirements(report)
    needs = report["requires"]
    dynamic = {None: "default (None)", True: "`dynamic=True`", False: "`dynamic=False`"}[
        needs["dynamic"]
    ]
    return [
        ("backward", "yes" if needs["backward"] else "no"),
        ("dynamic shapes", dynamic),
        ("mode", render_code(needs["mode"]) if needs["mode"] else "default"),
        (
            "config flags",
            _join(render_code(f"{name} = {value!r}") for name, value in needs["config"].items()),
        ),
        ("context managers", _join(map(render_code, needs.get("contexts", ())))),
        ("custom backend", "yes" if report["verdict"]["layer"] == Layer.BACKEND else "none"),
        ("custom ops", "yes" if _CUSTOM_OP.search(repro) else "none"),
        ("tensor subclasses", "yes" if _SUBCLASS.search(repro) else "none"),
    ]


def choose_rows(rows: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], str]:
    """What a repro needs, apart from what it does not.

    Args:
        rows: those of `list_requirements`.

    Returns:
        The rows that ask for something, and the names of the others as the end of a sentence:
        `custom ops or tensor subclasses`.
    """
    wanted = [row for row in rows if row[1] not in _NOTHING]
    others = [_UNNEEDED.get(name, name) for name, value in rows if value in _NOTHING]
    if len(others) > 1:
        others = [*others[:-2], f"{others[-2]} or {others[-1]}"]
    return wanted, ", ".join(others)


def _join(parts: Any) -> str:
    return ", ".join(parts) or "none"


def list_library_versions(
    report: Mapping[str, Any], environment: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Name and version of what a compiler project asks for first."""
    packages = dict(environment.get("packages") or {})
    found = [("Triton", packages.get("triton")), ("torch", report["torch"])]
    gpus = "; ".join(environment.get("gpus") or ()) or None
    return [(name, str(value or "none")) for name, value in (*found, ("GPU", gpus))]
