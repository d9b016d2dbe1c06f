"""The leak check of an outgoing file: where it looks, and what it says of what it finds."""

from __future__ import annotations

import json

import pytest

from anonymizer.leakcheck.scanner import Identity, Leak, OwnText, Terms, count_terms, find_leaks
from anonymizer.leakcheck.terms import TermSet
from tests.support.leaks import NOBODY, SOMEBODY, run, terms_of


def test_disguises_of_the_format_do_not_help() -> None:
    terms = terms_of("s = 'tok<Q7>&\"zq\"'; class_name = 'Größenwahn'")
    assert not run({"report.html": "tok&lt;Q7&gt;&amp;&quot;zq&quot;"}, terms).passed
    assert not run({"report.json": json.dumps({"a": ["Größenwahn"]})}, terms).passed


def test_names_of_outgoing_files_are_searched() -> None:
    assert not run({"marlowe.txt": "fine"}, terms_of("class MarloweNet: pass")).passed


def test_findings_point_at_the_place_once() -> None:
    result = find_leaks(
        {"repro.py": "a\nb = MarloweNet\nMarloweNet\n"}, terms_of("class MarloweNet: pass"), NOBODY
    )
    assert result.findings == (Leak("repro.py", 2, "MarloweNet", "name", "b = MarloweNet"),)


def test_house_words_in_prose_do_not_excuse_them_in_code() -> None:
    terms = terms_of("def ablation_table(): pass")
    ours = OwnText(prose="ablation_table")
    assert find_leaks({"issue.md": "ablation_table"}, terms, NOBODY, ours=ours).passed
    assert not find_leaks({"repro.py": "ablation_table"}, terms, NOBODY, ours=ours).passed


def test_count_is_known_beforehand() -> None:
    terms = terms_of("class MarloweNet: pass")
    assert (
        run({"a": "MarloweNet"}, terms, SOMEBODY).terms_checked
        == count_terms(terms, SOMEBODY)
        == len(terms) + 3
    )


def found(files: dict[str, str], terms: Terms) -> list[tuple[str, int, str, str]]:
    result = find_leaks(files, terms, NOBODY)
    assert result.passed is (result.findings == ())
    return [(item.file, item.line, item.term, item.kind) for item in result.findings]


@pytest.mark.parametrize(
    ("terms", "text", "in_code", "in_prose"),
    [
        (Terms(TermSet(names={"GateNet": "class"})), "x\n(GateNet)", ("GateNet", "class"), True),
        (
            Terms(TermSet(names={"GateNet": "class"})),
            "x\nGateNets, gatenet, my_GateNet",
            None,
            False,
        ),
        (Terms(in_code=TermSet(names={"gate": "name"})), "x\nthe gate", ("gate", "name"), False),
        (Terms(words=frozenset({"zorblax"})), "x\nmyZorblax_2", ("zorblax", "rare word"), True),
        (Terms(words=frozenset({"zorblax"})), "x\nZORBLAX", ("zorblax", "rare word"), True),
        (Terms(words=frozenset({"zorblax"})), "x\nzorblaxes", None, False),
        (
            Terms(TermSet(strings={"the gate": "string"})),
            "x\nof the  gate!",
            ("the gate", "string"),
            True,
        ),
        (Terms(TermSet(strings={"the gate": "string"})), "x\nthe gates", None, False),
        (Terms(TermSet(strings={"the gate": "string"})), "x\n_the gate", None, False),
        (Terms(TermSet(strings={"a.b (c)": "text"})), "x\na.b (c)", ("a.b (c)", "text"), True),
        (Terms(TermSet(strings={"a.b": "text"})), "x\naxb", None, False),
        (
            Terms(in_code=TermSet(strings={"gates on": "string"})),
            "x\ngates on",
            ("gates on", "string"),
            False,
        ),
        (
            Terms(TermSet(phrases=frozenset({("v3", "of", "us")}))),
            "x\nV3, of us",
            ("v3 of us", "phrase"),
            True,
        ),
        (Terms(TermSet(phrases=frozenset({("v3", "of", "us")}))), "x\nv3 of it us", None, False),
        (
            Terms(in_code=TermSet(phrases=frozenset({tuple("abcdef")}))),
            "x\na b c d e f",
            ("a b c d e f", "phrase"),
            False,
        ),
        (
            Terms(in_code=TermSet(phrases=frozenset({tuple("abcdef")}))),
            "x\na b c d e g f",
            None,
            False,
        ),
        (
            Terms(TermSet(numbers=frozenset({0.18215}))),
            "x\n=1.8215e-1;",
            ("1.8215e-1", "number"),
            True,
        ),
        (Terms(TermSet(numbers=frozenset({30011.0}))), "x\n-30_011", ("30_011", "number"), True),
        (Terms(TermSet(numbers=frozenset({30011.0}))), "x\n30011.0", ("30011.0", "number"), True),
        (
            Terms(TermSet(numbers=frozenset({30011.0}))),
            "x\nv30011 1.30011 30011.5 30011x 300110",
            None,
            False,
        ),
        (Terms(in_code=TermSet(numbers=frozenset({211.0}))), "x\n[211]", ("211", "number"), False),
    ],
)
def test_each_kind_of_term_is_matched_in_its_own_way(
    terms: Terms, text: str, in_code: tuple[str, str] | None, in_prose: bool
) -> None:
    """In the second line, in a program and in prose."""
    wanted = [] if in_code is None else [(2, *in_code)]
    assert [item[1:] for item in found({"x.py": text}, terms)] == wanted
    assert [item[1:] for item in found({"x.md": text}, terms)] == (wanted if in_prose else [])


