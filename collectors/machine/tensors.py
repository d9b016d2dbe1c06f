"""What is read of a tensor without an import of torch, which only the program decides on."""

from __future__ import annotations

from typing import Any


def read_version_counter(tensor: Any) -> int:
    """How often a tensor was written to; -1 for inference tensors, which have no counter."""
    try:
        return int(tensor._version)
    except RuntimeError:
        return -1
