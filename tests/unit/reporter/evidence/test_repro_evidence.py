"""What of the evidence is given up where a part of it holds a private word."""

from __future__ import annotations

import pytest

from reporter.evidence.interface import Excerpt
from reporter.evidence.repro_evidence import ReproEvidence
from reporter.report.sections.triton import GeneratedKernelsSection


@pytest.mark.parametrize("generated", [None, GeneratedKernelsSection(kernels=())])
def test_a_private_word_costs_no_more_of_the_evidence_than_it_must(
    generated: GeneratedKernelsSection | None,
) -> None:
    excerpt = Excerpt("kernel", "cpp", "x")
    found = ReproEvidence((), excerpt, "", 1.0, generated, trace="record")
    parts = [
        (bool(item.trace), item.excerpt is not None, item.generated is not None)
        for item in found.list_fallbacks()
    ]
    assert parts[0] == (True, True, generated is not None)
    assert parts[1:3] == [(False, *parts[0][1:]), (True, False, parts[0][2])]
    assert parts[-1] == (False, False, False)
    assert len(parts) == len(set(parts)) == (8 if generated else 4)
    assert all(bool(item.no_excerpt) != bool(item.excerpt) for item in found.list_fallbacks())
    assert len(list(ReproEvidence((), None, "none", 1.0).list_fallbacks())) == 1
