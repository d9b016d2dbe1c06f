"""Random canaries in every place a private program has, and none of them in any byte that leaves.

Each place gets a word of its own, made anew from a seed: in names, strings, comments, docstrings,
closures, default arguments, f-strings and error messages; in the file's, the folder's and a helper
module's name; in names of Python's dunder form; in the environment, in values of torch's variables
and of its settings, in the name of the C++ compiler; in git's remote, branch and author; in a class
that `exec` makes, and in what the script prints. Each outgoing byte is searched, also after base64,
URL quoting, changes of case and separators, and cutting into lines.
"""

from __future__ import annotations

import json
import os
import random
import string
import subprocess
from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.created import bugreport
from tests.support.hidden import hides
from tests.support.scripts import text

#: `canary_` and the name of the place stand for its word in tests/data/scripts/canaries.
PLACES = """
    module helper_class helper_function attribute buffer argument default closure docstring comment
    string fstring error printed exec_class exec_attribute key environment_name environment_value
    remote branch author folder script host_file dunder dunder_method job tag triton compiler
    setting installed
    """.split()

#: What fails in torch 2.13.0, by the layer that is at fault.
FAILING = {
    "inductor": "torch.any((hidden.abs() * 3).to(torch.uint8), 1) * 200 + 100",
    "dynamo": "torch.Tensor(hidden.size()).zero_() + hidden.sum()",
    "invalid": "hidden.view(-1, 4)",
}


def words(seed: int) -> dict[str, str]:
    """A canary for each place: a word that is in no vocabulary."""
    draw = random.Random(seed)
    return {p: "".join(draw.choices(string.ascii_lowercase, k=9)) + "qz" for p in PLACES}


def told(name: str, canary: dict[str, str]) -> str:
    """A program with its canaries in their places."""
    found = text(f"canaries/{name}")
    for place in sorted(canary, key=len, reverse=True):
        found = found.replace(f"canary_{place}", canary[place])
    assert "canary_" not in found
    return found


def project(folder: Path, canary: dict[str, str], failing: str, made: str) -> Path:
    """A git checkout with the private program in it."""
    home = folder / canary["folder"]
    home.mkdir()
    (home / f"{canary['module']}.py").write_text(told("helper", canary).replace("FAILING", failing))
    script = home / f"{canary['script']}.py"
    script.write_text(told("script", canary).replace("MADE", made))
    for command in (
        ["init", "-q", "-b", canary["branch"]],
        ["remote", "add", "origin", f"git@{canary['remote']}.example:{canary['remote']}/x.git"],
        ["add", "-A"],
        ["-c", f"user.name={canary['author']}", "-c", f"user.email={canary['author']}@x.org",
         "commit", "-qm", "first"],
    ):  # fmt: skip
        subprocess.run(["git", *command], cwd=home, check=True)
    return script


_MADE = {"by exec": 'names["{exec_class}"]', "from a module": "{helper_class}"}


@pytest.mark.parametrize("seed, verb, layer, made", [
    (1, "create --quick", "dynamo", "from a module"),
    pytest.param(2, "create", "dynamo", "from a module", marks=pytest.mark.slow),
    pytest.param(3, "create", "inductor", "by exec", marks=pytest.mark.slow),
    pytest.param(4, "anonymize", "inductor", "by exec", marks=pytest.mark.slow),
    pytest.param(5, "create", "invalid", "by exec", marks=pytest.mark.slow),
])  # fmt: skip
def test_no_canary_leaves(
    seed: int, verb: str, layer: str, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = words(seed)
    script = project(tmp_path, canary, FAILING[layer], _MADE[made].format(**canary))
    monkeypatch.setenv(canary["environment_name"], canary["environment_value"])
    compiler = script.parent / f"{canary['compiler']}-g++"
    compiler.write_text('#!/bin/sh\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    # what torch reads at its import costs a start of its own for each process, so only whole runs
    # have it
    for name, value in {
        "CXX": compiler, "TORCH_COMPILE_JOB_ID": canary["job"],
        f"TORCHDYNAMO_{canary['tag'].upper()}": canary["tag"],
        "TRITON_F32_DEFAULT": canary["triton"],
    }.items() if "--quick" not in verb else ():  # fmt: skip
        monkeypatch.setenv(name, str(value))
    installed = script.parent / f"{canary['installed']}_torch-1.2.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {canary['installed']}-torch\n"
        f"Version: 1.2+{canary['installed']}\n"
    )
    report = tmp_path / "report"
    done = bugreport(
        *verb.split(), "--json", "--no-input", "--python", interpreter.WARM, "-o", report, script,
        cwd=script.parent,
    )  # fmt: skip
    document = json.loads(done.stdout)
    if layer == "invalid":
        assert done.returncode == 1 and document["verdict"]["kind"] == "invalid_program"
        return
    assert done.returncode == 0, done.stderr[-2000:]
    assert document["verdict"]["layer"] == layer
    leaving = {
        str(path.relative_to(report)): path.read_bytes()
        for path in report.rglob("*")
        if path.is_file() and "private" not in path.relative_to(report).parts
    }
    assert {"repro.py", "issue.md", "report.json", "report.html", "test_repro.py"} <= set(leaving)
    for place, word in canary.items():
        for name, content in leaving.items():
            assert not (how := hides(word, content)), f"the {place} leaves in {name}, {how}"
            assert word not in name
    assert any(
        canary["helper_class"].encode() in path.read_bytes()
        for path in (report / "private").rglob("*") if path.is_file()
    ), "the program was not looked at, so this shows nothing"  # fmt: skip
    assert os.environ[canary["environment_name"]]
