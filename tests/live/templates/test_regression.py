"""`test_repro.py` under a real torch: it ends as the repro does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from reporter.core.formatting import format_program
from reporter.execution.fresh_process import run_cold
from reporter.publish.torch_report import summarize_failure
from templates.regression import render_test, render_tests
from tests.support import interpreter
from tests.support import outgoing_data as data
from tests.support.mended import failure, repro
from tests.support.scripts import script

#: what the repro's `main` does -> how unittest counts it
ENDINGS = {
    "return": "passed",
    "raise AssertionError('wrong result: 1')": "failures",
    "raise RuntimeError('compiler')": "errors",
    "sys.exit(125)": "skipped",
    "sys.exit(1)": "failures",
    "sys.exit(0)": "passed",
}
MAIN = """import sys

import torch


def main():
    {body}


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """How the test of each repro ends; one process answers for all."""
    folder = tmp_path_factory.mktemp("endings")
    paths = {}
    for number, body in enumerate(ENDINGS):
        source = render_test(summarize_failure(data.crash_report()), MAIN.format(body=body))
        paths[body] = folder / f"test_{number}.py"
        paths[body].write_text(source)
    command = [interpreter.WARM, script("regression/outcomes"), *paths.values()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {body: found[str(path)] for body, path in paths.items()}


@pytest.mark.parametrize("body", ENDINGS)
def test_it_ends_as_the_repro_does(body: str, outcomes: dict[str, list[str]]) -> None:
    assert outcomes[body] == [ENDINGS[body]]


def test_what_eager_cannot_run_is_skipped() -> None:
    text = repro("crash").replace("torch.frexp(x)", "torch.no_such_function(x)")
    test = format_program(next(render_tests(failure("crash", "inductor", "torch.frexp"), text)))
    answer = run_cold(Path(interpreter.WARM), test, 120)
    assert answer.exit == 0 and "skipped=1" in answer.stderr
