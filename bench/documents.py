"""The documents of a report: size and time of each, in one process, and what share of a whole
`create` they are.

Medians over the stored reports of real runs (`tests/data/golden`). The first drawing pays for
importing matplotlib and has a row of its own. The goal: all documents together take less than a
tenth of the run that they belong to.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anonymizer.leakcheck.scanner import Identity, collect_private_terms
from reporter.lint.linter import lint
from reporter.lint.subject import collect_texts
from reporter.publish.leak_check import check_outgoing
from reporter.publish.torch_report import summarize_failure
from reporter.report.reading import read_report
from templates import issue_forms
from templates.issue import render_issue
from templates.page import render_page
from templates.regression import render_test

HOME = Path(__file__).resolve().parent.parent / "tests" / "data" / "golden"
RUNS = 5
SHARE = 0.1


def measure(make: Callable[[], object]) -> tuple[float, float]:
    """Median milliseconds of `RUNS` calls, and the size in KiB of what came out."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        made = make()
        times.append((time.perf_counter() - start) * 1000)
    text = made if isinstance(made, str) else repr(made)
    return statistics.median(times), len(text.encode()) / 1024


def list_writers(report: dict[str, Any], repro: str) -> dict[str, Callable[[], object]]:
    """What is measured of one report, by name."""
    form = issue_forms.load(report["issue"]["form"])
    issue, page = render_issue(report, repro, form), render_page(report, repro)
    cells = [[10.0 ** -((x * 7 + y * 3) % 8) for x in range(64)] for y in range(64)]
    terms = collect_private_terms(
        {"script.py": "def quorum_wobble():\n    pass\n"}, frozenset(), ()
    )
    who = Identity("/home/someone", "someone", "host")
    files = {"issue.md": issue, "report.html": page, "repro.py": repro}
    sections = read_report(report, "the document")
    return {
        "report.json": lambda: json.dumps(report, indent=2),
        "issue.md": lambda: render_issue(report, repro, form),
        "test_repro.py": lambda: render_test(summarize_failure(sections), repro),
        "report.html": lambda: render_page(report, repro),
        "report.html, largest map": lambda: render_page(_with_map(report), repro, cells),
        "lint": lambda: lint(collect_texts(form, issue, repro, "", sections)),
        "leak check": lambda: check_outgoing(files, terms, identity=who),
    }


def main() -> None:
    """Measure, print a row for each document, and say whether the goal is met."""
    start = time.perf_counter()
    import matplotlib.backends.backend_svg  # noqa: F401

    print(f"{'matplotlib, imported once':<28}{(time.perf_counter() - start) * 1000:9.1f} ms")
    rows: dict[str, list[tuple[float, float]]] = {}
    whole = []
    for folder in sorted(HOME.iterdir()):
        if (folder / "repro.py").exists():
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
            writers = list_writers(report, (folder / "repro.py").read_text(encoding="utf-8"))
            for name, make in writers.items():
                rows.setdefault(name, []).append(measure(make))
            whole.append(report["repro"]["seconds"] * 1000)
    if not whole:
        print(f"no stored reports in {HOME}")
        return
    total = statistics.median(whole)
    spent = 0.0
    for name, values in rows.items():
        milliseconds = statistics.median(value for value, _ in values)
        size = statistics.median(value for _, value in values)
        spent += milliseconds if "map" not in name else 0.0
        share = f"{milliseconds / total:9.5f} of a create"
        print(f"{name:<28}{milliseconds:9.1f} ms{size:9.1f} KiB{share}")
    word = "met" if spent < SHARE * total else "missed"
    print(f"all: {spent:.0f} ms of {total:.0f} ms, {spent / total:.4f}; goal of {SHARE:g}: {word}")


def _with_map(report: dict[str, Any]) -> dict[str, Any]:
    spread = {"output": 0, "of": 1, "shape": [64, 64], "step": [1, 1], "max": 1.0, "off": 1}
    more = {"error_map": {**spread, "elements": 4096, "reference": "float64"}}
    return {**report, "pictures": {**(report.get("pictures") or {}), **more}}


if __name__ == "__main__":
    main()
