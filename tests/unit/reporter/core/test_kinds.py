"""The words of a verdict: they are written as their text, read back, and told apart completely."""

from __future__ import annotations

import ast
import json
import sqlite3
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import get_args

import pytest

import anonymizer
import collectors
import templates
from anonymizer.graph.repro import DERIVATIVE_CHECKS
from collectors.protocol.calls import LostAnswer
from collectors.protocol.comparison import TensorRole
from collectors.protocol.repro_words import VALUES_PREFIXES, Property
from collectors.protocol.starting import DerivativeKind
from collectors.protocol.words import CallOutcome, KernelOutcome
from reporter.bisect.narrowing import SearchedChange
from reporter.check import issue_subject, results
from reporter.check.arguments import Executor
from reporter.core import kinds
from reporter.core.answer import Answer
from reporter.core.errors import UsageError
from reporter.core.kinds import (
    WRONG_VALUES,
    Backend,
    CandidateOutcome,
    CheckOutcome,
    Compiler,
    Differentiation,
    Kind,
    Layer,
    RungOutcome,
    Symptom,
    read_word,
)
from reporter.diagnose import explanation, judge
from reporter.diagnose.details.culprit import BACKENDS
from reporter.lint import safety_list
from reporter.recording import findings
from reporter.report import labels
from reporter.triage import result, sentences
from reporter.triage.attempt import AttemptOutcome
from reporter.triage.reading.stated_failure import Match, StatedSymptom
from reporter.triage.result import Status
from templates import description, facts, summaries, title

REPORTER = Path(kinds.__file__).parents[1]
COLLECTORS = Path(collectors.__file__).parent
FOLDERS = (REPORTER, Path(anonymizer.__file__).parent, Path(templates.__file__).parent, COLLECTORS)
OUTCOMES: tuple[type[Enum], ...] = (
    *(CallOutcome, KernelOutcome, RungOutcome, CandidateOutcome, CheckOutcome, AttemptOutcome),
)
WORDS: tuple[type[Enum], ...] = (
    *(Kind, Layer, Backend, Compiler, Differentiation, Symptom, *OUTCOMES),
    *(Status, Match, StatedSymptom, SearchedChange, Executor, Property, TensorRole, LostAnswer),
)
MEMBERS = [member for words in WORDS for member in words]
#: Names of values that are of these enums, and keys, wherever they are compared.
TYPED: dict[str, tuple[type[Enum], ...]] = {
    "kind": (Kind,),
    "layer": (Layer,),
    "compiler": (Compiler,),
    "backward": (Differentiation,),
    "outcome": OUTCOMES,
    "symptom": (Symptom,),
    "status": (Status,),
    "match": (Match,),
    "sort": (StatedSymptom,),
    "what": (SearchedChange,),
    "executor": (Executor,),
    "property": (Property, TensorRole, LostAnswer),
}


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: f"{type(member).__name__}.{member}")
def test_a_member_is_written_as_its_text(member: Enum) -> None:
    text = member.value
    assert f"{member}|{member:>30}|{member!r}" == f"{text}|{text:>30}|{text!r}"
    assert (str(member), "%s" % member, "".join([str(member)])) == (text,) * 3  # noqa: UP031
    assert json.dumps({"a": member, member: 1}, indent=1) == json.dumps(
        {"a": text, text: 1}, indent=1
    )
    assert sqlite3.connect(":memory:").execute("SELECT ?", (member,)).fetchone() == (text,)
    assert type(member)(text) is member
    assert {member: 1}[text] == 1


def test_another_word_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match="'crush' is no Kind; these are: crash, crash_on_recompile"
    ):
        Kind("crush")
    with pytest.raises(UsageError, match="/r/report.json .*'crush' is no Kind.* update it"):
        read_word(Kind, "crush", "/r/report.json")
    assert read_word(Kind, "crash", "x") is Kind.CRASH
    assert read_word(Layer, "", "x") is read_word(Layer, None, "x") is None


def test_the_groups_hold_each_other() -> None:
    assert len(kinds.BUGS) == 9
    assert kinds.WRONG_OUTPUTS < kinds.WRONG_VALUES < kinds.SILENT < kinds.BUGS
    assert kinds.WRONG_AT_ONCE < kinds.SILENT
    assert kinds.CRASHES | kinds.SEVERAL_CALLS < kinds.BUGS
    assert not kinds.BUGS & (kinds.RIGHT_BUT_SLOW | kinds.ROUNDED)
    assert {kind for kind in Kind if kind.value.startswith("wrong")} == kinds.WRONG_AT_ONCE
    assert {kind for kind in Kind if kind.value.startswith("crash")} == kinds.CRASHES


