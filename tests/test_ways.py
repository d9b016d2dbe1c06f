"""Every way to start a program finds the same real bug in it, and every mistake gets one sentence."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.errors import UsageError
from reporter.findings import Recording
from reporter.places import resolve
from reporter.recording import Session
from reporter.settings import Options
from reporter.target import COLLECTORS
from reporter.ways import check_early, facts_for, refuse_run, way_of
from tests.created import bugreport
from tests.notebooks import notebook

torch = pytest.importorskip("torch", reason="programs are run with this interpreter's torch")

#: A real bug of every release: Dynamo repeats an assignment that was refused. Backend eager keeps it quick.
TALLY = """
import torch

class Tracker:
    pass

def tally(x, meta):
    try:
        meta.__weakref__ = None
    except AttributeError:
        pass
    return x * 2

compiled = torch.compile(tally, backend="eager")

def fast_tally():
    return compiled(torch.ones(3), Tracker())
"""
CALL = TALLY + "\nprint(len(fast_tally()))\n"


def options(folder: Path, *words: str) -> Options:
    """What `bugreport diagnose WORDS` would have read in `folder`."""
    given = {"module": words[1]} if words[0] == "-m" else {}
    script, rest = (None, words[2:]) if given else (Path(words[0]), words[1:])
    return resolve(given, script, tuple(rest), cwd=folder)


def run(
    folder: Path, *words: str, python: Path = Path(sys.executable), timeout: float = 120
) -> Recording:
    """The recording of what `words` start, refused as the command would refuse it."""
    asked = options(folder, *words)
    check_early(asked)
    way = way_of(asked, python)
    session = Session(
        python,
        list(way.command),
        module=way.kind == "module",
        cwd=way.cwd,
        timeout=timeout,
        cache=folder / "cache",
        echo=None,
        talk=lambda _: None,
        way=facts_for(way),
        variables=way.variables(),
    )
    recording = session.run()
    refuse_run(way, recording)
    return recording


def found(recording: Recording) -> list[tuple[str, str, str]]:
    """(symptom, exception, place) of each finding."""
    rows = [
        (item.symptom, str((item.failure or {}).get("exception")), item.place)
        for item in recording.findings
    ]
    recording.close()
    return rows


def write(folder: Path, **files: str) -> Path:
    """Files by name, `_py` for `.py`."""
    for name, text in files.items():
        (folder / name.replace("_py", ".py")).write_text(text)
    return folder


TESTS = """
import pytest
from tallies import fast_tally

@pytest.fixture(params=[20, 30])
def size(request):
    return request.param

class TestTally:
    @pytest.mark.parametrize("times", [1, 2])
    def test_it(self, size, times, capsys, monkeypatch):
        monkeypatch.setenv("TALLY", "1")
        print("counting")
        try:
            made = fast_tally()
        finally:
            assert capsys.readouterr().out == "counting\\n"
        assert len(made) == times
