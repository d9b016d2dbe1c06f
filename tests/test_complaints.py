"""Graph breaks and recompiles of real scripts: found, placed, counted — and told without the user's words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reporter.diagnose.complaints import Complaints, GraphBreak, Recompile, collect
from reporter.findings import Recording
from tests.watched import watch

torch = pytest.importorskip("torch", reason="scripts are run with this interpreter's torch")

Complain = Callable[[str], "Complaints | None"]


@pytest.fixture
def complain(tmp_path: Path) -> Iterator[Complain]:
    """The complaints about a script's text."""
    made: list[Recording] = []

    def run(text: str) -> Complaints | None:
        made.append(watch(text, tmp_path))
        assert made[-1].exit == 0, made[-1].output
        return collect(made[-1], 120)

    yield run
    for recording in made:
        recording.close()


BREAKS = {
    "print": (
        "def secret_step(secret_x):\n    y = secret_x.sin()\n    print('loss so far')\n    return y.cos()\n",
        4,
        "print",
    ),
    "item": (
        "def secret_step(secret_x):\n    n = secret_x.sum().item()\n    return secret_x + n\n",
        3,
        "Tensor.item()",
    ),
    "if": (
        "def secret_step(secret_x):\n    if secret_x.sum() > 0:\n        return secret_x.sin()\n    return secret_x.cos()\n",
        3,
        "Data-dependent branching",
    ),
}


@pytest.mark.parametrize("kind", BREAKS)
def test_a_graph_break_is_placed_and_named(kind: str, complain: Complain) -> None:
    body, line, words = BREAKS[kind]
    text = f"import torch\n{body}torch.compile(secret_step, backend='eager')(torch.ones(3))\n"
    found = complain(text)
    assert found is not None
    (only,) = found.graph_breaks
    assert (only.line, only.function, only.count, only.whole) == (line, "secret_step", 1, False)
    assert Path(only.file).name == "script.py"
    assert found.graphs == 2 and not found.recompiles and not found.limit_hit
    assert words in only.reason + only.explanation
    assert f"1 graph break, line {line} of script.py, in `secret_step`" in found.summary()


def test_a_break_in_a_loop_leaves_the_function_to_python(complain: Complain) -> None:
    text = (
        "import torch\n"
        "def step(x):\n    for _ in range(3):\n        x = x.sin()\n        print('round')\n    return x\n"
        "torch.compile(step, backend='eager')(torch.ones(3))\n"
    )
    found = complain(text)
    assert found is not None and found.graphs == 0
    assert [(item.line, item.whole) for item in found.graph_breaks] == [(5, True)]
    assert "not compiled at all" in found.summary()


def test_fullgraph_does_not_hide_recompiles(complain: Complain) -> None:
    text = (
        "import torch\n"
        "step = torch.compile(lambda x: x + 1, backend='eager', fullgraph=True)\n"
        "step(torch.ones(3))\nstep(torch.ones(3, dtype=torch.float64))\n"
    )
    found = complain(text)
    assert found is not None and not found.graph_breaks
    (only,) = found.recompiles
    assert only.call == 2 and only.line == 2
    assert only.guard == "tensor 'x' dtype mismatch. expected Float, actual Double"
    assert only.public == "tensor argument 0 dtype mismatch. expected Float, actual Double"


def test_twelve_numbers_hit_the_limit(complain: Complain) -> None:
    text = (
        "import torch\n"
        "@torch.compile(backend='eager')\n"
        "def secret_power(x, secret_times):\n"
        "    for _ in range(secret_times):\n        x = x * 2\n    return x\n"
        "for n in range(1, 13):\n    secret_power(torch.ones(3), n)\n"
    )
    found = complain(text)
    assert found is not None and not found.graph_breaks
    assert found.limit == 8 and found.limit_hit
    assert len(found.recompiles) == 7 and found.recompiled == 7
    assert {item.function for item in found.recompiles} == {"secret_power"}
    assert "the limit of 8 recompiles was hit" in found.summary()
    public = json.dumps(found.public_json())
    assert "secret" not in public and "script.py" not in public and "argument 1" in public


