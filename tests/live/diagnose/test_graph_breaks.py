"""Graph breaks and recompiles of real scripts: found, placed, counted — and told without the user's
words.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from reporter.cli.main import run
from reporter.diagnose.details.graph_breaks import collect, describe
from reporter.recording.findings import Recording
from reporter.report.sections.details import GraphBreakSection
from tests.support import interpreter, waiting
from tests.support.recorded import recorded
from tests.support.scripts import script

WatchedCallable = tuple[Recording, "GraphBreakSection | None"]


def graph_breaks(name: str, folder: Path) -> GraphBreakSection:
    """The graph breaks of a program that runs to its end."""
    with recorded(f"graph_breaks/{name}", folder) as recording:
        assert recording.script.exit == 0, recording.script.output
        found = collect(recording, 120)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def printing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedCallable]:
    """A program that prints in the middle of its compiled function, and what there is to complain
    about.
    """
    with recorded("graph_breaks/print", tmp_path_factory.mktemp("print")) as recording:
        yield recording, collect(recording, 120)


def is_placed(found: GraphBreakSection | None, name: str, line: int, words: str) -> None:
    assert found is not None
    (only,) = found.graph_breaks
    assert (only.line, only.function, only.count, only.whole) == (line, "secret_step", 1, False)
    assert Path(only.file) == script(f"graph_breaks/{name}")
    assert found.graphs == 2 and not found.recompiles and not found.limit_hit
    assert words in only.reason + only.explanation
    assert f"1 graph break, line {line} of {name}.py, in `secret_step`" in describe(found)


def test_a_graph_break_at_a_print_is_placed_and_named(printing: WatchedCallable) -> None:
    is_placed(printing[1], "print", 6, "print")


@pytest.mark.parametrize(
    ("name", "words"), [("item", "Tensor.item()"), ("branch", "Data-dependent branching")]
)
def test_a_graph_break_is_placed_and_named(name: str, words: str, tmp_path: Path) -> None:
    is_placed(graph_breaks(name, tmp_path), name, 5, words)


def test_nothing_is_printed_to_the_users_streams(printing: WatchedCallable) -> None:
    recording, found = printing
    assert found is not None
    command = [interpreter.WARM, script("graph_breaks/print")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert recording.script.output == done.stdout + done.stderr == "loss so far\n"


def test_a_break_in_a_loop_leaves_the_function_to_python(tmp_path: Path) -> None:
    found = graph_breaks("loop", tmp_path)
    assert found.graphs == 0
    assert [(item.line, item.whole) for item in found.graph_breaks] == [(7, True)]
    assert "not compiled at all" in describe(found)


def test_fullgraph_does_not_hide_recompiles(tmp_path: Path) -> None:
    found = graph_breaks("fullgraph", tmp_path)
    assert not found.graph_breaks
    (only,) = found.recompiles
    assert only.call == 2 and only.line == 3
    assert only.guard == "tensor 'x' dtype mismatch. expected Float, actual Double"
    assert only.public == "tensor argument 0 dtype mismatch. expected Float, actual Double"


def test_twelve_numbers_hit_the_limit(tmp_path: Path) -> None:
    found = graph_breaks("twelve_numbers", tmp_path)
    assert not found.graph_breaks
    assert found.limit == 8 and found.limit_hit
    assert len(found.recompiles) == 7 and found.recompiled == 7
    assert {item.function for item in found.recompiles} == {"secret_power"}
    assert "the limit of 8 recompiles was hit" in describe(found)
    public = " ".join(item.public for item in found.recompiles)
    assert "secret" not in public and "twelve" not in public and "argument 1" in public


def test_the_users_words_stay_private(tmp_path: Path) -> None:
    found = graph_breaks("private_words", tmp_path)
    items = (*found.graph_breaks, *found.recompiles)
    private, public = json.dumps(found.to_json()), " ".join(item.public for item in items)
    assert "acme" in private and "secret_step" in private
    users = ("acme", "widgets", "secret_step", "mode", "private_words")
    assert not any(word in public for word in users)
    assert [item.public for item in found.graph_breaks] == ["Call to `torch._dynamo.graph_break()`"]


def test_a_backend_that_crashes_does_not_hide_breaks(tmp_path: Path) -> None:
    found = graph_breaks("crashing_backend", tmp_path)
    assert sorted(item.line for item in found.graph_breaks) == [8, 14]


def test_a_clean_script_is_asked_nothing(tmp_path: Path) -> None:
    with recorded("graph_breaks/clean", tmp_path) as recording:
        assert len(recording.last_calls) == 1
        before = sorted(recording.folder.iterdir())
        assert collect(recording, 120) is None
        assert sorted(recording.folder.iterdir()) == before  # every request leaves a log


def test_last_calls_are_few_and_leave_no_process(tmp_path: Path) -> None:
    with recorded("graph_breaks/six_callables", tmp_path) as recording:
        assert [last.call for last in recording.last_calls] == [12, 13, 14, 15]
        sessions = [last.call_session for last in recording.last_calls]
        pids = [session.pid for session in sessions]  # type: ignore[attr-defined]
        assert all(waiting.is_running(pid) for pid in pids)
    for pid in pids:
        waiting.until(lambda pid=pid: not waiting.is_running(pid), f"the end of fork server {pid}")


@pytest.mark.parametrize(
    ("name", "kind"), [("print", "graph_break"), ("print_and_check", "not_reproduced")]
)
def test_a_script_that_checks_results_is_asked_about_results(
    name: str, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--json", "--no-input", "--python", str(interpreter.WARM)]
    code = run(["diagnose", *options, str(script(f"graph_breaks/{name}"))])
    document = json.loads(capfd.readouterr().out)
    assert code == 1 and len(document["graph_breaks"]["graph_breaks"]) == 1
    assert document["verdict"]["kind"] == kind
