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
    found = ReproEvidence((), Excerpt("kernel", "cpp", "x"), "", 1.0, generated)
    parts = [(item.excerpt is not None, bool(item.generated)) for item in found.list_fallbacks()]
    both = [(True, True), (False, True), (True, False), (False, False)]
    assert parts == (both if generated else [(True, False), (False, False)])
    assert all(bool(item.no_excerpt) != bool(item.excerpt) for item in found.list_fallbacks())
    assert len(list(ReproEvidence((), None, "none", 1.0).list_fallbacks())) == 1
