"""The rendered texts, read as the receiving side reads them."""

from __future__ import annotations

import ast
import html.parser
import re
import unittest
from dataclasses import replace
from typing import Any

import jinja2
import pytest

from reporter.labels import labels
from reporter.report import Rung
from templates import house_text, render
from templates.issue import BODY_LIMIT, Evidence, render_issue
from templates.page import render_page
from templates.regression import render_test
from templates.text import cell, fence, shorten, size, tidy_log
from templates.versions import versions_block
from templates.wording import title
from tests import outgoing_data as data

REPRO = data.text(data.CRASH)
SECTIONS = ["### 🐛 Describe the bug", "### Error logs", "### Versions"]


def evidence(**changes: Any) -> Evidence:
    return replace(Evidence(REPRO, data.ENVIRONMENT, "0.1.0", "RuntimeError: no"), **changes)


def issue(**changes: Any) -> str:
    return render_issue(data.crash_report().to_json(), evidence(**changes))


def test_issue_has_a_title_and_exactly_three_sections() -> None:
    lines = issue().splitlines()
    assert lines[0].startswith("[inductor] torch.compile raises RuntimeError: Not all inputs")
    assert lines[1] == "" and lines[2] == SECTIONS[0]
    assert [line for line in lines if line.startswith("#")] == SECTIONS


def test_issue_says_what_is_asked_for() -> None:
    text = issue(
        culprit="lowerings, application 2 (take)",
        workaround="`fullgraph=False`",
        releases={"2.6.0": "right"},
        key="1:ab",
    )
    for wanted in (
        f"```python\n{REPRO.rstrip()}\n```",
        "backends `eager`, `aot_eager`, `aot_eager_decomp_partition` are right, `inductor` is not",
        "bisection names `lowerings, application 2 (take)`.",
        "3 of 3 fresh processes",
        '| `backend="inductor"` | **raises** | **raises** TypeError \\| x | – |',
        '| `backend="eager"` | ok | – | – |',
        "The repro needs no backward pass, setting of `dynamic`,",
        "**Workaround**: `fullgraph=False`",
        "| 2.6.0 | right |",
        "written by the tool bugreport 0.1.0",
        "<!-- bugreport-key: 1:ab -->",
    ):
        assert wanted in text, wanted


def test_issue_with_wrong_numbers_shows_them() -> None:
    report = data.gradient_report().to_json()
    text = render_issue(report, evidence(repro=data.text(data.GRADIENT), error_log=""))
    assert "| variant |" not in text  # one row of numbers, which the text has as well
    more = (
        *data.gradient_report().ladder,
        Rung("mode=max-autotune", "differs", "", 0.5, 0.25, 0.0),
    )
    several = render_issue(
        replace(data.gradient_report(), ladder=more).to_json(),
        evidence(repro=data.text(data.GRADIENT), error_log=""),
    )
    assert "| aot_eager and 1 more | 0.01235 | 0.005152 | 0 |" in several
    assert "| mode=max-autotune | 0.5 | 0.25 | 0 |" in several
    assert '| `mode="max-autotune"` | **differs** |' in several
    assert "largest absolute difference to eager 0.01235; error against float64 0.005152" in text
    assert "| backward | yes |" in text and 'torch.autocast("cpu", dtype=torch.bfloat16)' in text
    assert "No error is raised" in text


def test_confirmation_is_claimed_only_with_human_words() -> None:
    assert "confirmed" not in issue()
    text = issue(human_words="Met while training.")
    assert "Met while training." in text and "the reporter confirmed" in text


def test_log_gives_way_and_the_repro_never() -> None:
    log = "\n".join(f"{index} {'long ' * 500}" for index in range(100)) + "\nthe last line"
    body = issue(error_log=log, key="1:ab").split("\n", 2)[2]
    assert BODY_LIMIT - 200 < size(body) <= BODY_LIMIT
    assert (
        REPRO.rstrip() in body
        and "the last line" in body
        and "left out" in body
        and "PyTorch version" in body
    )
    long = REPRO + "# x\n" * 15_800
    body = issue(repro=long, error_log=log).split("\n", 2)[2]
    assert long.rstrip() in body and size(body) <= BODY_LIMIT
    with pytest.raises(ValueError, match="limit"):
        issue(repro=REPRO + "# x\n" * 20_000)


def test_fence_is_longer_than_any_run_inside() -> None:
    assert fence("a ```` b", "text") == "`````text\na ```` b\n`````"
    text = issue(error_log="before\n```\n### Versions\n```\nafter")
    assert "````\nbefore" in text and "after\n````" in text


def test_cells_stay_in_their_cell() -> None:
    assert cell("a | b\n<c>") == "a \\| b &lt;c>"
    report = replace(data.crash_report(), ladder=(Rung("eager", "raises", "x\ny | z"),))
    wanted = '| `backend="eager"` | **raises** x y \\| z | – | – |'
    assert wanted in render_issue(report.to_json(), evidence())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'File "/home/jo/v/lib/python3.11/site-packages/torch/a.py", line 3',
            'File "torch/a.py", line 3',
        ),
        ('File "/usr/lib/python3.11/threading.py", line 3', 'File "threading.py", line 3'),
        ('File "/home/jo/secret-project/repro.py"', 'File "repro.py"'),
        ("see /tmp/torchinductor_jo/ab/cab.cpp:12", "see cab.cpp:12"),
        (r"see C:\Users\jo\x.py", "see x.py"),
        ("/usr/bin/ld failed at 0x7f12ab34cd56", "/usr/bin/ld failed at 0x…"),
        (
            "see https://pytorch.org/docs/stable/x.html",
            "see https://pytorch.org/docs/stable/x.html",
        ),
    ],
)
def test_tidy_log(before: str, after: str) -> None:
    assert tidy_log(before) == after


