"""`bugreport lint` on a report, on a file, and on nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from templates.issue import render_issue
from tests.support import outgoing_data as data
from tests.support.created import command

CRASH = data.text(data.CRASH)


def run(*arguments: str | Path, cwd: Path) -> tuple[int, dict[str, Any], str]:
    done = command("lint", "--json", *arguments, cwd=cwd)
    return done.returncode, json.loads(done.stdout), done.stderr


def test_findings_reach_the_exit_code_the_document_and_the_talk(tmp_path: Path) -> None:
    report = data.with_issue(data.crash_report().to_json(), key="ab")
    (tmp_path / "report.json").write_text(json.dumps(report))
    (tmp_path / "repro.py").write_text(CRASH)
    (tmp_path / "issue.md").write_text(render_issue(report, CRASH))
    code, document, talk = run(tmp_path, cwd=tmp_path)
    assert (code, document["clean"]) == (0, True)  # that a person should add words is advice
    assert [row["rule"] for row in document["findings"]] == ["human-words"]
    assert "(advice)" in talk
    (tmp_path / "bad.py").write_text("import socket\n")
    code, document, talk = run("bad.py", cwd=tmp_path)
    assert (code, document["clean"]) == (1, False)
    assert "bad.py:1: the safety list has network (socket) [safety]" in talk
    for name, exit_code in (("issue.md", 0), ("repro.py", 0), ("nothing.md", 2), (".", 0)):
        assert command("lint", name, cwd=tmp_path).returncode == exit_code, name
    (tmp_path / "empty").mkdir()
    done = command("lint", "empty", cwd=tmp_path)
    assert done.returncode == 2 and "no issue.md" in done.stderr
