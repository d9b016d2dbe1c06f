"""Forms of issues: the tool's own say what the trackers ask for, and hostile texts change nothing
in any of them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from templates import issue_forms
from templates.issue import render_issue, try_form
from templates.issue_forms import FormError
from templates.sample import REPRO, build_sample
from templates.text import find_open_block, list_headings

HEADINGS = {
    "pytorch": ["### 🐛 Describe the bug", "### Error logs", "### Versions"],
    "triton": ["### Describe the bug", "### Environment details"],
    "plain": [
        "## What happens",
        "## Where it fails and where not",
        "## Error log",
        "## Versions",
    ],
}


#: What a compiler, a program or a person may say.
HOSTILE = {
    "nested fences": "before\n```\n### Versions\n```\n````\n~~~\nafter",
    "an open fence": "````python\n# Heading\n",
    "bars": "a | b || c \\| d",
    "markup": "<img src=x onerror=alert(1)><!-- x --></details>",
    "direction marks": "abc\u202egnp.exe\u2066 \u200b\ufeff",
    "backticks": "`` a ` b ```` `",
    "a mention": "@pytorch/triage fixes #1 [x](http://example.invalid)",
    "controls": "a\x1b[31m\x00\x07b\r\nc",
    "half a pair": "\ud800",
    "a heading": "\n# Title\n### Versions\n---\n",
}


def rendered(form: issue_forms.IssueForm, hostile: str) -> str:
    report = build_sample()
    report["verdict"].update(message=hostile, exception=hostile)
    report["requires"].update(config={"name": hostile}, contexts=[hostile], mode=hostile)
    report["ladder"][2]["detail"] = hostile
    report["repro"]["operators"] = [hostile]
    report["issue"].update(error_log=hostile, human_words=hostile, releases={"2.0.1": hostile})
    return render_issue(report, REPRO, form)


@pytest.mark.parametrize("name", HEADINGS)
def test_the_forms_say_what_their_trackers_ask_for(name: str) -> None:
    form = issue_forms.load(name)
    assert list(form.headings) == HEADINGS[name] and form.limit == 65_536
    try_form(form)
    assert form.forbids("high priority") and form.forbids("sev1") and form.forbids("triaged")
    assert not form.forbids("module: inductor")


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("name", HEADINGS)
def test_hostile_texts_stay_texts(name: str, hostile: str) -> None:
    text = rendered(issue_forms.load(name), hostile)
    title, _, body = text.partition("\n\n")
    assert "\n" not in title
    # what the person wrote is Markdown of their own; it may have headings, but no code block that
    # stays open
    own = len(list_headings(hostile)) if "fence" not in hostile else 0
    found = [line for line in list_headings(body) if line in HEADINGS[name]]
    assert [line for line in HEADINGS[name] if line in found] == HEADINGS[name]
    assert len(list_headings(body)) <= len(HEADINGS[name]) + own
    assert find_open_block(body) is None
    assert REPRO.strip() in body
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ufeff\x00-\x08\x0b-\x1f]", text)
    for line in body.splitlines():
        if line.startswith("| `backend"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 5, line
    outside = "".join(re.split(r"(?s)(`+).*?\1", body.replace(hostile, "")))
    assert "<img" not in outside.replace("\\<", "")
    assert text.encode("utf-8")


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / {"form": "form.toml", "issue": "issue.md.j2"}[name]).write_text(text)
    return tmp_path


def test_a_folder_of_the_users_own(tmp_path: Path) -> None:
    own = folder(
        tmp_path,
        form=(
            'repository = "us/models"\nheadings = ["# Bug", "# Log"]\nlimit = 4000\n'
            'labels = ["bug"]\n'
        ),
        issue=(
            '# Bug\n{{ title }}\n{% include "parts/problem.md.j2" %}\n\n'
            '# Log\n{% include "parts/log.md.j2" %}\n'
        ),
    )
    form = issue_forms.load(own)
    try_form(form)
    assert form.allow(["bug", "module: inductor"]) == ("bug",)
    report = build_sample()
    report["issue"]["error_log"] = "x\n" * 9000
    text = render_issue(report, REPRO, form)
    assert len(text.split("\n\n", 1)[1]) <= 4000 and REPRO.strip() in text


def test_there_is_no_such_form() -> None:
    with pytest.raises(FormError, match="plain, pytorch, triton"):
        issue_forms.load("gitlab")


@pytest.mark.parametrize("place", ["neighbours", "measured", "not_measured", "targets", "grid"])
def test_a_mistake_shows_before_the_run_wherever_it_stands(tmp_path: Path, place: str) -> None:
    own = folder(
        tmp_path,
        form='repository = "us/models"\nheadings = ["# Bug"]\n',
        issue="# Bug\n{{ repro }}\n{% if " + place + " %}{{ no_such_name.part }}{% endif %}\n",
    )
    with pytest.raises(FormError, match="no_such_name"):
        try_form(issue_forms.load(own))


def test_a_log_without_room_is_said_to_be_left_out(tmp_path: Path) -> None:
    own = folder(
        tmp_path,
        form='repository = "us/models"\nheadings = ["# Log"]\nlimit = 900\n',
        issue='# Log\n{{ repro }}\n{% include "parts/log.md.j2" %}\n',
    )
    report = build_sample()
    report["issue"].update(error_log="x" * 900, excerpt=None)
    text = render_issue(report, "#" * 709, issue_forms.load(own))
    assert "The log of the error is left out" in text and "No error is raised" not in text
