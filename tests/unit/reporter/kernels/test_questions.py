"""Which scripts have kernels of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from reporter.kernels.questions import defines_kernels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import triton\n@triton.jit\ndef k(): pass\n", True),
        ("import torch, triton\n@triton.jit\ndef k(): pass\n", True),
        ("import torch  # triton\n@torch.jit.script\ndef k(): pass\n", False),
        ("from triton import jit\n@jit\ndef k(): pass\n", True),
        ("import torch\n@torch.jit.script\ndef k(): pass\n", False),
        ("import triton\n", False),
    ],
)
def test_which_scripts_have_kernels(text: str, expected: bool, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(text)
    assert defines_kernels(script) is expected
