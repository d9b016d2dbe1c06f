"""Graph breaks and recompiles in one sentence."""

from __future__ import annotations

from reporter.diagnose.details.graph_breaks import describe
from reporter.report.sections.details import GraphBreakRow, GraphBreakSection, RecompileRow


def test_the_summary_names_the_usual_function() -> None:
    again = [
        RecompileRow(call=2, guard=f"n == {n}", file="/home/x/a.py", line=3, function="step")
        for n in range(2)
    ]
    other = RecompileRow(call=2, guard="k == 1", file="/home/x/a.py", line=9, function="other")
    found = GraphBreakSection(
        graphs=3,
        graph_breaks=(
            GraphBreakRow(
                reason="generic_jump TensorVariable()",
                file="/home/x/a.py",
                line=7,
                function="step",
                count=2,
                public="generic_jump",
            ),
            GraphBreakRow(
                reason="Tensor.item",
                file="/home/x/a.py",
                line=9,
                function="other",
                count=1,
                public="Tensor.item",
            ),
        ),
        recompiles=(other, *again),
        limit=8,
        limit_hit=False,
        recompiled=5,
    )
    assert describe(found) == (
        "2 graph breaks, the first at line 7 of a.py, in `step`: "
        "a branch depends on a tensor's value "
        "(generic_jump TensorVariable()); recompiled 5 times, most often `step`; "
        "the first guard that failed: n == 0"
    )
