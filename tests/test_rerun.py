"""Where nothing can be forked the program is run again for each question, and still answers about the recorded call."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reporter.findings import Recording
from reporter.recording import Session

torch = pytest.importorskip("torch", reason="scripts are run with this interpreter's torch")

Record = Callable[[str], Recording]

#: A backend whose results are one too high, for programs that print what they draw.
WRONG = """
import os, random, sys, time
import torch
def wrong(graph, inputs):
    return lambda *given: tuple(out + 1 for out in graph(*given))
"""


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """Records a script's text without a single fork of it, two runs at a time."""
    made: list[Recording] = []

    def run(text: str) -> Recording:
        script = tmp_path / "script.py"
        script.write_text(text)
        session = Session(
            Path(sys.executable),
            [str(script)],
            module=False,
            cwd=tmp_path,
            timeout=120,
            cache=tmp_path / "cache",
            echo=None,
            talk=lambda _: None,
            reruns=2,
        )
        made.append(session.run())
        return made[-1]

    yield run
    for recording in made:
        recording.close()


def ask(recording: Recording, name: str, **rung: Any) -> dict[str, Any]:
    """One run of the first finding's call; its snapshot is NAME.pt."""
    rung["snapshot"] = str(recording.folder / f"{name}.pt")
    limit = rung.pop("limit", 60)
    return recording.findings[0].lab.request({"op": "run", "rung": rung}, limit)


def compare(recording: Recording, one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    message = {"op": "compare", "reference": one["snapshot"], "actual": two["snapshot"]}
    compared = recording.findings[0].lab.request(message, 60)
    return dict(compared["comparison"])


def test_a_program_that_draws_new_numbers_each_time_still_makes_the_recorded_call(
    record: Record,
) -> None:
    recording = record(WRONG + """
torch.manual_seed(time.time_ns() % 1000003)
model = torch.nn.BatchNorm1d(4)
model.running_mean += random.random()
function = torch.compile(lambda x: model(x) + torch.rand(4) * random.random(), backend=wrong)
function(torch.randn(3, 4) + random.random())
""")
    assert [(f.call, f.symptom) for f in recording.findings] == [(0, "differs")]
    worst = recording.findings[0].comparison
    assert worst is not None and len(worst["values"]) == 1  # the buffers changed alike
    first, second = (ask(recording, name, how="eager") for name in ("a", "b"))
    assert first["outcome"] == second["outcome"] == "ok"
    assert compare(recording, first, second)["equal"]
    compiled = ask(recording, "c", how="compiled")
    assert not compare(recording, first, compiled)["same"]


def test_a_later_call_finds_the_weights_that_earlier_ones_have_changed(record: Record) -> None:
    recording = record(WRONG + """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
        self.calls = 0
    def forward(self, x):
        return self.layer(x)
def backend(graph, inputs):
    return wrong(graph, inputs) if inputs[-1].shape[0] == 5 or 5 in [i.shape[0] for i in inputs] else graph
model = Model()
compiled = torch.compile(model, backend=backend, dynamic=False)
optimizer = torch.optim.SGD(model.parameters(), lr=random.random())
for size in (4, 5):
    compiled(torch.rand(size, 3)).sum().backward()
    optimizer.step()
""")
    finding = recording.findings[0]
    assert (finding.call, finding.symptom) == (1, "differs")
    eager, compiled = ask(recording, "e", how="eager"), ask(recording, "c", how="compiled")
    recorded = {"snapshot": finding.returned}
    assert compare(recording, compiled, recorded)["equal"]
    difference = compare(recording, eager, recorded)["values"][0]
    assert difference["max_abs_error"] == pytest.approx(1.0, abs=1e-5)


def test_a_death_a_hang_and_an_exception_are_told_apart(record: Record) -> None:
    recording = record(WRONG + """
def fatal(graph, inputs):
    print("about to go", flush=True)
    os.abort()
torch.compile(torch.nn.ReLU(), backend=fatal)(torch.rand(3))
""")
    assert [f.symptom for f in recording.findings] == ["died"]
    assert recording.exit != 0
    again = ask(recording, "again", how="compiled")
    assert (again["outcome"], again["signal"]) == ("died", "SIGABRT")
    assert "about to go" in again["detail"]
    assert ask(recording, "eager", how="eager")["outcome"] == "ok"
    assert ask(recording, "unknown", how="compiled", backend="no-such")["outcome"] == "raises"


def test_a_time_limit_ends_the_run_and_shows_where_it_was(record: Record) -> None:
    recording = record(WRONG + """
import threading
def slow(graph, inputs):
    if threading.current_thread() is not threading.main_thread():
        time.sleep(600)
    return wrong(graph, inputs)
torch.compile(torch.nn.ReLU(), backend=slow)(torch.rand(3))
""")
    started = time.monotonic()
    answer = ask(recording, "slow", how="compiled", limit=4)
    assert answer["outcome"] == "timeout" and "in slow" in answer["detail"]
    assert time.monotonic() - started < 60


def test_a_program_that_makes_another_call_is_not_asked(record: Record) -> None:
    recording = record(WRONG + """
path = "runs.txt"
runs = len(open(path).read()) if os.path.exists(path) else 0
open(path, "a").write(".")
torch.compile(torch.nn.ReLU(), backend=wrong)(torch.rand(3 + runs))
""")
    assert not recording.findings and recording.unchecked == 1


def test_gradients_that_flowed_into_the_call_are_given_to_its_repetitions(record: Record) -> None:
    recording = record(WRONG + """
from torch._dynamo.backends.common import aot_autograd
def doubled(graph, inputs):
    return lambda given: [out * 2 if out is not None else out for out in graph(*given)]
def boxed(maker):
    def compiler(graph, inputs):
        made = maker(graph, inputs)
        made._boxed_call = True
        return made
    return compiler
plain = boxed(lambda graph, inputs: lambda given: graph(*given))
backend = aot_autograd(fw_compiler=plain, bw_compiler=boxed(doubled))
weight = torch.rand(3, requires_grad=True)
out = torch.compile(lambda x: (x * weight).sin(), backend=backend)(torch.rand(3))
(out * random.random()).sum().backward()
""")
    assert [f.symptom for f in recording.findings] == ["gradient"]


def test_nothing_runs_any_more_when_the_recording_is_closed(record: Record) -> None:
    recording = record(WRONG + "torch.compile(torch.nn.ReLU(), backend=wrong)(torch.rand(3))\n")
    assert ask(recording, "a", how="eager")["outcome"] == "ok"
    folder = str(recording.folder)
    assert _running(folder)  # the run that waits for the next question
    recording.close()
    deadline = time.monotonic() + 10
    while _running(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _running(folder)
    assert ask(recording, "b", how="eager")["outcome"] == "died"


def _running(folder: str) -> list[int]:
    """The processes whose command line names a file of `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and folder in (entry / "cmdline").read_text():
                found.append(int(entry.name))
        except OSError:
            continue
    return found
