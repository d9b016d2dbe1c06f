"""Graphs inside of a graph: what a higher-order operator runs is a program of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.utils.checkpoint import checkpoint

from anonymizer.graph.expressions import NotPublicError
from anonymizer.graph.ir_json import read_graph
from anonymizer.graph.recipes import make_recipe_chooser
from collectors.dynamo import capture
from tests.support.round_trips import call_of, in_a_fork


def branches(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda t: t.relu() * 2, lambda t: t.cos(), (x,)) + x


def loop(x: Any) -> Any:
    def step(i: Any, t: Any) -> Any:
        return i + 1, t.sigmoid()

    return while_loop(lambda i, t: i < 2, step, (torch.tensor(0), x))[1].exp()


def steps(x: Any) -> Any:
    def step(carried: Any, row: Any) -> Any:
        return carried + row.tanh(), row.clone()

    return scan(step, torch.zeros(3), x, dim=0)[1].exp()


def stage(x: Any) -> Any:
    return checkpoint(lambda t: t.relu().sin(), x, use_reentrant=False).exp()


def nested(x: Any) -> Any:
    def outer(t: Any) -> Any:
        return checkpoint(lambda u: u.tan(), t, use_reentrant=False).cos()

    return torch.cond(x.sum() > 0, outer, lambda t: t.sin(), (x,)).exp()


def graphs(program: Callable[[Any], Any]) -> list[tuple[list[str], list[tuple[int, ...]]]]:
    """Targets and input shapes of each graph of a program, the innermost first."""

    def work() -> Any:
        call = call_of((program, (torch.ones(4, 3),)))
        return capture.capture(call, {"id": 0, "op": "capture", "allow": []})["graphs"]

    found = []
    for graph in in_a_fork(work):
        try:
            made = read_graph(graph, make_recipe_chooser("plain"))
        except NotPublicError:
            found.append(([], []))
            continue
        targets = [node.target.rsplit(".", 1)[-1] for node in made.nodes]
        found.append((targets, [item.meta.shape for item in made.inputs]))
    return found


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        # the branch that is taken; what is around it goes on with its result
        (branches, [(["relu", "mul"], [(4, 3)]), (["add"], [(4, 3), (4, 3)])]),
        (loop, [(["add", "sigmoid"], [(), (4, 3)]), (["exp"], [(4, 3)])]),
        # one row of what a scan goes through
        (steps, [(["tanh", "add", "clone"], [(3,), (3,)]), (["exp"], [(4, 3)])]),
        (stage, [(["relu", "sin"], [(4, 3)]), (["exp"], [(4, 3)])]),
        (nested, [(["tan"], [(4, 3)]), (["cos"], [(4, 3)]), (["exp"], [(4, 3)])]),
    ],
)
def test_what_a_higher_order_operator_runs_is_a_graph_of_its_own(
    program: Callable[[Any], Any], expected: list[tuple[list[str], list[tuple[int, ...]]]]
) -> None:
    assert graphs(program) == expected
