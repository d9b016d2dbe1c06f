"""The issue, read as the receiving side reads it."""

from __future__ import annotations

from typing import Any

import jinja2
import pytest
from msgspec import UNSET, structs

from collectors.protocol.repro_words import Property
from reporter.core.kinds import Kind, Layer, RungOutcome
from reporter.core.signature import Signature
from reporter.report.sections.finished_repro import NeighbourRow
from reporter.report.sections.measurements import RungRow
from reporter.report.sections.report_document import Report
from templates import render
from templates.issue import BODY_LIMIT, render_issue
from templates.text import count_bytes, render_cell, render_code_block
from templates.title import render_title
from tests.support import outgoing_data as data

REPRO = data.text(data.CRASH)


SECTIONS = ["### 🐛 Describe the bug", "### Error logs", "### Versions"]


def issue(report: Report | None = None, repro: str = REPRO, **said: Any) -> str:
    document = (report or data.crash_report()).to_json()
    return render_issue(
        data.with_issue(document, **{"error_log": "RuntimeError: no", **said}), repro
    )


def crash_with(**facts: Any) -> Report:
    """The report of the crash with other facts in its verdict."""
    report = data.crash_report()
    return structs.replace(report, verdict=structs.replace(report.verdict, **facts))


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "(torch.Size([2]), torch.Size([1, 1]))",
            "eager `torch.Size([1, 1])`, compiled `torch.Size([2])`",
        ),
        ("((2, 1), (1, 2))", "eager `(1, 2)`, compiled `(2, 1)`"),
        ("The dtypes do not match", "`The dtypes do not match`"),
    ],
)
def test_wrong_metadata_are_shown_side_by_side(message: str, shown: str) -> None:
    report = crash_with(kind=Kind.WRONG_METADATA, exception=None, message=message)
    assert f"- **Actual**: {shown}\n" in issue(report)


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
    report, repro = data.gradient_report(), data.text(data.GRADIENT)
    text = issue(report, repro, error_log="")
    assert "| variant |" not in text  # one row of numbers, which the text has as well
    more = (
        *report.ladder,
        RungRow("mode=max-autotune", RungOutcome.DIFFERS, "", 0.5, 0.25, 0.0),
    )
    several = issue(structs.replace(report, ladder=more), repro, error_log="")
    assert "| aot_eager and 1 more | 0.01235 | 0.005152 | 0 |" in several
    assert "| mode=max-autotune | 0.5 | 0.25 | 0 |" in several
    assert '| `mode="max-autotune"` | **differs** |' in several
    assert "largest absolute difference to eager 0.01235; error against float64 0.005152" in text
    assert "| backward | yes |" in text and 'torch.autocast("cpu", dtype=torch.bfloat16)' in text
    assert "No error is raised" in text


def test_numbers_of_python_are_shown_as_assert_close_tells_them() -> None:
    report = data.gradient_report()
    message = "Scalars are not close!\n\nExpected 4.5 but got 3.5.\nAbsolute difference: 1.0"
    report = structs.replace(
        report, verdict=structs.replace(report.verdict, kind=Kind.STALE_GRAPH, message=message)
    )
    assert "eager `4.5`, compiled `3.5`" in issue(report)


def test_confirmation_is_claimed_only_with_human_words() -> None:
    assert "confirmed" not in issue()
    text = issue(human_words="Met while training.")
    assert "Met while training." in text and "the reporter confirmed" in text


def test_log_gives_way_and_the_repro_never() -> None:
    log = "\n".join(f"{index} {'long ' * 500}" for index in range(100)) + "\nthe last line"
    body = issue(error_log=log, key="1:ab").split("\n", 2)[2]
    assert BODY_LIMIT - 200 < count_bytes(body) <= BODY_LIMIT
    assert (
        REPRO.rstrip() in body
        and "the last line" in body
        and "left out" in body
        and "PyTorch version" in body
    )
    long = REPRO + "# x\n" * 15_800
    body = issue(repro=long, error_log=log).split("\n", 2)[2]
    assert long.rstrip() in body and count_bytes(body) <= BODY_LIMIT
    with pytest.raises(ValueError, match="limit"):
        issue(repro=REPRO + "# x\n" * 20_000)


