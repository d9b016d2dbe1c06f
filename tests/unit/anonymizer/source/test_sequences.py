"""Several calls of one program: what differed between them are parameters of its inputs."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import pytest

from anonymizer.graph.repro import FUNCTION_CALL, ReproAssertion, ReproBody
from anonymizer.harness.text import render_harness
from anonymizer.plain.script.forms import PlainForm
from anonymizer.plain.text import render_plain
from anonymizer.source.program import CallSequence, SourceProgram
from anonymizer.source.rewriting import rebuild
from reporter.reduce.source_candidates import RewrittenProgram, make_judgeable
from tests.support.gathered import handmade

TWO = "def f(x, step):\n    return torch.relu(x)"


def called(*earlier: list[dict[str, Any]], last: list[dict[str, Any]]) -> SourceProgram:
    """A function of a tensor of shape [2, 6] and a number, with calls before that."""
    gathered = handmade(TWO)
    gathered["args"] = last
    gathered["earlier"] = [{"args": call, "kwargs": {}} for call in earlier]
    return rebuild(gathered, {"relu"})


def tensor(*shape: int) -> dict[str, Any]:
    return (
        {"kind": "placeholder", "shape": list(shape)} if shape else {"kind": "tensor", "id": "t0"}
    )


def number(value: float) -> dict[str, Any]:
    return {"kind": "const", "value": repr(value), "text": False}


def inputs_of(sequence: CallSequence) -> list[str]:
    return ast.unparse(sequence.inputs).splitlines()


def test_sizes_and_numbers_that_differ_are_parameters() -> None:
    program = called(
        [tensor(2, 3), number(1)], [tensor(2, 4), number(1)], last=[tensor(), number(2)]
    )
    recorded, repeated = program.sequences
    assert inputs_of(recorded)[1:] == ["x = torch.randn(2, n)", "return (x, m)"]
    assert recorded.calls == (
        (("n", 3), ("m", 1)),
        (("n", 4), ("m", 1)),
        (("n", 6), ("m", 2)),
    )
    assert repeated.calls == ((), (), ())


def test_sizes_that_change_together_are_one() -> None:
    program = called([tensor(3, 3), number(0.5)], last=[tensor(), number(0.5)])
    recorded, _ = program.sequences
    assert recorded.calls == ((("n", 3), ("m", 3)), (("n", 2), ("m", 6)))
    square = called([tensor(6, 2), number(6)], last=[tensor(), number(2)])
    assert square.sequences[0].calls == ((("n", 6), ("m", 2)), (("n", 2), ("m", 6)))
    assert inputs_of(square.sequences[0])[-1] == "return (x, n)"


def test_calls_of_another_structure_are_left_out() -> None:
    program = called(
        [tensor(2, 3)], [tensor(2, 3, 1), number(1)], [number(1), number(1)],
        last=[tensor(), number(1)],
    )  # fmt: skip
    (repeated,) = program.sequences
    assert repeated.calls == ((), (), ())


def test_tensors_that_are_one_in_some_calls_are_a_choice() -> None:
    gathered = handmade(TWO)
    gathered["tensors"]["t1"] = gathered["tensors"]["t0"]
    one, other = ({"kind": "placeholder", "shape": [2, 6], "number": at} for at in (0, 1))
    first, second = tensor(), {"kind": "tensor", "id": "t1"}
    gathered["args"], gathered["earlier"] = [first, first], [{"args": [one, other], "kwargs": {}}]
    recorded, _ = rebuild(gathered, {"relu"}).sequences
    assert inputs_of(recorded)[-1] == "return (x, x if n else torch.randn(2, 6))"
    assert recorded.calls == ((("n", 0),), (("n", 1),))
    gathered["args"], gathered["earlier"] = [first, second], [{"args": [one, one], "kwargs": {}}]
    recorded, _ = rebuild(gathered, {"relu"}).sequences
    assert inputs_of(recorded)[-1] == "return (x, x1 if n else x)"


def test_one_tensor_that_is_passed_twice_each_time_stays_one() -> None:
    gathered = handmade(TWO)
    one, other = ({"kind": "placeholder", "shape": [2, 3], "number": at} for at in (0, 1))
    gathered["args"] = [tensor(), tensor()]
    gathered["earlier"] = [{"args": [one, one], "kwargs": {}}]
    recorded, _ = rebuild(gathered, {"relu"}).sequences
    assert inputs_of(recorded)[1:] == ["x = torch.randn(2, n)", "return (x, x)"]
    # tensors of two sizes cannot both be told by the one that stands for them
    gathered["earlier"] = [{"args": [one, {**other, "shape": [2, 4]}], "kwargs": {}}]
    assert len(rebuild(gathered, {"relu"}).sequences) == 1


def test_views_of_one_storage_are_tensors_of_their_own_in_calls_where_they_were() -> None:
    gathered = handmade(TWO)
    half = {**gathered["tensors"]["t0"], "shape": [4], "stride": [1]}
    gathered["tensors"] = {"t0": half, "t1": {**half, "offset": 2}}
    gathered["storages"] = [["t0", "t1"]]
    gathered["args"] = [{"kind": "tensor", "id": key} for key in ("t0", "t1")]
    given = [{"kind": "placeholder", "shape": [4], "number": at} for at in (0, 1)]
    gathered["earlier"] = [{"args": given, "kwargs": {}}]
    recorded, _ = rebuild(gathered, {"relu"}).sequences
    view = "storage0[2:6]"
    assert f"x1 = {view} if n else torch.randn(4)" in inputs_of(recorded)


def test_a_tensor_of_one_element_has_other_values() -> None:
    gathered = handmade(TWO)
    gathered["tensors"]["t0"] = {**gathered["tensors"]["t0"], "shape": [], "stride": []}
    gathered["args"] = [tensor(), number(1)]
    numbered, _ = rebuild(gathered, {"relu"}).sequences
    assert inputs_of(numbered)[1:] == ["x = torch.tensor(n)", "return (x, 1)"]
    assert numbered.calls == ((("n", 1.0),), (("n", 2.0),), (("n", 3.0),))


def test_zeros_of_both_signs_are_two_numbers() -> None:
    recorded, _ = called([tensor(2, 6), number(0.0)], last=[tensor(), number(-0.0)]).sequences
    assert str(recorded.calls) == "((('n', 0.0),), (('n', -0.0),))"


def test_the_texts_call_the_program_as_often() -> None:
    program = called([tensor(2, 3), number(1)], last=[tensor(), number(1)])
    varied = called([tensor(2, 6), number(0.5)], last=[tensor(), number(1.5)])
    sequences = (*program.sequences, varied.sequences[0])
    loops = ("for n in (3, 6):", "for _ in range(3):", "for y in (0.5, 1.5):")
    for sequence, loop in zip(sequences, loops):
        body = ReproBody(
            program.write_definitions(),
            program.callable_expression,
            tuple(inputs_of(sequence)),
            FUNCTION_CALL,
            sequence.calls[-1],
        )
        assertion = ReproAssertion("crash_on_recompile", calls=sequence.calls)
        plain = render_plain(body, assertion, PlainForm.PLAINEST)
        assert loop in plain
        for text in (plain, render_harness(body, assertion)):
            ast.parse(text)


def test_an_exported_program_is_also_called_with_other_sizes_than_those_of_its_example() -> None:
    content = RewrittenProgram(called([tensor(2, 3)], last=[tensor()]))
    asserted = [
        assertion.calls
        for _, assertion in make_judgeable(content, ReproAssertion("crash", compiler="export"))
    ]
    assert asserted == [(), ((("n", 3),), (("n", 6),))]


COUNTER = """
class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("attr1", torch.zeros(()))
    def forward(self, x):
        WRITE
        return x + self.attr1
