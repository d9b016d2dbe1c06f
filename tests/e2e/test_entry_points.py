"""A program becomes a report however it is started, and the report holds none of its words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.created import bugreport
from tests.support.entry_points import write
from tests.support.notebooks import notebook
from tests.support.scripts import text

SECRET_CELLS = (
    "md: # Kestrel sonar study for Fennimore Labs",
    "import torch\nimport torch._inductor.config\n"
    "torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = 'accuracy'",
    "def kestrel_echo(pings):\n    return torch.log1p(pings.relu() * 3)",
    "torch.manual_seed(0)\nfast = torch.compile(kestrel_echo)\nfast(torch.randn(16, 16))",
)
GLOO = "\n\nimport torch.distributed as dist\n\ndist.init_process_group('gloo')\ntest_echo()\n"


def create(tmp_path: Path, *words: str | Path) -> str:
    """All that leaves of the report on what `words` start, which has to be one on wrong values."""
    folder = tmp_path / "report"
    given = ("--json", "--no-input", "--python", interpreter.WARM, "-o", folder)
    done = bugreport("create", *given, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"]["kind"] == "wrong_result"
    return "".join(path.read_text() for path in folder.iterdir() if path.is_file())


@pytest.mark.slow
def test_a_notebook_becomes_a_report_that_holds_none_of_its_words(tmp_path: Path) -> None:
    said = create(tmp_path, notebook(tmp_path / "kestrel_sonar.ipynb", *SECRET_CELLS))
    assert not any(word in said for word in ("estrel", "onar", "ennimore", "pings"))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pytest", "function", "torchrun"])
def test_other_ways_become_reports_too(way: str, tmp_path: Path) -> None:
    program = text("entry_points/kestrel_echo") + (GLOO if way == "torchrun" else "")
    write(tmp_path, test_echo_py=program)
    words = {
        "pytest": ["-m", "pytest", "test_echo.py::test_echo"],
        "function": ["test_echo:test_echo"],
        "torchrun": ["-m", "torch.distributed.run", "--nproc-per-node=1", "test_echo.py"],
    }[way]
    assert "estrel" not in create(tmp_path, *words)
