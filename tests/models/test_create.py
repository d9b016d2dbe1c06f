"""`create` on models that somebody else wrote: transformers of every kind, with a fault put into
Inductor's relu.

The graphs have hundreds of operations and the repro must have a few: what is found here holds for
code that the tool's authors have never seen. Nothing is downloaded, the models are small and their
weights are random.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from reporter.execution.fresh_process import run_cold
from tests.support.created import check_report, create
from tests.support.places import DATA

MODELS = DATA / "models"
MOST_STATEMENTS = 3

#: script, kind of the verdict, how the library's classes begin
CASES = [
    ("t5", "crash", "T5"),
    ("opt", "wrong_result", "OPT"),
    ("bert", "wrong_result", "Bert"),
    ("whisper", "crash", "Whisper"),
    ("llama", "wrong_result", "Llama"),
]


def imported_names(script: str) -> set[str]:
    """What the script takes from the library."""
    return {
        alias.name
        for node in ast.walk(ast.parse(script))
        if isinstance(node, ast.ImportFrom) and node.module == "transformers"
        for alias in node.names
    }


@pytest.mark.parametrize(("name", "kind", "family"), CASES)
def test_a_model_of_somebody_else_comes_down_to_a_few_statements(
    name: str, kind: str, family: str, tmp_path: Path, models_python: Path
) -> None:
    created = create(name, tmp_path, models_python, scripts=MODELS)
    names = imported_names((MODELS / f"{name}.py").read_text())
    assert names
    check_report(created, models_python, [*names, "transformers"])
    assert created.document["verdict"]["kind"] == kind
    assert created.document["verdict"]["layer"] == "inductor"
    assert created.document["repro"]["statements"] <= MOST_STATEMENTS
    for file, text in created.outgoing().items():
        assert not re.search(rf"\b{family}[A-Z]\w*", text), file
    answer = run_cold(models_python, created.repro, 300)
    assert answer.exit == 1, answer
