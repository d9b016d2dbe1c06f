"""Torch's own tools, switched on in a process with the repro and in a fork of the private call."""

from __future__ import annotations

import json
from pathlib import Path

from reporter.core.kinds import Kind, Layer
from reporter.evidence.call_evidence import collect_call_evidence
from reporter.evidence.repro_evidence import ShownFailure, WatchedRun, collect_evidence
from tests.support import interpreter
from tests.support.created import command
from tests.support.evidence import of_breaks
from tests.support.scripts import text
from tests.support.waiting import PATIENCE
from tests.support.watched import watch


def test_every_tool_says_something_of_a_repro(tmp_path: Path) -> None:
    found = of_breaks(interpreter.WARM, "aot_eager", tmp_path / "kept")
    document = found.to_section().to_json()
    assert document["graphs"] == 4 and document["operations"] == [1, 1, 1, 1]
    assert [item["count"] for item in document["graph_breaks"]] == [2]
    assert document["graph_breaks"][0]["reason"]
    assert document["recompiles"] == 2
    assert document["compile_seconds"]["dynamo"] >= document["compile_seconds"]["aot_autograd"] > 0
    assert {item.name: item.outcome for item in found.collected} == {
        "logs": "ok",
        "trace": "ok",
        "inductor": "skipped",
        "phases": "ok",
        "explain": "ok",
    }
    assert found.excerpt is not None and "torch.ops.aten.mul" in found.excerpt.text
    assert found.excerpt.text.startswith("class ") and "site-packages" not in found.excerpt.text
    assert '"dynamo_output_graph"' in found.trace and '["repro.py", ' in found.trace
    assert str(tmp_path) not in found.trace and "/site-packages" not in found.trace
    logs = {path.stem for path in (tmp_path / "kept" / "logs").iterdir()}
    assert {"all", "guards", "graph_breaks", "recompiles", "graph_code", "aot_graphs"} <= logs


def test_a_repro_that_does_not_end_is_no_evidence() -> None:
    found = collect_evidence(
        WatchedRun(interpreter.WARM, "import time\nwhile True:\n    time.sleep(1)\n", budget=2),
        ShownFailure(Kind.HANG, Layer.INDUCTOR),
    )
    assert found.excerpt is None and found.no_excerpt == "not done within 2 s"
    assert {item.outcome for item in found.collected} == {"skipped"}


def test_the_evidence_of_a_private_call_stays_in_a_private_folder(tmp_path: Path) -> None:
    recording = watch(text("evidence/private"), tmp_path)
    try:
        call_session = recording.findings[0].call_session
        found = collect_call_evidence(call_session, tmp_path / "evidence", PATIENCE)
    finally:
        recording.close()
    outcomes = {item.name: item.outcome for item in found.collected}
    assert outcomes["explain"] == outcomes["logs"] == outcomes["trace"] == "ok"
    assert outcomes["one_function"] == "skipped"
    written = json.loads((tmp_path / "evidence" / "evidence.json").read_text())
    breaks = next(c for c in written["collectors"] if c["collector"] == "explain")["facts"]
    place = breaks["graph_breaks"][0]
    assert place["function"] == "forward" and place["file"].endswith("script.py")
    assert "secret_rows" in (tmp_path / "evidence" / "logs" / "all.log").read_text()
    assert (tmp_path / "evidence" / "evidence.json").stat().st_mode & 0o077 == 0


def test_the_command_compiles_the_one_function_that_was_named_and_writes_nowhere_else(
    tmp_path: Path,
) -> None:
    job = tmp_path / "script.py"
    job.write_text(text("evidence/private"))
    words = ["evidence", "--json", "--no-input", "--python", interpreter.WARM]
    words += ["--function", "helper_of_acme", "-o", tmp_path / "one", job]
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["folder"] == str(tmp_path / "one")
    facts = {row["collector"]: row["facts"] for row in document["collectors"]}
    # one graph, and no break in the function that calls it
    assert facts["explain"]["graphs"] == 1 and facts["explain"]["graph_breaks"] == []
    assert {path.name for path in tmp_path.iterdir()} == {"script.py", "one"}
    again = command(*words, cwd=tmp_path)
    assert again.returncode == 2 and "exists already" in again.stderr
