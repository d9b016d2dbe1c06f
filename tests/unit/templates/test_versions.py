"""The Versions block of an issue."""

from __future__ import annotations

from templates.versions import render_versions
from tests.support import outgoing_data as data


def test_versions_reads_like_collect_env() -> None:
    text = render_versions(data.ENVIRONMENT)
    for line in (
        "PyTorch version: 2.13.0+cpu",
        "CUDA used to build PyTorch: N/A",
        "GCC version: g++ 12.2.0",
        "Python version: 3.11.7 (64-bit runtime, CPython)",
        "[pip3] numpy==2.4.6",
        "Non-default torch configs: torch._inductor.config.fallback_random=True",
    ):
        assert line in text.splitlines()
