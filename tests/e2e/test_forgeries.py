"""Programs of issues that forge what their recorder says: none of them writes its own verdict.

Each fails as its issue states, so the right answer is that it reproduces; the other permitted one
is that it cannot be judged.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.places import DATA
from tests.support.sandbox import needs_bubblewrap, triage

FORGERIES = sorted((DATA / "forgeries").glob("*.py"))
STATED = "AssertionError: Tensor-likes are not close!"


@pytest.mark.slow
@pytest.mark.parametrize("program", FORGERIES, ids=lambda path: path.stem)
def test_a_program_does_not_write_its_own_verdict(program: Path, tmp_path: Path) -> None:
    needs_bubblewrap()
    issue = tmp_path / "issue.md"
    issue.write_text(
        "# torch.compile returns a wrong result\n\n"
        f"```python\n{program.read_text()}```\n\n```\n{STATED}\n```\n"
    )
    code, document = triage(
        issue, tmp_path, "--quick", "--timeout", "900", "--python", interpreter.COLD
    )
    seen = {key: document[key] for key in ("status", "sentence", "verdict", "runs")}
    assert document["runs"][0]["match"] == "same", seen
    assert (document["status"], code) in (("cannot_judge", 125), ("reproduces", 0)), seen
    assert "Close this" not in str({**document, "repro": None, "runs": None})


def test_there_are_at_least_eight_sorts() -> None:
    assert len(FORGERIES) >= 8
