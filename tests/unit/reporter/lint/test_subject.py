"""What the lint reads, from an issue, a folder or a file alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from reporter.lint.linter import lint
from reporter.lint.subject import find_python_block, read


def test_a_program_is_found_in_an_issue() -> None:
    assert find_python_block("text\n\n````python\na\n```\nb\n````\n") == "a\n```\nb\n"
    assert find_python_block("```\nno language\n```\n") is None


def test_a_file_alone_is_read_by_its_ending(tmp_path: Path) -> None:
    (tmp_path / "body.md").write_text("### A\n\n```python\nx = 1\n```\n")
    alone = read(tmp_path / "body.md")
    assert alone.title is None and alone.repro == "x = 1\n"


def test_what_is_wrong_with_a_file_is_told_of_that_file(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("short\n\n```python\nx = 1\u200b\n```\n\n```\n")
    found = lint(read(path)).findings
    assert {"title", "headings", "open-fence", "hidden-characters"} <= {each.rule for each in found}
    assert {each.file for each in found} == {"x.md"}


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (f"x = {'-' * 100_000}1\n", {"python"}),  # too deep for Python's parser
        ("\ufeffx = 1\n", {"hidden-characters"}),
    ],
)
def test_a_program_is_judged_as_python_reads_it(text: str, rules: set[str], tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(text)
    assert {each.rule for each in lint(read(path)).findings} == rules