def test_the_limit_is_of_characters() -> None:
    long = REPRO + "# äöü\n" * (BODY_LIMIT // 8)
    body = issue(repro=long).split("\n", 2)[2]
    assert long.rstrip() in body and len(body) <= BODY_LIMIT < count_bytes(body)


def test_braces_in_a_text_are_text() -> None:
    text = issue(crash_with(kind="rounding", summary="The values {of} it differ."))
    assert "The values {of} it differ" in text


def test_what_the_verdict_says_is_a_clause() -> None:
    report = crash_with(
        kind="wrong_result",
        exception=None,
        message=None,
        summary="The compiled result has another type than eager's.",
    )
    text = issue(report)
    assert "- **Actual**: the compiled result has another type than eager's" in text
    assert "eager's." not in text


def test_fence_is_longer_than_any_run_inside() -> None:
    assert render_code_block("a ```` b", "text") == "`````text\na ```` b\n`````"
    text = issue(error_log="before\n```\n### Versions\n```\nafter")
    assert "````\nbefore" in text and "after\n````" in text


def test_cells_stay_in_their_cell() -> None:
    assert render_cell("a | b\n<c>") == "a \\| b &lt;c>"
    report = structs.replace(
        data.crash_report(), ladder=(RungRow("eager", RungOutcome.RAISES, "x\ny | z"),)
    )
    wanted = '| `backend="eager"` | **raises** x y \\| z | – | – |'
    assert wanted in issue(report)


@pytest.mark.parametrize(
    "kind", ["wrong_result", "process_death", "hang", "stale_graph", "accepts_invalid", "other"]
)
def test_every_kind_has_a_title_and_renders(kind: str) -> None:
    report = crash_with(kind=kind, message="long {} " * 60)
    assert 10 < len(render_title(report.to_json())) <= 150
    assert "None" not in issue(report).split("### Error logs")[0].replace("(None)", "")


@pytest.mark.parametrize(
    ("said", "point"),
    [
        (
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp,"
            " jacrev, ...), it must override the setup_context staticmethod. For more details,"
            " please see https://pytorch.org/docs/main/notes/extending.func.html",
            "functorch transforms, it must override the setup_context",
        ),
        (
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over"
            " calling .item() on a Tensor, please try to rewrite what you're doing.",
            "vmap: It looks like you're calling .item() on a Tensor",
        ),
        ("shapes cannot be multiplied (2x3 and 4x5)", "be multiplied (2x3 and 4x5)"),
    ],
)
def test_a_title_has_the_point_of_a_long_message(said: str, point: str) -> None:
    title = render_title(crash_with(exception="RuntimeError", message=said).to_json())
    assert point in title and len(title) <= 150
    assert not title.partition(point)[2].startswith(".")


@pytest.mark.parametrize("kind", [Kind.ACCEPTS_INVALID, Kind.PROCESS_DEATH])
def test_what_eager_says_of_a_program_is_what_is_expected(kind: Kind) -> None:
    report = crash_with(kind=kind, message=None)
    assert report.repro is not None
    said = structs.replace(report.repro, eager_error="RuntimeError: sizes must match")
    text = issue(structs.replace(report, repro=said))
    assert "- **Expected**: `RuntimeError: sizes must match`, as in eager mode\n" in text


def test_of_an_older_report_the_signature_says_what_eager_raises() -> None:
    signature = Signature(Kind.ACCEPTS_INVALID, Layer.INDUCTOR, exception="IndexError").describe()
    text = issue(crash_with(kind=Kind.ACCEPTS_INVALID, signature=signature))
    assert "- **Expected**: the `IndexError` that eager mode raises\n" in text


@pytest.mark.parametrize(
    ("differs", "title"),
    [
        ("stride", "output stride differs from eager with"),
        ("alias", "output aliasing differs from eager with"),
        (Property.PYTHON_VALUE, "output Python value differs from eager with"),
        (Property.SIDE_EFFECT, "Python's state after the call differs from eager with"),
    ],
)
def test_a_title_names_what_differs(differs: str, title: str) -> None:
    signature = Signature(Kind.WRONG_METADATA, Layer.INDUCTOR, property=differs).describe()
    text = issue(crash_with(kind=Kind.WRONG_METADATA, signature=signature))
    assert text.startswith(f"[inductor] torch.compile: {title} ")
    assert ("the same state as eager mode leaves" in text) == (differs == Property.SIDE_EFFECT)


@pytest.mark.parametrize(
    ("derivative", "title"),
    [
        ("gradcheck", "wrong derivative"),
        ("gradgradcheck", "wrong second derivative"),
        ("forward", "wrong derivative in forward mode"),
        ("over_forward", "wrong second derivative in forward mode"),
        ("over_backward", "wrong second derivative with torch.func"),
        ("forward_twice", "wrong second derivative in nested forward mode"),
        ("in_inference", "wrong derivative with torch.func in inference mode"),
        ("elementwise", "different derivatives of equal elements"),
        (UNSET, "wrong derivative"),
    ],
)
def test_a_title_says_which_derivative_is_wrong(derivative: Any, title: str) -> None:
    report = crash_with(kind=Kind.WRONG_GRADIENT, layer=Layer.EAGER, derivative=derivative)
    assert render_title(report.to_json()).endswith(f": {title}")
    is_between = "for equal elements, each computed by itself" in issue(report)
    assert is_between == (derivative == "elementwise")


def test_what_a_derivative_is_held_against_is_expected() -> None:
    for derivative, said in (
        ("gradcheck", "the derivative that finite differences give"),
        ("in_inference", "the derivative that is computed outside of inference mode"),
    ):
        report = crash_with(kind=Kind.WRONG_GRADIENT, layer=Layer.EAGER, derivative=derivative)
        assert f"- **Expected**: {said}" in issue(report)


def test_an_exported_program_that_raises_is_no_export_that_does() -> None:
    text = issue(crash_with(layer=Layer.EXPORT, is_raised_by_exported=True))
    assert text.startswith("[export] exported program raises ")
    assert "The exported program raises `" in text and "where the module itself runs" in text


def test_a_title_says_that_it_is_forward_mode() -> None:
    forward = crash_with(kind=Kind.WRONG_GRADIENT, derivative="tangents")
    assert "torch.compile: wrong derivative in forward mode with" in render_title(forward.to_json())
    backward = crash_with(kind=Kind.WRONG_GRADIENT)
    assert "torch.compile: wrong gradient with" in render_title(backward.to_json())


def test_code_from_the_cache_is_no_missing_guard() -> None:
    text = issue(crash_with(kind=Kind.STALE_GRAPH, is_from_cache=True))
    assert text.startswith("[inductor] torch.compile: the cache gives code compiled for other")
    assert "takes code from its cache" in text and "missing" not in text.partition("###")[0]


def test_a_title_says_what_the_failure_needs() -> None:
    report = data.crash_report()
    changes = (
        ("values nan: nan", True),
        ("values nan: 1.0", False),
        ("values inf: inf", True),
        ("values inf: 1.0", True),
        ("argument dtype of sum: torch.int8", True),
        ("argument dtype of sum: left out", False),
        ("argument dim of mean: 1", True),
        ("argument dim of mean: left out", False),
        ("argument keepdim of sum: True", True),
        ("argument keepdim of sum: left out", True),
    )
    rows = tuple(NeighbourRow(change, fails) for change, fails in changes)
    repro = structs.replace(report.repro, operators=("Tensor.sum",), neighbours=rows)
    verdict = structs.replace(report.verdict, kind="wrong_result")
    made = structs.replace(report, repro=repro, verdict=verdict).to_json()
    assert render_title(made).endswith(": wrong result with Tensor.sum(dtype=torch.int8) of NaN")
    two = structs.replace(repro, operators=("Tensor.sum", "torch.abs"))
    made = structs.replace(report, repro=two, verdict=verdict).to_json()
    assert render_title(made).endswith(": wrong result with Tensor.sum, torch.abs of NaN")


def test_a_missing_name_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("issues/pytorch/issue.md.j2")
