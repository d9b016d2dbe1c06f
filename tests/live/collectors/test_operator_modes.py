"""The modes that see a program's calls of torch's functions to the end of its process."""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch

from collectors.call import context, rungs
from collectors.call.operators.derivatives import Derivative, isolate, widen
from collectors.call.operators.measurement import OperatorMeasurement
from collectors.dynamo import capture
from collectors.record import operators
from collectors.record.native_calls import NativeCalls
from reporter.recording.operators import FailingCall, OperatorWatch


def test_modes_that_are_never_left_stay_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch 2.6 takes all modes away to print a tensor, and ended where one of them was gone."""
    entered = []

    class Mode:
        def __init__(self, *given: Any) -> None:
            pass

        def __enter__(self) -> Mode:
            entered.append(weakref.ref(self))
            return self

    monkeypatch.setattr(operators, "OperatorMode", Mode)
    monkeypatch.setattr(operators, "ZeroMemoryMode", Mode)
    operators.watch_operators(None, {"operators": str(tmp_path / "calls"), "zeroed": True})
    gc.collect()
    assert len(entered) == 2 and all(mode() is not None for mode in entered)


def test_a_program_that_is_to_compute_in_float64_does_so_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[Any] = []
    monkeypatch.setattr(operators, "_enter", entered.append)
    operators.watch_operators(None, {"operators": str(tmp_path / "calls"), "exact": True})
    with entered[-1]:
        assert torch.tensor([0.5]).dtype == torch.ones(2).half().dtype == torch.float64
    assert torch.tensor([0.5]).dtype == torch.float32


def test_a_backward_pass_that_raises_names_the_call_that_it_differentiates(tmp_path: Path) -> None:
    w = torch.tensor([0.5, 2.0], requires_grad=True)
    mode = operators.OperatorMode(None, str(tmp_path / "operators"), None)
    with pytest.raises(RuntimeError, match="INTERNAL ASSERT FAILED"), mode:
        doubled = w * 2  # call 0
        power = True**doubled  # call 1, which torch 2.13 cannot differentiate
        (power.sum() + doubled.sum()).backward()  # the last of calls 2 to 5
    assert OperatorWatch(tmp_path).find_last_call(died=False) == FailingCall(5, differentiated=1)
    assert OperatorWatch(tmp_path).find_last_call(died=True) == FailingCall(5, differentiated=1)


def test_a_call_after_a_backward_pass_is_no_derivative(tmp_path: Path) -> None:
    w = torch.tensor([0.5, 2.0], requires_grad=True)
    with operators.OperatorMode(None, str(tmp_path / "operators"), None):
        (w * 2).sum().backward()
        with pytest.raises(RuntimeError):
            torch.mm(w, w)
    assert OperatorWatch(tmp_path).find_last_call(died=False) == FailingCall(3)


def test_what_a_measurement_calls_is_no_call_of_the_program(tmp_path: Path) -> None:
    """`set_` of a parameter comes to no torch function mode; what the measurement calls for it
    did, and had a wrong derivative.
    """

    def count(measurement: OperatorMeasurement | None) -> int:
        mode = operators.OperatorMode(None, str(tmp_path / "operators"), None)
        mode.measurement = measurement
        with mode, measurement or contextlib.nullcontext(), torch.no_grad():
            torch.nn.Parameter(torch.rand(4)).set_(torch.rand(4))
        return mode.count

    measurement = OperatorMeasurement(str(tmp_path / "facts"), lambda: 0)
    assert count(measurement) == count(None) >= 2
    assert measurement.derivatives.list_wrong() == []


def test_a_derivative_alone_fails_as_it_does_in_the_program() -> None:
    w = torch.tensor([0.5, 2.0], requires_grad=True)
    given, named = isolate((w * 2, True), {})
    with pytest.raises(RuntimeError, match="INTERNAL ASSERT FAILED"):
        Derivative(torch.Tensor.__rpow__, "backward")(*given, **named)
    assert given[0].is_leaf and given[0].dtype == torch.float32 and w.grad is None
    assert Derivative(torch.Tensor.sin, "backward")(given[0])


@pytest.mark.parametrize(("named", "cut"), [({}, "tril"), ({"upper": True}, "triu")])
def test_the_graph_of_a_derivative_has_what_makes_the_triangle_that_is_read(
    named: dict[str, Any], cut: str
) -> None:
    given, named = widen((torch.eye(3),), named)
    conditions = rungs.CallConditions({"compiler": "eager"}, context.read_state())
    function = Derivative(torch.cholesky_inverse, "forward")
    call = rungs.RecordedCall(function, None, given, named, conditions)
    (graph,) = capture.capture(call, {"id": 0, "op": "capture", "allow": []})["graphs"]
    first, second = graph["nodes"]
    assert (first["target"], first["meta"]["shape"]) == (cut, [3, 3])
    assert second["target"] == "torch.cholesky_inverse"
    assert second["args"] == [{"ref": first["name"]}] and second["kwargs"] == named


def test_a_function_of_torch_is_noted_while_it_runs(tmp_path: Path) -> None:
    watch = OperatorWatch(tmp_path, native=True)
    spec: Any = {}
    watch.tell(spec)
    seen = []

    class Values:
        def __len__(self) -> int:
            seen.append(watch.find_last_function())
            return 1

        def __getitem__(self, index: int) -> float:
            return [0.5][index]

    NativeCalls(spec["native_calls"]).watch()
    try:
        torch.tensor(Values())
        list(map(len, [Values()]))
    finally:
        sys.setprofile(None)
    assert "torch.tensor" in seen and seen[-1] == "" and watch.find_last_function() == ""
