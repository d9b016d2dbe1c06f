"""What a report's pictures show is measured on the public repro, in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reporter.exhibits import gathered
from reporter.reduce.cold import look_cold

pytest.importorskip("torch", reason="repros run with this interpreter's torch")

REPRO = """import sys

import torch
from torch._dynamo.utils import same


def custom_backend(gm, example_inputs):
    def run(*args):
        return tuple(o + (o > 5) for o in gm(*args))

    return run


def repro(x):
    y = x + 1
    z = torch.cumsum(y, 0)
    {more}
    return torch.mul(z, 2)


def inputs():
    return (torch.ones(6, 100),)


def run(compile, double=False):
    torch.manual_seed(0)
    model = repro
    args = inputs()
    if double:
        args = [x.double() if x.is_floating_point() else x for x in args]
    out = compile(model)(*args)
    return out if isinstance(out, (tuple, list)) else [out]


def main():
    try:
        expected = run(lambda model: model)
    except Exception as error:
        print("eager fails here:", error)
        sys.exit(125)
    actual = run(lambda model: torch.compile(model, backend=custom_backend))
    exact = run(lambda model: model, double=True)
    for e, a, x in zip(expected, actual, exact):
        assert same(e, a, fp64_ref=x), "wrong result"


if __name__ == "__main__":
    main()
"""
WISH = {"values": True, "positions": 8, "seconds": 60}


def look(text: str) -> list[dict[str, object]]:
    return look_cold(Path(sys.executable), text, 120, WISH)


def test_errors_along_the_graph_and_in_the_output() -> None:
    numbers, cells = gathered(look(REPRO.format(more="pass")))
    points = numbers["divergence"]["points"]
    assert [point["operator"] for point in points] == ["operator.add", "torch.cumsum", "torch.mul"]
    # the backend adds one to whatever is larger than five: not after the first operation, but from the second on
    assert [bool(point["compiled"]) for point in points] == [False, True, True]
    assert [point["eager"] for point in points] == [0.0, 0.0, 0.0]
    assert {point["reference"] for point in points} == {"float64"}
    spread = numbers["error_map"]
    assert spread["shape"] == [6, 100] and spread["step"] == [1, 2] and spread["max"] == 1.0
    assert spread["off"] == 500 and "cells" not in spread
    assert [row[0] for row in cells] == [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert {len(row) for row in cells} == {50}
    assert numbers["graph_breaks"] == [] and numbers["graphs"] == 1


def test_graph_breaks_are_lines_of_the_repro() -> None:
    text = REPRO.format(more="torch._dynamo.graph_break()")
    line = text.splitlines().index("    torch._dynamo.graph_break()") + 1
    numbers, _ = gathered(look(text))
    assert [found["line"] for found in numbers["graph_breaks"]] == [line]
    assert numbers["graphs"] == 2


@pytest.mark.slow
def test_an_exception_of_the_compiler_is_placed() -> None:
    refusal = (
        "    assert all(n.target is not torch.cumsum for n in gm.graph.nodes)\n\n    def run(*args)"
    )
    text = REPRO.format(more="pass").replace("    def run(*args)", refusal)
    points = gathered(look(text))[0]["divergence"]["points"]
    assert [point.get("error") for point in points] == [None, "AssertionError", "AssertionError"]


@pytest.mark.slow
def test_a_process_that_dies_leaves_what_it_had_measured() -> None:
    text = REPRO.format(more="pass").replace("import sys\n", "import os\nimport sys\n", 1)
    text = text.replace("tuple(o + (o > 5) for", "tuple(os.abort() if o.max() > 11 else o for")
    lines = look_cold(Path(sys.executable), text, 120, {**WISH, "values": False})
    points = gathered(lines)[0]["divergence"]["points"]
    assert points[-1]["error"] == "no end"  # the last operation is measured first


def test_lines_that_were_cut_off_are_no_trouble() -> None:
    assert gathered([]) == ({}, [])
    graph = {"graph": 0, "nodes": [{"operator": None}], "outputs": [0]}
    begun = {"graph": 0, "position": 0, "begun": True}
    numbers, _ = gathered([{"graph": graph}, begun])
    assert numbers["divergence"]["points"] == [{"position": 0, "operator": None, "error": "no end"}]
