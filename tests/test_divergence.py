"""The divergence profile on calls whose faulty operation is known: the backend of the script is what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reporter.diagnose import divergence
from reporter.diagnose.divergence import Point, Profile
from reporter.findings import Recording
from reporter.recording import Session

pytest.importorskip("torch", reason="scripts are run with this interpreter's torch")

Profiled = Callable[..., "Profile | None"]

#: A backend that computes tanh where sigmoid is asked for.
BACKEND = (
    "import os, torch\n"
    "def swapped(gm, inputs):\n"
    "    for node in gm.graph.nodes:\n"
    "        if node.target is torch.sigmoid:\n            node.target = torch.tanh\n"
    "    gm.recompile()\n"
    "    return gm.forward\n"
)
LONG = (
    "def f(x):\n"
    "    for i in range(8):\n"
    "        x = x + torch.sin(x) / 9\n"
    "        if i == 4:\n            x = torch.sigmoid(x)\n"
    "    return x\n"
)
CALL = "g = torch.compile(f, backend=swapped)\n"


@pytest.fixture
def profiled(tmp_path: Path) -> Iterator[Profiled]:
    """Records a script and profiles its first finding."""
    recordings: list[Recording] = []

    def run(text: str, python: str = sys.executable, budget: float = 120, **asked: Any) -> Any:
        script = tmp_path / "script.py"
        script.write_text(text)
        session = Session(
            Path(python),
            [str(script)],
            module=False,
            cwd=tmp_path,
            timeout=120,
            cache=tmp_path / "cache",
            echo=None,
            talk=lambda _: None,
        )
        recording = session.run()
        recordings.append(recording)
        assert recording.findings, recording.output
        finding = next(f for f in recording.findings if bool(f.grads) == asked.get("grads", False))
        settings = {"grads": False, "backend": None, "config": {}, **asked}
        return divergence.profile(
            finding, budget_seconds=budget, timeout=60, jobs=2, say=lambda _: None, **settings
        )

    yield run
    for recording in recordings:
        recording.close()


def first_of(profile: Profile | None) -> str | None:
    assert profile is not None and profile.complete and profile.first is not None
    assert profile.points[-1].position < profile.of
    return profile.operator


@pytest.mark.parametrize("release", ["v20", "v26", "v213", "v215"])
def test_the_faulty_operation_is_found_on_every_release(
    release: str, profiled: Profiled, release_python: Callable[[str], Path]
) -> None:
    text = BACKEND + LONG + CALL + "g(torch.ones(3))\n"
    assert first_of(profiled(text, str(release_python(release)))) == "torch.sigmoid"


def test_gradients_part_at_the_operation_whose_backward_is_wrong(profiled: Profiled) -> None:
    text = BACKEND + LONG + CALL + "g(torch.ones(3, requires_grad=True)).sum().backward()\n"
    profile = profiled(text, grads=True)
    assert first_of(profile) == "torch.sigmoid"
    assert profile is not None and profile.grads and "gradients" in profile.summary()


def test_an_assignment_to_a_part_of_a_tensor_is_an_operation_too(profiled: Profiled) -> None:
    text = BACKEND.replace("torch.sigmoid", "__import__('operator').setitem").replace(
        "node.target = torch.tanh", "node.args = (node.args[0], 0, node.args[2])"
    )
    body = "def f(x):\n    y = torch.zeros(4)\n    y[1] = x.cos()[0]\n    for _ in range(14):\n        y = torch.sin(y) + x\n    return y\n"
    assert first_of(profiled(text + body + CALL + "g(torch.ones(4))\n")) == "operator.setitem"


def test_a_fault_on_a_branch_is_not_cleared_by_another_branch(profiled: Profiled) -> None:
    body = (
        "def f(x):\n"
        "    a = torch.sigmoid(x)\n"
        "    b = x\n"
        "    for _ in range(20):\n        b = torch.cos(b)\n"
        "    return a.exp().exp(), b\n"
    )
    assert first_of(profiled(BACKEND + body + CALL + "g(torch.ones(3))\n")) == "torch.sigmoid"


def test_the_graph_that_differs_is_profiled_of_several(profiled: Profiled) -> None:
    body = "def f(x):\n    y = x.cos() + 1\n    torch._dynamo.graph_break()\n    return torch.sigmoid(y).exp()\n"
    profile = profiled(BACKEND + body + CALL + "g(torch.ones(3))\n")
    assert first_of(profile) == "torch.sigmoid"
    assert profile is not None and profile.first == 0 and profile.of == 2


def test_inputs_that_the_graph_changes_are_put_back(profiled: Profiled) -> None:
    body = (
        "def f(x, seen):\n    seen.add_(1)\n    x = x * seen\n"
        "    for _ in range(6):\n        x = torch.sin(x)\n        seen.mul_(2)\n"
        "    return torch.sigmoid(x + seen / 99)\n"
    )
    text = BACKEND + body + CALL + "g(torch.ones(3), torch.zeros(3))\n"
    profile = profiled(text)
    assert first_of(profile) == "torch.sigmoid"
    assert profile is not None and [p.position for p in profile.points if not p.same] == [
        profile.of - 1
    ]


def test_random_numbers_are_the_same_for_all(profiled: Profiled) -> None:
    body = "def f(x):\n    x = torch.nn.functional.dropout(x, 0.5) + torch.rand(64)\n    return torch.sigmoid(x)\n"
    assert first_of(profiled(BACKEND + body + CALL + "g(torch.ones(64))\n")) == "torch.sigmoid"


def test_a_cut_inside_an_autocast_region_closes_it(profiled: Profiled) -> None:
    body = (
        "def f(x, w):\n"
        "    with torch.autocast('cpu', dtype=torch.bfloat16):\n"
        "        y = torch.sigmoid(x @ w)\n        z = y @ w\n"
        "    return z.float() + (x @ w)\n"
    )
    text = BACKEND + body + CALL + "g(torch.ones(3, 3), torch.ones(3, 3))\n"
    profile = profiled(text)
    assert first_of(profile) == "torch.sigmoid"
    assert profile is not None and profile.failed == 0


def test_a_prefix_that_ends_its_process_loses_no_other(profiled: Profiled) -> None:
    deadly = BACKEND.replace(
        "    gm.recompile()\n",
        "    ends = [n for n in gm.graph.nodes if n.op == 'output'][0].args[0]\n"
        "    if ends[0].target is torch.exp:\n        os.abort()\n    gm.recompile()\n",
    )
    body = (
        "def f(x):\n    for _ in range(3):\n        x = torch.exp(-x)\n"
        "    return torch.sigmoid(x).cos()\n"
    )
    profile = profiled(deadly + body + CALL + "g(torch.ones(3))\n")
    assert profile is not None and profile.operator == "torch.sigmoid"
    assert profile.failed == 3 and not profile.complete
    assert {p.operator for p in profile.points} == {"operator.neg", "torch.sigmoid", "Tensor.cos"}


def test_another_backend_may_stand_in(profiled: Profiled) -> None:
    text = BACKEND + LONG + CALL + "g(torch.ones(3))\n"
    profile = profiled(text, backend="eager")
    assert profile is not None and profile.first is None and profile.whole is False
    assert profile.complete and "agree" in profile.summary()


def test_names_of_the_program_do_not_enter_the_profile(profiled: Profiled) -> None:
    body = (
        "class Salary(torch.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.bonus = torch.nn.Linear(3, 3)\n"
        "    def forward(self, x):\n        return torch.sigmoid(self.bonus(x))\n"
    )
    text = BACKEND + body + "torch.compile(Salary(), backend=swapped)(torch.ones(2, 3))\n"
    profile = profiled(text)
    assert profile is not None
    assert [p.operator for p in profile.points] == ["torch.nn.functional.linear", "torch.sigmoid"]
    shown = str(profile.to_json()) + profile.summary()
    assert "bonus" not in shown and "Salary" not in shown and "alary" not in shown


def test_without_time_the_profile_says_so(profiled: Profiled) -> None:
    profile = profiled(BACKEND + LONG + CALL + "g(torch.ones(3))\n", budget=0.01)
    assert profile is None or not profile.complete


def test_a_number_without_a_value_becomes_null() -> None:
    point = Point(3, "torch.exp", float("inf"), None, float("nan"), 0.0, False, 1, 2)
    document = Profile((point,), 3, 9, "torch.exp", True).to_json()
    assert document["points"][0]["max_abs_error"] is None
    assert document["points"][0]["error_vs_fp64"] is None
    assert document["first"] == 3
