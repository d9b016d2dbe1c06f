"""Notebooks where IPython is not installed: harmless magics are taken out, all others are refused
with their cell.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from collectors.record import notebook as product
from tests.support.notebooks import notebook
from tests.support.scripts import script

CELLS = {
    "measured": ("%%timeit -n 10\nprint(1)", "1"),
    "looked at": ("%matplotlib inline\nprint(2)\nprint?", "2"),
    "in a block": ("for i in range(2):\n    %time print(i)", "0\n1"),
    "set": ("%env TALLY=3 4\nimport os\nprint(os.environ['TALLY'])", "3 4"),
    "no magic": ("x = (7\n  % 4)\nprint(x, '''\n%time\n!ls''')", "3 \n%time\n!ls"),
    "awaited": ("import asyncio\nawait asyncio.sleep(0)\nprint(5)", "5"),
    "installs": ("!pip install a \\\n    b \\\n  'c'\nprint(6)", "6"),
    "skipped": ("[skip-execution] print(7)", ""),
}


def plain(path: Path, verb: str) -> subprocess.CompletedProcess[str]:
    """A notebook in a process of its own, whose `__main__` it takes."""
    words = [script("entry_points/notebook_without_ipython"), product.__file__, path, verb]
    done = subprocess.run(
        [sys.executable, *map(str, words)], cwd=path.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done


def test_magics_that_need_no_ipython_are_taken_out(tmp_path: Path) -> None:
    path = notebook(tmp_path / "plain.ipynb", *(text for text, _ in CELLS.values()))
    said = "".join(
        f"# cell {number}\n{out}\n" if out else ""
        for number, (_, out) in enumerate(CELLS.values(), 1)
    )
    assert plain(path, "run").stdout == said


def test_a_traceback_names_the_cell_and_its_line(tmp_path: Path) -> None:
    path = notebook(tmp_path / "plain.ipynb", "%%time\ndef half(x):\n    return 1 / x", "\nhalf(0)")
    said = plain(path, "run").stderr
    for cell, line, text in ((2, 2, "half(0)"), (1, 3, "return 1 / x")):
        assert f'File "{path}, cell {cell}", line {line}' in said and text in said


@pytest.mark.parametrize(
    ("cell", "phrase"),
    [
        ("%%bash\nls", "cell 2, line 1: `%%bash` needs IPython"),
        ("x = 1\nfiles = !ls", "cell 2, line 2: `files = !ls` needs IPython"),
        ("x = 1\n\n%run other.py", "cell 2, line 3: `%run` needs IPython"),
    ],
)
def test_a_magic_that_needs_ipython_is_refused_with_its_cell(
    cell: str, phrase: str, tmp_path: Path
) -> None:
    path = notebook(tmp_path / "plain.ipynb", "x = 1", cell)
    assert phrase in plain(path, "survey").stdout
