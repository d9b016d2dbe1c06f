"""The texts that leave: what a comment says of a new environment, and what gives way at the
tracker's limit.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reporter.core.errors import UsageError
from reporter.tracker.submission import (
    Submission,
    add_words,
    has_words,
    read_submission,
    render_environment_comment,
)
from templates.issue import BODY_LIMIT
from templates.text import count_bytes
from tests.support.github.submitter import WORDS

DISCLOSURE = "_This report was reduced and written by the tool bugreport._"
MOVED = "The log is in the first comment."


def with_body(draft: Submission, body: str) -> Submission:
    return replace(draft, text=replace(draft.text, body=body))


def test_words_that_stand_in_the_text_alone_are_words_too(report: Path) -> None:
    draft = read_submission(report)
    assert not has_words(draft)
    written = add_words(draft, WORDS)
    assert has_words(written) and has_words(replace(written, words=""))


def test_a_comment_says_how_often_the_failure_was_seen_and_has_the_versions(report: Path) -> None:
    text = render_environment_comment(add_words(read_submission(report), WORDS), 7)
    assert "seen in 3 of 3 fresh processes" in text and "torch 2.13.0" in text
    assert text.index("seen in") < text.index(WORDS) < text.index("```python")
    versions = text[text.index("<summary>Versions") : text.index("</details>")]
    assert "PyTorch version: 2.13.0" in versions and "bugreport-key" not in versions
    assert text.rstrip().endswith(f"<!-- {read_submission(report).failure.marker} -->")


def test_a_comment_past_the_limit_is_refused_with_the_way_out(report: Path) -> None:
    draft = read_submission(report)
    long = replace(draft.stored, repro="x = 0\n" * (BODY_LIMIT // 6))
    with pytest.raises(UsageError, match="the comment on #7 is past .* limit; file an issue"):
        render_environment_comment(replace(draft, failure=replace(draft.failure, stored=long)), 7)


def test_a_text_that_does_not_show_its_repro_is_pointed_out(report: Path) -> None:
    assert read_submission(report).notes == ()
    text = (report / "issue.md").read_text()
    (report / "issue.md").write_text(text.replace("torch.randn(1)", "torch.randn(2)"))
    assert read_submission(report).notes == (
        f"{report / 'issue.md'} does not show the repro as repro.py has it",
    )


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_body_of_exactly_the_limit_keeps_its_log_and_one_more_character_moves_it(
    beyond: int, report: Path
) -> None:
    log = "a line of the log " * 3
    head = f"{DISCLOSURE}\n\n### Error logs\n\n{log}\n\n### Versions\n"
    body = head + "v" * (BODY_LIMIT + beyond - count_bytes(head))
    fitted = add_words(with_body(read_submission(report), body), "")
    if beyond:
        assert MOVED in fitted.text.body and log not in fitted.text.body
        assert fitted.text.log == log.strip() + "\n"
    else:
        assert fitted.text.body == body and fitted.text.log == ""


@pytest.mark.parametrize("beyond", [0, 1])
def test_without_its_log_a_body_may_be_exactly_as_long_as_the_limit(
    beyond: int, report: Path
) -> None:
    head, tail = f"{DISCLOSURE}\n\n### Error logs\n", "### Versions\n"
    kept = f"{head}\n{MOVED}\n\n{tail}"
    rest = "v" * (BODY_LIMIT + beyond - count_bytes(kept))
    draft = with_body(read_submission(report), f"{head}\n{'a long log ' * 9}\n\n{tail}{rest}")
    if beyond:
        with pytest.raises(UsageError, match=f"has {BODY_LIMIT + 1:,} characters"):
            add_words(draft, "")
    else:
        assert add_words(draft, "").text.body == kept + rest


def test_a_log_in_a_fence_leaves_as_plain_text(report: Path) -> None:
    log = "frame one\nframe two\n" * 5
    head = f"{DISCLOSURE}\n\n### Error logs\n\n```\n{log}```\n\n### Versions\n"
    draft = with_body(read_submission(report), head + "v" * (BODY_LIMIT + 1 - count_bytes(head)))
    assert add_words(draft, "").text.log == log