"""


def test_a_test_of_pytest_with_fixtures_and_parameters(tmp_path: Path) -> None:
    write(tmp_path, tallies_py=TALLY, test_tally_py=TESTS)
    name = "test_tally.py::TestTally::test_it[30-2]"
    recording = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", name)
    assert recording.exit == 1 and recording.calls == 1
    (row,) = found(recording)
    assert row[0] == "raised" and row[2] == name


def test_a_notebook_is_told_by_its_cells(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    cells = (
        "md: # Tallies",
        "",
        "%load_ext autoreload\n!pip install torch\nimport os\nprint(os.getcwd())",
        "%%time\n" + TALLY,
        "[raises-exception] 1 / 0",
        "import inspect\nprint(len(inspect.getsource(tally)))\n\nfast_tally()",
        "print('not reached')",
    )
    notebook(tmp_path / "study" / "tallies.ipynb", *cells)
    recording = run(tmp_path, "study/tallies.ipynb")
    assert recording.exit == 1 and "not reached" not in recording.output
    assert str(tmp_path / "study") in recording.output
    ending = recording.script_exception or {}
    assert ending["place"].startswith("tallies.ipynb, cell 2, line ")
    (row,) = found(recording)
    assert row[0] == "raised" and row[2] == "cell 4"


def test_a_function_is_called_without_arguments(tmp_path: Path) -> None:
    text = (
        TALLY
        + "class Job:\n    @staticmethod\n    async def main(times=3):\n        fast_tally()\n"
    )
    write(tmp_path, job_py=text)
    (row,) = found(run(tmp_path, "job:Job.main"))
    assert row[0] == "raised"


def test_a_script_on_the_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import sys\nassert sys.argv == ['-', '--epochs', '1'] and not sys.stdin.read()\n" + CALL
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    recording = run(tmp_path, "-", "--epochs", "1")
    assert recording.script_exception and "<stdin>, line" in recording.script_exception["place"]
    assert way_of(options(tmp_path, "-", "--epochs", "1"), Path(sys.executable)).texts == {
        "stdin": text
    }
    (row,) = found(recording)
    assert row[0] == "raised"


def tool() -> list[str]:
    """The command of this checkout."""
    root = Path(__file__).parent.parent
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r}); from reporter.__main__ import main; main()"
    )
    return [sys.executable, "-c", code]


RANKS = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)
dist.init_process_group("gloo")
assert [os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")] == ["0", "0", "1"]
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
fast = torch.compile(DistributedDataParallel(net), backend="aot_eager")
fast(torch.randn(8, 4)).square().mean().backward()
total = torch.ones(2)
dist.all_reduce(total)
"""


@pytest.mark.slow
def test_torchrun_with_collectives_in_the_compiled_call(tmp_path: Path) -> None:
    write(tmp_path, ranks_py=RANKS + CALL)
    recording = run(tmp_path, "torchrun", "--standalone", "--nproc-per-node", "1", "ranks.py")
    assert (recording.calls, recording.compared, recording.unchecked) == (2, 2, 0), recording.output
    (row,) = found(recording)
    assert row[0] == "raised"


# -- mistakes --------------------------------------------------------------------------------------------

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
        way_of(asked, Path(sys.executable))
    assert phrase in str(caught.value)


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
        run(tmp_path, *words)
    assert phrase in str(caught.value)


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (["--nproc-per-node", "2", "ranks.py"], "asked for 2 processes on this one"),
        (["--nnodes", "2", "ranks.py"], "asked for 2 nodes"),
        (["--nproc-per-node", "1"], "the following arguments are required: training_script"),
        (["--nproc-per-node", "1", "gone.py"], "no file gone.py"),
    ],
    ids=["processes", "nodes", "nothing", "gone"],
)
@pytest.mark.slow
def test_torchrun_for_more_than_one_process_is_refused(
    words: list[str], phrase: str, tmp_path: Path
) -> None:
    write(tmp_path, ranks_py="import torch\n")
    with pytest.raises(UsageError) as caught:
        way_of(options(tmp_path, "-m", "torch.distributed.run", *words), Path(sys.executable))
    assert phrase in str(caught.value)


def test_an_interpreter_without_pytest_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(UsageError, match="has no pytest; install it there"):
        way_of(options(tmp_path, "-m", "pytest", "test_a.py"), bare)


# -- notebooks without IPython ------------------------------------------------------------------------------

