"""A report quotes the compiler's own output, and keeps the rest of it private."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.created import check_report, create


@pytest.mark.slow
def test_a_report_quotes_the_kernel_and_keeps_the_rest(tmp_path: Path) -> None:
    created = create("any_uint8_becomes_bool", tmp_path, interpreter.WARM, "--evidence", "200")
    check_report(created)
    issue = (created.folder / "issue.md").read_text()
    assert issue.index("### Error logs") < issue.index("```cpp") < issue.index("### Versions")
    assert "bool" in issue[issue.index("```cpp") :]
    assert created.document["evidence"]["excerpt"] and created.document["evidence"]["vector_isa"]
    trace = (created.folder / "trace.log").read_text()
    assert '"dynamo_output_graph"' in trace and str(tmp_path) not in trace
    private = created.folder / "private" / "evidence"
    assert (private / "repro" / "logs").is_dir()
    assert all(path.stat().st_mode & 0o077 == 0 for path in private.rglob("*"))
