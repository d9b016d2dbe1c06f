"""Torch's own tools on other releases: each has what it has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.evidence import of_breaks


@pytest.mark.parametrize("release", ["v20", "v26", "v213", "v215"])
def test_every_tool_on_every_release(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    found = of_breaks(release_python(release), "inductor", tmp_path / "kept", layer="inductor")
    outcomes = {item.name: item.outcome for item in found.collected}
    old = release == "v20"
    assert outcomes.pop("trace") == ("skipped" if old else "ok")
    assert set(outcomes.values()) == {"ok"}
    kept = tmp_path / "kept"
    assert (kept / "logs" / "all.log").stat().st_size > 1000
    if not old:
        artifacts = ("guards", "recompiles", "graph_breaks", "output_code", "fusion")
        for name in artifacts:
            assert (kept / "logs" / f"{name}.log").stat().st_size > 0, name
    graphs = [path.parent for path in kept.rglob("output_code.py")]
    assert len(graphs) >= 2
    for name in ("fx_graph_readable.py", "ir_pre_fusion.txt", "ir_post_fusion.txt"):
        assert all((graph / name).exists() for graph in graphs)
    section = found.to_section()
    assert section.vector_isa and section.recompiles >= 1 and section.graph_breaks
    assert section.compile_seconds["inductor" if not old else "dynamo"] > 0
    assert "kernels, and nothing says" in found.no_excerpt  # one for each half, and no suspect