PLAIN = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("notebook", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.has_ipython = lambda: False
if sys.argv[3] == "survey":
    print(module.survey(sys.argv[2])["problem"])
else:
    try:
        module.run(sys.argv[2], ".", lambda place: print("#", place))
    except ZeroDivisionError:
        import traceback
        traceback.print_exc()
"""

CELLS = {
    "measured": ("%%timeit -n 10\nprint(1)", "1"),
    "looked at": ("%matplotlib inline\nprint(2)\nprint?", "2"),
    "in a block": ("for i in range(2):\n    %time print(i)", "0\n1"),
    "set": ("%env TALLY=3 4\nimport os\nprint(os.environ['TALLY'])", "3 4"),
    "no magic": ("x = (7\n  % 4)\nprint(x, '''\n%time\n!ls''')", "3 \n%time\n!ls"),
    "awaited": ("import asyncio\nawait asyncio.sleep(0)\nprint(5)", "5"),
    "skipped": ("[skip-execution] print(6)", ""),
}


def plain(path: Path, verb: str) -> str:
    command = [sys.executable, "-c", PLAIN, str(COLLECTORS / "notebook.py"), str(path), verb]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_magics_that_need_no_ipython(tmp_path: Path) -> None:
    path = notebook(tmp_path / "plain.ipynb", *(text for text, _ in CELLS.values()))
    said = "".join(
        f"# cell {number}\n{out}\n" if out else ""
        for number, (_, out) in enumerate(CELLS.values(), 1)
    )
    assert plain(path, "run") == said


def test_a_traceback_names_the_cell_and_its_line(tmp_path: Path) -> None:
    path = notebook(tmp_path / "plain.ipynb", "%%time\ndef half(x):\n    return 1 / x", "\nhalf(0)")
    command = [sys.executable, "-c", PLAIN, str(COLLECTORS / "notebook.py"), str(path), "run"]
    said = subprocess.run(command, capture_output=True, text=True).stderr
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
    assert phrase in plain(notebook(tmp_path / "plain.ipynb", "x = 1", cell), "survey")


# -- the whole way ----------------------------------------------------------------------------------------

SECRET_CELLS = (
    "md: # Kestrel sonar study for Fennimore Labs",
    "import torch\nimport torch._inductor.config\n"
    "torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = 'accuracy'",
    "def kestrel_echo(pings):\n    return torch.log1p(pings.relu() * 3)",
    "torch.manual_seed(0)\nfast = torch.compile(kestrel_echo)\nfast(torch.randn(16, 16))",
)


@pytest.mark.slow
def test_a_notebook_becomes_a_report_that_holds_none_of_its_words(tmp_path: Path) -> None:
    path = notebook(tmp_path / "kestrel_sonar.ipynb", *SECRET_CELLS)
    folder = tmp_path / "report"
    done = bugreport(
        "create",
        "--json",
        "--no-input",
        "--python",
        sys.executable,
        "-o",
        folder,
        path,
        cwd=tmp_path,
    )
    document = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert document["verdict"]["kind"] == "wrong_result"
    text = "".join(p.read_text() for p in folder.iterdir() if p.is_file())
    assert not any(word in text for word in ("estrel", "onar", "ennimore", "pings"))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pytest", "function", "torchrun"])
def test_other_ways_become_reports_too(way: str, tmp_path: Path) -> None:
    text = (
        "import torch\nimport torch._inductor.config\n"
        "torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = 'accuracy'\n"
        "def kestrel_echo(pings):\n    return torch.log1p(pings.relu() * 3)\n"
        "def test_echo():\n    torch.manual_seed(0)\n"
        "    torch.compile(kestrel_echo)(torch.randn(16, 16))\n"
    )
    end = "import torch.distributed as dist\ndist.init_process_group('gloo')\ntest_echo()\n"
    write(tmp_path, test_echo_py=text + (end if way == "torchrun" else ""))
    words = {
        "pytest": ["-m", "pytest", "test_echo.py::test_echo"],
        "function": ["test_echo:test_echo"],
        "torchrun": ["-m", "torch.distributed.run", "--nproc-per-node=1", "test_echo.py"],
    }[way]
    folder = tmp_path / "report"
    done = bugreport(
        "create",
        "--json",
        "--no-input",
        "--python",
        sys.executable,
        "-o",
        folder,
        *words,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"]["kind"] == "wrong_result"
    assert "estrel" not in "".join(p.read_text() for p in folder.iterdir() if p.is_file())


@pytest.mark.releases
@pytest.mark.parametrize("release", ["v20", "v26", "v215"])
def test_ways_on_other_releases(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    python = release_python(release)
    write(tmp_path, ranks_py=RANKS + CALL, job_py=TALLY)
    notebook(tmp_path / "tallies.ipynb", "%matplotlib inline", CALL)
    for words in (
        ["torchrun", "--nproc-per-node", "1", "ranks.py"],
        ["job:fast_tally"],
        ["tallies.ipynb"],
    ):
        recording = run(tmp_path, *words, python=python)
        assert recording.unchecked == 0, recording.output
        assert [row[0] for row in found(recording)] == ["raised"], words
