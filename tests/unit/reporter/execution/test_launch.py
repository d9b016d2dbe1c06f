"""What a script is given as its standard input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reporter.execution.launch import build_repro_variables

#: Two runs of a child that reads everything, as the tool starts a script twice.
TWO_RUNS = """
import subprocess, sys
from reporter.execution.launch import choose_standard_input
for reader in sys.argv[1:]:
    subprocess.run([sys.executable, "-c", reader], stdin=choose_standard_input(), check=True)
"""
READ = "import sys; print(sys.stdin.read().split())"
IGNORE = "print('nothing')"


def loop(lines: Path, *readers: str) -> list[str]:
    """What a shell's loop over the lines of a file prints that starts a tool for each."""
    tool = [sys.executable, "-c", TWO_RUNS, *readers]
    script = 'while read -r line; do echo "$line"; "$@"; done < "$0"'
    done = subprocess.run(
        ["bash", "-c", script, str(lines), *tool],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.splitlines()


def test_each_run_reads_the_file_from_where_it_stood(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\nthree\n")
    assert loop(lines, READ, READ) == ["one", "['two', 'three']", "['two', 'three']"]


def test_a_loop_over_a_file_ends(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n")
    assert loop(lines, IGNORE) == ["one", "nothing", "two", "nothing"]


def test_a_repro_has_neither_credentials_nor_what_keeps_the_compiler_from_it() -> None:
    habits = {"TORCHDYNAMO_DISABLE": "1", "TORCHDYNAMO_SUPPRESS_ERRORS": "1", "HF_TOKEN": "x"}
    kept = {"PATH": "/bin", "TORCH_LOGS": "dynamo"}
    assert build_repro_variables({**habits, "TORCH_COMPILE_DISABLE": "1", **kept}) == kept
