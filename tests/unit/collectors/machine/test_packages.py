"""Triton's release is looked up by its names; nothing is read of other packages."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path

import pytest

from collectors.machine.packages import find_triton

_OF_ALL = DistributionFinder.Context()


class Asked(DistributionFinder):
    """Installs nothing, and notes for which names it is asked; None asks for all packages."""

    def __init__(self) -> None:
        self.names: list[str | None] = []

    def find_spec(self, *_: object) -> None:
        return None

    def find_distributions(
        self, context: DistributionFinder.Context = _OF_ALL
    ) -> Iterator[Distribution]:
        self.names.append(context.name)
        return iter(())


@pytest.mark.parametrize("folder", ["triton-3.4.0", "pytorch_triton_rocm-3.4.0"])
def test_triton_is_found_under_its_names(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "triton" / "backends" / "nvidia").mkdir(parents=True)
    (tmp_path / "triton" / "__init__.py").touch()
    (tmp_path / f"{folder}.dist-info").mkdir()
    name = folder.partition("-")[0]
    (tmp_path / f"{folder}.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 3.4.0\n"
    )
    asked = Asked()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [asked, *sys.meta_path])
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    importlib.invalidate_caches()
    assert find_triton() == {"version": "3.4.0", "backends": ["nvidia"], "interpret": False}
    assert asked.names and None not in asked.names
