"""The modes that see a program's calls of torch's functions to the end of its process."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from collectors.record import operators


def test_modes_that_are_never_left_stay_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch 2.6 takes all modes away to print a tensor, and ended where one of them was gone."""
    entered = []

    class Mode:
        def __init__(self, *given: Any) -> None:
            pass

        def __enter__(self) -> Mode:
            entered.append(weakref.ref(self))
            return self

    monkeypatch.setattr(operators, "OperatorMode", Mode)
    monkeypatch.setattr(operators, "ZeroMemoryMode", Mode)
    monkeypatch.setattr(operators, "_ENTERED", [])
    operators.watch_operators(None, {"operators": str(tmp_path / "calls"), "zeroed": True})
    gc.collect()
    assert len(entered) == 2 and all(mode() is not None for mode in entered)
