"""The structured trace, rebuilt: what torch made of the repro, nothing of the machine."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from reporter.evidence import structured_trace
from reporter.evidence.structured_trace import rebuild_trace

SITE = "/home/ann/env/lib/python3.11/site-packages/torch/_dynamo/convert_frame.py"


def record(payload: str = "", **what: object) -> str:
    if payload:
        what["has_payload"] = hashlib.md5(payload.encode()).hexdigest()
    text = "".join(f"\t{line}\n" for line in payload.split("\n")) if payload else ""
    return f"V1124 00:58:28.822000 28764 torch/_dynamo/utils.py:2350] {json.dumps(what)}\n{text}"


def rebuilt(tmp_path: Path, *records: str) -> str:
    (tmp_path / "one.log").write_text("".join(records))
    return rebuild_trace(tmp_path)


def test_paths_processes_and_hosts_are_not_in_it(tmp_path: Path) -> None:
    frames = [
        {"line": 1, "name": "main", "filename": 0, "loc": "main()"},
        {"line": 9, "name": "<module>", "filename": 1, "loc": "torch.compile(fn)(x)"},
        {"line": 3, "name": "compile", "filename": 2, "loc": "return f(x)"},
    ]
    text = rebuilt(
        tmp_path,
        record(str=["/home/ann/tool/run.py", 0]),
        record(str=["/tmp/evidence-1/run/repro.py", 1]),
        record(str=[SITE, 2]),
        record(dynamo_start={"stack": frames}, frame_id=0),
        record("# File: /tmp/evidence-1/run/repro.py:5 in fn\nx = 1", dynamo_output_graph={}),
        record("code", inductor_output_code={"filename": "/tmp/evidence-1/cache/ab/c.py"}),
        record(compilation_metrics={"compile_id": "0/0", "co_filename": "/home/ann/x", "n": 3}),
    )
    assert not re.search(r"ann|tmp|evidence-1|28764|/home", text)
    assert '"str": ["repro.py", 1]' in text and '"torch/_dynamo/convert_frame.py", 2' in text
    assert '"filename": 1' in text and '"filename": 0' not in text
    assert "\t# File: repro.py:5 in fn\n\tx = 1\n" in text
    assert '"compile_id": "0/0", "co_name": null, "n": 3' in text


@pytest.mark.parametrize(
    "private",
    [
        record("import os\nos.environ['A'] = 'b'", artifact={"name": "fx_graph_runnable"}),
        record("cpp.cxx = falconridge", artifact={"name": "torch._functorch.config"}),
        record(new_kind={"user": "ann"}),
        "not a record at all\n",
        "V1124 00:58:28.822000 28764 torch/x.py:1] {broken\n\tann\n",
    ],
)
def test_kinds_of_records_that_are_not_known_stay_behind(private: str, tmp_path: Path) -> None:
    kept = record("graph", artifact={"name": "after_joint_graph"}, frame_id=0)
    text = rebuilt(tmp_path, private, kept)
    assert text == kept.replace("28764", "0")


def test_a_payload_keeps_a_true_checksum(tmp_path: Path) -> None:
    text = rebuilt(tmp_path, record("a\n/home/ann/b.py\n\nc", dynamo_guards={}))
    head, *lines = text.splitlines()
    payload = "\n".join(line[1:] for line in lines)
    assert payload == "a\nb.py\n\nc"
    assert json.loads(head[head.index("{") :])["has_payload"] == (
        hashlib.md5(payload.encode()).hexdigest()
    )


def test_a_long_trace_ends_with_a_whole_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = record("graph", dynamo_guards={})
    monkeypatch.setattr(structured_trace, "MOST", 2 * len(one))
    assert rebuilt(tmp_path, *[one] * 5) == 2 * one.replace("28764", "0")


def test_no_trace_is_an_empty_text(tmp_path: Path) -> None:
    assert rebuild_trace(tmp_path / "none") == ""


def test_the_version_of_a_torch_built_in_house_is_not_in_it(tmp_path: Path) -> None:
    told = {"pytorch_version": "2.13.0+falconridge", "commit": "c" * 40, "oss": True, "house": "x"}
    text = rebuilt(tmp_path, record(json.dumps(told), artifact={"name": "torch_version"}))
    assert '"pytorch_version": "2.13.0+local"' in text and "c" * 40 in text
    assert "falconridge" not in text and "house" not in text
