"""Random numbers in a program's text."""

from __future__ import annotations

import re

_DRAWS = re.compile(
    r"\b(rand\w*|\w*[Dd]ropout\w*|bernoulli\w*|multinomial|normal_?|uniform_|poisson|rrelu\w*"
    r"|exponential_)\("
)


def draws_random_numbers(text: str) -> bool:
    """Whether a text calls something that draws random numbers."""
    return _DRAWS.search(text) is not None
