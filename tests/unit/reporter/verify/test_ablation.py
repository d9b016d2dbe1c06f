"""A row of the ablation says what differs from the repro, so that nobody asks the same twice."""

from __future__ import annotations

import pytest

from anonymizer.graph.boilerplate import ReproCheck
from reporter.core.kinds import Kind, Layer
from reporter.diagnose.details.experiment import Variation
from reporter.verify.ablation import variants

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
    check = ReproCheck("wrong_result", arguments=arguments)
    rows = dict(variants(check, Layer.INDUCTOR, Kind.WRONG_RESULT))
    assert rows[own] == Variation("control").message() == {"fresh": True}
    others = [name for name in (*BELOW, "inductor") if name != own]
    assert all(rows[name] == {"fresh": True, "backend": name} for name in others)


def test_dynamic_is_varied_under_the_top_backend_and_named_where_it_is_another() -> None:
    rows = dict(variants(ReproCheck("crash"), Layer.INDUCTOR, Kind.CRASH))
    assert set(rows) == {*BELOW, "inductor", "inductor, dynamic=True", "inductor, dynamic=False"}
    assert rows["inductor, dynamic=True"] == {"fresh": True, "dynamic": True}
    below = ReproCheck("crash", arguments=(("backend", "'eager'"),))
    shown = dict(variants(below, Layer.DYNAMO, Kind.CRASH))["inductor, dynamic=False"]
    assert shown == {"fresh": True, "backend": "inductor", "dynamic": False}


def test_a_backend_of_the_programs_own_has_a_row_beside_dynamo() -> None:
    check = ReproCheck("crash", arguments=(("backend", "custom_backend"),))
    rows = dict(variants(check, Layer.BACKEND, Kind.CRASH))
    assert rows["eager"] == {"fresh": True, "backend": "eager"}
    assert rows["custom"] == {"fresh": True}