def test_the_users_words_stay_private(complain: Complain) -> None:
    text = (
        "import torch\n"
        "def secret_step(x, mode):\n    torch._dynamo.graph_break()\n    return x + len(mode)\n"
        "step = torch.compile(secret_step, backend='eager')\n"
        "for mode in ('acme', 'widgets'):\n    step(torch.ones(3), mode)\n"
    )
    found = complain(text)
    assert found is not None
    private, public = json.dumps(found.to_json()), json.dumps(found.public_json())
    assert "acme" in private and "secret_step" in private
    assert not any(word in public for word in ("acme", "widgets", "secret_step", "mode", "script"))
    assert found.public_json()["graph_breaks"] == [
        {"reason": "Call to `torch._dynamo.graph_break()`", "count": 1}
    ]


def test_a_backend_that_crashes_does_not_hide_breaks(tmp_path: Path) -> None:
    text = (
        "import torch\n"
        "def crash(gm, example_inputs):\n    raise ValueError('no such kernel')\n"
        "good = torch.compile(lambda x: x + x.sum().item(), backend='eager')\n"
        "good(torch.ones(2))\n"
        "def step(x):\n    y = x.sin()\n    torch._dynamo.graph_break()\n    return y.cos()\n"
        "try:\n    torch.compile(step, backend=crash)(torch.ones(3))\nexcept Exception:\n    pass\n"
    )
    recording = watch(text, tmp_path)
    try:
        found = collect(recording, 120)
    finally:
        recording.close()
    assert found is not None
    assert sorted(item.line for item in found.graph_breaks) == [4, 8]


def test_a_clean_script_is_asked_nothing(tmp_path: Path) -> None:
    text = "import torch\nf = torch.compile(lambda x: x.sin() + 1, backend='eager')\nfor _ in range(3):\n    f(torch.ones(3))\n"
    recording = watch(text, tmp_path)
    try:
        assert len(recording.last_calls) == 1
        before = sorted(recording.folder.iterdir())
        assert collect(recording, 120) is None
        assert sorted(recording.folder.iterdir()) == before  # every request leaves a log
    finally:
        recording.close()


def test_last_calls_are_few_and_leave_no_process(tmp_path: Path) -> None:
    text = (
        "import torch\n"
        "fs = [torch.compile(lambda x, i=i: x + i, backend='eager') for i in range(6)]\n"
        "for _ in range(3):\n    for f in fs:\n        f(torch.ones(3))\n"
    )
    recording = watch(text, tmp_path)
    assert [last.call for last in recording.last_calls] == [12, 13, 14, 15]
    pids = [last.lab.pid for last in recording.last_calls]  # type: ignore[attr-defined]
    assert all(os.kill(pid, 0) is None for pid in pids)
    recording.close()
    for pid in pids:
        for _ in range(400):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.05)
        else:
            raise AssertionError(f"standby {pid} lives on")


def test_nothing_is_printed_to_the_users_streams(tmp_path: Path) -> None:
    body, _, _ = BREAKS["print"]
    text = f"import torch\n{body}torch.compile(secret_step, backend='eager')(torch.ones(3))\n"
    recording = watch(text, tmp_path)
    try:
        assert collect(recording, 120) is not None
    finally:
        recording.close()
    script = tmp_path / "job" / "script.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert recording.output == done.stdout + done.stderr


def test_the_summary_names_the_usual_function() -> None:
    again = [Recompile(2, f"n == {n}", "/home/x/a.py", 3, "step") for n in range(2)]
    found = Complaints(
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


@pytest.mark.parametrize("check", ["", "assert torch.equal(torch.ones(3) + 1, torch.ones(3) + 1)"])
def test_a_script_that_checks_results_is_asked_about_results(check: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        + BREAKS["print"][0]
        + f"torch.compile(secret_step, backend='eager')(torch.ones(3))\n{check}\n"
    )
    command = [sys.executable, "-m", "reporter", "diagnose", "--json", "--no-input"]
    done = subprocess.run(
        [*command, "--python", sys.executable, str(script)], capture_output=True, text=True
    )
    document = json.loads(done.stdout)
    assert done.returncode == 1 and len(document["complaints"]["graph_breaks"]) == 1
    assert document["verdict"]["kind"] == ("not_reproduced" if check else "graph_break")
