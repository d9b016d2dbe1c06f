"""Operators that a watched program defines by `torch.library.Library`: their kernels are kept."""

from __future__ import annotations

import json
from pathlib import Path

from reporter.recording import questions
from tests.support.watched import watch

PROGRAM = """
import torch

library = torch.library.Library("depot", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.define("thrice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CPU")
library.impl("twice", lambda x: torch.empty_like(x), "Meta")
library.impl("thrice", lambda x: x * 3, "CompositeImplicitAutograd")

@torch.compile(backend="eager")
def scale(x):
    y = torch.ops.depot.twice(x) + torch.ops.depot.thrice(x)
    return y if torch.compiler.is_compiling() else x

scale(torch.ones(2))
"""


def test_an_operator_with_one_kernel_is_told_with_its_source(tmp_path: Path) -> None:
    recording = watch(PROGRAM, tmp_path)
    (finding,) = recording.findings
    try:
        gathered = finding.call_session.request(questions.gather(), 60)["gathered"]
        chains = gathered["functions"]["f0"]["chains"]
        twice, thrice = chains["torch.ops.depot.twice"], chains["torch.ops.depot.thrice"]
        assert twice["kind"] == "operator" and twice["arguments"] == [["Tensor", None]]
        assert thrice["kind"] == "opaque"  # autograd looks into it, as it would into no other
        assert "x * 2" in json.dumps(gathered) and "x * 3" not in json.dumps(gathered)
    finally:
        recording.close()