def test_shorten_keeps_both_ends_and_whole_characters() -> None:
    text = shorten("ä" * 5000 + "end", 300)
    assert (
        size(text) <= 300 and text.startswith("ä") and text.endswith("end") and "left out" in text
    )
    assert shorten("short", 10) == "short" and shorten("x" * 100, 3) == ""


@pytest.mark.parametrize(
    "kind", ["wrong_result", "process_death", "hang", "stale_graph", "accepts_invalid", "other"]
)
def test_every_kind_has_a_title_and_renders(kind: str) -> None:
    report = data.crash_report()
    report = replace(report, verdict=replace(report.verdict, kind=kind, message="long {} " * 60))
    assert 10 < len(title(report.to_json())) <= 150
    assert "None" not in render_issue(report.to_json(), evidence()).split("### Error logs")[
        0
    ].replace("(None)", "")


def load(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "loaded"}
    exec(compile(source, "test_repro.py", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("return", "passed"),
        ("raise AssertionError('wrong result: 1')", "failures"),
        ("raise RuntimeError('compiler')", "errors"),
        ("sys.exit(125)", "skipped"),
        ("sys.exit(1)", "failures"),
        ("sys.exit(0)", "passed"),
    ],
)
def test_regression_test_ends_as_the_repro_does(
    body: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repro = f'import sys\n\n\ndef main():\n    {body}\n\n\nif __name__ == "__main__":\n    main()\n'
    source = render_test(data.crash_report().to_json(), repro)
    case = "from torch._inductor.test_case import run_tests, TestCase"
    fake = "import types, unittest\n    torch = types.SimpleNamespace(_dynamo=types.SimpleNamespace(reset=int))\n    TestCase = unittest.TestCase"
    assert case in source
    names = load(source.replace(case, fake))
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(names["TestRepro"]).run(result)
    assert result.testsRun == 1
    seen = [name for name in ("failures", "errors", "skipped") if getattr(result, name)]
    assert seen == ([] if outcome == "passed" else [outcome])


def test_regression_test_holds_the_text_of_the_repro() -> None:
    source = render_test(data.crash_report().to_json(), REPRO)
    ast.parse(source)
    assert REPRO.split("import torch")[1].split("def run")[0].strip() in source
    assert source.count("if __name__") == 1 and "def test_crash_sigmoid_randperm(self):" in source
    assert "self.common(model, args)" in source
    with pytest.raises(ValueError, match="main"):
        render_test(data.crash_report().to_json(), "x = 1\n")


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script" and not any(name in ("src", "href") for name, _ in attrs)
        for name, value in attrs:
            assert name != "xlink:href" or (value or "").startswith("#")
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_escaped_self_contained_and_well_formed() -> None:
    page = render_page(
        data.crash_report().to_json(), evidence(error_log="<script>alert(1)</script>")
    )
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "prefers-color-scheme: dark" in page and not re.search(r"https?://", page)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []


def test_a_missing_name_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("issues/pytorch/issue.md.j2")


def test_versions_reads_like_collect_env() -> None:
    text = versions_block(data.ENVIRONMENT)
    for line in (
        "PyTorch version: 2.13.0+cpu",
        "CUDA used to build PyTorch: N/A",
        "GCC version: g++ 12.2.0",
        "Python version: 3.11.7 (64-bit runtime, CPython)",
        "[pip3] numpy==2.4.6",
        "Non-default torch configs: torch._inductor.config.fallback_random=True",
    ):
        assert line in text.splitlines()


def test_house_text_for_code_is_the_smaller() -> None:
    assert "setUp" in house_text(code=True) and "Ablation" not in house_text(code=True)
    assert "Ablation" in house_text() and "setUp" in house_text()


@pytest.mark.parametrize(
    ("arguments", "flags", "expected"),
    [
        (("crash", "inductor", True), {}, ["module: inductor"]),
        (
            ("crash", "inductor", True),
            {"cpu_only": True},
            ["module: inductor", "oncall: cpu inductor"],
        ),
        (("crash", "dynamo", True), {}, ["module: dynamo"]),
        (("crash", "aot_autograd", True), {}, ["module: pt2-dispatcher"]),
        (("crash", "inductor", True), {"dynamic_false_fixes": True}, ["module: dynamic shapes"]),
        (("process_death", "inductor", True), {}, ["module: inductor", "module: crash"]),
        (
            ("wrong_result", "inductor", True),
            {},
            ["module: inductor", "module: correctness (silent)"],
        ),
        (
            ("crash", "dynamo", True),
            {"earlier_release_right": True},
            ["module: dynamo", "module: regression"],
        ),
        (("crash", "backend", True), {}, []),
        (("rounding", "inductor", False), {"earlier_release_right": True}, []),
    ],
)
def test_labels(
    arguments: tuple[str, str, bool], flags: dict[str, bool], expected: list[str]
) -> None:
    assert labels(*arguments, **flags) == expected  # type: ignore[arg-type]