"""
PACKAGE = ReproAssertion("wrong_result", compiler="aoti", steps=("package",))


def counter(write: str) -> SourceProgram:
    """A module with a buffer, whose forward pass writes as it is told."""
    text = COUNTER.replace("WRITE", write)
    made = replace(called(last=[tensor()]), definitions=ast.parse(text))
    return replace(made, callable_expression="Repro()")


@pytest.mark.parametrize(
    ("write", "calls"),
    [
        ("self.attr1 += 1", [((), (), ()), ()]),
        ("self.attr1 = self.attr1 * 2", [((), (), ()), ()]),
        ("self.attr1.add_(1)", [((), (), ()), ()]),
        ("self.attr1[...] = x.sum()", [((), (), ()), ()]),
        ("x = self.attr1.add(1)", [()]),
        ("x = self.attr1.__add__(1)", [()]),
    ],
)
def test_a_package_that_writes_to_its_buffers_is_first_called_again_and_again(
    write: str, calls: list[Any]
) -> None:
    found = make_judgeable(RewrittenProgram(counter(write)), PACKAGE)
    assert [assertion.calls for _, assertion in found] == calls


def test_a_package_that_counts_is_made_once_and_called_several_times() -> None:
    content, assertion = next(
        iter(make_judgeable(RewrittenProgram(counter("self.attr1 += 1")), PACKAGE))
    )
    text = render_plain(content.build_body(), assertion, PlainForm.PLAINEST)
    lines = text.splitlines()
    assert any(line.startswith("exported = torch._inductor.aoti_load_package(") for line in lines)
    assert "for _ in range(3):" in lines and "exported(x), model(x)" in lines[-1]
    # what the example draws is not what one side alone is called with
    run = render_harness(content.build_body(), assertion).partition("function = compile(model)")[2]
    assert run.splitlines()[1].strip() == "torch.manual_seed(0)"
    with pytest.raises(ValueError, match="the buffers of the module itself"):
        render_plain(
            content.build_body(), replace(assertion, compiler="export"), PlainForm.PLAINEST
        )
