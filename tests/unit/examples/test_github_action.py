"""The GitHub Action, as far as a machine without GitHub can run it: its steps are executed by bash,
with a stand-in for the tool.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.places import ROOT

ACTION = ROOT / "examples" / "github-action"
ROWS = [
    (0, "wrong_result", 0, "true"),
    (1, "rounding", 0, "false"),
    (125, "crash", 0, "false"),
    (5, "none", 5, "false"),
    (70, "none", 70, "false"),
]


def step(name: str) -> dict[str, Any]:
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    found: dict[str, Any] = next(item for item in action["runs"]["steps"] if item["name"] == name)
    return found


@pytest.mark.parametrize(("code", "verdict", "expected", "written"), ROWS)
def test_the_step_that_creates_a_report(
    code: int, verdict: str, expected: int, written: str, tmp_path: Path
) -> None:
    document = (
        {"verdict": {"kind": verdict}} if verdict != "none" else {"error": {"exit_code": code}}
    )
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "bugreport"
    tool.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"json.dump(sys.argv[1:], open({str(tmp_path / 'argv')!r}, 'w'))\n"
        f"print({json.dumps(document)!r})\nsys.exit({code})\n"
    )
    tool.chmod(0o755)
    given = {
        "SCRIPT": "my train.py; touch pwned",
        "ARGS": "--steps 2",
        "PYTHON": "python",
        "OPTIONS": "-j 2",
        "REPORT": "out",
    }
    create = step("Create the report")
    assert set(create["env"]) == set(given)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", create["run"]],
        cwd=tmp_path,
        env={
            **given,
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        },
    )
    assert done.returncode == expected
    assert (tmp_path / "output").read_text().split() == [f"verdict={verdict}", f"written={written}"]
    argv = json.loads((tmp_path / "argv").read_text())
    assert (
        argv[-5:] == ["-j", "2", "my train.py; touch pwned", "--steps", "2"]
        and "--no-input" in argv
    )
    assert not (tmp_path / "pwned").exists() and verdict in (tmp_path / "summary").read_text()


def test_no_input_becomes_a_command_and_private_stays_at_home() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    assert all("${{" not in item.get("run", "") for item in action["runs"]["steps"])
    kept = step("Keep the report")
    assert "!${{ inputs.report }}/private/**" in kept["with"]["path"]
    assert action["inputs"]["include-private"]["default"] == "false"
    assert "TOKEN" not in (ACTION / "action.yml").read_text()


def test_the_workflow_uses_inputs_that_exist() -> None:
    workflow = yaml.safe_load((ACTION / "workflow.yml").read_text())
    used = workflow["jobs"]["compiled"]["steps"][-1]
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    assert set(used["with"]) <= set(action["inputs"]) and used["if"] == "failure()"
