"""The command as a process of its own: its exit code and streams, and what it imports before it
knows what is wanted.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT


def tool(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "reporter", *arguments, **more)


def python(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A process that imports this checkout."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def test_the_installed_program_ends_with_the_exit_code() -> None:
    done = tool("create", "--bogus")
    assert (done.returncode, done.stdout) == (2, "")
    assert tool("--version").stdout.startswith("bugreport 0.")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise ImportError('libgomp.so.1 is missing')", "(ImportError: libgomp.so.1 is missing)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "(killed by SIGSEGV)"),
    ],
)
def test_a_torch_that_cannot_be_imported_is_no_verdict(
    text: str, reason: str, tmp_path: Path
) -> None:
    folder = tmp_path / "packages" / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(text)
    version = "__version__ = '2.13.0'\ngit_version = None\ncuda = None\nhip = None\n"
    (folder / "version.py").write_text(version)
    script = tmp_path / "script.py"
    script.write_text("import torch\n")
    done = tool("diagnose", "--python", sys.executable, str(script), PYTHONPATH=str(folder.parent))
    assert done.returncode == 2 and reason in done.stderr.splitlines()[-1]


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-m", "reporter", "--help"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_terminal_without_unicode_is_no_error() -> None:
    done = tool("frob\N{SNOWMAN}", PYTHONIOENCODING="ascii")
    assert done.returncode == 2 and "no such command" in done.stderr


HEAVY = (
    "torch",
    "triton",
    "jinja2",
    "github",
    "black",
    "rich",
    "requests",
    "tomllib",
    "reporter.pipeline.create",
)


@pytest.mark.parametrize("line", ["--help", "--version", "create --help", "env --help"])
def test_start_up_imports_nothing_heavy(line: str) -> None:
    code = "import sys; from reporter.cli.main import run; run(sys.argv[1:]);"
    code += f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    # A run that measures coverage would import tomllib first.
    assert python("-c", code, *line.split(), COVERAGE_PROCESS_CONFIG="").stderr == "[]\n"


def test_the_bare_help_does_not_even_need_a_parser() -> None:
    code = "import sys; from reporter.cli.main import run; run(['--help']);"
    code += "sys.exit('typer' in sys.modules)"
    assert python("-c", code).returncode == 0
