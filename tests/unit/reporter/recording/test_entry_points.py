"""Every mistake in how a program is named gets one sentence, before anything runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reporter.core.errors import UsageError
from reporter.recording.entry_points import check_early, resolve_entry_point
from tests.support.entry_points import options, write
from tests.support.notebooks import notebook

MISTAKES = {
    "no such file": (["train.py"], "no file train.py"),
    "test id without pytest": (["test_a.py::test_b"], "-m pytest test_a.py::test_b"),
    "no such module": (["nowhere:main"], "no module nowhere"),
    "arguments for a function": (["job:main", "--epochs", "1"], "'--epochs' has nowhere to go"),
    "empty notebook": (["empty.ipynb"], "no code cell"),
    "no notebook": (["text.ipynb"], "is no notebook"),
    "missing notebook": (["gone.ipynb"], "no file gone.ipynb"),
    "old notebook": (["old.ipynb"], "open it in Jupyter once and save it"),
    "another language": (["r.ipynb"], "is a notebook in r"),
    "syntax in a cell": (["syntax.ipynb"], "syntax.ipynb, cell 3, line 2 is not valid Python"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_a_sentence_before_anything_runs(name: str, tmp_path: Path) -> None:
    words, phrase = MISTAKES[name]
    write(tmp_path, job_py="def main():\n    pass\n")
    notebook(tmp_path / "empty.ipynb", "md: # Nothing", "  \n")
    (tmp_path / "text.ipynb").write_text("import torch\n")
    notebook(tmp_path / "old.ipynb", "x = 1", version=3)
    notebook(tmp_path / "r.ipynb", "x <- 1", language="R")
    notebook(tmp_path / "syntax.ipynb", "x = 1", "", "y = 2", "z = 3\nx = (")
    with pytest.raises(UsageError, match="^.{20,300}$") as caught:
        asked = options(tmp_path, *words)
        check_early(asked)
        resolve_entry_point(asked, Path(sys.executable))
    assert phrase in str(caught.value)


def test_an_interpreter_without_pytest_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(UsageError, match="has no pytest; install it there"):
        resolve_entry_point(options(tmp_path, "-m", "pytest", "test_a.py"), bare)
