"""The header of kernels is compiled as a kernel was, and the compiler takes it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.worker.cpp_prefix import SUFFIX, precompile, record_commands

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def kernel(folder: Path, first: str) -> list[str]:
    """A command that compiles a kernel as Inductor does, and its files."""
    (folder / "ab").mkdir(parents=True)
    (folder / "ab" / "prefix.h").write_text("#include <vector>\ninline int one() { return 1; }\n")
    source = folder / "ab" / "kernel.cpp"
    source.write_text(f'\n#include {first}\nextern "C" int kernel() {{ return one(); }}\n')
    words = ["g++", str(source), "-shared", "-fPIC", "-O1", "-std=c++17", "-lm"]
    return [*words, "-o", str(source.with_suffix(".so"))]


def test_the_header_is_compiled_with_the_flags_of_the_kernel_and_taken(tmp_path: Path) -> None:
    header = tmp_path / "ab" / "prefix.h"
    command = kernel(tmp_path, f'"{header}"')
    with record_commands() as commands:
        subprocess.run([sys.executable, "--version"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(command, check=True)
    subprocess.run([sys.executable, "--version"], check=True, stdout=subprocess.DEVNULL)
    assert commands == [[sys.executable, "--version"], command]
    precompile(commands, str(tmp_path))
    assert header.with_name(f"prefix.h{SUFFIX}").exists()
    read = subprocess.run([*command, "-H"], check=True, capture_output=True, text=True).stderr
    assert read.splitlines()[0] == f"! {header}{SUFFIX}"  # gcc's sign for a compiled one


@pytest.mark.parametrize("change", ["elsewhere", "torch's own", "clang"])
def test_what_is_not_of_this_cache_and_compiler_stays_as_it_is(tmp_path: Path, change: str) -> None:
    header = tmp_path / "ab" / "prefix.h"
    command = kernel(tmp_path, f'"{header}"')
    if change == "torch's own":
        command += ["-include", str(header)]
    if change == "clang":
        command[0] = "clang++"
    precompile([command], str(tmp_path / "other" if change == "elsewhere" else tmp_path))
    assert [path.name for path in header.parent.iterdir() if SUFFIX in path.name] == []


def test_a_header_that_does_not_compile_leaves_nothing(tmp_path: Path) -> None:
    header = tmp_path / "ab" / "prefix.h"
    command = kernel(tmp_path, f'"{header}"')
    header.write_text("#error no\n")
    precompile([command], str(tmp_path))
    assert [path.name for path in header.parent.iterdir() if SUFFIX in path.name] == []
