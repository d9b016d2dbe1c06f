"""What a private program is recognized by: its terms, and the reach of each."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from anonymizer.leakcheck.terms import Terms, TermSet, collect_private_terms, split_prose
from tests.support.leaks import run, terms_of
from tests.support.scripts import text


@pytest.mark.parametrize(
    ("source", "file", "outgoing", "leaks"),
    [
        ("class AureliaResBlock: pass", "repro.py", "class AureliaResBlock(nn.Module):", True),
        ("class AureliaResBlock: pass", "repro.py", "class Wrap_aurelia(nn.Module):", True),
        ("class AureliaResBlock: pass", "issue.md", "the AURELIA network", True),
        ("class AureliaResBlock: pass", "repro.py", "class ResBlock(nn.Module):", False),
        ("self.clause_proj = 1", "repro.py", "y = clause_proj", True),
        ("self.gate_score = 1", "repro.py", "y = gate_scores", False),
        ("self.gate_score = 1", "issue.md", "the gate_score of it", True),
        ("gate_score = 1", "issue.md", "the gate_score of it", True),
        ("class Window: pass", "issue.md", "a Window of it", True),
        ("self.heads = 2", "repro.py", "heads = 2", True),
        ("self.heads = 2", "issue.md", "attention with two heads", False),
        ("heads = 2", "repro.py", "heads = 2", False),
        ("def causal(b): pass", "test_repro.py", "causal(1)", True),
        (
            "self.register_buffer('slopes', t)",
            "repro.py",
            "self.register_buffer('slopes', x)",
            True,
        ),
        ("from halcyon_models import Encoder", "issue.md", "halcyon_models", True),
        ("import numpy as np", "issue.md", "[pip3] numpy==2.4.6", False),
        ("torch.manual_seed(20260419)", "issue.md", "seed 20260419", True),
        ("torch.manual_seed(20260419)", "repro.py", "seed(20_260_419)", True),
        ("n = 211", "repro.py", "torch.randn(211, 2)", True),
        ("n = 211", "issue.md", 'File "torch/x.py", line 211', False),
        (
            "n = 4096; m = 1000; k = 100; j = 37; d = 768",
            "repro.py",
            "(4096, 1000, 100, 37, 768)",
            False,
        ),
        ("z = 0.18215", "repro.py", "x * 0.18215", True),
        ("z = 31337.519j", "repro.py", "x * 31337.519j", True),
        ("match x:\n  case {'a': y, **grain_margin}: pass", "repro.py", "**grain_margin", True),
        ("match x:\n  case [y, *grain_rest]: pass", "repro.py", "*grain_rest]", True),
        ("match x:\n  case Grain(kiln_rate=1): pass", "issue.md", "kiln_rate=1", True),
        ("def f():\n  global grain_margin", "repro.py", "global grain_margin", True),
        ("z = 0.18215", "issue.md", "x * 1.8215e-1", True),
        ("z = 1e-5; y = 0.5; p = 3.14159265", "repro.py", "1e-5 + 0.5 * 3.14159265", False),
        (
            "def f():\n  '''Bank (grain recipe v3).'''",
            "issue.md",
            "the grain  recipe\nv3 said",
            True,
        ),
        ("# ticket PF-9082 explains", "issue.md", "as in PF-9082.", True),
        ("# owner: priya.raman", "issue.md", "thanks, Priya", True),
        ("s = 'outputs of tower differ'", "issue.md", "outputs of\ntower differ", True),
        ("s = 'bilinear'", "repro.py", "mode='bilinear'", False),
        ("s = 'aot_eager'; t = 'inductor'", "issue.md", "| aot_eager | inductor |", False),
        (
            "torch._inductor.config.fallback_random = True",
            "repro.py",
            "config.fallback_random = True",
            False,
        ),
        ("s = 'bhqd,bhkd->bhqk'", "repro.py", "'bhqd,bhkd->bhqk'", True),
        ("s = 'abcd,abed->abce'", "repro.py", "'abcd,abed->abce'", False),
        ("this is not (python AureliaNet", "repro.py", "AureliaNet", True),
        ("class ClaimRiskGate: pass", "trace.log", "L_self_modules_ClaimRiskGate_0_weight", True),
        ("class ClaimRiskGate: pass", "issue.md", "claim_risk_gate", True),
        ("class ClaimRiskGate: pass", "issue.md", "<ClaimRiskGateBackward>", True),
        ("class ClaimRiskGate: pass", "repro.py", "ClaimRiskGate2", True),
        ("class ClaimRiskGate: pass", "repro.py", "class RiskGate:", False),
        ("self.user_click_rank = 1", "repro.py", "class UserClickRank:", True),
        ("self.user_click_rank = 1", "trace.log", "L_self_user_click_rank_parameters_w_", True),
        ("self.click_rank = 1", "trace.log", "L_self_click_rank_", True),
        ("self.batch_norm = 1", "issue.md", "native_batch_norm_legit", False),
        ("self.sum_weight = 1", "issue.md", "L_self_sum_weight_", False),
        ("s = '4929123456781234'", "issue.md", "4929123456781234", True),
        ("s = '2024-03-17'", "issue.md", "on 2024-03-17.", True),
        ("s = 'of 2024-03-17 alone'", "trace.log", "2024-03-17", True),
        ("s = '0123456789'; t = '1000000'", "repro.py", "'0123456789', '1000000'", False),
        ("x = '阿里巴巴'", "issue.md", "阿里巴巴", True),
        ("class 客户: pass", "repro.py", "class 客户(nn.Module):", True),
        ("class 客户: pass", "issue.md", "L_self_modules_客户_0", True),
        ("self.банк = 1", "issue.md", "self_банк", True),
        ("class Gru\u0308n: pass", "issue.md", "Gr\u00fcn", True),
        ("# by Gru\u0308ndorf", "issue.md", "Gr\u00fcndorf", True),
        ("# by Gr\u00fcndorf", "issue.md", "Gru\u0308ndorf", True),
    ],
)
def test_a_term_is_evidence_where_everybody_does_not_use_it(
    source: str, file: str, outgoing: str, leaks: bool
) -> None:
    result = run({file: outgoing + "\n"}, terms_of(source))
    assert (not result.passed) is leaks, (outgoing, result.findings)


def test_the_path_and_what_the_user_calls_private_are_terms() -> None:
    terms = terms_of("x = 1", "Tycho Brahe", path="/srv/jobs/zebrafish/train_marlowe.py")
    for outgoing in ("zebrafish", "train_marlowe.py", "marlowe", "by Tycho  Brahe"):
        assert not run({"issue.md": outgoing}, terms).passed, outgoing
    assert run({"issue.md": "train the model"}, terms).passed


@pytest.mark.parametrize(
    ("name", "private"),
    [("MarloweNet", True), ("conv1", True), ("marlowe_2", True), ("conv2", False), ("x", False)],
)
def test_a_name_is_private_by_itself_or_by_its_words(name: str, private: bool) -> None:
    terms = terms_of("class MarloweNet:\n  def f(self): self.conv1 = 1")
    assert run({"repro.py": f"{name} = 1"}, terms).passed is not private


def test_a_program_in_a_string_is_a_program() -> None:
    """What `exec` runs is told by its names, comments and strings; the grammar it shares with every
    program tells nothing.
    """
    code = text("leaks/in_a_string")
    terms = terms_of(f"SOURCE = {code!r}\nexec(SOURCE)")
    assert run({"repro.py": text("leaks/shared_grammar")}, terms).passed
    for leak in ("GrainFurnace", "self.kiln_rate", "hearth of embers", "zorblax"):
        assert not run({"issue.md": f"it says {leak} here"}, terms).passed, leak


def found(source: str, **more: Any) -> dict[str, Any]:
    """The terms of a program beside an empty torch, by their kind; what there is none of is left
    out.
    """
    terms = collect_private_terms({"script.py": source}, frozenset(), **more)
    return {name: set(value) for name, value in by_kind(terms).items() if value}


def by_kind(terms: Terms) -> dict[str, Any]:
    """Every collection of the terms, those of code alone as `code_…`, but for the compounds, which
    are names as well.
    """
    names = [field.name for field in fields(TermSet) if field.name != "compounds"]
    return {
        **{name: getattr(terms.everywhere, name) for name in names},
        **{f"code_{name}": getattr(terms.in_code, name) for name in names},
        "words": terms.words,
    }


@pytest.mark.parametrize(
    ("source", "names", "code_names", "words"),
    [
        # brought into the world by the program: evidence everywhere if it is no plain word, in code
        # if it is
        ("class MarloweNet: pass", {"MarloweNet"}, set(), {"marlowe"}),
        ("class Window: pass", {"Window"}, set(), set()),
        ("def window(): pass", set(), {"window"}, set()),
        ("async def window(): pass", set(), {"window"}, set()),
        ("x.window = 1", set(), {"window"}, set()),
        ("x.conv1 = 1", {"conv1"}, set(), set()),
        ("x.A_b = 1", set(), set(), set()),  # three characters are nobody's
        ("x.Xbcd = 1", {"Xbcd"}, set(), set()),  # four may be
        # only used: evidence if it has several words, in code if it has a rare one
        ("x.gate_score", {"gate_score"}, set(), set()),
        ("gate_score", {"gate_score"}, set(), set()),
        ("window", set(), set(), set()),
        ("x.window", set(), set(), set()),
        ("conv1", set(), set(), set()),
        ("zorb", set(), {"zorb"}, set()),
        ("zorbl", set(), {"zorbl"}, {"zorbl"}),  # five letters make a rare word
        # wherever a name can stand
        ("f(zorblax=1)", set(), {"zorblax"}, {"zorblax"}),
        ("def f(zorblax): pass", set(), {"zorblax"}, {"zorblax"}),
        ("import numpy as zorblax", set(), {"zorblax"}, {"zorblax"}),
        ("import numpy as window", set(), set(), set()),  # anybody's word for it
        ("try: pass\nexcept OSError as zorblax: pass", set(), {"zorblax"}, {"zorblax"}),
        ("import zorblax.gate", set(), {"zorblax", "gate"}, {"zorblax"}),
        ("import numpy.zorblax", set(), set(), set()),
        ("import json.zorblax", set(), set(), set()),
        ("from zorblax import gate", set(), {"zorblax", "gate"}, {"zorblax"}),
        ("from torch import zorblax", set(), set(), set()),
        ("from . import window", set(), {"window"}, set()),
        # calls that define what they name, in their first two arguments
        ("setattr(x, 'window', 1)", set(), {"window"}, set()),
        ("namedtuple('Gate', 'heads')", {"Gate"}, {"heads"}, set()),
        ("setattr(x, y, 'window')", set(), set(), set()),
        ("getattr(x, 'window')", set(), set(), set()),
        # what everybody has
        ("___ = 1", set(), set(), set()),
        ("x.__call__ = 1", set(), set(), set()),
        ("x.__zorblax__ = 1", {"__zorblax__"}, set(), {"zorblax"}),
        ("def forward(): pass", set(), set(), set()),
        ("x.append = 1", set(), set(), set()),
        ("x.reflect = 1", set(), set(), set()),
    ],
)
def test_a_name_is_evidence_as_far_as_it_is_the_programs_own(
    source: str, names: set[str], code_names: set[str], words: set[str]
) -> None:
    wanted = {"names": names, "code_names": code_names, "words": words}
    assert found(source) == {kind: value for kind, value in wanted.items() if value}


def test_what_torch_has_is_nobodys() -> None:
    source = "class ZorblaxNet: pass\nx.gate_score = zorblax"
    terms = collect_private_terms(
        {"script.py": source}, frozenset({"ZorblaxNet", "gate_score", "zorblax"})
    )
    assert len(terms) == 0


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("64", None),
        ("100", None),  # one digit that says something
        ("101", "code_numbers"),
        *((str(2**k + shift), None) for k in (7, 9, 14) for shift in (-1, 0, 1)),
        ("514", "code_numbers"),
        ("768", None),
        ("9984", None),  # a multiple of 32 below 10,000
        ("9985", "code_numbers"),
        ("10016", "numbers"),  # and one above
        ("9999", "code_numbers"),
        ("10000", None),
        ("12300", "code_numbers"),  # large, but of three digits
        ("10001", "numbers"),
        ("12345", None),
        ("299", None),
        ("0.182", None),
        ("0.1821", "code_numbers"),
        ("0.18215", "numbers"),
        ("1.2345e-5", "numbers"),
        ("1.234e-5", "code_numbers"),
        ("3.14159", None),
        ("3.1425", "numbers"),
        ("0.70711", None),
        ("0.7071", None),
        ("0.7979", None),
        ("1.0507", None),
        ("-0.18215", "numbers"),
        ("0.18215j", "numbers"),
        ("True", None),
    ],
)
def test_a_number_is_evidence_as_far_as_it_is_odd(value: str, where: str | None) -> None:
    size = abs(complex(value).imag or complex(value).real) if value != "True" else 1
    assert found(f"x = {value}") == ({where: {size}} if where else {})


def test_the_sizes_of_tensors_are_numbers_of_the_program() -> None:
    assert found("", sizes=[64, 211, 30011]) == {"numbers": {30011.0}, "code_numbers": {211.0}}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        # the whole of it, from eight characters on: a sentence everywhere, less than one in code
        ("gate on", {}),
        ("gates on", {"code_strings": {"gates on"}}),
        ("gate and more", {"strings": {"gate and more"}}),
        ("a a a ", {}),
        ("- - - - - -", {}),
        ("bilinear", {}),
        ("gate_on", {}),
        ("gates_on", {"names": {"gates_on"}, "code_names": {"gates_on"}}),
        ("gategate", {"names": {"gategate"}, "code_names": {"gategate"}, "words": {"gategate"}}),
        ("12345678", {"names": {"12345678"}, "code_names": {"12345678"}}),
        ("2026-04-19", {"strings": {"2026-04-19"}}),
        ("bt,td->bd", {"code_strings": {"bt,td->bd"}}),
        ("ab,bc->ac", {}),
        ("ab, bc -> ac", {}),
        # a piece that nobody else has: a rare word, three digits in a row, odd letters with two
        ("zorblax", {"names": {"zorblax"}, "words": {"zorblax"}}),
        ("zorb", {}),
        ("PF-9082", {"strings": {"PF-9082"}}),
        ("zq-12", {"strings": {"zq-12"}}),
        ("zq-1", {}),
        ("bf16", {}),
        ("sm_80", {}),
        ("x=2026", {"strings": {"x=2026"}}),
        ("ab.c:1234", {"strings": {"ab.c:1234"}}),
        # and the part of a compound
        ("zorbl-ax", {"names": {"zorbl"}, "words": {"zorbl"}, "strings": {"zorbl-ax"}}),
    ],
)
def test_a_string_is_evidence_as_far_as_it_is_a_sentence_or_odd(
    text: str, terms: dict[str, set[str]]
) -> None:
    assert found(f"x = {text!r}") == terms


def test_a_name_that_was_read_in_a_string_is_told_as_one() -> None:
    terms = collect_private_terms({"script.py": "x = 'gates_on'\nx.gates_off = 1"}, frozenset())
    assert terms.everywhere.names == {"gates_on": "string", "gates_off": "name"}
    assert terms.in_code.names == {"gates_on": "string"}


@pytest.mark.parametrize(("length", "is_term"), [(7, False), (8, True), (200, True), (201, False)])
def test_a_whole_string_has_from_eight_to_two_hundred_characters(
    length: int, is_term: bool
) -> None:
    whole = ("gate on " * 40)[: length - 1] + "x"
    terms = found(f"x = {whole!r}")
    kept = terms.get("strings", set()) | terms.get("code_strings", set())
    assert (whole in kept) is is_term


def test_phrases_have_three_words_with_a_telling_one_or_six_of_any() -> None:
    assert found("# two of us") == {}
    assert found("# v3 of us") == {"phrases": {("v3", "of", "us")}}
    assert found("# k8s of us") == {"phrases": {("k8s", "of", "us")}}
    assert found("# a100 of us") == {}
    assert found("# zorb of us") == {"phrases": {("zorb", "of", "us")}}
    assert found("# zqb of us") == {}
    assert found("# of the mean of the loss") == {
        "code_phrases": {("of", "the", "mean", "of", "the", "loss")}
    }
    assert found("# of the mean of the") == {}
    longer = found("# take of the mean of the loss")
    assert len(longer["code_phrases"]) == 2


@pytest.mark.parametrize(
    ("path", "terms"),
    [
        ("/a/gate.py", {}),
        ("/zorb/gate.py", {}),
        ("/zorbl/gate.py", {"words": {"zorbl"}}),
        ("C:\\zorbl\\gate.py", {"words": {"zorbl"}}),
        ("/a/zorb.py", {"code_names": {"zorb"}, "strings": {"zorb.py"}}),
        (
            "train_zorbl.py",
            {"names": {"train_zorbl"}, "words": {"zorbl"}, "strings": {"train_zorbl.py"}},
        ),
    ],
)
def test_a_path_tells_by_its_rare_words(path: str, terms: dict[str, set[str]]) -> None:
    told = collect_private_terms({path: ""}, frozenset())
    assert {name: set(value) for name, value in by_kind(told).items() if value} == terms


@pytest.mark.parametrize(
    ("term", "terms"),
    [
        ("ab", {}),
        (" ab ", {}),
        (" abc ", {"names": {"abc"}}),
        ("a b", {"strings": {"a b"}}),
        ("Tycho Brahe", {"strings": {"Tycho Brahe"}, "words": {"tycho", "brahe"}}),
    ],
)
def test_what_the_user_calls_private_is_from_three_characters_on(
    term: str, terms: dict[str, set[str]]
) -> None:
    assert found("", extra=[term]) == terms


def test_a_constant_is_a_program_only_if_it_defines_something_at_its_top() -> None:
    for program in (
        "\ndef zorblax(): pass",
        "\n    class zorblax: pass",
        "a\nasync def zorblax(): pass",
    ):
        assert found(f"x = {program!r}")["code_names"] == {"zorblax"}, program
    for prose in (
        "def zorblax(): pass",
        "if 1:\n    def zorblax(): pass",
        "a\nclass zorblax of our own",
    ):
        assert "code_names" not in found(f"x = {prose!r}"), prose
        assert prose in found(f"x = {prose!r}")["strings"], prose


def test_bytes_and_comments_are_read_as_strings_are() -> None:
    assert (
        found("x = b'zorblax'")
        == found("# zorblax")
        == {"names": {"zorblax"}, "words": {"zorblax"}}
    )
    assert found("x = 1  #! zorblax") == found("# zorblax")


def test_a_program_that_cannot_be_parsed_is_read_as_prose_and_as_names() -> None:
    terms = found("this is not (python ZorblaxNet gate_score x1")
    assert terms["names"] == {"ZorblaxNet", "gate_score"}
    assert {"zorblax", "zorblaxnet"} <= terms["words"]
    assert ("not", "python", "zorblaxnet") in terms["phrases"]


TERMS = Terms(
    TermSet(
        names={"GateNet": "name"},
        strings={"see PF-9082": "string"},
        phrases=frozenset({("v3", "of", "us")}),
        numbers=frozenset({0.18215}),
    ),
    in_code=TermSet(
        names={"gate": "name"},
        strings={"gates on": "string"},
        phrases=frozenset({("of", "the", "mean", "of", "the", "loss")}),
        numbers=frozenset({211.0}),
    ),
    words=frozenset({"zorblax"}),
)


def test_terms_are_counted_by_all_their_kinds() -> None:
    assert len(TERMS) == 9 and len(Terms()) == 0


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("", None),
        ("a GateNet of ours", "names"),
        ("a GateNets of ours", None),
        ("the gate", "code_names"),
        ("ZorblaxNet", "words"),
        ("please see PF-9082!", "strings"),
        ("the gates on it", "code_strings"),
        ("V3 of us", "phrases"),
        ("v3 - of us", "phrases"),
        ("Of the mean of the loss", "code_phrases"),
        ("0.18215 and 211", None),
    ],
)
def test_a_term_that_the_house_says_itself_is_no_evidence(said: str, gone: str | None) -> None:
    kept = TERMS.without_text(said)
    for name, values in by_kind(kept).items():
        assert bool(values) is (name != gone), name
    assert len(kept) == (9 if gone is None else 8)


@pytest.mark.parametrize("said", ["ClaimRiskGate", "a claim_risk_gate", "my_claimRiskGate2"])
def test_a_compound_that_the_house_says_itself_is_no_evidence(said: str) -> None:
    terms = terms_of("class ClaimRiskGate: pass")
    assert terms.everywhere.compounds == {"ClaimRiskGate"}
    assert terms.without_text("claim risk gate") == terms
    assert terms.without_text(said).everywhere.compounds == frozenset()


def test_a_number_that_may_leave_is_excused_whatever_its_sign() -> None:
    kept = TERMS.without_numbers([-211, 5])
    assert (kept.everywhere.numbers, kept.in_code.numbers) == (
        TERMS.everywhere.numbers,
        frozenset(),
    )
    kept = TERMS.without_numbers([0.18215])
    assert (kept.everywhere.numbers, kept.in_code.numbers) == (frozenset(), TERMS.in_code.numbers)
    assert kept.everywhere.names == TERMS.everywhere.names


@pytest.mark.parametrize(
    ("name", "private"),
    [
        ("GateNet", True),
        ("gate", True),
        ("my_zorblax2", True),
        ("gates", False),
        ("gatenet", False),
    ],
)
def test_a_name_of_the_repro_is_compared_by_its_whole_and_its_rare_words(
    name: str, private: bool
) -> None:
    assert run({"repro.py": f"{name} = 1"}, TERMS).passed is not private


def test_words_of_prose_keep_their_digits() -> None:
    assert split_prose("(Grain recipe v3), it\u2019s the user's_own") == [
        "grain",
        "recipe",
        "v3",
        "it\u2019s",
        "the",
        "user's",
        "own",
    ]
