"""Every way to start a program finds the same real bug in it, and what only the run can tell is
said too.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from reporter.core.errors import UsageError
from reporter.recording.entry_points import resolve_entry_point
from tests.support import interpreter
from tests.support.entry_points import found, options, run, tally_script, write
from tests.support.notebooks import notebook
from tests.support.scripts import text


@pytest.fixture(autouse=True)
def no_plugins_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed beside pytest here costs each of the watched sessions two seconds and is no
    part of them.
    """
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_a_test_of_pytest_with_fixtures_and_parameters(tmp_path: Path) -> None:
    tests = text("entry_points/fixtures_and_parameters")
    write(tmp_path, tallies_py=text("entry_points/tallies"), test_tally_py=tests)
    name = "test_tally.py::TestTally::test_it[30-2]"
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", name)
    recording = run(tmp_path, *words, python=interpreter.WARM)
    assert recording.script.exit == 1 and recording.counts.calls == 1
    (row,) = found(recording)
    assert row[0] == "raised" and row[2] == name


def test_a_notebook_is_told_by_its_cells(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    cells = (
        "md: # Tallies",
        "",
        "%load_ext autoreload\n!pip install torch\nimport os\nprint(os.getcwd())",
        "%%time\n" + text("entry_points/tallies"),
        "[raises-exception] 1 / 0",
        "import inspect\nprint(len(inspect.getsource(tally)))\n\nfast_tally()",
        "print('not reached')",
    )
    notebook(tmp_path / "study" / "tallies.ipynb", *cells)
    recording = run(tmp_path, "study/tallies.ipynb", python=interpreter.WARM)
    assert recording.script.exit == 1 and "not reached" not in recording.script.output
    assert str(tmp_path / "study") in recording.script.output
    ending = recording.script.exception or {}
    assert ending["location"].startswith("tallies.ipynb, cell 2, line ")
    (row,) = found(recording)
    assert row[0] == "raised" and row[2] == "cell 4"


def test_a_function_is_called_without_arguments(tmp_path: Path) -> None:
    job = "\nclass Job:\n    @staticmethod\n    async def main(times=3):\n        fast_tally()\n"
    write(tmp_path, job_py=text("entry_points/tallies") + job)
    (row,) = found(run(tmp_path, "job:Job.main", python=interpreter.WARM))
    assert row[0] == "raised"


def test_a_script_on_the_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import sys\nassert sys.argv == ['-', '--epochs', '1'] and not sys.stdin.read()\n"
        + tally_script()
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(program.encode())))
    words = ("-", "--epochs", "1")
    recording = run(tmp_path, *words, python=interpreter.WARM)
    assert recording.script.exception and "<stdin>, line" in recording.script.exception["location"]
    assert resolve_entry_point(options(tmp_path, *words), interpreter.WARM).texts == {
        "stdin": program
    }
    (row,) = found(recording)
    assert row[0] == "raised"


def test_torchrun_with_collectives_in_the_compiled_call(tmp_path: Path) -> None:
    write(tmp_path, ranks_py=text("entry_points/ranks") + tally_script())
    words = ("torchrun", "--standalone", "--nproc-per-node", "1", "ranks.py")
    recording = run(tmp_path, *words, python=interpreter.WARM)
    assert (recording.counts.calls, recording.counts.compared, recording.counts.unchecked) == (
        2,
        2,
        0,
    ), recording.script.output
    (row,) = found(recording)
    assert row[0] == "raised"


LATE = {
    "required arguments": (["job:needs"], "needs the arguments model, batch"),
    "no such function": (["job:nothing"], "the module job has no nothing"),
    "no function": (["job:torch"], "is a module, not a function"),
    "no such test": (["-m", "pytest", "test_job.py::test_b"], "found no such test"),
    "test file that fails": (
        ["-m", "pytest", "test_job.py"],
        "could not collect the tests (ModuleNot",
    ),
}


@pytest.mark.parametrize("name", LATE)
def test_what_only_the_run_can_tell_is_unusable_input_too(name: str, tmp_path: Path) -> None:
    words, phrase = LATE[name]
    write(
        tmp_path,
        job_py="import string as torch\ndef needs(model, batch, epochs=1):\n    pass\n",
        test_job_py="import no_such_module_here\n",
    )
    with pytest.raises(UsageError) as caught:
        run(tmp_path, *words, python=interpreter.WARM)
    assert phrase in str(caught.value)


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (["--nnodes", "2", "--nproc-per-node", "2", "ranks.py"], "asked for 2"),
        (["--nnodes", "2", "ranks.py"], "asked for 2 nodes"),
        (["--nproc-per-node", "1"], "the following arguments are required: training_script"),
        (["--nproc-per-node", "1", "gone.py"], "no file gone.py"),
    ],
    ids=["both", "nodes", "nothing", "gone"],
)
def test_torchrun_for_more_than_one_node_is_refused(
    words: list[str], phrase: str, tmp_path: Path
) -> None:
    write(tmp_path, ranks_py="import torch\n")
    with pytest.raises(UsageError) as caught:
        resolve_entry_point(
            options(tmp_path, "-m", "torch.distributed.run", *words), interpreter.WARM
        )
    assert phrase in str(caught.value)
