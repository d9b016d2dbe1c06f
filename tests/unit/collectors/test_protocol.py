"""What both sides read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.protocol.failure import read_tail
from collectors.protocol.variation import Overrides, select_compile_arguments


def test_the_end_of_a_long_file_is_read_without_the_file(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"first\n")
    assert read_tail(path) == "first\n" and read_tail(tmp_path / "none") == ""
    with path.open("r+b") as file:
        file.seek(2**40)  # a hole, which takes no room on the disk
        file.write(b"last\n")
    said = read_tail(str(path))
    assert said.endswith("\0last\n") and len(said) == 4000


def test_torch_compile_gets_its_arguments_and_nothing_else() -> None:
    overrides: Overrides = {"backend": "eager", "dynamic": None, "fresh": True, "end": "compiler"}
    assert select_compile_arguments(overrides) == {"backend": "eager", "dynamic": None}
    unknown: Any = {"backend": "eager", "slowly": True}
    with pytest.raises(ValueError, match="^no override is called slowly$"):
        select_compile_arguments(unknown)
