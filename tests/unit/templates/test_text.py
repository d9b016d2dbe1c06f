"""Pieces of text inside of Markdown: code, cells, fences, and logs without what is private to a
machine.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from templates.text import (
    close_blocks,
    count_bytes,
    find_open_block,
    list_headings,
    pluralize,
    render_cell,
    render_code,
    shorten,
    tidy_log,
)


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
        ("no file: '/data/loan desk/user rank/w.bin'", "no file: 'w.bin'"),
        ('no file: "/data/loan desk/w 1.bin"', 'no file: "w 1.bin"'),
        (r'{"a": "of \"/data/loan desk/w.bin\""}', r'{"a": "of \"w.bin\""}'),
        (r"no file: 'D:\loan desk\user rank\w 1.bin'", "no file: 'w 1.bin'"),
        ("operands of '/': 'a/b c/d', '/x'", "operands of '/': 'a/b c/d', '/x'"),
        ("/usr/bin/ld failed at 0x7f12ab34cd56", "/usr/bin/ld failed at 0x…"),
        (
            "Command:\n/opt/kestrel/falconridge-g++ a.cpp\n\n"
            "Output:\nfalconridge-g++: fatal error: x",
            "Command:\nc++ a.cpp\n\nOutput:\nc++: fatal error: x",
        ),
        ("Command:\nx86_64-linux-gnu-g++-12 a.cpp", "Command:\nx86_64-linux-gnu-g++-12 a.cpp"),
        (
            "see https://pytorch.org/docs/stable/x.html",
            "see https://pytorch.org/docs/stable/x.html",
        ),
    ],
)
def test_a_log_loses_the_paths_and_addresses_of_its_machine(before: str, after: str) -> None:
    assert tidy_log(before) == after


def test_a_root_with_a_blank_is_known_by_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "jo quark"
    work = home / "loan desk"
    work.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(work)
    before = f"{work}/run/x.py:1 {home}/v/lib/python3.11/site-packages/torch/a.py {home}/y.py"
    assert tidy_log(before) == "x.py:1 torch/a.py y.py"


def test_shorten_keeps_both_ends_and_whole_characters() -> None:
    text = shorten("ä" * 5000 + "end", 300)
    assert (
        count_bytes(text) <= 300
        and text.startswith("ä")
        and text.endswith("end")
        and "left out" in text
    )
    assert shorten("short", 10) == "short" and shorten("x" * 100, 3) == ""


@pytest.mark.parametrize(
    ("text", "span"),
    [("a", "`a`"), ("a`b", "``a`b``"), ("`a`", "`` `a` ``"), ("", ""), ("a\nb", "`a b`")],
)
def test_code_spans_end_where_they_should(text: str, span: str) -> None:
    assert render_code(text) == span


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("``<img src=x>` @x", "``&lt;img src=x>` @x"),
        ("``<a>` <b>``", "``<a>` <b>``"),
        (r"\`<img>` x", r"\`&lt;img>` x"),
        (r"\``x` <img>`", r"\``x` &lt;img>`"),
        ("`<a> <b>", "`&lt;a> &lt;b>"),
        ("`a` <b> `c`", "`a` &lt;b> `c`"),
    ],
)
def test_backticks_that_end_no_span_hide_no_html(text: str, cell: str) -> None:
    assert render_cell(text) == cell


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (1, ("line",), "1 line"),
        (0, ("line",), "0 lines"),
        (2, ("issue looks", "issues look"), "2 issues look"),
    ],
)
def test_numbers_agree_with_their_nouns(number: int, words: tuple[str, ...], said: str) -> None:
    assert pluralize(number, *words) == said


def test_an_entity_is_written_only_where_it_is_read_as_one() -> None:
    assert render_cell("`a<b>` <c> | `d|e`") == "`a<b>` &lt;c> \\| `d\\|e`"


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("```\na\n```", None),
        ("```\na", "```"),
        ("````\n```\n````", None),
        ("~~~\n```\n~~~", None),
        ("``` a`b", None),
        ("```\n``` x\n", "```"),
        ("    ```\n", None),
        ("1. ```python\n   x = 1\n   ```", None),
        ("1. ```python\n   x = 1", None),
        ("a\u2028```\nb", None),
        ("<!-- todo", "<!--"),
        ("<!-- todo\n\nmore", "<!--"),
        ("<!-- todo -->", None),
        ("<details>\n```\na", None),
    ],
)
def test_open_blocks_are_found(text: str, opened: str | None) -> None:
    assert find_open_block(text) == opened


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("1. ```python\n   x = 1\n   ```", "1. ```python\n   x = 1\n   ```"),
        ("a\u2028```\nb", "a\u2028```\nb"),
        ("a\n~~~~\nb", "a\n~~~~\nb\n~~~~"),
        ("<!-- todo", "&lt;!-- todo"),
        ("a <!-- b -->\n\n<!-- todo\n\n<?php", "a <!-- b -->\n\n&lt;!-- todo\n\n&lt;?php"),
        ("<!-- said -->\nso", "<!-- said -->\nso"),
        ("<!-- todo\n\n```\na", "&lt;!-- todo\n\n```\na\n```"),
    ],
)
def test_what_follows_a_persons_own_text_is_not_in_it(text: str, closed: str) -> None:
    assert close_blocks(text) == closed
    assert find_open_block(closed) is None


def test_headings_are_those_of_the_text_itself() -> None:
    text = "# a\n\n- # b\n\n```\n# c\n```\n\n<!--\n# d\n-->\n\n## e ##\nf\n---\n    # g\n"
    assert list_headings(text) == ["# a", "## e ##"]
