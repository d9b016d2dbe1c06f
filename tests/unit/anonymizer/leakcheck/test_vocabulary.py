"""What everybody's program may contain."""

from __future__ import annotations

import pytest

from anonymizer.leakcheck.terms import collect_private_terms
from anonymizer.leakcheck.vocabulary import (
    is_canonical_einsum,
    is_common,
    load_python,
    load_words,
    split_identifier,
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("HTTPServer_v2x", ["http", "server", "v", "2", "x"]),
        ("resBlock3", ["res", "block", "3"]),
        ("ABC", ["abc"]),
        ("__a__", ["a"]),
        ("", []),
    ],
)
def test_a_name_falls_into_its_words(name: str, words: list[str]) -> None:
    assert split_identifier(name) == words


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("gate", "gate"),
        ("gates", "gate"),
        ("boxes", "boxe"),
        ("matches", "match"),
        ("entropies", "entropy"),
        ("masked", "mask"),
        ("scaled", "scale"),
        ("masking", "mask"),
        ("scaling", "scale"),
        ("masker", "mask"),
        ("scaler", "scale"),
        ("sparsely", "sparse"),
    ],
)
def test_a_word_is_common_with_the_endings_of_english(word: str, stem: str) -> None:
    assert is_common(word, frozenset({stem}))
    assert not is_common(word, frozenset({"other"}))


def test_a_stem_of_three_letters_proves_nothing() -> None:
    assert not is_common("sums", frozenset({"sum"})) and is_common("sum", frozenset({"sum"}))
    assert not is_common("marlowe", frozenset({"scale"}))


@pytest.mark.parametrize(
    ("equation", "canonical"),
    [
        ("ab,bc->ac", True),
        ("aab->b", True),
        ("->", True),
        ("bt,td->bd", False),
        ("ac,cb->ab", False),
        ("ab,bc", False),
        ("ab,Bc->ac", False),
        ("ab, bc->ac", False),
    ],
)
def test_an_equation_in_the_order_of_the_alphabet_is_nobodys(
    equation: str, canonical: bool
) -> None:
    assert is_canonical_einsum(equation) is canonical


def test_the_language_and_its_usual_modules_are_everybodys() -> None:
    known = load_python()
    assert {
        "print",
        "lambda",
        "json",
        "append",
        "ascii_letters",
        "SIGSEGV",
        "sqrt",
        "self",
        "deepcopy",
    } <= known
    assert not {"marlowe", "numpy", "_missing"} & known
    assert {"batch", "loss"} <= load_words()


def test_a_part_of_the_name_of_an_operator_is_no_evidence() -> None:
    words = frozenset(("scaled_dot_product_attention",))
    sources = {"a.py": 's = "scaled_dot_product"; t = "scaled_dot_meridian"'}
    terms = collect_private_terms(sources, words)
    assert "scaled_dot_product" not in terms.in_code.names
    assert "scaled_dot_meridian" in terms.in_code.names
