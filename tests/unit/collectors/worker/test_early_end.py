"""A C++ compiler's start is told from everything else that a process may start."""

from __future__ import annotations

from typing import Any

import pytest

from collectors.worker import early_end


@pytest.mark.parametrize(
    ("command", "compiles"),
    [
        (["g++", "/c/kernel.cpp", "-o", "/c/kernel.so"], True),
        (["/usr/bin/x86_64-linux-gnu-g++-13", "-O3", "a.cpp"], True),
        ("clang++ -c header.h -o header.h.pch", True),
        (["g++", "--version"], False),
        (["gcc", "-print-file-name=libgomp.so"], False),
        (["cat", "a.cpp"], False),
        ([], False),
    ],
)
def test_a_compile_is_told_from_a_question_to_the_compiler(command: Any, compiles: bool) -> None:
    assert early_end.starts_compile(command) is compiles