def test_every_member_has_its_row() -> None:
    assert set(explanation.EXPLANATIONS) == set(Kind)
    assert set(sentences.SENTENCES) == set(Kind)
    assert set(labels.COMPONENTS) == set(Layer)
    assert set(judge.DOING) == set(Compiler)
    assert set(findings.ORDER) == set(Symptom)
    assert set(results.WORDS) == set(results.SHORT) == set(CheckOutcome)
    assert set(result.WORDS) == set(issue_subject.OUTCOMES) == set(Status)
    assert set(safety_list.TABLE) == set(get_args(safety_list.UnsafeKind))
    assert set(kinds.BACKEND_OF.values()) == set(Backend)
    assert set(BACKENDS) == set(kinds.BACKEND_OF) - {Layer.INDUCTOR}
    assert {prefix.rstrip(":").replace(" ", "_") for prefix in VALUES_PREFIXES} == WRONG_VALUES
    assert set(DERIVATIVE_CHECKS) == set(get_args(DerivativeKind)) - {"backward"}


def test_an_answer_with_another_outcome_is_refused() -> None:
    sent = json.loads(json.dumps(list(CandidateOutcome)))
    read = [Answer.from_json({"outcome": word}).outcome for word in sent]
    assert all(outcome is word for outcome, word in zip(read, CandidateOutcome, strict=True))
    with pytest.raises(ValueError, match="'crashed' is no outcome of a run"):
        Answer.from_json({"outcome": "crashed"})


def test_what_a_call_or_a_compilation_showed_is_said_of_its_rung() -> None:
    words = {member.value for member in RungOutcome}
    assert {member.value for member in CallOutcome} - words == {"unsupported"}  # of guards alone
    assert {member.value for member in KernelOutcome} - words == {"refused"}


def test_an_issue_has_a_name_for_every_compiler_and_layer() -> None:
    assert set(facts.COMPILERS) == set(Compiler)
    assert set(facts.LAYER_NAMES) == set(Layer) - {Layer.NONE}


def test_an_issue_renames_properties_that_there_are() -> None:
    assert set(facts.PROPERTY_NAMES) < set(Property)


def test_an_issue_has_words_for_every_kind_that_is_reported() -> None:
    assert set(summaries.SUMMARIES) == kinds.BUGS
    reported = kinds.BUGS | kinds.RIGHT_BUT_SLOW | {Kind.UNSUPPORTED}
    assert set(description.WHAT) == set(title.TITLES) == reported
    # of what a second call or the gradients show, torch.compile's sentence is said
    exported = kinds.BUGS - kinds.SEVERAL_CALLS - {Kind.WRONG_GRADIENT}
    assert set(summaries.EXPORT_SUMMARIES) == exported
    in_eager_mode = {Kind.CRASH, Kind.PROCESS_DEATH, Kind.WRONG_RESULT, Kind.WRONG_GRADIENT}
    for table in (summaries.EAGER_SUMMARIES, description.EAGER_WHAT, title.EAGER_TITLES):
        assert set(table) == in_eager_mode


@pytest.mark.parametrize("backend", Backend)
def test_a_backend_of_torch_has_a_layer(backend: Backend) -> None:
    layer = kinds.classify_backend(backend.value)
    assert kinds.BACKEND_OF[layer] is backend
    assert kinds.classify_backend("my_backend") is kinds.classify_backend("custom") is Layer.BACKEND


def test_the_end_of_a_match_is_never_reached() -> None:
    with pytest.raises(AssertionError, match="'crash' is not told apart"):
        kinds.assert_never(Kind.CRASH)  # type: ignore[arg-type]


def _bare(text: str) -> Iterator[tuple[int, str, str]]:
    """Comparisons of a kind, layer, outcome or another typed word with the bare text of a
    member: line, name, that text.
    """
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        texts = {n.value for side in sides for n in ast.walk(side) if isinstance(n, ast.Constant)}
        for name in {_named(side) for side in sides}:
            words = {member.value for words in TYPED.get(name, ()) for member in words}
            yield from ((node.lineno, name, word) for word in words & texts)


def _named(side: ast.expr) -> str:
    """What is compared, by its name or its key."""
    match side:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return key
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str() as key), *_]):
            return key
    return ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("verdict.kind == 'crash'", ("kind", "crash")),
        ("x in (1, 2) or 'eager' != report['verdict']['layer']", ("layer", "eager")),
        ("row.get('outcome', '') in ('ok', other)", ("outcome", "ok")),
        ("row['kind'] == Kind.CRASH", None),
        ("row['crash'] == 'kind'", None),
    ],
)
def test_a_comparison_with_a_bare_text_is_seen(text: str, found: tuple[str, str] | None) -> None:
    assert [row[1:] for row in _bare(text)] == ([] if found is None else [found])


def test_no_member_is_compared_by_its_text() -> None:
    others = {REPORTER / "evidence" / "call_evidence.py": {"ok"}}  # also the outcome of a tool
    found = []
    for path in sorted(path for folder in FOLDERS for path in folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for line, name, word in _bare(text):
            if name != "outcome" and COLLECTORS in path.parents:
                continue  # there words of the host are literals of a message
            if name != "outcome" or word not in others.get(path, set()):
                found.append(f"{path}:{line}: {word}")
    assert found == []
