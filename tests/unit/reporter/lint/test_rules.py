"""Each rule of the lint finds what it is there for, and nothing in a report as it should be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from reporter.core.kinds import Layer
from reporter.lint.linter import RULES, lint
from reporter.lint.subject import LintSubject, collect_texts
from reporter.report.reading import read_report
from reporter.report.sections.finished_repro import NeighbourRow
from templates import issue_forms
from templates.issue import render_issue
from tests.support import outgoing_data as data

CRASH, VALUES = data.text(data.CRASH), data.text(data.GRADIENT)


def subject(kind: str = "wrong_gradient", **changes: Any) -> LintSubject:
    made = data.crash_report() if kind == "crash" else data.gradient_report()
    document = data.with_issue(made.to_json(), key="ab", human_words="Met in training.")
    repro = changes.pop("repro", CRASH if kind == "crash" else VALUES)
    texts = collect_texts(
        issue_forms.load("pytorch"),
        render_issue(document, repro),
        repro,
        "",
        read_report(document, "the report"),
    )
    return replace(texts, **changes)


def found(what: LintSubject) -> list[str]:
    return [finding.rule for finding in lint(what).findings]


@pytest.mark.parametrize("kind", ["crash", "wrong_gradient"])
def test_a_report_as_it_should_be_is_clean(kind: str) -> None:
    result = lint(subject(kind))
    assert result.findings == () and result.exit_code == 0
    assert result.summarize() == [f"lint: clean, {len(RULES)} rules"]


def before_main(line: str) -> str:
    return VALUES.replace("def main():", f"{line}\n\n\ndef main():")


BODY = subject().body or ""
REPORT = subject().report
assert REPORT is not None and REPORT.repro is not None


#: rule -> changes of a clean subject that break it
BROKEN: dict[str, list[dict[str, Any]]] = {
    "title": [{"title": ""}, {"title": "x" * 300}],
    "headings": [
        {"body": BODY.replace("### Versions", "### Environment")},
        {"body": BODY + "\n## More\n"},
    ],
    "length": [{"body": BODY + "x" * 65_536}],
    "open-fence": [{"body": BODY + "\n```python\n"}],
    "repro-inside": [{"body": BODY.replace("nn.Linear(8, 8", "nn.Linear(8, 9")}],
    "marker": [{"body": BODY.replace("bugreport-key", "key")}],
    "disclosure": [{"body": BODY.replace("written by the tool", "written by")}],
    "hidden-characters": [{"repro": VALUES + "# \u202e\n", "body": None}],
    "python": [{"repro": "def main(:\n", "body": None}],
    "lines": [{"repro": VALUES + "# x\n" * 100, "body": None}],
    "main-guard": [{"repro": VALUES.split("if __name__")[0], "body": None}],
    "assert": [{"repro": VALUES.replace("assert same(", "same("), "body": None}],
    "tolerances": [
        {"repro": VALUES.replace("equal_nan=True", "tol=0.1"), "body": None},
        {"repro": before_main("torch.testing.assert_close(1, 1, rtol=1, atol=1)"), "body": None},
    ],
    "fp64-referee": [{"repro": VALUES.replace("fp64_ref=x, ", ""), "body": None}],
    "seeds": [{"repro": VALUES.replace("torch.manual_seed", "print"), "body": None}],
    "fallback-random": [
        {"repro": VALUES.replace("x.float() @", "torch.rand_like(x) @"), "body": None}
    ],
    "edge-inputs": [
        {"repro": VALUES.replace("torch.randn(4, 8", "torch.full((4, 8), torch.inf"), "body": None}
    ],
    "indices": [
        {"repro": VALUES.replace("return x.float()", "return x.argmax()  # "), "body": None}
    ],
    "safety": [
        {"repro": before_main(line), "body": None}
        for line in (
            "import subprocess",
            "from urllib.request import urlopen",
            "import os\nos.system('ls')",
            "from os import system as go\ngo('ls')",
            "import ctypes",
            "(1).__class__.__subclasses__()",
            "import concurrent.futures",
            "eval('1')",
            "x = torch.load('x.pt')",
            "import pickle",
            "open('x')",
            "import base64",
            "x = '" + "QUJD" * 30 + "'",
            r"x = '\x41\x42\x43'",
            "import os\nos.environ['HTTPS_PROXY'] = 'x'",
            "import multiprocessing",
            "torch.distributed.init_process_group()",
            "x = 'pip install x'",
        )
    ],
    "dependencies": [{"repro": before_main("import numpy"), "body": None}],
    "statements": [
        {"report": structs.replace(REPORT, repro=structs.replace(REPORT.repro, statements=90))}
    ],
    "labels": [{"report": structs.replace(REPORT, labels=("high priority",))}],
    "human-words": [{"report": data.gradient_report()}],
    "runs": [
        {
            "report": structs.replace(
                REPORT, verdict=structs.replace(REPORT.verdict, reproduced=runs)
            )
        }
        for runs in ((1, 1), (0, 3))
    ],
}


@pytest.mark.parametrize(
    ("rule", "changes"),
    [(rule, changes) for rule, several in BROKEN.items() for changes in several],
)
def test_a_rule_finds_what_it_is_there_for(rule: str, changes: dict[str, Any]) -> None:
    broken = replace(subject(), **changes)
    assert rule in found(broken)
    assert set(found(broken)) <= {rule, "python", "assert"}


def test_every_rule_has_a_row() -> None:
    assert set(BROKEN) == {rule.id for rule in RULES}


def test_what_is_allowed_is_not_found() -> None:
    harmless = "import os\nos.environ['TORCHINDUCTOR_CACHE_DIR'] = 'x'"
    assert found(subject(repro=before_main(harmless))) == []
    assert found(subject("crash", repro=CRASH + "# 0x7f\n")) == []
    # two tensors: the larger of each pair, no index
    assert (
        found(subject(repro=VALUES.replace("return x.float()", "return torch.max(x, x)  # "))) == []
    )


@pytest.mark.parametrize(("fails", "hit"), [(False, False), (True, True)])
def test_nan_is_no_edge_case_where_the_failure_was_seen_to_need_it(fails: bool, hit: bool) -> None:
    made = subject()
    assert made.report is not None
    row = NeighbourRow("values nan: 1.0", fails)
    repro = structs.replace(made.report.repro, neighbours=(row,))
    text = VALUES.replace("torch.randn(4, 8", "torch.full((4, 8), torch.nan")
    report = structs.replace(made.report, repro=repro)
    assert ("edge-inputs" in found(replace(made, repro=text, report=report))) == hit


def test_whole_numbers_need_no_referee() -> None:
    """Nothing is nearer to the truth than an integer; one float among the inputs, and float64 is
    asked for again.
    """
    functional = VALUES.replace("fp64_ref=x, ", "").replace("nn.", "")
    start = functional.index("def inputs")
    end = functional.index("def ", start + 4)
    made = "def inputs():\n    return (torch.randint(0, 250, (1, 16), dtype=torch.uint8){},)\n\n\n"
    whole = functional[:start] + made.format("") + functional[end:]
    mixed = functional[:start] + made.format(", torch.rand(3)") + functional[end:]
    assert "fp64-referee" not in found(subject(repro=whole, body=None))
    assert "fp64-referee" in found(subject(repro=mixed, body=None))


@pytest.mark.parametrize(
    "facts",
    [
        {"signature": "stale_graph · inductor · python value"},
        {"derivative": "elementwise"},
        {"derivative": "forward_twice"},
        {"derivative": "in_inference"},
    ],
)
def test_what_is_exact_or_held_against_its_like_needs_no_referee(facts: dict[str, str]) -> None:
    repro = VALUES.replace("fp64_ref=x, ", "")
    made = subject(repro=repro, body=None)
    assert made.report is not None
    verdict = structs.replace(made.report.verdict, **facts)
    report = structs.replace(made.report, verdict=verdict)
    assert "fp64-referee" in found(made)
    assert "fp64-referee" not in found(replace(made, report=report))


def test_an_operator_of_eager_mode_may_be_held_against_a_wide_run_of_its_own() -> None:
    wide = "torch.testing.assert_close(x.exp(), x.cdouble().exp().to(x.dtype))"
    made = subject(repro=f"import torch\n\nx = torch.complex(a, b)\n{wide}\n", body=None)
    assert made.report is not None
    ladder = tuple(structs.replace(row, error_vs_fp64=None) for row in made.report.ladder)
    verdict = structs.replace(made.report.verdict, layer=Layer.EAGER)
    silent = replace(made, report=structs.replace(made.report, ladder=ladder))
    eager = replace(made, report=structs.replace(made.report, ladder=ladder, verdict=verdict))
    assert "fp64-referee" in found(silent) and "fp64-referee" not in found(eager)


@pytest.mark.parametrize(
    ("second", "asked"),
    [("x[2:5]", False), ("x.view(4, 3).t()", False), ("torch.randn(3)", True), ("other(x)", True)],
)
def test_inputs_that_share_memory_need_no_referee(second: str, asked: bool) -> None:
    """A copy in float64 of each would be another program."""
    plain = VALUES.replace("fp64_ref=x, ", "")
    start = plain.index("def inputs")
    end = plain.index("def ", start + 4)
    made = f"def inputs():\n    x = torch.randn(3, 4)\n    y = {second}\n    return (x, y)\n\n\n"
    text = plain[:start] + made + plain[end:]
    assert ("fp64-referee" in found(subject(repro=text, body=None))) is asked
