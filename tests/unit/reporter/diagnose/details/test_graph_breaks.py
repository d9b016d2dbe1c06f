"""Graph breaks and recompiles in one sentence."""

from __future__ import annotations

from reporter.diagnose.details.graph_breaks import GraphBreak, GraphBreakReport, Recompile


def test_the_summary_names_the_usual_function() -> None:
    again = [Recompile(2, f"n == {n}", "/home/x/a.py", 3, "step") for n in range(2)]
    found = GraphBreakReport(
        graphs=3,
        graph_breaks=(
            GraphBreak(
                "generic_jump TensorVariable()", "/home/x/a.py", 7, "step", 2, "generic_jump"
            ),
            GraphBreak("Tensor.item", "/home/x/a.py", 9, "other", 1, "Tensor.item"),
        ),
        recompiles=(Recompile(2, "k == 1", "/home/x/a.py", 9, "other"), *again),
        limit=8,
        limit_hit=False,
        recompiled=5,
    )
    assert found.summary() == (
        "2 graph breaks, the first at line 7 of a.py, in `step`: a branch depends on a tensor's value "
        "(generic_jump TensorVariable()); recompiled 5 times, most often `step`; "
        "the first guard that failed: n == 0"
    )
