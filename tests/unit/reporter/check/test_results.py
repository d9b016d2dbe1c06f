"""The results as a table."""

from __future__ import annotations

from reporter.check.results import (
    CheckSummary,
    OutcomeChange,
    render_html,
    render_lines,
    render_markdown,
)
from tests.support.checking import checked


def test_the_matrix_begins_with_what_has_changed_and_escapes_what_it_quotes() -> None:
    results = tuple(
        checked(name, release, "fixed")
        for name in ("<a>|b", "c")
        for release in ("2.6.0", "2.13.0")
    )
    found = CheckSummary(results * 1, (OutcomeChange("reproduces", results[3]),))
    page, text = render_html(found), render_markdown(found)
    assert page.index('scope="row">c<') < page.index('scope="row">&lt;a&gt;|b<')
    assert "<a>" not in page and "Changed since the last run" in page
    assert text.startswith(
        "## Changed since the last run\n\n- c on torch 2.13.0: reproduces → **fixed**"
    )
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4 and len({line.replace("\\|", "").count("|") for line in rows}) == 1
    assert render_lines(found)[0] == "changed: c on torch 2.13.0: reproduces -> fixed"


def test_two_builds_of_one_version_are_told_apart() -> None:
    places = ["/old/torch.whl", "/new/torch.whl", "2.7.0"]
    results = tuple(
        checked(name, place, "fixed", torch="2.7.0", build=build)
        for name in "abc"
        for place, build in zip(places, ("2.7.0+local", "2.7.0+local", "2.7.0+cpu"))
    )
    few = render_lines(CheckSummary(results[:3]))
    assert [line.partition(": ")[0] for line in few[:3]] == [
        "a on torch 2.7.0+local of /old/torch.whl",
        "a on torch 2.7.0+local of /new/torch.whl",
        "a on torch 2.7.0+cpu",
    ]
    assert render_lines(CheckSummary(results))[0].split() == places
