"""Random numbers in a program's text: what draws them, and the statement that sets their seed."""

from __future__ import annotations

import re

_DRAWS = re.compile(
    r"\b(rand\w*|\w*[Dd]ropout\w*|bernoulli\w*|multinomial|normal_?|uniform_|poisson|rrelu\w*"
    r"|exponential_)\("
)


def draws_random_numbers(text: str) -> bool:
    """Whether a text calls something that draws random numbers."""
    return _DRAWS.search(text) is not None


def write_seed(seed: int) -> str:
    """The statement that sets torch's seed."""
    return f"torch.manual_seed({seed})"


def is_seed(statement: str) -> bool:
    """Whether a statement sets torch's seed."""
    return statement.startswith("torch.manual_seed(")
