"""Programs that ask for a report themselves: a block, a long run, a test session, each with a real bug of torch."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.target import COLLECTORS
from tests.created import bugreport
from tests.test_ways import TALLY, tool

torch = pytest.importorskip("torch", reason="programs are run with this interpreter's torch")


def program(
    folder: Path, *command: str, python: Path = Path(sys.executable), **variables: str
) -> subprocess.CompletedProcess[str]:
    """A program of the user's, started by himself, with the hook's folder on PYTHONPATH."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(COLLECTORS / "hook"),
        "BUGREPORT_COMMAND": shlex.join(tool()),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),
        **variables,
    }
    return subprocess.run(
        [str(python), *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=900,
    )


def test_the_folder_holds_one_name_for_everybody(tmp_path: Path) -> None:
    done = bugreport("hook", cwd=tmp_path)
    folder = Path(done.stdout.strip())
    assert done.returncode == 0 and [path.name for path in folder.iterdir()] == ["bugreport"]


CAPTURE = "import sys\nimport bugreport\n" + TALLY + """
found = bugreport.capture({words})
try:
    with found:
        fast_tally()
except AttributeError:
    print("it goes on", found.exit_code, found.verdict["kind"], found.report is not None)
print(sorted(name for name in sys.modules if name.split(".")[0] in ("reporter", "collectors", "anonymizer", "templates")))
"""


def test_a_block_gets_its_verdict_and_the_program_goes_on(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CAPTURE.format(words="verb='diagnose'"))
    done = program(tmp_path, "train.py")
    assert done.stdout == "it goes on 0 crash False\n[]\n", done.stderr
    assert "verdict: crash in dynamo (bug)" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["cache", "train.py"] or os.listdir(tmp_path) == [
        "train.py"
    ]


@pytest.mark.parametrize(
    ("variables", "phrase"),
    [
        ({"BUGREPORT_COMMAND": "", "PATH": "/nowhere"}, "`bugreport` is not on PATH"),
        ({"BUGREPORT_COMMAND": "/nowhere/bugreport"}, "/nowhere/bugreport"),
    ],
)
def test_a_missing_tool_is_named_and_never_stops_a_long_run(
    variables: dict[str, str], phrase: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(
        "import bugreport\nbugreport.watch()\nprint('goes on', flush=True)\nwith bugreport.capture():\n    pass\n"
    )
    done = program(tmp_path, "train.py", **variables)
    assert done.stdout == "goes on\n" and done.returncode == 1
    first, *_, last = done.stderr.strip().splitlines()
    assert first.startswith("bugreport: not watching, ") and phrase in first and phrase in last


def test_options_that_the_tool_refuses_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import bugreport\nwith bugreport.capture('--jobs', 'many'):\n    print('never')\n"
    )
    done = program(tmp_path, "train.py")
    assert "--jobs is 'many', but must be a whole number" in done.stderr and not done.stdout


LONG = """
import os
import torch
import bugreport
from torch.utils.data import DataLoader

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 120
    def __getitem__(self, index):
        return torch.full((4,), float(index))

net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
bugreport.watch("-o", "watched", every=50)
fast = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.SGD(net.parameters(), 0.01)
if __name__ == "__main__":
    for batch in DataLoader(Numbers(), num_workers=2, multiprocessing_context={context!r}):
        optimizer.zero_grad()
        fast(batch).square().mean().backward()
        optimizer.step()
    children = open("/proc/self/task/%d/children" % os.getpid()).read().split()
    print("steps", 120, "children", len(children))
    {end}
"""


def test_a_long_run_is_compared_in_passing(tmp_path: Path) -> None:
    """Afterwards the tool and at most the latest copy are there; dead ones were taken leave of at the next comparison."""
    (tmp_path / "train.py").write_text(LONG.format(context="fork", end=""))
    done = program(tmp_path, "train.py")
    assert done.returncode == 0, done.stderr
    match = re.fullmatch(r"steps 120 children (\d)\n", done.stdout)
    assert match and int(match.group(1)) <= 2
    assert "bugreport" not in done.stderr and not (tmp_path / "watched").exists()


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_long_run_that_meets_a_bug_gets_a_report_beside_it(context: str, tmp_path: Path) -> None:
    end = (
        "import torch._inductor.config\n"
        "    torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = 'accuracy'\n"
        "    kestrel = torch.compile(lambda pings: torch.log1p(pings.relu() * 3))\n"
        "    torch.manual_seed(0)\n    kestrel(torch.randn(16, 16))\n    print('over')"
    )
    (tmp_path / "train.py").write_text(LONG.format(context=context, end=end))
    done = program(tmp_path, "train.py")
    assert done.returncode == 0 and done.stdout.endswith("over\n"), done.stderr
    assert done.stderr.count("a report is made beside it") == 1
    report = tmp_path / "watched" / "report.json"
    for _ in range(600):
        if report.exists():
            break
        time.sleep(1)
    assert '"wrong_result"' in report.read_text() and "estrel" not in report.read_text()


def test_tests_with_a_finding_stand_in_the_summary(tmp_path: Path) -> None:
    (tmp_path / "test_tally.py").write_text(TALLY + """
import pytest

def test_nothing():
    pass

def test_right():
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)).sum() == 4

def test_wrong(capsys):
    print("before")
    with pytest.raises(AttributeError):
        fast_tally()
    assert capsys.readouterr().out == "before\\n"
""")
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "bugreport.pytest"]
    done = program(tmp_path, *command, "--bugreport-verb", "diagnose")
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if "test_tally.py::" in line]
    assert lines == ["test_tally.py::test_wrong: crash in dynamo"]


@pytest.mark.slow
def test_a_block_becomes_a_report(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CAPTURE.format(words="'-o', 'report', '-j', '2'"))
    done = program(tmp_path, "train.py")
    assert done.stdout == "it goes on 0 crash True\n[]\n", done.stderr
    assert {"issue.md", "repro.py", "report.json"} <= {
        p.name for p in (tmp_path / "report").iterdir()
    }


@pytest.mark.releases
@pytest.mark.parametrize("release", ["v20", "v26", "v215"])
def test_a_block_on_other_releases(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(CAPTURE.format(words="verb='diagnose'"))
    done = program(tmp_path, "train.py", python=release_python(release))
    assert done.stdout == "it goes on 0 crash False\n[]\n", done.stderr
