"""A row of the ablation says what differs from the repro, so that nobody asks the same twice."""

from __future__ import annotations

import math

import pytest

from anonymizer.graph.repro import ReproAssertion
from collectors.protocol.repro_words import CACHED
from reporter.core.answer import Answer
from reporter.core.kinds import UNBOUND, CandidateOutcome, Kind, Layer, RungOutcome
from reporter.core.signature import Signature
from reporter.diagnose.details.experiment import Variation
from reporter.report.sections.measurements import RungRow
from reporter.verify.ablation import find_lower_layer, list_variants, read_errors

BELOW = ("eager", "aot_eager", "aot_eager_decomp_partition")


@pytest.mark.parametrize(
    ("arguments", "own"),
    [
        ((), "inductor"),
        ((("dynamic", "True"),), "inductor"),
        ((("backend", "'aot_eager'"),), "aot_eager"),
    ],
)
def test_the_row_of_the_repros_own_backend_changes_nothing(
    arguments: tuple[tuple[str, str], ...], own: str
) -> None:
    assertion = ReproAssertion("wrong_result", arguments=arguments)
    rows = dict(list_variants(assertion, Layer.INDUCTOR, Kind.WRONG_RESULT))
    assert rows[own] == Variation("control").to_message() == {"fresh": True}
    others = [name for name in (*BELOW, "inductor") if name != own]
    assert all(rows[name] == {"fresh": True, "backend": name} for name in others)


def test_the_caches_stay_on_in_each_row_where_the_failure_is_theirs() -> None:
    assertion = ReproAssertion("stale_graph", config=(CACHED,))
    rows = dict(list_variants(assertion, Layer.INDUCTOR, Kind.STALE_GRAPH))
    assert len(rows) > 4 and not any(row["fresh"] for row in rows.values())


def test_dynamic_is_varied_under_the_top_backend_and_named_where_it_is_another() -> None:
    rows = dict(list_variants(ReproAssertion("crash"), Layer.INDUCTOR, Kind.CRASH))
    again = list_variants(ReproAssertion("crash"), Layer.INDUCTOR, Kind.CRASH_ON_RECOMPILE)
    assert rows == dict(again)
    assert set(rows) == {*BELOW, "inductor", "inductor, dynamic=True", "inductor, dynamic=False"}
    assert rows["inductor, dynamic=True"] == {"fresh": True, "dynamic": True}
    below = ReproAssertion("crash", arguments=(("backend", "'eager'"),))
    shown = dict(list_variants(below, Layer.DYNAMO, Kind.CRASH))["inductor, dynamic=False"]
    assert shown == {"fresh": True, "backend": "inductor", "dynamic": False}


def test_a_backend_of_the_programs_own_has_a_row_beside_dynamo() -> None:
    assertion = ReproAssertion("crash", arguments=(("backend", "custom_backend"),))
    rows = dict(list_variants(assertion, Layer.BACKEND, Kind.CRASH))
    assert rows["eager"] == {"fresh": True, "backend": "eager"}
    assert rows["custom"] == {"fresh": True}


def table(**outcomes: tuple[RungOutcome, str]) -> list[RungRow]:
    return [
        RungRow(name, outcome, detail, None, None, None, 1.0)
        for name, (outcome, detail) in outcomes.items()
    ]


FINE, WRONG = (RungOutcome.OK, ""), (RungOutcome.DIFFERS, "off")
TRACED = table(eager=FINE, aot_eager=WRONG)
UNBOUND_FINE, UNBOUND_WRONG = (table(**{UNBOUND: outcome}) for outcome in (FINE, WRONG))
RAISED, ELSE = (RungOutcome.RAISES, "RuntimeError"), (RungOutcome.RAISES, "TypeError")


@pytest.mark.parametrize(
    ("kind", "layer", "rows", "found"),
    [
        (Kind.CRASH, Layer.INDUCTOR, table(eager=FINE, aot_eager=RAISED), Layer.AOT_AUTOGRAD),
        (Kind.CRASH_ON_RECOMPILE, Layer.INDUCTOR, table(aot_eager=RAISED), Layer.AOT_AUTOGRAD),
        (Kind.CRASH, Layer.INDUCTOR, table(eager=FINE, aot_eager=ELSE), None),
        (Kind.CRASH, Layer.INDUCTOR, table(eager=FINE, aot_eager=FINE, inductor=RAISED), None),
        (Kind.WRONG_RESULT, Layer.DECOMPOSITION, table(eager=WRONG, aot_eager=WRONG), Layer.DYNAMO),
        (Kind.WRONG_RESULT, Layer.AOT_AUTOGRAD, table(eager=FINE, aot_eager=WRONG), None),
        (Kind.WRONG_RESULT, Layer.EXPORT, table(eager=WRONG), None),
        (Kind.WRONG_RESULT, Layer.INDUCTOR, [*TRACED, *UNBOUND_FINE], Layer.DECOMPOSITION),
        (Kind.WRONG_RESULT, Layer.DECOMPOSITION, [*TRACED, *UNBOUND_FINE], None),
        (Kind.WRONG_RESULT, Layer.DECOMPOSITION, [*TRACED, *UNBOUND_WRONG], Layer.AOT_AUTOGRAD),
        (Kind.WRONG_RESULT, Layer.INDUCTOR, [], None),
    ],
)
def test_a_repro_that_fails_below_the_scripts_layer_is_of_the_lower_one(
    kind: Kind, layer: Layer, rows: list[RungRow], found: Layer | None
) -> None:
    wanted = Signature(kind, exception="RuntimeError", layer=layer)
    assert find_lower_layer(rows, wanted) == found


@pytest.mark.parametrize(("said", "error"), [("2.5", 2.5), ("inf", math.inf), ("nan", None)])
def test_a_difference_between_infinities_is_no_number(said: str, error: float | None) -> None:
    message = f"Tensor-likes are not close!\n\nGreatest absolute difference: {said} at index (4,)"
    answer = Answer(
        CandidateOutcome.FAILS,
        {"exception": "AssertionError", "message": message, "first_line": message},
    )
    assert read_errors(answer) == (error, None, None)