def test_a_name_goes_before_its_word_and_each_is_told_once_in_a_file() -> None:
    terms = Terms(
        TermSet(names={"ZorbNet": "name"}),
        in_code=TermSet(names={"zorb": "name"}),
        words=frozenset({"zorb"}),
    )
    text = "ZorbNet zorb\nZorbNet zorb MyZorb"
    assert found({"a.py": text, "b.md": text}, terms) == [
        ("a.py", 1, "ZorbNet", "name"),
        ("a.py", 1, "zorb", "name"),
        ("a.py", 2, "zorb", "rare word"),
        ("b.md", 1, "ZorbNet", "name"),
        ("b.md", 1, "zorb", "rare word"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "leaks"),
    [
        ("a.html", "x\n&lt;the&gt; gate&amp;co", True),
        ("a.md", "x\n&lt;the&gt; gate&amp;co", True),
        ("a.py", "x\n&lt;the&gt; gate&amp;co", False),
        ("a.txt", "x\n<the> gate&co", True),
        ("a.json", '{"a": [1, {"b": "<the>\\u0020gate&co"}]}', True),
        ("a.json", '{"<the>\\u0020gate&co": null}', True),
        ("a.json", '["<the>\\u0020gate&c", "o"]', False),
        ("a.json", "{ <the> gate&co", True),  # no JSON is read as it stands
        ("a.txt", '"<the>\\u0020gate&co"', False),
        ("a.log", 'x\nat 1] {"a": "<the>\\u0020gate&co"}', True),
        ("a.log", 'x\nat 1] {"a": "{\\"b\\": \\"<the>\\\\u0020gate&co"}', True),
        ("a.log", '{"a": "\\n<the>\\ngate&co"}', True),
        ("a.py", "'<the>\\u0020gate&co'", True),
    ],
)
def test_a_file_is_read_as_its_reader_sees_it(name: str, text: str, leaks: bool) -> None:
    assert bool(found({name: text}, Terms(TermSet(strings={"<the> gate&co": "text"})))) is leaks


def test_an_escape_is_found_in_its_line() -> None:
    terms = Terms(words=frozenset({"größen", "\U0001d54f"}))
    text = '{}\n{"a": "x\\ngr\\u00f6\\u00dfen \\ud835\\udd4f"}\n'
    assert [(item[1], item[2]) for item in found({"trace.log": text}, terms)] == [
        (2, "größen"),
        (2, "\U0001d54f"),
    ]


def test_an_excerpt_is_the_part_of_the_line_around_the_term() -> None:
    terms = Terms(TermSet(names={"GateNet": "name"}))
    line = "a " * 60 + "GateNet" + " b" * 60
    (finding,) = find_leaks({"x.md": f"first\n{line}\nlast"}, terms, NOBODY).findings
    assert finding.excerpt == line[70:190].strip() and "GateNet" in finding.excerpt
    (finding,) = find_leaks({"x.md": "first\n  GateNet here"}, terms, NOBODY).findings
    assert finding.excerpt == "GateNet here" and finding.line == 2


def test_what_the_house_says_in_code_it_may_say_in_prose() -> None:
    terms = Terms(TermSet(names={"GateNet": "name"}))
    ours = OwnText(code="GateNet")
    assert find_leaks({"x.py": "GateNet", "x.md": "GateNet"}, terms, NOBODY, ours=ours).passed
    other = find_leaks(
        {"x.py": "GateNet", "x.md": "GateNet"}, terms, NOBODY, ours=OwnText(prose="GateNet")
    )
    assert [item.file for item in other.findings] == ["x.py"]


def test_public_values_are_no_addresses_and_no_credentials() -> None:
    text = "at 10.1.22.3 with AKIAIOSFODNN7EXAMPLE\n"
    kinds = {item.kind for item in find_leaks({"x.md": text}, Terms(), NOBODY).findings}
    assert kinds == {"IP address", "credential (AWS Access Key)"}
    public = ["10.1.22.3", "AKIAIOSFODNN7EXAMPLE"]
    assert find_leaks({"x.md": text}, Terms(), NOBODY, allowed=public).passed


def test_the_names_of_the_machine_count_where_there_are_any() -> None:
    terms = Terms(TermSet(names={"GateNet": "name"}, numbers=frozenset({211.0})))
    assert count_terms(terms, NOBODY) == 2
    assert count_terms(terms, SOMEBODY) == 5
    assert count_terms(terms, Identity(user="jdoe77")) == 3
    assert (
        find_leaks({}, terms, SOMEBODY).terms_checked == 5
        and find_leaks({}, terms, SOMEBODY).passed
    )
