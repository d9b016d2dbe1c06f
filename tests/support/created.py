"""Running `bugreport create` in tests as a user does, and holding its report against what a reader
demands.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import black

from reporter.cli.main import run
from reporter.core.candidate import find_failure
from reporter.core.signature import is_same_failure
from reporter.execution.fresh_process import run_cold
from tests.support import interpreter
from tests.support.places import DATA, ROOT
from tests.support.schemas import validate

SCRIPTS = DATA / "scripts"
#: `-m reporter` would run whatever checkout is installed, which need not be this one.
_START = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from reporter.__main__ import main; main()"
)
#: What a command prints as JSON, by the name of its schema.
_PRINTED = {"create": "report", "check": "check"}
#: Names everybody's script may share with a repro.
COMMON = {"main", "forward", "repro", "inputs", "model", "run", "step", "compile", "expected"}


@dataclass(frozen=True)
class Created:
    """A finished run: exit code, the JSON document, the talk on stderr, and the report folder."""

    code: int
    document: dict[str, Any]
    talk: str
    folder: Path

    @property
    def repro(self) -> str:
        """The text of repro.py."""
        return (self.folder / "repro.py").read_text()

    def outgoing(self) -> dict[str, str]:
        """Every file outside private/."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return {
            str(path.relative_to(self.folder)): path.read_text()
            for path in files
            if "private" not in path.relative_to(self.folder).parts
        }


def bugreport(
    *arguments: str | Path, cwd: Path, timeout: float = 900
) -> subprocess.CompletedProcess[str]:
    """The tool as a command, with its stdin closed; a document that it prints is validated. No user
    has the name of a test in a variable, whose words count as private.
    """
    command = [sys.executable, "-c", _START, *map(str, arguments)]
    done = subprocess.run(
        command,
        cwd=cwd,
        env={name: text for name, text in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )
    if "--json" in arguments and arguments[0] in _PRINTED and done.stdout:
        document = json.loads(done.stdout)
        if "error" not in document:
            validate(document, _PRINTED[str(arguments[0])])
    return done


def command(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The tool's command in this process: where a process of its own is not what a test is
    about.
    """
    words = [str(argument) for argument in arguments]
    said, talk, stdin, here = io.StringIO(), io.StringIO(), sys.stdin, os.getcwd()
    os.chdir(cwd)
    sys.stdin = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(talk):
            code = run(words)
    finally:
        sys.stdin = stdin
        os.chdir(here)
    return subprocess.CompletedProcess(words, code, said.getvalue(), talk.getvalue())


def create(
    name: str, tmp_path: Path, python: Path | None = None, *more: str, scripts: Path = SCRIPTS
) -> Created:
    """`bugreport create` on a stored script, in a folder of its own; `python` is the warm
    interpreter unless given.
    """
    script = tmp_path / "script.py"
    script.write_text((scripts / f"{name}.py").read_text())
    folder = tmp_path / "report"
    done = bugreport(
        "create",
        "--json",
        "--no-input",
        "--evidence",  # what it costs is for its own tests to pay; a later one wins
        "0",
        "--python",
        python or interpreter.WARM,
        "-o",
        folder,
        *more,
        script,
        cwd=tmp_path,
    )
    assert "internal error" not in done.stderr, done.stderr
    document = json.loads(done.stdout)
    if (folder / "report.json").exists():
        validate(json.loads((folder / "report.json").read_text()), "report")
    return Created(done.returncode, document, done.stderr, folder)


def check_report(
    created: Created,
    python: Path | None = None,
    secrets: list[str] | None = None,
    public: Collection[str] = (),
) -> None:
    """A report a maintainer would accept: verdict, a repro that fails alone, black, no private
    name, nothing to drop. `public` are names of the script that are everybody's.
    """
    assert created.code == 0, created.talk
    verdict = created.document["verdict"]
    assert verdict["is_bug"]
    seen, of = verdict["reproduced"]
    assert of == 3 and seen >= 2
    assert created.document["audit"]["passed"]
    _fails_alone(created, python or interpreter.WARM)
    assert black.format_str(created.repro, mode=black.Mode()) == created.repro
    script = (created.folder.parent / "script.py").read_text()
    known = set(secrets or ())
    for name, text in created.outgoing().items():
        for word in (private_names(script) - set(public)) | known:
            if word.isalpha() and word.islower() and word not in known and not name.endswith(".py"):
                continue  # a plain English word in prose or markup tells nothing
            assert not re.search(
                rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", text
            ), f"{word} in {name}"


def check_smallest(created: Created, python: Path | None = None) -> None:
    """Nothing can be dropped by hand: without any one statement the repro no longer shows the
    failure.
    """
    python = python or interpreter.WARM
    wanted = find_failure(run_cold(python, created.repro, 300, describe=True))
    assert wanted is not None
    for text in without_statement(created.repro):
        found = find_failure(run_cold(python, text, 300, describe=True))
        assert found is None or not is_same_failure(wanted, found), text


def _fails_alone(created: Created, python: Path) -> None:
    answer = run_cold(python, created.repro, 300)
    assert answer.exit not in (0, 125), answer
    assert "NameError" not in answer.stderr and "SyntaxError" not in answer.stderr


def private_names(script: str) -> set[str]:
    """Classes, functions and attributes the script defines."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    torch_settings = {
        "fallback_random",
        "activation_memory_budget",
        "inject_relu_bug_TESTING_ONLY",
        "__weakref__",
    }
    return (
        {name for name in names if len(name) > 3 and not name.startswith("__")}
        - COMMON
        - torch_settings
    )


def without_statement(text: str) -> list[str]:
    """The repro with one statement of its program left out, for each statement that is not the
    last.
    """
    tree = ast.parse(text)
    shorter = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in ("forward", "fn", "repro"):
            for index in range(len(node.body) - 1):
                kept = node.body[:index] + node.body[index + 1 :]
                original, node.body = node.body, kept
                shorter.append(ast.unparse(tree))
                node.body = original
    return shorter
